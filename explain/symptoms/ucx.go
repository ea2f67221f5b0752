package symptoms

import (
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

func ucxSymptoms() []Symptom {
	return slices.Concat(
		ucxTransportSymptoms(), ucxSettingSymptoms(), ucxSharedMemorySymptoms(), ucxGPUSymptoms(),
		ucxNetworkSymptoms(), ucxDeviceSymptoms(), nixlSymptoms(), ucxEngineSymptoms(),
	)
}

// Causes that several symptoms of UCX and what is built on it have.

func noCUDA(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "no-cuda-support",
		Title: "UCX runs without its CUDA modules: built without CUDA, another copy of the library is loaded, or " +
			"libcuda isn't there",
		Weight: weight, Clues: clues,
		Decide: "ucx_info -v (--with-cuda) and ucx_info -d | grep cuda, in the container; which libucp.so.0 the " +
			"process has: grep libuc /proc/PID/maps",
		Remedy: "a UCX with CUDA (the package ucx-cuda, HPC-X, or ./configure --with-cuda), first in " +
			"LD_LIBRARY_PATH, its lib/ucx modules beside it",
		Sources: []string{"openucx/ucx#7845", "openucx/ucx#9950", "ai-dynamo/nixl#1628"},
	}
}

func ucxWithoutVerbs(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "missing-library", Title: "this UCX has no InfiniBand modules: libuct_ib.so or libibverbs is missing",
		Weight: weight, Clues: clues,
		Decide: "ucx_info -d | grep -e Transport -e Device; ldd lib/ucx/libuct_ib.so",
		Remedy: "UCX's package for InfiniBand (ucx-ib, ucx-ib-mlx5) and rdma-core with the provider of the card",
	}
}

func ucxNoDevice(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "no-device-node", Title: "no RDMA device is visible here, or none with an active port", Weight: weight,
		Clues:  clues,
		Decide: "rdmactl detect in the container; ls /dev/infiniband",
		Remedy: "--device /dev/infiniband, or the resource of the RDMA device plugin; memlock unlimited",
	}
}

func wrongName(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "wrong-device", Title: "UCX_TLS or UCX_NET_DEVICES names what this node doesn't have", Weight: weight,
		Clues:   clues,
		Decide:  "env | grep UCX_ against ucx_info -d; rdmactl env lint",
		Remedy:  "names as ucx_info -d prints them (mlx5_0:1, eth0), or unset both; rdmactl env prints them",
		Sources: []string{"NVIDIA/FasterTransformer#350"},
	}
}

func separateNamespaces(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "ipc-namespace", Title: "the ranks of a node are in different containers or namespaces", Weight: weight,
		Clues:  clues,
		Decide: "ls -l /proc/PID/ns/{ipc,pid,user} of both ranks",
		Remedy: "one container for all ranks of a node, or --ipc=host --pid=host (apptainer: one instance); " +
			"UCX_POSIX_USE_PROC_LINK=n, or UCX_TLS=^posix,cma,cuda_ipc",
		Sources: []string{"openucx/ucx#4224", "openucx/ucx#4511"},
	}
}

func ucxTransportSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-420", Name: "ucx-no-usable-transports",
			Title: "none of the transports that UCX was asked for is usable",
			Explanation: "UCX found none of the transports of UCX_TLS on the devices of UCX_NET_DEVICES. Either the " +
				"names are wrong on this node, or this UCX lacks the modules, or the container lacks the devices.",
			Sources: []string{
				"openucx/ucx, src/ucp/core/ucp_context.c", "openucx/ucx#7843", "openucx/ucx#9610",
				"NVIDIA/FasterTransformer#350",
			},
			Standing: evidence.Origin,
			Lines: []Line{{
				Name: "no-usable-transports", Program: UCX, All: []string{"no usable transports/devices (asked "},
				Source: "openucx/ucx, src/ucp/core/ucp_context.c",
			}},
			Causes: []Cause{
				wrongName(
					Common,
					Clue{Weight: Hint, Contains: "on network:", Text: "a device is named"},
					Clue{Weight: Strong, Seen: string(evidence.UCXNoDevice)},
				),
				noCUDA(
					Rare, Clue{Weight: Strong, Contains: "asked cuda"},
					Clue{Weight: Decisive, Seen: "ucx/transport-cuda-unavailable"},
				),
				ucxWithoutVerbs(
					Usual, Clue{Weight: Strong, Seen: "ucx/transport-ib-unavailable"},
				),
				ucxNoDevice(
					Usual, Clue{Weight: Hint, Contains: "asked rc"}, Clue{Weight: Hint, Contains: "asked ib"},
					Clue{Weight: Hint, Contains: "asked dc"}, Clue{Weight: Hint, Contains: "asked ud"},
				),
			},
		},
		{
			ID: "RDX-421", Name: "ucx-transport-unavailable",
			Title: "UCX has no transport with a name that was asked for, or none over RDMA",
			Explanation: "The line lists the transports that this UCX has here. If cuda_copy and cuda_ipc aren't " +
				"among them, GPU memory can't be registered or sent; without rc, ud and ib there is no RDMA.",
			Sources: []string{
				"openucx/ucx, src/ucp/core/ucp_context.c", "LMCache/LMCache#605", "ai-dynamo/nixl#1628",
				"openucx/ucx#7843",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				{
					Name: "transport-cuda-unavailable", Program: UCX,
					All:    []string{" not available, please use one or more of: ", "transport", "'cuda"},
					None:   []string{"device"},
					Source: "openucx/ucx, src/ucp/core/ucp_context.c", Speaks: []string{"no-cuda-support"},
				},
				{
					Name: "transport-ib-unavailable", Program: UCX,
					All:    []string{" not available, please use one or more of: ", "transport"},
					None:   []string{"device", "'gdr_copy'", "'rocm", "'xpmem'", "'knem'", ", rc,", ", ib,", " ib,"},
					Source: "openucx/ucx, src/ucp/core/ucp_context.c",
					Speaks: []string{"missing-library", "no-device-node"},
				},
				{
					Name: "transport-unavailable", Program: UCX,
					All:    []string{" not available, please use one or more of: ", "transport"},
					None:   []string{"device"},
					Source: "openucx/ucx, src/ucp/core/ucp_context.c",
				},
				source{UCX, "openucx/ucx, src/tools/info/version_info.c"}.
					says("built-without-verbs", "Configured with: ", "--without-verbs").as(evidence.Echo).
					decides("missing-library"),
			},
			Causes: []Cause{
				noCUDA(
					Rare, Clue{Weight: Hint, Contains: "'gdr_copy'"}, Clue{Weight: Hint, Contains: "'rocm"},
				),
				ucxWithoutVerbs(Usual),
				ucxNoDevice(Usual),
				wrongName(Usual),
			},
		},
		{
			ID: "RDX-434", Name: "ucx-peer-unreachable", Title: "an endpoint of UCX could not reach its peer",
			Explanation: "UCX-Py, UCXX and Dask name only the status. On nodes with several interfaces the usual " +
				"reason is that the address that was given belongs to another interface than the one UCX uses.",
			Sources: []string{"rapidsai/dask-cuda#817", "openucx/ucx, src/ucs/type/status.c"},
			Lines: []Line{
				{
					Name: "py-unreachable", Program: UCX,
					All:    []string{"called with status -6: Destination is unreachable"},
					Source: "rapidsai/ucx-py, ucp/_libs/ucx_endpoint.pyx",
				},
				{
					Name: "py-exception-unreachable", Program: UCX,
					All:    []string{"UCXUnreachable", "Destination is unreachable"},
					Source: "rapidsai/ucxx, cpp/src/utils/ucx.cpp",
				},
				{
					Name: "py-connect-timeout", Program: UCX, All: []string{"Timed out trying to connect to ucx://"},
					Source: "dask/distributed, distributed/comm/core.py", Standing: evidence.Waiting,
				},
			},
			Standing: evidence.Failed,
			Causes: []Cause{
				{
					Slug:   "interface-choice",
					Title:  "the address is of another interface than the one that UCX uses for the connection",
					Weight: Common,
					Decide: "ip -br addr on both nodes, against the address in the log and UCX_NET_DEVICES",
					Remedy: "name the interface: --interface of dask-scheduler and the workers, UCX_NET_DEVICES " +
						"with the card of the same network",
					Sources: []string{"rapidsai/dask-cuda#817"},
				},
				{
					Slug: "environment-differs", Title: "UCX_TLS or UCX_NET_DEVICES differ between the two sides",
					Weight: Usual, Decide: "ucx_info -c on both nodes; rdmactl env lint",
					Remedy: "the same settings for scheduler, workers and clients",
				},
				noListener(Usual),
				{
					Slug: "firewall", Title: "a firewall drops the connection", Weight: Rare,
					Decide: "nc -vz ADDRESS PORT from the other node", Remedy: "open the ports between the nodes",
				},
			},
		},
	}
}

func noListener(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug:   "nobody-listens",
		Title:  "nothing listens at that address and port: the server isn't started, has ended, or listens elsewhere",
		Weight: weight, Clues: clues,
		Decide:  "ss -ltnp on the peer; which host the address belongs to",
		Remedy:  "start the server first; the address and port that it prints",
		Sources: []string{"rapidsai/ucx-py#637"},
	}
}
