package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func nixlSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-446", Name: "nixl-register", Title: "NIXL could not register memory",
			Explanation: "The backend, usually UCX, refused. With GPU memory the usual reason is a UCX without its " +
				"CUDA modules: the one that is loaded isn't the one that the wheel brought.",
			Sources: []string{
				"ai-dynamo/nixl, src/core/nixl_agent.cpp", "ai-dynamo/nixl#334", "ai-dynamo/nixl#1628",
				"LMCache/LMCache#605",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				{
					Name: "nixl-register", Program: UCX,
					All:    []string{"registration failed for the specified or all potential backends"},
					Source: "ai-dynamo/nixl, src/core/nixl_agent.cpp",
				},
				{
					Name: "nixl-mem-type", Program: UCX, All: []string{"no available backends for mem type '"},
					Fields: []Field{{Name: "what", After: "mem type "}},
					Source: "ai-dynamo/nixl, src/core/nixl_agent.cpp",
				},
				{
					Name: "nixl-mem-map", Program: UCX, All: []string{"failed to ucp_mem_map: "},
					Source: "ai-dynamo/nixl, src/plugins/ucx/ucx_utils.cpp",
				},
				{
					Name: "nixl-register-call", Program: UCX, All: []string{"self.agent.registerMem(reg_descs"},
					Source: "ai-dynamo/nixl, src/api/python/_api.py: a frame of the traceback",
				},
			},
			Causes: []Cause{
				noCUDA(
					Common, Clue{Weight: Decisive, Seen: "ucx/transport-cuda-unavailable"},
					Clue{Weight: Hint, Contains: "VRAM"},
				),
				noPeermem(Usual, Clue{Weight: Hint, Seen: "ucx/register-cuda"}),
				{
					Slug: "library-conflict", Title: "another UCX is loaded than the one that NIXL was built with",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Seen: "ucx/nixl-soname"}, {Weight: Strong, Seen: "ucx/nixl-old-ucx"},
					},
					Decide: "grep libuc /proc/PID/maps; ldd libplugin_UCX.so",
					Remedy: "no UCX of the system in LD_LIBRARY_PATH, UCX_MODULE_DIR of the wheel's modules; a " +
						"release of NIXL that finds them by itself",
					Sources: []string{"ai-dynamo/nixl#1628", "ai-dynamo/nixl#1561"},
				},
				virtualGPUMemory(Rare),
				{
					Slug: "memlock", Title: "the limit of locked memory (memlock) is too low", Weight: Rare,
					Decide: "ulimit -l in the container; rdmactl doctor --only memlock",
					Remedy: "memlock unlimited (--ulimit memlock=-1), CAP_IPC_LOCK",
				},
			},
		},
		{
			ID: "RDX-447", Name: "nixl-plugin", Title: "NIXL has no plugin for the backend, or can't start it",
			Explanation: "Backends are libraries named libplugin_UCX.so and so on, which need their own libraries.",
			Sources: []string{
				"ai-dynamo/nixl, src/core/nixl_plugin_manager.cpp", "ai-dynamo/nixl#1561", "ai-dynamo/nixl#96",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				{
					Name: "nixl-unsupported", Program: UCX, All: []string{"createBackend: unsupported backend '"},
					Fields: []Field{{Name: "what", After: "unsupported backend "}},
					Source: "ai-dynamo/nixl, src/core/nixl_agent.cpp",
				},
				{
					Name: "nixl-not-found", Program: UCX, All: []string{"getPluginParams: backend '", "not found"},
					Source: "ai-dynamo/nixl, src/core/nixl_agent.cpp",
				},
				{
					Name: "nixl-plugin-load", Program: UCX, All: []string{"Failed to load plugin from ", "libplugin_"},
					Source: "ai-dynamo/nixl 0.3, src/core/nixl_plugin_manager.cpp",
				},
				{
					Name: "nixl-plugin-init", Program: UCX,
					All:    []string{"Plugin initialization failed for ", "libplugin_"},
					Source: "ai-dynamo/nixl, src/core/nixl_plugin_manager.cpp",
				},
				{
					Name: "nixl-plugin-version", Program: UCX,
					All:    []string{"Plugin API version mismatch for ", "libplugin_"},
					Source: "ai-dynamo/nixl, src/core/nixl_plugin_manager.cpp", Speaks: []string{"library-conflict"},
				},
				{
					Name: "nixl-no-plugins", Program: UCX,
					All:    []string{"No plugins available, cannot start transfers!"},
					Source: "ai-dynamo/nixl, src/api/python/_api.py",
				},
				{
					Name: "nixl-skipped", Program: UCX,
					All:    []string{"Skipping backend registration ", "due to the missing plugin"},
					Source: "ai-dynamo/nixl, src/api/python/_api.py",
				},
				{
					Name: "nixl-threads", Program: UCX, All: []string{"UCX library does not support multi-threading"},
					Source: "ai-dynamo/nixl, src/plugins/ucx/ucx_backend.cpp", Decides: "build-options",
				},
				{
					Name: "nixl-create-call", Program: UCX, All: []string{"self.agent.createBackend("},
					Source: "ai-dynamo/nixl, src/api/python/_api.py: a frame of the traceback",
				},
				{
					Name: "nixl-create", Program: UCX, All: []string{"createBackend: backend ", "for 'UCX'"},
					Source: "ai-dynamo/nixl, src/core/nixl_agent.cpp",
				},
			},
			Causes: []Cause{
				{
					Slug: "missing-library", Title: "the plugin, or a library that it needs, isn't found",
					Weight: Common,
					Decide: "NIXL_PLUGIN_DIR; ldd libplugin_UCX.so | grep 'not found'",
					Remedy: "NIXL_PLUGIN_DIR and LD_LIBRARY_PATH with the plugins and with libucp.so.0",
				},
				{
					Slug: "library-conflict", Title: "plugin and NIXL, or NIXL and UCX, are of different releases",
					Weight: Usual,
					Decide: "pip list | grep -i nixl; ldd libplugin_UCX.so",
					Remedy: "one release of NIXL and the UCX that it names",
				},
				{
					Slug: "build-options", Title: "UCX was built without multi-threading (--enable-mt)",
					Weight:  Usual,
					Decide:  "ucx_info -v | grep enable-mt",
					Remedy:  "a UCX built with --enable-mt, as NIXL's own image does",
					Sources: []string{"ai-dynamo/nixl#96"},
				},
				ucxNoDevice(Rare),
			},
		},
		{
			ID: "RDX-448", Name: "nixl-old-ucx", Title: "NIXL warns that UCX is older than 1.19",
			Explanation: "Processes with several GPUs need a later one; with one GPU per process nothing is wrong.",
			Sources:     []string{"ai-dynamo/nixl, src/plugins/ucx/ucx_utils.cpp"}, Standing: evidence.Harmless,
			Lines: []Line{{
				Name: "nixl-old-ucx", Program: UCX, All: []string{"which is less than 1.19, CUDA support is limited"},
				Source: "ai-dynamo/nixl, src/plugins/ucx/ucx_utils.cpp",
			}},
		},
		{
			ID: "RDX-449", Name: "nixl-metadata",
			Title: "NIXL lacks the metadata of the other agent, or can't fetch it",
			Explanation: "Agents exchange addresses and keys over sockets, etcd or a TCPStore before the first " +
				"transfer.",
			Sources: []string{"ai-dynamo/nixl, src/core"}, Standing: evidence.Failed,
			Lines: []Line{
				{
					Name: "nixl-no-metadata", Program: UCX,
					All:    []string{"etadata for remote agent '", "' not found"},
					Source: "ai-dynamo/nixl, src/core/nixl_agent.cpp",
				},
				{
					Name: "nixl-etcd", Program: UCX, All: []string{"Failed to fetch metadata from etcd for agent: "},
					Source: "ai-dynamo/nixl, src/core/nixl_etcd_metadata_backend.cpp",
					Speaks: []string{"server-unreachable"},
				},
				{
					Name: "nixl-etcd-error", Program: UCX, All: []string{" from etcd: ", "Error fetching key: "},
					Source: "ai-dynamo/nixl, src/core/nixl_etcd_metadata_backend.cpp",
					Speaks: []string{"server-unreachable"},
				},
				{
					Name: "nixl-etcd-send", Program: UCX, All: []string{" to etcd: ", "Error sending "},
					Source: "ai-dynamo/nixl, src/core/nixl_etcd_metadata_backend.cpp",
					Speaks: []string{"server-unreachable"},
				},
				{
					Name: "nixl-socket", Program: UCX, All: []string{"could not connect to IP ", " and port "},
					Fields: []Field{{Name: "address", After: "to IP "}},
					Source: "ai-dynamo/nixl, src/core/nixl_p2p_metadata_backend.cpp",
					Speaks: []string{"nobody-listens"},
				},
				{
					Name: "nixl-poll", Program: UCX, All: []string{"poll timed out for ip_addr: "},
					Fields: []Field{{Name: "address", After: "ip_addr: "}},
					Source: "ai-dynamo/nixl, src/core/nixl_p2p_metadata_backend.cpp",
				},
				{
					Name: "nixl-tcpstore", Program: UCX, All: []string{"TCPStore client: failed to connect to "},
					Fields: []Field{{Name: "address", After: "connect to "}},
					Source: "ai-dynamo/nixl, src/core/nixl_tcpstore_client.cpp",
					Speaks: []string{"server-unreachable"},
				},
				{
					Name: "nixl-no-common", Program: UCX, All: []string{"no common backend to connect with '"},
					Source: "ai-dynamo/nixl, src/core/nixl_agent.cpp", Speaks: []string{"environment-differs"},
				},
				{
					Name: "nixl-mismatch", Program: UCX, All: []string{"Metadata mismatch for agent: "},
					Source: "ai-dynamo/nixl, src/core/nixl_etcd_metadata_backend.cpp",
				},
			},
			Causes: []Cause{
				{
					Slug:   "server-unreachable",
					Title:  "the metadata server (etcd, TCPStore) isn't started, or not reachable",
					Weight: Usual,
					Decide: "NIXL_ETCD_ENDPOINTS or NIXL_TCPSTORE_ENDPOINT; curl ENDPOINT/health from the pod",
					Remedy: "start it, listen on 0.0.0.0 and not only on loopback; unset http_proxy",
				},
				noListener(Usual),
				{
					Slug: "dead-peer", Title: "the other agent has ended, or has been restarted under the same name",
					Weight: Usual, Decide: "the log of the other agent",
					Remedy: "what ended it; load its metadata again",
				},
				{
					Slug: "environment-differs", Title: "the agents have different backends or releases",
					Weight: Rare,
					Decide: "the backends in both logs; pip list | grep nixl", Remedy: "the same on both sides",
				},
			},
		},
	}
}
