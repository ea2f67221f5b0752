package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

//nolint:funlen // a table
func ncclInternalSymptoms() []Symptom {
	return []Symptom{
		{
			ID: "RDX-704", Name: "proxy-lists", Title: "NCCL's proxy threads lost track of their work",
			Explanation: "Each rank has threads that move data and set up connections for others. Their lists and " +
				"answers don't fit: another rank ended in between, or the release has a defect.",
			Sources:  []string{"NVIDIA/nccl, src/proxy.cc"},
			Standing: evidence.Vague,
			Lines: []Line{
				nccl("proxy-response", "proxy.cc", "response ", " opId=0x").warning().any("size for", "already",
					"match"),
				nccl("proxy-opid", "proxy.cc", "Couldn't find opId="),
				nccl("proxy-dequeue", "proxy.cc", "Attempting to dequeue n"),
				nccl("proxy-pool", "proxy.cc", "Could not find pool of op"),
				nccl("proxy-loop", "proxy.cc", "ist loop at element"),
				nccl("proxy-lost", "proxy.cc", "Element ", " of pool ", " has been lost"),
				nccl("proxy-next", "proxy.cc", "Inactive op has next set"),
				nccl("proxy-append", "proxy.cc", "Proxy append "),
				nccl("proxy-kind", "proxy.cc", "P2p operation is neither send or recv"),
				nccl("proxy-bounds", "proxy.cc", "ncclProxyConnect: ", " out of bounds"),
				nccl("proxy-uds", "proxy.cc", "[Proxy Service UDS] "),
				nccl("proxy-sock", "proxy.cc", "[Service thread] ", " fails").any("peers["),
				nccl("proxy-listen", "proxy.cc", "[Proxy Service] ").any("Get listenSock fd fails",
					"proxyDestroy failed"),
				nccl("coll-net-sizes", "transport/coll_net.cc", "ProxyConnect: re").any("reqSize is", "respSize is"),
				nccl("proxy-fd", "proxy.cc", "ncclProxyClientGetFd call to rank", "failed"),
			},
			Causes: []Cause{
				{
					Slug: "dead-peer", Title: "another rank of the node ended or was aborted before", Weight: Usual,
					Decide: "the first failure in the logs of all ranks", Remedy: "what ended it",
				},
				{
					Slug: "version-mismatch", Title: "ranks run different copies of the library", Weight: Usual,
					Decide: "the version lines of all ranks; grep libnccl /proc/PID/maps", Remedy: "one version",
				},
				{
					Slug: "library-defect", Title: "a defect of this release of NCCL", Weight: Usual,
					Decide: "the same with another release", Remedy: "the last patch release of the series",
				},
			},
		},
		{
			ID: "RDX-705", Name: "socket-state", Title: "a connection of NCCL was used before it was ready, or " +
				"after its end",
			Explanation: "The connection was never made, or was closed: mostly a consequence of what failed before.",
			Sources:     []string{"NVIDIA/nccl, src/misc/socket.cc"},
			Standing:    evidence.Echo,
			Lines: []Line{
				nccl("socket-null", ncclSocketFile, ": pass NULL socket"),
				nccl("socket-not-ready", ncclSocketFile, "ncclSocket", " is not ready").any("socket state ("),
				nccl("socket-wrong-state", ncclSocketFile, "ncclSocket", "socket state ").any(": wrong",
					": unexpected"),
				nccl("socket-descriptor", ncclSocketFile, "ncclSocket", ": file descriptor is -1"),
				nccl("socket-invalid", ncclSocketFile, "ncclSocket", "socket is invalid"),
				nccl("socket-test", "transport/net_socket.cc", "NET/Socket : test called with NULL request"),
				nccl("ib-connected", "transport/net_ib/connect.cc", "trying to connect already connected sendComm"),
				nccl("ib-listen-state", "transport/net_ib/connect.cc", "Listencomm in unknown state"),
			},
			Causes: []Cause{
				{
					Slug: "dead-peer", Title: "the other end or an earlier step failed before", Weight: Usual,
					Decide: "the first failure in the logs of all ranks", Remedy: "what failed there",
				},
				{
					Slug: "library-defect", Title: "a defect of this release of NCCL", Weight: Rare,
					Decide: "the same with another release", Remedy: "the last patch release",
				},
			},
		},
		{
			ID: "RDX-706", Name: "graph-search", Title: "NCCL's search for rings and trees failed on this machine",
			Explanation: "The graph of GPUs and cards that NCCL built doesn't have what the search expects.",
			Sources:     []string{"NVIDIA/nccl, src/graph/paths.cc", "NVIDIA/nccl, src/graph/connect.cc"},
			Lines: []Line{
				nccl("intermediate-gpu", "graph/paths.cc", "Could not find intermediate GPU between"),
				nccl("graph-id", "graph/paths.cc", "Could not find id ").warning(),
				nccl("tree-children", "graph/connect.cc", "Internal error : tree already has"),
				nccl("gpu-local", "graph/topo.cc", "Could not find local GPU with rank"),
				nccl("rank-index", "graph/topo.h", "ncclTopo", " could not find rank"),
				nccl("device-nodes", "graph/topo.cc", "ncclTopoGet", "too many DEV nodes"),
				nccl("found-nodes", "graph/topo.cc", "ran out of room to store found nodes"),
				nccl("xml-value", "graph/xml.cc", "Error : ", " too long (max ").any("value ", "name "),
				nccl("cpu-unknown", "graph/xml.cc", "Unknown CPU architecture"),
				nccl("net-child", "graph/topo.cc", "TOPO/NET : ").warning(),
				nccl("net-devices", "graph/topo.cc", "Invalid number of network devices"),
				nccl("group-creation", "init.cc", "Group creation failed:").warning(),
				nccl("local-divider", "init.cc", "should be a diviser of the number of ranks in node"),
				nccl("p2p-schedule", "init.cc", "P2p schedule creation has bugs"),
				nccl("merged-devices", "transport/net_ib.cc",
					"has a different number of devices=").speaks("devices-differ"),
			},
			Causes: []Cause{
				{
					Slug: "topology-defect", Title: "this release of the library doesn't know such a machine",
					Weight: Usual,
					Decide: "NCCL_TOPO_DUMP_FILE=topo.xml; a newer release", Remedy: "a newer NCCL or RCCL",
				},
				topologyView(Usual),
				devicesDiffer(),
				launcherRanks(Rare, Clue{Weight: Hint, Line: "local-divider"}, Clue{Weight: Hint, Line: "rank-index"}),
				topologyFile(Rare, Clue{Weight: Hint, Line: "xml-value"}),
			},
		},
		{
			ID: "RDX-707", Name: "driver-functions", Title: "the GPU's driver lacks functions that NCCL looks for",
			Explanation: "NCCL asks the driver for its functions by name and version.",
			Sources:     []string{"NVIDIA/nccl, src/misc/cudawrap.cc", "NVIDIA/nccl, src/misc/nvmlwrap.cc"},
			Lines: []Line{
				nccl("cuda-retrieve", "misc/cudawrap.cc", "Retrieve ", " failed with ").warning(),
				nccl("driver-version", "misc/cudawrap.cc", "cuDriverGetVersion failed with"),
				nccl("hsa-retrieve", "", "pfn_hsa_system_get_info failed with").from("ROCm/rccl, src/misc/rocmwrap.cc"),
				nccl("nvml-call", "misc/nvmlwrap.cc", "nvmlDeviceGet", "failed: ").warning(),
				nccl("nvml-failure", "include/nvmlwrap.h", "NVML failure '"),
				nccl("nvml-maximum", "misc/nvmlwrap.cc", "reported more devices (", "than the internal maximum"),
			},
			Causes: []Cause{
				{
					Slug: "driver-too-old", Title: "the GPU's driver is older than this NCCL needs", Weight: Usual,
					Decide: "nvidia-smi: driver and CUDA version, against NCCL's version line",
					Remedy: "a newer driver, or the " +
						"NCCL of the driver's CUDA release",
				},
				{
					Slug: "driver-mismatch", Title: "the driver's libraries don't fit its kernel module", Weight: Usual,
					Clues:  []Clue{{Weight: Strong, Contains: "mismatch"}},
					Decide: "nvidia-smi; cat /proc/driver/nvidia/version",
					Remedy: "reboot after an update of the driver",
				},
				{
					Slug: "gpu-hardware", Title: "a GPU is lost or in an error state", Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Line: "nvml-call"}, {Weight: Strong, Contains: "Unknown Error"}},
					Decide: "dmesg | grep -i xid; nvidia-smi", Remedy: "reset the GPU, or reboot",
				},
			},
		},
		{
			ID: "RDX-708", Name: "local-device", Title: "a rank asks for a GPU that the process doesn't have",
			Explanation: "The device number is larger than the number of visible GPUs.",
			Sources:     []string{"NVIDIA/nccl, src/init.cc"},
			Standing:    evidence.Origin,
			Lines: []Line{
				nccl("device-total", "init.cc", "Invalid device ", "(totalnDev=").speaks("local-rank"),
				nccl("init-usage", "init.cc", "improper usage of ncclCommInitRank"),
			},
			Causes: []Cause{
				{
					Slug: "local-rank", Title: "more ranks on the node than GPUs, or a wrong local rank",
					Weight: Common,
					Decide: "nvidia-smi -L and CUDA_VISIBLE_DEVICES in the rank; ranks per node",
					Remedy: "as many ranks on each node as it has GPUs; the device from the local rank",
				},
				programUsage(Rare, "the program calls NCCL with wrong arguments", "the call's arguments", "the program",
					Clue{Weight: Strong, Line: "init-usage"}),
			},
		},
		{
			ID: "RDX-709", Name: "settings-adjusted",
			Title:       "NCCL doesn't follow a setting, and goes on: no fault by itself",
			Explanation: "The value is out of range, or doesn't fit the machine. The lines are of jobs that work.",
			Sources:     []string{"NVIDIA/nccl, src/graph/connect.cc", "NVIDIA/nccl, src/init.cc"},
			Standing:    evidence.Harmless,
			Lines: []Line{
				nccl("channels-limit", "graph/connect.cc", "User asked for a m", " channels, "),
				nccl("ctas-limit", "init.cc", "is larger than", "CTAs ").warning(),
				nccl("fifo-power", "init.cc", "NCCL_WORK_FIFO_", "is being ignored because it is not a power of 2"),
				nccl("cga-size", "init.cc", "NCCL_CGA_CLUSTER_SIZE value", "is too big"),
				nccl("split-share", "init.cc", "splitShare ", "is not a valid value 0/1, set it to"),
				nccl("collnet-gpus", "init.cc", "CollNet currently only supports up to"),
				nccl("simple-order", "graph/search.cc", "Could not find a path for pattern",
					"falling back to simple order"),
				nccl("not-dumping", "graph/xml.cc", "Unable to open ", "not dumping"),
				nccl("nvml-skip", "graph/xml.cc", "No NVML device handle. Skipping nvlink detection"),
				nccl("nvml-none", "graph/xml.cc", "No NVML, trying to use CUDA instead"),
				nccl("socket-threads", "transport/net_socket.cc", "is greater than the maximum allowed, setting"),
				nccl("shm-locality", "transport/shm.cc", "Ignoring SHM locality"),
				nccl("ip-ignored", "transport/net_ib.cc", "is invalid for family", "ignoring"),
				nccl("merge-policy", "graph/topo.cc", "NCCL_NET_MERGE_POLICY: unknown value"),
				nccl("threads-multiple", "graph/tuning.cc", "Invalid ", "(m").warning().
					any("(must be a multiple of", "(maximum ", "(minimum "),
				nccl("profiler-continue", "plugin/profiler.cc", "Continue without profiler"),
				nccl("flush-arch", "transport/coll_net.cc", "NET: GDR Flush only supported on"),
				nccl("flid", "transport/net_ib/connect.cc", "remote FLID configured as zero"),
				nccl("unpack-version", "plugin/net.cc", "NCCL_DEVICE_UNPACK plugin has incompatible version"),
				nccl("oob-ignored", "bootstrap.cc", "no device found matching NCCL_OOB_NET_IFNAME", "ignoring"),
				nccl("cc-multi", "init.cc", "CC On, Multi-GPU CC Off"),
				nccl("affinity-call", "os/linux.cc", "etaffinity failed with error", "sched_"),
				rcclLine("min-channels", "graph/connect.cc", "NCCL_MIN_NCHANNELS set by environment is ignored"),
				rcclLine("mscclpp-off", "init.cc", "MSCCL++: ").any("Cannot enable", "Feature not enabled"),
				rcclLine("msccl-channels", "misc/msccl/msccl_lifecycle.cc",
					"is lesser than number of channels required by MSCCL"),
			},
		},
	}
}
