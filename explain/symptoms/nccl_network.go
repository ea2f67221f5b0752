package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

const ncclIBSource = "NVIDIA/nccl, src/transport/net_ib"

func ncclLimitSymptoms() []Symptom {
	return []Symptom{
		{
			ID: "RDX-336", Name: "process-limit", Title: "the process may not open more files or start more threads",
			Explanation: "Each connection of NCCL takes descriptors, and each rank some threads. The limits of " +
				"services and containers are often low.",
			Sources:  []string{"NVIDIA/nccl, src/include/checks.h", "NVIDIA/nccl, src/os/linux.cc"},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("files", "include/checks.h", "Too many open files").warning().decides("file-limit"),
				nccl("files-accept", "misc/socket.cc", "ocketTryAccept: Accept failed: Too many open files").
					decides("file-limit"),
				nccl("thread", "include/checks.h", "Thread creation failed: ").warning(),
				nccl("pthread", "include/checks.h", "Call to pthread_create failed").warning(),
				nccl("proxy-connections", "proxy.cc", "[Proxy service] Too many connections"),
			},
			Causes: []Cause{
				{
					Slug: "process-limit", Title: "the limit of threads or processes is too low", Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Field: "errno", Is: []string{"11"}},
						{Weight: Hint, Line: "thread"},
						{Weight: Hint, Line: "pthread"},
					},
					Decide: "ulimit -u in the job; cat /sys/fs/cgroup/pids.max",
					Remedy: "a higher pids limit of the pod or ulimit -u; OMP_NUM_THREADS=1",
				},
				fileLimit(Common, onErrno(Decisive, "", "24", "23"), onErrno(-Usual, "", "11")),
				{
					Slug: "host-memory", Title: "the container's cgroup has no memory left", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Field: "errno", Is: []string{"12"}}},
					Decide: "cat /sys/fs/cgroup/memory.events", Remedy: "a higher memory limit",
				},
			},
		},
		{
			ID: "RDX-337", Name: "listen", Title: "NCCL could not listen on its address",
			Explanation: "Each rank listens on an address of the chosen interface; NCCL_COMM_ID's address is for " +
				"rank 0 only.",
			Sources:  []string{"NVIDIA/nccl, src/misc/socket.cc", "NVIDIA/nccl, src/bootstrap.cc"},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("bind", "misc/socket.cc", "Call to bind failed").warning().not("ras/"),
				nccl("listen", "misc/socket.cc", "Call to listen failed").warning(),
				nccl("interfaces", "misc/socket.cc", "Call to getifaddrs failed").warning(),
			},
			Causes: []Cause{
				{
					Slug:   "port-in-use",
					Title:  "the port is taken, or the node has no free ports left (many connections or communicators)",
					Weight: Usual,
					Clues:  []Clue{{Weight: Decisive, Field: "errno", Is: []string{"98"}}},
					Decide: "ss -tlnp",
					Remedy: "end the other process; a wider net.ipv4.ip_local_port_range, PXN on, process groups " +
						"made once",
				},
				{
					Slug:   "interface-choice",
					Title:  "the interface has an address that can't be bound: link-local IPv6, or of another host",
					Weight: Usual,
					Clues: []Clue{
						{
							Weight: Strong, Field: "errno", Is: []string{"99"},
							Text: "the address can't be bound on this host",
						},
					},
					Decide:  "the line \"Bootstrap : Using\" against ip -br address",
					Remedy:  "NCCL_SOCKET_IFNAME with an interface with a routable address; NCCL_SOCKET_FAMILY=AF_INET",
					Sources: []string{"rwth-i6/returnn#1470"},
				},
				launcherRanks(Rare, Clue{Weight: Hint, Field: "errno", Is: []string{"99"}}),
				{
					Slug: "not-privileged", Title: "the sandbox forbids it", Weight: Rare,
					Clues:  []Clue{{Weight: Decisive, Field: "errno", Is: []string{"1", "13"}}},
					Decide: "the container's seccomp profile", Remedy: "a profile that allows sockets",
				},
				fileLimit(Common, onErrno(Decisive, "", "24", "23"), onErrno(-Usual, "", "11")),
			},
		},
	}
}

//nolint:funlen // a table
func ncclNetworkSymptoms() []Symptom {
	return []Symptom{
		{
			ID:    "RDX-344",
			Name:  "port-resiliency",
			Title: "a port failed, and NCCL could not move the traffic",
			Explanation: "Since 2.29.7 NCCL can go on without one failed port of several. These lines follow from a " +
				"failed connection.",
			Sources: []string{ncclIBSource + "/p2p_resiliency.cc"},
			Lines: []Line{
				nccl("resiliency-devices", "transport/net_ib/p2p_resiliency.cc", "NET/IB: Fatal error. Detected ",
					"failed devices"),
				nccl("resiliency-fatal", "transport/net_ib/p2p_resiliency.cc", "NET/IB: The error is fatal ("),
				nccl(
					"resiliency-probes",
					"transport/net_ib/p2p_resiliency.cc",
					"Maximum number of probing attempts (",
				),
				nccl("resiliency-no-device", "transport/net_ib/p2p_resiliency.cc",
					"Could not find a functional device to post the probe"),
				nccl("resiliency-replace", "transport/net_ib/p2p_resiliency.cc",
					"Could not find a replacement QP for the failed QP"),
				nccl("resiliency-marked", "transport/net_ib/p2p_resiliency.cc",
					" marked as failed. Initiating recovery"),
			},
			Causes: []Cause{
				{
					Slug: "link-flap", Title: "a link went down", Weight: Common,
					Clues: []Clue{
						{
							Weight: Strong, Seen: "nccl.async", SeenField: "event", SeenIs: []string{"port error"},
							Text: "the port reported an error",
						},
						{
							Weight: Strong, Seen: "kernel.link", SeenField: "state", SeenIs: []string{"down"},
							Text: "the kernel saw the link go down",
						},
					},
					Decide: "rdmactl doctor; dmesg -T; the switch's log", Remedy: "repair the link",
				},
				{
					Slug: "dead-peer", Title: "the peer's process or node is gone", Weight: Usual,
					Decide: "the peer's log", Remedy: "what ended it",
				},
				{
					Slug: "bad-nic", Title: "a network card or its port is faulty", Weight: Rare,
					Decide: "rdmactl doctor on both nodes", Remedy: "replace card or cable",
				},
			},
		},
		{
			ID: "RDX-345", Name: "ib-internal",
			Title: "NCCL's InfiniBand transport lost track of its requests or devices",
			Explanation: "The library's own bookkeeping doesn't fit: a defect of the release, a plugin of another " +
				"release, or memory that the program overwrote.",
			Sources: []string{
				ncclIBSource + "/p2p.cc",
				ncclIBSource + "/reg.cc",
				ncclIBSource + "/connect.cc",
				ncclIBSource + ".cc",
			},
			Lines: []Line{
				nccl("rem-allocator", "bootstrap.cc", "[Rem Allocator] Allocation failed").as(evidence.Vague),
				nccl("ib-requests", "transport/net_ib/p2p.cc", "NET/IB : unable to allocate requests"),
				nccl("ib-events", "transport/net_ib/p2p.cc", "NET/IB: sendReq("),
				nccl("ib-not-ready-send", "transport/net_ib/p2p.cc", "NET/IB: ncclIbIsend() called when"),
				nccl("ib-not-ready-receive", "transport/net_ib/p2p.cc", "NET/IB: ncclIbIrecv() called when"),
				nccl("ib-unknown", "transport/net_ib/p2p.cc", "NET/IB: Unknown completion ("),
				nccl("ib-request-send", "transport/net_ib/p2p.cc", "NET/IB: Sender expected a 'send' request"),
				nccl("ib-request-receive", "transport/net_ib/p2p.cc", "NET/IB: Receiver expected a 'recv' request"),
				nccl("ib-retrieve", "transport/net_ib/p2p.cc", "a request found for a successful completion"),
				nccl("ib-index", "transport/net_ib/p2p.h", "NET/IB: Invalid request index"),
				nccl("ib-mr", "transport/net_ib/reg.cc", "NET/IB: could not find mr "),
				nccl("ib-virtual", "transport/net_ib/connect.cc", "NET/IB : Trying to use non-exist").
					any("virtual device"),
				nccl("ib-properties", "transport/net_ib/init.cc", "NET/IB : Requested properties for "),
				nccl("ib-zero", "transport/net_ib/init.cc", "Can't make virtual NIC with 0 devices"),
				nccl("ib-physical", "transport/net_ib/init.cc", "NET/IB : Cannot use physical device"),
				nccl("ib-poll", "include/ibvwrap.h", "ibv_poll_cq() returned -"),
				nccl("ib-mlx5-qp", "transport/net_ib/connect.cc", "mlx5dv_create_qp failed to create QP"),
				nccl("ib-mlx5", "misc/mlx5dvwrap.cc", "NET/MLX5: Call to ").warning(),
				nccl("socket-requests", "transport/net_socket.cc", "NET/Socket : unable to allocate "),
				nccl("socket-progress", "transport/net_socket.cc", "NET/Socket : socket progress error"),
			},
			Causes: []Cause{
				{
					Slug: "library-defect", Title: "a defect of this release of NCCL or of its plugin", Weight: Usual,
					Decide: "the same with another release; NCCL_NET_PLUGIN=none",
					Remedy: "the last patch release of the series",
				},
				{
					Slug: "external-plugin", Title: "the network plugin doesn't fit this NCCL", Weight: Rare,
					Clues: []Clue{
						{
							Weight: Hint, Seen: "nccl.plugin", SeenField: "state", SeenIs: []string{"loaded"},
							Text: "a plugin is loaded",
						},
					},
					Decide: "NCCL_NET_PLUGIN=none to test", Remedy: "a plugin of the same time as NCCL",
				},
				{
					Slug: "dead-peer", Title: "the connection had failed before", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Line: "socket-progress"}},
					Decide: "the first failure of all ranks", Remedy: "what failed there",
				},
				{
					Slug: "resource-limit", Title: "the card or driver refuses more queue pairs", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Line: "ib-mlx5-qp"}, {Weight: Strong, Line: "ib-mlx5"}},
					Decide: "rdma resource show; dmesg for mlx5",
					Remedy: "fewer connections (NCCL_IB_QPS_PER_CONNECTION=1), newer firmware",
				},
			},
		},
		{
			ID: "RDX-347", Name: "gdrcopy", Title: "GDRCopy doesn't work",
			Explanation: "With NCCL_GDRCOPY_ENABLE=1, and in some plugins, the CPU maps GPU memory through the " +
				"gdrdrv module.",
			Sources: []string{"NVIDIA/nccl, src/misc/gdrwrap.cc", "aws/aws-ofi-nccl, src/nccl_ofi_gdrcopy.cpp"},
			Lines: []Line{
				nccl("gdr-failure", "include/gdrwrap.h", "GDRCOPY failure "),
				nccl("gdr-pin", "misc/gdrwrap.cc", "gdr_pin_buffer").warning(),
				nccl("gdr-map", "misc/gdrwrap.cc", "gdr_map(handle").warning(),
				nccl("gdr-wrapper", "misc/gdrwrap.cc", "GDRCOPY lib wrapper not initialized"),
				nccl("gdr-open", "misc/gdrwrap.cc", "Failed to open libgdrapi.so").warning(),
				nccl("gdr-symbols", "misc/gdrwrap.cc", "Failed to resolve libgdrapi.so symbol"),
			},
			Causes: []Cause{
				{
					Slug: "gdrcopy",
					Title: "the module gdrdrv isn't loaded, not visible in the container, or of another release " +
						"than the library",
					Weight: Common,
					Decide: "lsmod | grep gdrdrv; ls -l /dev/gdrdrv in the container; gdrcopy_sanity",
					Remedy: "load gdrdrv and pass /dev/gdrdrv, the same release as libgdrapi; or NCCL_GDRCOPY_ENABLE=0",
				},
				{
					Slug: "gpu-memory", Title: "BAR1 has no room", Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Line: "gdr-pin"}},
					Decide: "nvidia-smi -q -d MEMORY: BAR1", Remedy: "large BAR; fewer buffers",
				},
			},
		},
	}
}
