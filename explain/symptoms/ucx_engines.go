package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Programs above UCX, NIXL and Mooncake.
var (
	lmcache       = source{Torch, "LMCache/LMCache, lmcache/v1/storage_backend"}
	nixlConnector = source{Torch, "vllm-project/vllm, distributed/kv_transfer/kv_connector/v1/nixl_connector.py"}
	jucx          = source{UCX, "openucx/ucx, bindings/java; NVIDIA/spark-rapids, shuffle/ucx"}
	nixlUCX       = source{UCX, "ai-dynamo/nixl, src/plugins/ucx/ucx_utils.cpp"}
	ucxPython     = source{UCX, "rapidsai/ucx-py, ucp/_libs; rapidsai/ucxx"}
)

func ucxEngineSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID:          "RDX-783",
			Name:        "cache-versions",
			Title:       "LMCache and the library below it are of different releases",
			Explanation: "LMCache calls functions of Mooncake, NIXL or vLLM that the installed release doesn't have.",
			Sources:     []string{"LMCache/LMCache#839", "LMCache/LMCache#1514", "LMCache/LMCache#2166"},
			Standing:    evidence.Origin,
			Lines: []Line{
				lmcache.says("mooncake-attribute", "MooncakeDistributedStore' object has no attribute").
					decides("version-mismatch"),
				lmcache.says("mooncake-arguments", "incompatible function arguments", "ooncake").
					speaks("version-mismatch"),
				lmcache.says("cache-attribute", "has no attribute '", "lmcache").speaks("version-mismatch"),
				lmcache.says("cache-format", "unsupported format string passed to bytes.__format__").
					speaks("library-defect"),
				lmcache.says("nixl-attribute", "nixl_agent' object has no attribute").decides("version-mismatch"),
			},
			Causes: []Cause{
				{
					Slug: "version-mismatch", Title: "the releases of LMCache and of the other library don't fit",
					Weight: Common,
					Decide: "pip list | grep -i -e lmcache -e mooncake -e nixl -e vllm",
					Remedy: "the release that LMCache's documentation names, usually a newer " +
						"mooncake-transfer-engine or nixl; until then extra_config: save_chunk_meta: False",
				},
				{
					Slug: "library-defect", Title: "a defect of this release of LMCache", Weight: Rare,
					Decide: "a newer release", Remedy: "a newer LMCache",
				},
			},
		},
		{
			ID: "RDX-784", Name: "cache-remote", Title: "LMCache can't use its remote store",
			Explanation: "Without the store requests are computed again: slower, and not wrong. A line of the " +
				"store's client before says why.",
			Sources:  []string{"LMCache/LMCache#1690", "LMCache/LMCache#2143", "LMCache/LMCache, lmcache/v1"},
			Standing: evidence.Vague,
			Lines: []Line{
				lmcache.says("cache-connection", "Failed to initialize/re-establish remote connection").
					not("has no attribute"),
				lmcache.says("cache-contains", "Remote connection failed in ").not("__format__"),
				lmcache.says("cache-retrieved", "The number of retrieved tokens is less than the expected number of"),
				lmcache.says("cache-block", "The cache block is in the storage, but it can't be retrieved"),
				lmcache.says("cache-put", "batched put error").not("__format__"),
				lmcache.says("cache-timeout", "Timeout when putting key"),
			},
			Causes: []Cause{
				{
					Slug:   "server-unreachable",
					Title:  "the store, or the node that holds the object, can't be reached",
					Weight: Common,
					Decide: "remote_url: nc -vz HOST PORT from the pod; the log of the store's master",
					Remedy: "start the store first; local_hostname is an address that all nodes reach, not localhost",
				},
				{
					Slug: "stale-metadata", Title: "the node that held the object has started again or ended",
					Weight: Usual,
					Clues:  []Clue{onLine(Hint, "cache-block", ""), onLine(Hint, "cache-retrieved", "")},
					Decide: "the start of the other nodes' logs; the master's list of segments",
					Remedy: "a shorter client TTL of the master; a newer release; restart the store",
				},
				{
					Slug: "environment-differs", Title: "hashes or tensor formats differ between the processes",
					Weight: Rare,
					Decide: "echo $PYTHONHASHSEED on all; chunk_size and remote_serde in all configurations",
					Remedy: "PYTHONHASHSEED=0 and one configuration everywhere",
				},
				{
					Slug: "host-memory", Title: "the store is full", Weight: Rare,
					Clues:  []Clue{onSeen("mooncake/store-full", "the store has no room")},
					Decide: "the master's metrics", Remedy: "a larger global_segment_size",
				},
			},
		},
		{
			ID: "RDX-785", Name: "nixl-handshake",
			Title: "vLLM's NIXL connector could not shake hands with the other side",
			Explanation: "Decode fetches the metadata of prefill over a socket at the address that prefill " +
				"advertises: VLLM_NIXL_SIDE_CHANNEL_HOST, localhost if it isn't set. An engine that answers with " +
				"another name is another one: usually this engine itself, at localhost.",
			Sources: []string{
				"vllm-project/vllm#27083", "ray-project/ray#60817", "vllm-project/vllm#50765",
				"vllm-project/vllm, nixl_connector.py",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				nixlConnector.says("nixl-engine", "NIXL agent engine ID mismatch").as(evidence.Failed).
					speaks("loopback-address"),
				nixlConnector.says("nixl-hash", "NIXL compatibility hash mismatch").as(evidence.Origin).
					decides("environment-differs"),
				nixlConnector.says("nixl-payload", "Failed to decode Nixl").as(evidence.Origin).
					decides("environment-differs"),
				nixlConnector.says("nixl-handshake", "Handshake failed for request "),
				nixlConnector.says("nixl-handshake-engine", "NIXL transfer failure: handshake"),
				nixlConnector.says("nixl-transfer", "NIXL transfer failure: ").not("handshake").as(evidence.Echo),
				nixlConnector.says("nixl-layout", "Heterogeneous TP expects same kv_cache_layout").
					speaks("environment-differs"),
				nixlConnector.says("nixl-missing", "NIXL is not available").as(evidence.Vague).
					speaks("missing-library"),
			},
			Causes: []Cause{
				{
					Slug:   "loopback-address",
					Title:  "VLLM_NIXL_SIDE_CHANNEL_HOST isn't set to the node's own address: localhost is advertised",
					Weight: Common,
					Decide: "echo $VLLM_NIXL_SIDE_CHANNEL_HOST on prefill; the remote_host of the request",
					Remedy: "VLLM_NIXL_SIDE_CHANNEL_HOST=the address of this node or pod, on each; its port " +
						"differs for each instance of a node (VLLM_NIXL_SIDE_CHANNEL_PORT)",
					Sources: []string{"vllm-project/vllm#27083", "ray-project/ray#60817"},
				},
				{
					Slug:   "environment-differs",
					Title:  "prefill and decode differ in release, model, data type, layout or attention backend",
					Weight: Usual,
					Decide: "the versions and arguments of both sides", Remedy: "the same on both sides",
				},
				{
					Slug: "dead-peer", Title: "the other side has ended, or has started again with another name",
					Weight: Usual,
					Decide: "the log of the other side, its first lines", Remedy: "what ended it; restart both",
				},
				{
					Slug: "missing-library", Title: "the package nixl isn't installed", Weight: Rare,
					Decide: "pip show nixl", Remedy: "pip install nixl",
				},
			},
		},
		{
			ID: "RDX-802", Name: "nixl-endpoint", Title: "NIXL could not connect to another agent over UCX",
			Explanation: "The other agent's metadata has the addresses of all devices that its UCX uses. UCX's own " +
				"line before says why it found no way, or which address didn't answer.",
			Sources: []string{
				"ai-dynamo/nixl, src/plugins/ucx/ucx_utils.cpp", "ai-dynamo/nixl, src/core/nixl_agent.cpp",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				nixlUCX.says("nixl-endpoint", "UCX endpoint create failed: "),
				nixlUCX.says("nixl-load", "loadRemoteMD: error loading connection info for backend").
					as(evidence.Echo),
			},
			Causes: []Cause{
				{
					Slug: "interface-choice", Title: "UCX advertises an address that the other node doesn't reach",
					Weight: Common,
					Decide: "UCX_LOG_LEVEL=info: the devices of both sides; ip -br addr",
					Remedy: "UCX_NET_DEVICES with the devices of the common network on both sides",
				},
				{
					Slug: "environment-differs", Title: "both sides have no transport in common: other devices, " +
						"UCX_TLS or releases of UCX",
					Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Variable: "UCX_TLS"}},
					Decide: "env | grep UCX_ and ucx_info -d on both sides", Remedy: "the same on both sides",
				},
				{
					Slug: "dead-peer", Title: "the other agent has ended, or takes no connections", Weight: Usual,
					Clues:  []Clue{onText(Hint, "refused", "")},
					Decide: "the other agent's log; enable_listen_thread of its configuration",
					Remedy: "what ended it; enable_listen_thread: true for a connection between nodes",
				},
			},
		},
		{
			ID:    "RDX-786",
			Name:  "ucx-bindings",
			Title: "a program in Java or Python got an error from UCX",
			Explanation: "Only the text of UCX's status is there; UCX_LOG_LEVEL=info shows the reason. A worker that " +
				"can't be made lacks shared memory, locked memory or a device.",
			Sources: []string{
				"NVIDIA/spark-rapids#6572", "NVIDIA/spark-rapids#9386", "rapidsai/ucx-py, ucp/_libs/exceptions.pyx",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				jucx.says("jucx-error", "org.openucx.jucx.UcxException: "),
				jucx.says("jucx-worker", "org.openucx.jucx.ucp.UcpWorker.createWorkerNative").as(evidence.Vague),
				jucx.says("jucx-listener", "Couldn't start UcpListener").as(evidence.Vague).speaks("port-in-use"),
				jucx.says("jucx-peer", "Trying to send a message to an executor that doesn't exist").
					as(evidence.Echo),
				ucxPython.says("python-error", "UCXError: ").not("ndpoint timeout"),
			},
			Causes: []Cause{
				shmTooSmall(
					Usual, onText(Hint, "No resources are available", ""), onText(Strong, "Shared memory error", ""),
					onLine(Rare, "jucx-worker", "a worker makes segments in /dev/shm first"),
				),
				{
					Slug: "memlock", Title: "the limit of locked memory (memlock) is too low", Weight: Usual,
					Clues:  []Clue{onText(Hint, "Out of memory", ""), onText(Hint, "Input/output error", "")},
					Decide: "ulimit -l in the executor or worker; rdmactl doctor --only memlock",
					Remedy: "memlock unlimited (--ulimit memlock=-1)",
				},
				ucxNoDevice(Rare, onText(Strong, "No such device", "")),
				{
					Slug: "dead-peer", Title: "the peer has ended", Weight: Usual,
					Clues: []Clue{
						onText(Strong, "onnection reset", ""), onText(Strong, "ndpoint is not connected", ""),
						onText(Hint, "timed out", ""), onText(Hint, "canceled", ""), onLine(Hint, "jucx-peer", ""),
					},
					Decide: "the first executor or worker that ends", Remedy: "what ended it",
				},
				{
					Slug: "port-in-use", Title: "the port of the listener is taken", Weight: Rare,
					Clues:  []Clue{onText(Strong, "Device is busy", ""), onText(Strong, "lready in use", "")},
					Decide: "ss -ltnp", Remedy: "another port, or several tries (spark.port.maxRetries)",
				},
			},
		},
	}
}
