package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

const (
	sharpSource     = "Mellanox/nccl-rdma-sharp-plugins, src/sharp_plugin.c"
	ucxPluginSource = "Mellanox/nccl-rdma-sharp-plugins, src/ucx_plugin.c"
)

func ncclPluginSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-348", Name: "sharp", Title: "SHARP, the aggregation in the switches, could not be used",
			Explanation: "NCCL's CollNet needs the aggregation manager beside the subnet manager, switches with " +
				"SHARP, and free trees. Without it NCCL goes on point to point.",
			Sources: []string{
				sharpSource, "NVIDIA/nccl#1219", "NVIDIA/nccl#1460", "Mellanox/nccl-rdma-sharp-plugins#151",
			},
			Lines: []Line{
				nccl("sharp-init", "", "SHARP coll init error: ").from(sharpSource),
				nccl("sharp-group", "", "SHARP group create: ").from(sharpSource),
				nccl("sharp-caps", "", "sharp_coll_caps_query failed").from(sharpSource),
				nccl("sharp-register", "", "SHARP regmr failed").from(sharpSource),
				nccl("sharp-allreduce", "", "SHARP allreduce failed").from(sharpSource),
				nccl("sharp-allgather", "", "SHARP Allgather failed").from(sharpSource),
				nccl("sharp-reduce-scatter", "", "SHARP reduce_scat", " failed").from(sharpSource),
				nccl("sharp-request", "", "SHARP : unable to allocate request").from(sharpSource),
				nccl(
					"collnet-none",
					"transport.cc",
					"Cannot initialize CollNet, using point-to-point network instead",
				).
					as(evidence.Vague),
				nccl(
					"collnet-ignored",
					"graph/tuning.cc",
					"CollNet is not supported or fails to initialize, ignoring",
				).
					as(evidence.Vague),
				nccl("collnet-share", "transport/coll_net.cc", "sharp resources", "Child comms (nRanks"),
				nccl("sharp-port", "", "ERROR collect_ports_data: ").from("sharp library, NVIDIA/nccl#1219"),
				nccl("sharp-tree", "", "ERROR Failed to lock SAT tree").
					from("sharp library, Mellanox/nccl-rdma-sharp-plugins#151"),
				nccl("sharp-job", "", "ERROR Job error in sharp_get_job_data_len").
					from("sharp library, NVIDIA/nccl#1460"),
			},
			Causes: []Cause{
				{
					Slug:   "sharp",
					Title:  "the aggregation manager (sharp_am) doesn't run, is full, or the fabric has no SHARP",
					Weight: Common,
					Clues: []Clue{
						{Weight: Strong, Contains: "SHArP Daemon"},
						{Weight: Strong, Contains: "Cannot create SHARP job"},
						{Weight: Strong, Contains: "No resource"},
						{Weight: Hint, Contains: "Tree lock"},
					},
					Decide: "sharp_hello; systemctl status sharp_am on the subnet manager's node; its log; " +
						"sharp_cmd jobs",
					Remedy: "sharp_am beside the subnet manager, its limits (max_tree_radix, reservations); " +
						"NCCL_COLLNET_ENABLE=0 to do without",
				},
				{
					Slug:   "sharp-port",
					Title:  "the port can't be used: that of the subnet manager, or several GPUs per node",
					Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Line: "sharp-port"}},
					Decide: "ibstat; which node runs opensm",
					Remedy: "NCCL_IB_HCA with the other ports; the subnet manager on a node of its own",
				},
				{
					Slug:  "setting-invalid",
					Title: "CollNet is demanded (NCCL_ALGO, NCCL_COLLNET_ENABLE) where it can't be", Weight: Rare,
					Clues: []Clue{
						{Weight: Hint, Line: "collnet-ignored"},
						{Weight: Hint, Variable: "NCCL_COLLNET_ENABLE", Values: []string{"1"}},
					},
					Decide: "env | grep -e NCCL_ALGO -e COLLNET", Remedy: "unset them",
				},
			},
		},
		{
			ID: "RDX-343", Name: "ucx-plugin", Title: "the UCX plugin of NCCL failed",
			Explanation: "The plugin of HPC-X uses UCX below NCCL if NCCL_PLUGIN_P2P says so; UCX's own messages " +
				"name the cause.",
			Sources: []string{ucxPluginSource},
			Lines: []Line{
				nccl("ucx-error", "", "Failed: UCX error ").from(ucxPluginSource),
				nccl("ucx-tls", "", "Cannot use cuda/gdr transports as part of specified UCX_TLS").
					from(ucxPluginSource),
				nccl("ucx-isend", "", "ucx_isend: unable to send message").warning().from(ucxPluginSource),
				nccl("ucx-irecv", "", "ucx_irecv: unable to post receive").warning().from(ucxPluginSource),
				nccl("ucx-connect", "", "Unable to receive connect msg").warning().from(ucxPluginSource),
				nccl("ucx-iface", "", "Failed to open iface for tl_name=").warning().
					from("Mellanox/nccl-rdma-sharp-plugins, src/ucx_uct_lib.c"),
			},
			Causes: []Cause{
				{
					Slug: "external-plugin", Title: "the plugin uses UCX, with settings of its own", Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Variable: "NCCL_PLUGIN_P2P"}},
					Decide: "NCCL_PLUGIN_P2P=ib to test; UCX_LOG_LEVEL=info",
					Remedy: "NCCL_PLUGIN_P2P=ib; no UCX_TLS with cuda or gdr transports",
				},
				{
					Slug: "setting-invalid", Title: "UCX_TLS or UCX_NET_DEVICES doesn't fit", Weight: Usual,
					Clues:  []Clue{{Weight: Strong, Line: "ucx-tls"}, {Weight: Hint, Variable: "UCX_TLS"}},
					Decide: "env | grep UCX_; rdmactl env lint", Remedy: "unset them",
				},
				{
					Slug: "dead-peer", Title: "the peer has ended", Weight: Usual,
					Decide: "the peer's log", Remedy: "what ended it",
				},
			},
		},
		{
			ID: "RDX-904", Name: "net-plugin-load", Title: "a network plugin of NCCL is there, but can't be loaded",
			Explanation: "NCCL goes on with its own network, InfiniBand or sockets: on EFA that is TCP. That there " +
				"is no plugin at all is usual, and has another text.",
			Sources: []string{"NVIDIA/nccl, src/plugin/plugin_open.cc", "dlopen(3)"},
			Lines: []Line{
				nccl("plugin-version", "plugin/plugin_open.cc", "' not found (required by ", "dlerror=").
					speaks("library-too-old"),
				nccl("plugin-symbol", "plugin/plugin_open.cc", "undefined symbol: ", "dlerror=").
					speaks("library-conflict"),
			},
			Causes: []Cause{
				{
					Slug:   "library-too-old",
					Title:  "a library that the plugin needs (libfabric, the C library) is older than at its build",
					Weight: Common,
					Decide: "ldd of libnccl-net.so; fi_info --version; which libfabric is in LD_LIBRARY_PATH",
					Remedy: "a plugin of the same EFA installer or image as libfabric, or a newer libfabric",
				},
				{
					Slug: "library-conflict", Title: "libraries of another release are found first", Weight: Usual,
					Decide: "LD_DEBUG=libs PROGRAM; plugins of conda and of the system",
					Remedy: "one plugin, with its own libraries first in LD_LIBRARY_PATH",
				},
			},
		},
		{
			ID:    "RDX-346",
			Name:  "google-plugin",
			Title: "a network plugin of Google Cloud (gIB, FasTrak, TCPX, FastSocket) failed",
			Explanation: "These plugins need the receive datapath manager (RxDM) beside the job, their own shim of " +
				"settings, and interfaces of the node.",
			Sources: []string{
				"Google Cloud, GPUDirect-TCPXO for GKE",
				"google/nccl-fastsocket#4",
				"NVIDIA/aicr#1647",
			},
			Lines: []Line{
				nccl("fastrak", "", "NET/FasTrak").warning().from("Google Cloud, GPUDirect-TCPXO"),
				nccl("tcpx", "", "NET/GPUDirectTCPX").warning().from("Google Cloud, GPUDirect-TCPX"),
				nccl("gib", "", "NET/gIB ").warning().from("Google Cloud, gIB"),
				nccl("shim", "", "NCCL/NET (shim) mismatch").as(evidence.Vague).from("Google Cloud, GPUDirect-TCPXO"),
			},
			Causes: []Cause{
				{
					Slug:  "external-plugin",
					Title: "the plugin isn't set up: RxDM sidecar, its release, or its settings", Weight: Common,
					Decide: "the log of the tcpgpudmarxd or RxDM container; the release of the plugin's installer; " +
						"nccl-env-profile.sh",
					Remedy: "plugin and RxDM of the same release, the settings of nccl-env-profile.sh, " +
						"/dev/aperture_devices and the node's interfaces in the pod",
				},
				{
					Slug:   "no-rail-interface",
					Title:  "the pod lacks the interfaces of the GPU network",
					Weight: Usual,
					Decide: "ip -br address in the pod; networking.gke.io/interfaces",
					Remedy: "the multi-network annotations of the pod",
				},
			},
		},
	}
}
