package symptoms

import (
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

func mooncakeSymptoms() []Symptom {
	return slices.Concat(mooncakeDeviceSymptoms(), mooncakePeerSymptoms(), mooncakeStoreSymptoms())
}

// Source files of Mooncake.
var (
	mooncakeContext   = source{Mooncake, "kvcache-ai/Mooncake, transport/rdma_transport/rdma_context.cpp"}
	mooncakeTransport = source{Mooncake, "kvcache-ai/Mooncake, transport/rdma_transport/rdma_transport.cpp"}
	mooncakeEndpoint  = source{Mooncake, "kvcache-ai/Mooncake, transport/rdma_transport/rdma_endpoint.cpp"}
	mooncakeWorker    = source{Mooncake, "kvcache-ai/Mooncake, transport/rdma_transport/worker_pool.cpp"}
	mooncakeEngine    = source{Mooncake, "kvcache-ai/Mooncake, mooncake-transfer-engine/src/transfer_engine_impl.cpp"}
	mooncakeTopology  = source{Mooncake, "kvcache-ai/Mooncake, mooncake-transfer-engine/src/topology.cpp"}
	mooncakePlugin    = source{Mooncake, "kvcache-ai/Mooncake, " +
		"mooncake-transfer-engine/src/transfer_metadata_plugin.cpp"}
	mooncakeMetadata = source{Mooncake, "kvcache-ai/Mooncake, mooncake-transfer-engine/src/transfer_metadata.cpp"}
	mooncakeTCP      = source{Mooncake, "kvcache-ai/Mooncake, transport/tcp_transport/tcp_transport.cpp"}
	mooncakeNVLink   = source{Mooncake, "kvcache-ai/Mooncake, transport/nvlink_transport/nvlink_transport.cpp"}
	mooncakeClient   = source{Mooncake, "kvcache-ai/Mooncake, mooncake-store/src/client_service.cpp"}
	mooncakeReal     = source{Mooncake, "kvcache-ai/Mooncake, mooncake-store/src/real_client.cpp"}
	mooncakeMaster   = source{Mooncake, "kvcache-ai/Mooncake, mooncake-store/src/master_client.cpp"}
)

func mooncakeDevices(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "wrong-device", Title: "a device is named that this node or pod doesn't have", Weight: weight,
		Clues:  clues,
		Decide: "rdmactl detect in the container, against device_name and --disaggregation-ib-device",
		Remedy: "the names of this node's devices in device_name, --disaggregation-ib-device or the NIC priority " +
			"matrix",
	}
}

func mooncakeDeviceSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-450", Name: "mooncake-gid", Title: "Mooncake found no usable GID on a port",
			Explanation: "Mooncake takes the first RoCE v2 GID with an address, or the index of MC_GID_INDEX. " +
				"Releases before March 2026 accept only GIDs with IPv4 and complain about each empty entry of the " +
				"table.",
			Sources:  []string{"kvcache-ai/Mooncake#1592", "kvcache-ai/Mooncake#1597", "kvcache-ai/Mooncake#53"},
			Standing: evidence.Failed,
			Lines: []Line{
				mooncakeContext.says("gid-null", "GID is NULL, please check your GID index").speaks("gid-empty"),
				mooncakeContext.says("gid-none", "No suitable GID found on ", ".cpp:").with("device", "found on "),
				mooncakeContext.says("gid-none-refresh", "No suitable GID found while refreshing ").
					with("device", "refreshing ").speaks("gid-moved"),
				mooncakeContext.says("gid-query", "Failed to query GID ", ".cpp:").
					with("gidIndex", "query GID ").
					as(evidence.Vague),
				mooncakeContext.says("gid-unavailable", "not available: ", "Device ", " GID ").
					with("device", "Device ").with("gidIndex", " GID ").speaks("gid-index"),
				mooncakeContext.says("gid-foreign", "has no associated network device", "GID index ").
					speaks("foreign-device"),
				mooncakeEndpoint.says("gid-peer", "[Handshake] Invalid peer GID: "),
			},
			Causes: []Cause{
				{
					Slug:   "gid-index",
					Title:  "the GID index doesn't fit the port, or the port has no RoCE v2 GID with IPv4",
					Weight: Common, Clues: []Clue{{Weight: Strong, Variable: "MC_GID_INDEX"}},
					Decide:  "rdmactl show DEVICE: the table; rdmactl doctor --only gid-routable,gid-index",
					Remedy:  "MC_GID_INDEX with the index of the RoCE v2 GID; with IPv6 only, Mooncake after #1597",
					Sources: []string{"kvcache-ai/Mooncake#1592"},
				},
				{
					Slug: "gid-empty", Title: "the interface of the port has no address, so its GIDs are empty",
					Weight: Usual,
					Decide: "ip -br address; rdmactl show DEVICE",
					Remedy: "give the interface an address, or leave the port out",
				},
				{
					Slug: "foreign-device", Title: "the card's interface is in another network namespace",
					Weight: Usual,
					Decide: "rdmactl detect in the container",
					Remedy: "host networking, or the interface in the pod (RDMA device plugin with its CNI)",
				},
				{
					Slug: "gid-moved", Title: "the table of GIDs changed while the program ran", Weight: Rare,
					Decide: "ip monitor address; dmesg", Remedy: "MC_GID_INDEX unset, so that Mooncake follows",
				},
			},
		},
		{
			ID: "RDX-451", Name: "mooncake-no-device", Title: "Mooncake found no RDMA device that it can use",
			Explanation: "The list of devices is empty, the port isn't active, or the name that was given isn't " +
				"there. Without RDMA Mooncake takes TCP, if it may.",
			Sources: []string{
				"kvcache-ai/Mooncake, docs/source/troubleshooting/troubleshooting.md",
				"kvcache-ai/Mooncake, mooncake-transfer-engine/src/topology.cpp",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				mooncakeContext.says("device-unmatched", "No matched device found: ").with("device", "found: ").
					speaks("wrong-device"),
				mooncakeTopology.says("device-none", "No RDMA devices found, check your device installation").
					as(evidence.Vague).speaks("no-device-node"),
				mooncakeContext.says("device-list", "ibv_get_device_list failed").speaks("no-device-node"),
				mooncakeTransport.says("device-no-rnic", "RdmaTransport: No available RNIC"),
				mooncakeEngine.says("device-no-hca", "No HCA detected and neither "),
				mooncakeContext.says("device-open", "Failed to open device ", " on port ", " with GID ").
					with("device", "open device ").with("gidIndex", "with GID ").as(evidence.Vague),
				mooncakeContext.says("device-open-call", "rdma_context.cpp", "ibv_open_device(", ") failed").
					with("device", "ibv_open_device(").speaks("not-privileged"),
				mooncakeContext.says("port-inactive", " port not active", "Device ").with("device", "Device ").
					as(evidence.Vague).speaks("port-down"),
				mooncakeTopology.says("port-none",
					" has no active ports, skipping").as(evidence.Vague).speaks("port-down"),
			},
			Causes: []Cause{
				{
					Slug: "no-device-node", Title: "the container has no RDMA device", Weight: Common,
					Decide: "ls /dev/infiniband; rdmactl detect in the container",
					Remedy: "--device /dev/infiniband or privileged, the resource of the RDMA device plugin; else " +
						"protocol tcp",
				},
				mooncakeDevices(Usual),
				{
					Slug: "port-down", Title: "the port isn't active", Weight: Usual,
					Decide: "rdmactl status; rdmactl doctor --only port-active",
					Remedy: "cable, switch port and subnet manager; MC_IB_PORT for another port of the card",
				},
				{
					Slug: "not-privileged", Title: "the process may not open the device", Weight: Rare,
					Decide: "ls -l /dev/infiniband", Remedy: "the device's permission, or a privileged container",
				},
				{
					Slug: "missing-library", Title: "the image has no provider of the card (rdma-core)", Weight: Rare,
					Decide: "ibv_devices in the container", Remedy: "rdma-core and ibverbs-providers in the image",
				},
			},
		},
		{
			ID: "RDX-452", Name: "mooncake-gpu-memory", Title: "Mooncake could not export GPU memory for RDMA",
			Explanation: "Mooncake registers GPU memory through DMA-BUF where the driver offers it, and else " +
				"through nvidia-peermem. The kernel must have support for peer-to-peer DMA.",
			Sources:  []string{"kvcache-ai/Mooncake, transport/rdma_transport/rdma_context.cpp"},
			Standing: evidence.Failed,
			Lines: []Line{
				mooncakeContext.says("dmabuf-export", "Failed to retrieve dmabuf for "),
				mooncakeTransport.says("dmabuf-export-chunk", "Failed to export dma_buf for addr="),
				mooncakeContext.says("dmabuf-range", "Failed to call cuMemGetAddressRange for "),
				mooncakeContext.says("dmabuf-required",
					"DMA BUF supported required for GPU RDMA").speaks("peermem-missing"),
				mooncakeContext.says("dmabuf-kernel", "Kernel lacks CONFIG_PCI_P2PDMA").speaks("kernel-config").
					as(evidence.Vague),
			},
			Causes: []Cause{
				noPeermem(Common),
				virtualGPUMemory(Usual),
				{
					Slug: "kernel-config", Title: "the kernel was built without peer-to-peer DMA", Weight: Rare,
					Decide: "grep -e P2PDMA -e DMABUF_MOVE_NOTIFY /boot/config-$(uname -r)",
					Remedy: "a kernel with CONFIG_PCI_P2PDMA and CONFIG_DMABUF_MOVE_NOTIFY, or nvidia-peermem",
				},
			},
		},
		{
			ID: "RDX-453", Name: "mooncake-not-registered", Title: "a transfer uses memory that isn't registered",
			Explanation: "Source and target of a transfer must lie in registered regions. If a registration failed " +
				"before, or a peer has started again, keys are missing.",
			Sources: []string{
				"LMCache/LMCache#1993", "kvcache-ai/Mooncake, transport/rdma_transport/rdma_transport.cpp",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				mooncakeTransport.says("memory-unregistered", "Memory region not registered by any active device(s): "),
				mooncakeContext.says("memory-rkey", "rkey not found for ", "Address ").speaks("stale-rkey"),
				mooncakeContext.says("memory-lkey", "lkey not found for ", "Address "),
				mooncakeWorker.says("memory-no-rkey", "[RDMA] No rkey for MR access: ").speaks("stale-rkey"),
				mooncakeMetadata.says("memory-segment", "Failed to get segment descriptor for segment ", " address "),
				mooncakeClient.says("memory-error-code", "error code is AddressNotRegistered").as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug: "program-usage", Title: "the program transfers a buffer that it hasn't registered",
					Weight: Common,
					Decide: "the address in the line, against those that were registered (prefill and decode " +
						"with other attention backends register other buffers)",
					Remedy: "register the buffer (register_buffer) before; the connector's release",
					Sources: []string{
						"LMCache/LMCache#1993",
					},
				},
				{
					Slug: "stale-rkey", Title: "the peer has started again, and its old keys are used", Weight: Usual,
					Decide: "the start of the peer's log",
					Remedy: "a release that refreshes descriptors; restart both sides",
				},
				{
					Slug: "peermem-missing", Title: "registering had failed before", Weight: Rare,
					Clues: []Clue{{
						Weight: Decisive, Seen: string(evidence.MooncakeVerb), SeenField: "call",
						SeenIs: []string{"ibv_reg_mr"},
					}},
					Decide: "the first \"Failed to register memory\" of the log", Remedy: "the cause of that line",
				},
			},
		},
		{
			ID: "RDX-454", Name: "mooncake-buffer", Title: "Mooncake refuses a region of memory",
			Explanation: "Regions must not overlap, not be empty, and fit the device's limit for one registration.",
			Sources: []string{
				"kvcache-ai/Mooncake, mooncake-transfer-engine/src/transfer_engine_impl.cpp",
				"kvcache-ai/Mooncake#364",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				mooncakeEngine.says("buffer-overlap", "Transfer Engine does not support overlapped memory region").
					decides("program-usage"),
				mooncakeEngine.says("buffer-empty", "Transfer Engine does not support zero length memory region").
					decides("program-usage"),
				mooncakeContext.says("buffer-too-large", " exceeds device max_mr_size").decides("resource-limit"),
				mooncakeContext.says("buffer-larger", "larger than device's max_mr_size").decides("resource-limit"),
			},
			Causes: []Cause{
				{
					Slug:   "program-usage",
					Title:  "the program registers an empty region, or one that overlaps another",
					Weight: Common, Decide: "the addresses that it registers, twice for the same engine?",
					Remedy: "one registration for each buffer; the connector's release",
				},
				{
					Slug: "resource-limit", Title: "the region is larger than the device can register at once",
					Weight: Usual,
					Decide: "ibv_devinfo -v: max_mr_size",
					Remedy: "a smaller global_segment_size or several stores; MC_MAX_MR_SIZE; a release that " +
						"splits regions",
				},
			},
		},
		{
			ID: "RDX-455", Name: "mooncake-build", Title: "this build of Mooncake lacks a transport or a plugin",
			Explanation: "Transports and metadata plugins are chosen when Mooncake is built.",
			Sources:     []string{"kvcache-ai/Mooncake, mooncake-transfer-engine/src"}, Standing: evidence.Origin,
			Lines: []Line{
				mooncakeEngine.says("build-protocol", "requires -DUSE_", "Protocol '").decides("build-options"),
				mooncakeEngine.says("build-transport", ", please rebuild Mooncake", "Unsupported transport ").
					decides("build-options"),
				mooncakeEngine.says("build-tcp",
					"MC_FORCE_TCP is set but USE_TCP is not compiled in").decides("build-options"),
				mooncakePlugin.says("build-plugin", "Unable to find metadata storage plugin ").
					speaks("build-options"),
				mooncakeEngine.says("build-fallback", "transport was requested but is not compiled in").
					decides("build-options").as(evidence.Failed),
			},
			Causes: []Cause{
				{
					Slug: "build-options", Title: "Mooncake was built without it", Weight: Common,
					Decide: "pip show mooncake-transfer-engine; the options of its build",
					Remedy: "build with the -DUSE_… option that the line names, or use another transport",
				},
				{
					Slug: "setting-invalid", Title: "the metadata server's address has a form that isn't known",
					Weight: Usual,
					Decide: "metadata_server in the configuration",
					Remedy: "P2PHANDSHAKE, http://HOST:8080/metadata, etcd://HOST:2379 or redis://HOST:6379",
				},
			},
		},
	}
}
