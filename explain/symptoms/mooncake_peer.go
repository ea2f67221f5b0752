package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func mooncakePeerSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-456", Name: "mooncake-handshake", Title: "Mooncake's handshake over TCP failed",
			Explanation: "Before RDMA both sides exchange GIDs and queue pairs over a socket. The address is the " +
				"one under which the peer registered itself: with localhost, or in a container with Docker's " +
				"bridge, others can't reach it.",
			Sources: []string{
				"kvcache-ai/Mooncake, docs/source/troubleshooting/troubleshooting.md",
				"kvcache-ai/Mooncake, mooncake-transfer-engine/src/transfer_metadata_plugin.cpp",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				mooncakePlugin.says("handshake-connect",
					"SocketHandShakePlugin: connect()").with("address", "connect()"),
				mooncakePlugin.says("handshake-name", "SocketHandShakePlugin: failed to get IP address of peer server").
					with("address", "peer server ").speaks("name-resolution"),
				mooncakePlugin.says("handshake-bind", "SocketHandShakePlugin: bind (port ").speaks("port-in-use").
					as(evidence.Origin),
				mooncakeEngine.says("handshake-port",
					"not valid port for serving local TCP service").speaks("port-in-use"),
				mooncakeEngine.says("handshake-no-port", "P2P: No valid port found for local TCP service").
					speaks("port-in-use"),
				mooncakeEngine.says("handshake-address", "not valid LAN address found").speaks("interface-choice"),
				mooncakePlugin.says("handshake-receive", "SocketHandShakePlugin: failed to receive handshake message"),
				mooncakeEndpoint.says("handshake-exchange",
					"Failed to exchange handshake description").as(evidence.Vague),
				mooncakeEndpoint.says("handshake-rpc",
					"Active handshake RPC failed; resetting endpoint").as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug: "interface-choice",
					Title: "the peer registered an address that others can't reach: localhost, Docker's bridge, or " +
						"another network",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Decisive, Contains: "connect()127.", Text: "the address is a loopback address"},
						{Weight: Decisive, Contains: "connect() 127.", Text: "the address is a loopback address"},
						{Weight: Strong, Contains: "connect()172.17.", Text: "the address is one of Docker's bridge"},
						{
							Weight: Strong, Contains: "connect() 172.17.",
							Text: "the address is one of Docker's bridge",
						},
						{Weight: Hint, Field: "errno", Is: []string{"101", "113", "110"}},
					},
					Decide: "local_hostname of the peer (its log: \"listening on\"); ip -br address there",
					Remedy: "local_hostname with the peer's routable IP address (SGLang: --host, SGLANG_HOST_IP; " +
						"vLLM: VLLM_HOST_IP)",
				},
				{
					Slug: "dead-peer", Title: "the peer has ended, or has started again on another port",
					Weight: Usual,
					Clues:  []Clue{{Weight: Strong, Field: "errno", Is: []string{"111", "104"}}},
					Decide: "the peer's log; ss -ltnp there",
					Remedy: "what ended it; stale entries in the metadata server",
				},
				{
					Slug: "firewall", Title: "a firewall drops the handshake's port", Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Field: "errno", Is: []string{"110", "113"}}},
					Decide: "nc -vz ADDRESS PORT from this pod", Remedy: "open the ports; MC_HANDSHAKE_PORT fixes it",
				},
				{
					Slug: "name-resolution", Title: "the peer's name has no address here", Weight: Rare,
					Decide: "getent hosts NAME", Remedy: "an IP address as local_hostname, or DNS and /etc/hosts",
				},
				{
					Slug: "port-in-use", Title: "another process has the port", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Field: "errno", Is: []string{"98"}}},
					Decide: "ss -ltnp | grep PORT", Remedy: "another port, or end the old process",
				},
			},
		},
		{
			ID: "RDX-457", Name: "mooncake-rejected", Title: "the peer refused Mooncake's handshake",
			Explanation: "The reason is in the peer's log: its queue pair couldn't be connected, or it doesn't " +
				"know the device or the session that was named, because one of them has started again.",
			Sources:  []string{"kvcache-ai/Mooncake, transport/rdma_transport/rdma_endpoint.cpp"},
			Standing: evidence.Vague,
			Lines: []Line{
				mooncakeEndpoint.says("rejected", "Rejected handshake request by peer "),
				mooncakeEndpoint.says("rejected-old", "Handshake request rejected by peer endpoint: "),
				mooncakeMetadata.says("rejected-by", "Handshake rejected by ", ".cpp:"),
				mooncakeEndpoint.says("rejected-nic", "Peer NIC ", " not found in ").speaks("stale-metadata"),
				mooncakeEndpoint.says("rejected-mismatch", "Invalid argument: received packet mismatch").
					speaks("stale-metadata"),
			},
			Causes: []Cause{
				{
					Slug: "stale-metadata", Title: "the peer has started again, and old metadata of it are used",
					Weight: Usual,
					Decide: "the start of the peer's log; the keys mooncake/… in the metadata server",
					Remedy: "restart both sides; delete stale keys; P2PHANDSHAKE needs no metadata server",
				},
				{
					Slug: "gid-index", Title: "the two ends use GIDs that don't reach each other", Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Contains: "RTR"}, {Weight: Hint, Variable: "MC_GID_INDEX"},
					},
					Decide: "the lines \"RDMA device: …, GID: (GID_Index …)\" of both logs",
					Remedy: "MC_GID_INDEX with the RoCE v2 GID of the same network on both sides",
				},
				{
					Slug: "rails-not-connected", Title: "devices of networks that aren't connected are paired",
					Weight: Usual,
					Decide: "rdmactl connect between the two devices",
					Remedy: "MC_ENABLE_DEST_DEVICE_AFFINITY=1, or only devices of one network in device_name",
				},
			},
		},
		{
			ID: "RDX-458", Name: "mooncake-metadata", Title: "Mooncake can't reach its metadata server",
			Explanation: "Unless it is P2PHANDSHAKE, agents find each other through etcd, Redis or an HTTP server. " +
				"etcd listens on loopback only unless it is told otherwise, and a proxy must not be in the way.",
			Sources: []string{
				"kvcache-ai/Mooncake, docs/source/troubleshooting/troubleshooting.md", "kvcache-ai/Mooncake#2246",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				mooncakePlugin.says("metadata-etcd", "EtcdStoragePlugin: unable to "),
				mooncakePlugin.says("metadata-etcd-client", "Error from etcd client"),
				mooncakePlugin.says("metadata-redis", "RedisStoragePlugin: unable to "),
				mooncakePlugin.says("metadata-redis-login",
					"RedisStoragePlugin: authentication failed").speaks("setting-invalid"),
				mooncakePlugin.says("metadata-http", "transfer_metadata_plugin.cpp", " curl: "),
				mooncakeMetadata.says("metadata-plugin", "Unable to create metadata storage plugin "),
				mooncakeMetadata.says("metadata-location", "Failed to set location of ", ".cpp:"),
			},
			Causes: []Cause{
				{
					Slug:   "server-unreachable",
					Title:  "the metadata server isn't started, listens on loopback only, or isn't reachable from here",
					Weight: Common, Decide: "curl METADATA_SERVER from this pod; env | grep -i proxy",
					Remedy: "start it first (mooncake_master --enable_http_metadata_server=true), listen on " +
						"0.0.0.0; unset http_proxy and https_proxy; or metadata_server=P2PHANDSHAKE",
				},
				{
					Slug: "setting-invalid", Title: "the address or password of the metadata server is wrong",
					Weight: Usual,
					Decide: "metadata_server (http://HOST:8080/metadata, etcd://HOST:2379)",
					Remedy: "the right address",
				},
				{
					Slug: "firewall", Title: "a firewall drops the connection", Weight: Rare,
					Decide: "nc -vz HOST PORT from this pod", Remedy: "open the port",
				},
			},
		},
		{
			ID: "RDX-459", Name: "mooncake-segment", Title: "Mooncake has no description of a peer's segment",
			Explanation: "The peer is asked for by the name that it registered under (local_hostname). It is missing " +
				"if the peer hasn't started or has ended, or if the metadata server was restarted and lost everything.",
			Sources:  []string{"kvcache-ai/Mooncake#1115", "kvcache-ai/Mooncake#2246"},
			Standing: evidence.Failed,
			Lines: []Line{
				mooncakeMetadata.says("segment-retrieve", "Failed to retrieve segment descriptor, name ").
					with("peer", "name "),
				mooncakeMetadata.says("segment-location", "Failed to find location of ", ".cpp:").
					with("peer", "location of "),
				mooncakeMetadata.says("segment-description", "Failed to get description of ", ".cpp:").
					with("peer", "description of "),
				mooncakePlugin.says("segment-not-found", "metadata not found", "transfer_metadata_plugin.cpp"),
				mooncakeWorker.says("segment-target", "Cannot get target segment description #"),
				mooncakeWorker.says("segment-reload", "Cannot reload target segment #"),
				mooncakeTCP.says("segment-tcp", "TcpTransport::startTransfer failed to get "),
			},
			Causes: []Cause{
				{
					Slug: "dead-peer", Title: "the peer hasn't started yet, or has ended", Weight: Common,
					Decide: "the peer's log", Remedy: "what ended it; wait for it before transfers",
				},
				{
					Slug: "stale-metadata", Title: "the metadata server was restarted and lost its entries",
					Weight: Usual,
					Decide: "the start of mooncake_master's log, later than that of the workers?",
					Remedy: "restart the workers after the master; etcd, or P2PHANDSHAKE", Sources: []string{
						"kvcache-ai/Mooncake#2246",
					},
				},
				{
					Slug: "setting-invalid", Title: "the name isn't the one that the peer registered under",
					Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Contains: "localhost"}, {Weight: Hint, Contains: "127.0.0.1"}},
					Decide: "local_hostname of the peer, against the name in the line",
					Remedy: "the routable address as local_hostname on every node, different for each process",
				},
			},
		},
		{
			ID: "RDX-460", Name: "mooncake-duplicate", Title: "two of Mooncake's clients have the same name",
			Explanation: "local_hostname with its port must be unique. A client that starts again quickly finds " +
				"its own old entry.",
			Sources: []string{"kvcache-ai/Mooncake#863"}, Standing: evidence.Failed,
			Lines: []Line{
				source{Mooncake, "kvcache-ai/Mooncake, mooncake-store/src/http_metadata_server.cpp"}.
					says("duplicate-key", "Duplicate rpc_meta key not allowed"),
			},
			Causes: []Cause{
				{
					Slug:   "name-taken",
					Title:  "another client, or the entry of an earlier run, has the same local_hostname",
					Weight: Common, Decide: "local_hostname of all clients; the keys of the metadata server",
					Remedy: "another port in local_hostname for each client; restart the metadata server to clear it",
				},
			},
		},
		{
			ID: "RDX-461", Name: "mooncake-rail", Title: "Mooncake gave up a way to a peer over RDMA",
			Explanation: "The connection was made, but ended in errors or got no answer. Mooncake pauses the pair " +
				"of devices and tries others. The first failed completion of the log says why.",
			Sources: []string{
				"kvcache-ai/Mooncake, transport/rdma_transport/worker_pool.cpp", "kvcache-ai/Mooncake#1026",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				mooncakeWorker.says("rail-all-failed", "All rails failed for context ").with("device", "for context "),
				mooncakeWorker.says("rail-paused", "Rail paused: peer=").with("peer", "peer="),
				mooncakeWorker.says("rail-ack", "Timed out waiting for RDMA ready ACK").as(evidence.Failed),
				mooncakeWorker.says("rail-inactive", "Cannot make connection for endpoint: ", "mark it inactive").
					with("peer", "endpoint: ").as(evidence.Failed),
				mooncakeWorker.says("rail-redispatch", "Worker: Cannot redispatch slice "),
				mooncakeWorker.says("rail-cq", "CQ completion timeout diagnostic: ").with("device", "context="),
			},
			Causes: []Cause{
				{
					Slug: "rails-not-connected", Title: "devices of networks that aren't connected are paired",
					Weight: Common,
					Decide: "rdmactl connect between the two devices; the peer's device in the line",
					Remedy: "MC_ENABLE_DEST_DEVICE_AFFINITY=1, or only connected devices in device_name",
				},
				{
					Slug: "gid-index", Title: "the GID of one side isn't the routable one", Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Variable: "MC_GID_INDEX"}},
					Decide: "the lines \"RDMA device: …, GID: (GID_Index …)\" of both logs",
					Remedy: "MC_GID_INDEX with the RoCE v2 GID on both sides",
				},
				{
					Slug: "dead-peer", Title: "the peer has ended", Weight: Usual,
					Decide: "the peer's log", Remedy: "what ended it",
				},
				{
					Slug: "udp-blocked", Title: "a switch or firewall drops RoCE packets", Weight: Rare,
					Decide: "rdmactl ping PEER", Remedy: "UDP port 4791",
				},
				{
					Slug: "mtu-differs", Title: "the active MTU differs: Mooncake doesn't agree on one", Weight: Rare,
					Decide: "rdmactl status on both nodes", Remedy: "MC_MTU=1024 (the smaller one) on both sides",
					Sources: []string{"kvcache-ai/Mooncake#3868"},
				},
			},
		},
	}
}
