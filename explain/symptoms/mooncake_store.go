package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func mooncakeStoreSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-462", Name: "mooncake-master", Title: "a client of Mooncake Store can't reach its master",
			Explanation: "Clients mount their memory at mooncake_master, and ask it for every object.",
			Sources: []string{
				"kvcache-ai/Mooncake#709", "kvcache-ai/Mooncake#1182", "kvcache-ai/Mooncake#1195",
				"sgl-project/sglang#10510",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				mooncakeClient.says("master-connect", "Failed to connect to master", ".cpp:"),
				mooncakeMaster.says("master-rpc", "rpc error, code: 14, message: failed to connect to all addresses"),
				mooncakeMaster.says("master-timeout", "RPC call timed out: ", "master_client.cpp"),
				mooncakeMaster.says("master-call", "RPC call failed: ", "master_client.cpp"),
				mooncakeMaster.says("master-resolve", "async_resolve failed", ".hpp:").speaks("name-resolution"),
				mooncakeClient.says("master-ping", "Failed to ping master", ".cpp:"),
				mooncakeReal.says("master-create", "Failed to create client after ", ".cpp:").as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug: "server-unreachable", Title: "mooncake_master isn't started, or not reachable from here",
					Weight:  Common,
					Decide:  "nc -vz MASTER 50051 from this pod; the master's log",
					Remedy:  "start the master before the clients; master_server_address is HOST:PORT, without http://",
					Sources: []string{"sgl-project/sglang#10510"},
				},
				{
					Slug: "name-resolution", Title: "the master's name has no address here", Weight: Usual,
					Decide:  "getent hosts MASTER in the pod",
					Remedy:  "the full name of the service, or its IP address",
					Sources: []string{"kvcache-ai/Mooncake#1195"},
				},
				{
					Slug: "setting-invalid", Title: "the address has the wrong port or form", Weight: Usual,
					Decide: "MOONCAKE_MASTER or master_server_address, against rpc_port of the master",
					Remedy: "HOST:50051; for IPv6 with brackets and MC_USE_IPV6=1",
				},
			},
		},
		{
			ID: "RDX-463", Name: "mooncake-versions",
			Title:       "client and master of Mooncake Store are of different releases",
			Explanation: "They refuse each other unless their versions agree.",
			Sources:     []string{"kvcache-ai/Mooncake, mooncake-store/src/master_client.cpp"},
			Standing:    evidence.Origin,
			Lines: []Line{
				mooncakeMaster.says("versions", "Version mismatch: server=", ".cpp:").decides("version-mismatch"),
			},
			Causes: []Cause{{
				Slug: "version-mismatch", Title: "the releases of client and master differ", Weight: Common,
				Decide: "pip show mooncake-transfer-engine on both", Remedy: "one release on all nodes",
			}},
		},
		{
			ID: "RDX-464", Name: "mooncake-segment-memory",
			Title:       "Mooncake Store could not get the memory for its segment",
			Explanation: "global_segment_size is taken from each process, registered with every device, and locked.",
			Sources: []string{
				"kvcache-ai/Mooncake#1382", "kvcache-ai/Mooncake, mooncake-store/src/real_client.cpp",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				mooncakeReal.says("segment-allocate", "Failed to allocate segment memory", ".cpp:").
					speaks("host-memory"),
				mooncakeReal.says("segment-local", "Failed to register local memory: "),
				mooncakeClient.says("segment-register", "register_local_memory_failed base="),
				mooncakeClient.says("segment-mount",
					"mount_segment_to_master_failed base=").speaks("server-unreachable"),
				mooncakeReal.says("segment-mount-error", "Failed to mount segment: ").as(evidence.Vague),
				source{Mooncake, "kvcache-ai/Mooncake, mooncake-store/src/aligned_client_buffer.cpp"}.
					says(
						"segment-aligned", "AlignedClientBufferAllocator: failed to allocate ").speaks("host-memory"),
			},
			Causes: []Cause{
				{
					Slug: "memlock", Title: "the limit of locked memory (memlock) is too low", Weight: Usual,
					Decide: "ulimit -l in the container; rdmactl doctor --only memlock",
					Remedy: "memlock unlimited (--ulimit memlock=-1)",
				},
				{
					Slug:    "resource-limit",
					Title:   "the card can't register that much (mlx5: translation entries; eRDMA: 64 GiB at once)",
					Weight:  Usual,
					Decide:  "ibv_devinfo -v: max_mr_size; dmesg | grep -i mkey; fewer devices or a smaller size",
					Remedy:  "a smaller global_segment_size, huge pages (MC_STORE_USE_HUGEPAGE=1), fewer devices",
					Sources: []string{"kvcache-ai/Mooncake#1382"},
				},
				{
					Slug:   "host-memory",
					Title:  "the node, or the container, has less memory or fewer huge pages than is asked for",
					Weight: Usual, Decide: "free -g; grep Huge /proc/meminfo; the memory limit of the pod",
					Remedy: "a smaller global_segment_size; vm.nr_hugepages", Sources: nil,
				},
				{
					Slug: "server-unreachable", Title: "the master doesn't answer", Weight: Rare,
					Clues: []Clue{
						{Weight: Strong, Seen: "mooncake/master-connect"},
						{Weight: Strong, Seen: "mooncake/master-rpc"},
					},
					Decide: "the master's log", Remedy: "start the master first",
				},
			},
		},
		{
			ID: "RDX-465", Name: "mooncake-store-full", Title: "Mooncake Store has no room for an object",
			Explanation: "All mounted segments are full, or too fragmented; old objects are evicted, but leases " +
				"hold some.",
			Sources:  []string{"kvcache-ai/Mooncake, mooncake-store/src/client_service.cpp"},
			Standing: evidence.Vague,
			Lines: []Line{
				mooncakeClient.says("store-full", "NO_AVAILABLE_HANDLE", ".cpp:"),
				mooncakeClient.says("store-full-batch", "BatchPut failed for ", "client_service.cpp"),
			},
			Causes: []Cause{{
				Slug: "host-memory", Title: "the segments are full", Weight: Common,
				Decide: "the master's metrics: storage used",
				Remedy: "a larger global_segment_size, more nodes, or earlier eviction " +
					"(--eviction_high_watermark_ratio)",
			}},
		},
		{
			ID: "RDX-466", Name: "mooncake-tcp", Title: "a transfer of Mooncake over TCP failed",
			Explanation: "TCP is used if no RDMA device is found, or MC_FORCE_TCP is set. It copies from host " +
				"memory: with GPU memory it needs a build with CUDA.",
			Sources: []string{
				"kvcache-ai/Mooncake#602", "kvcache-ai/Mooncake, docs/source/troubleshooting/troubleshooting.md",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				mooncakeTCP.says("tcp-write", "Session::writeBody failed. Error: "),
				mooncakeTCP.says("tcp-read", "Session::readBody failed. Error: "),
				mooncakeTCP.says("tcp-header", "Session::writeHeader failed. Error: "),
				mooncakeTCP.says("tcp-read-header", "Session::readHeader failed. Error: ").as(evidence.Echo),
				mooncakeTCP.says("tcp-create", "TcpTransport::getConnection failed to create connection to ").
					with("address", "connection to "),
				mooncakeTCP.says("tcp-exception", "TcpTransport::startTransfer encountered an exception"),
				mooncakeTCP.says("tcp-port", "TcpTransport: unable to find available tcp port").speaks("port-in-use"),
			},
			Causes: []Cause{
				{
					Slug:  "no-cuda-support",
					Title: "the buffer is GPU memory, and this build of Mooncake has no CUDA", Weight: Usual,
					Clues:  []Clue{{Weight: Decisive, Contains: "Bad address"}},
					Decide: "the protocol in use (its log: \"Using TCP transport\"); how Mooncake was built",
					Remedy: "a build with -DUSE_CUDA=ON, or RDMA: a device that Mooncake finds", Sources: []string{
						"kvcache-ai/Mooncake#602",
					},
				},
				{
					Slug: "dead-peer", Title: "the peer has ended", Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Contains: "Connection reset"},
						{Weight: Hint, Contains: "Broken pipe"},
						{Weight: Hint, Contains: "End of file"},
						{Weight: Hint, Contains: "Connection refused"},
					},
					Decide: "the peer's log", Remedy: "what ended it",
				},
				{
					Slug: "resource-limit", Title: "the local ports are used up: each transfer opens a connection",
					Weight: Rare,
					Clues:  []Clue{{Weight: Decisive, Contains: "Cannot assign requested address"}},
					Decide: "ss -tan state time-wait | wc -l; sysctl net.ipv4.ip_local_port_range",
					Remedy: "MC_TCP_ENABLE_CONNECTION_POOL=1; a wider ip_local_port_range",
				},
				{
					Slug: "interface-choice", Title: "the peer's address isn't reachable", Weight: Rare,
					Clues: []Clue{
						{Weight: Hint, Contains: "No route to host"}, {Weight: Hint, Contains: "timed out"},
					},
					Decide: "local_hostname of the peer", Remedy: "its routable address",
				},
				{
					Slug: "port-in-use", Title: "no port is free for the listener", Weight: Rare,
					Decide: "ss -ltn | wc -l", Remedy: "free ports",
				},
			},
		},
		{
			ID: "RDX-467", Name: "mooncake-nvlink", Title: "Mooncake's transport over NVLink failed",
			Explanation: "GPUs must reach each other directly, and memory must come from Mooncake's allocator.",
			Sources:     []string{"kvcache-ai/Mooncake, transport/nvlink_transport/nvlink_transport.cpp"},
			Standing:    evidence.Failed,
			Lines: []Line{
				mooncakeNVLink.says("nvlink-p2p", "NvlinkTransport: device ", " cannot p2p access device ").
					speaks("gpu-p2p"),
				mooncakeNVLink.says("nvlink-enable", "NvlinkTransport: failed to enable p2p access").speaks("gpu-p2p"),
				mooncakeNVLink.says("nvlink-none", "NvlinkTransport: no device found").speaks("gpu-missing"),
				mooncakeNVLink.says("nvlink-count", "NvlinkTransport: cudaGetDeviceCount failed").speaks("gpu-missing"),
			},
			Causes: []Cause{
				{
					Slug: "gpu-p2p", Title: "the GPUs have no direct access to each other", Weight: Common,
					Decide: "nvidia-smi topo -p2p r; nvidia-smi topo -m",
					Remedy: "MC_FORCE_MNNVL and MC_INTRANODE_NVLINK unset, so that RDMA is used",
				},
				{
					Slug: "gpu-missing", Title: "the process sees no GPU", Weight: Rare,
					Decide: "nvidia-smi in the container", Remedy: "--gpus all",
				},
			},
		},
		{
			ID: "RDX-468", Name: "mooncake-init", Title: "Mooncake's transfer engine could not start",
			Explanation: "A line above this one names the reason: a device, a port, the metadata server, or memory.",
			Sources:     []string{"kvcache-ai/Mooncake, mooncake-transfer-engine/src"}, Standing: evidence.Vague,
			Lines: []Line{
				mooncakeClient.says("init-engine", "Failed to initialize transfer engine"),
				mooncakeTransport.says("init-rdma", "RdmaTransport: cannot initialize RDMA resources"),
				mooncakeTransport.says("init-segment",
					"Transfer engine cannot be initialized: cannot allocate local segment"),
				mooncakeTransport.says("init-daemon",
					"RdmaTransport: cannot start handshake daemon").speaks("port-in-use"),
				mooncakeTransport.says("init-publish",
					"cannot publish segments", "Transport").speaks("server-unreachable"),
				mooncakeEngine.says("init-install", "Failed to install RDMA transport"),
				source{Mooncake, "sgl-project/sglang, disaggregation/mooncake/transfer_engine.py"}.
					says("init-sglang", "Mooncake Transfer Engine initialization failed"),
				source{Mooncake, "sgl-project/sglang, disaggregation/mooncake/transfer_engine.py"}.
					says("init-sglang-memory", "Mooncake memory registration failed"),
			},
			Causes: []Cause{
				{
					Slug: "no-device-node", Title: "there is no usable RDMA device in the container", Weight: Usual,
					Decide: "rdmactl detect in the container", Remedy: "--device /dev/infiniband, or protocol tcp",
				},
				mooncakeDevices(Usual),
				{
					Slug: "server-unreachable", Title: "the metadata server isn't reachable", Weight: Usual,
					Decide: "curl METADATA_SERVER", Remedy: "start it, or P2PHANDSHAKE",
				},
				{
					Slug: "peermem-missing", Title: "GPU memory can't be registered", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Line: "init-sglang-memory"}},
					Decide: "lsmod | grep peermem; rdmactl doctor --only gpudirect",
					Remedy: "modprobe nvidia-peermem; no expandable_segments in PYTORCH_CUDA_ALLOC_CONF",
				},
				{
					Slug: "port-in-use", Title: "the port of the handshake is taken", Weight: Rare,
					Decide: "ss -ltnp", Remedy: "another port, or end the old process",
				},
			},
		},
	}
}
