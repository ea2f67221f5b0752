package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func ucxNetworkSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-433", Name: "ucx-tcp-connect", Title: "a TCP connection of UCX failed",
			Explanation: "The address in the line is the one that the peer has published, or that the program was " +
				"given. If it is a loopback or container address, UCX has chosen the wrong interface, and no " +
				"firewall is in the way.",
			Sources: []string{
				"openucx/ucx, src/ucs/sys/sock.c", "openucx/ucx, src/uct/tcp", "openucx/ucx#6695", "openucx/ucx#7599",
				"rapidsai/ucx-py#637",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				{
					Name: "tcp-connect", Program: UCX, All: []string{"connect(fd=", "dest_addr=", "failed: "},
					Fields: []Field{{Name: "address", After: "dest_addr="}},
					Source: "openucx/ucx, src/ucs/sys/sock.c",
				},
				{
					Name: "tcp-connect-old", Program: UCX, All: []string{"connect(fd=", "dst=", "failed: "},
					Fields: []Field{{Name: "address", After: "dst="}}, Source: "openucx/ucx 1.5, src/ucs/sys/sock.c",
				},
				{
					Name: "tcp-retries", Program: UCX,
					All:    []string{"reached maximum number of connection retries ("},
					Source: "openucx/ucx, src/uct/tcp/tcp_cm.c",
				},
				{
					Name: "tcp-unsuccessful", Program: UCX,
					All:    []string{"connection establishment for ", "was unsuccessful", "tcp_"},
					Source: "openucx/ucx, src/uct/tcp/tcp_cm.c",
				},
				{
					Name: "tcp-somaxconn", Program: UCX, All: []string{`try to increase "net.core.somaxconn"`},
					Source: "openucx/ucx, src/uct/tcp/tcp_ep.c", Speaks: []string{"resource-limit"},
				},
				{
					Name: "sockcm-connect", Program: UCX, All: []string{"sockcm_ep.c", "failed to connect to "},
					Fields: []Field{{Name: "address", After: "failed to connect to "}},
					Source: "openucx/ucx 1.8, src/uct/tcp/sockcm/sockcm_ep.c", Speaks: []string{"nobody-listens"},
				},
				{
					Name: "sockcm-event", Program: UCX, All: []string{"error event on fd ", "sockcm"},
					Source: "openucx/ucx, src/uct/tcp/tcp_sockcm.c",
				},
				{
					Name: "tcp-rp-filter", Program: UCX,
					All:    []string{"rp_filter is set to strict mode (1), connections may fail"},
					Source: "openucx/ucx, src/uct/tcp/tcp_ep.c", Standing: evidence.Vague,
					Speaks: []string{"interface-choice"},
				},
			},
			Causes: []Cause{
				{
					Slug: "interface-choice",
					Title: "UCX uses an interface that doesn't lead to the peer: loopback, a container bridge, or " +
						"another network",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Decisive, Contains: "dest_addr=127.", Text: "the address is a loopback address"},
						{Weight: Decisive, Contains: "dst=127.", Text: "the address is a loopback address"},
						{
							Weight: Strong, Contains: "dest_addr=172.17.",
							Text: "the address is one of Docker's bridge",
						},
						{
							Weight: Strong, Contains: "dest_addr=192.168.122.",
							Text: "the address is one of libvirt's bridge",
						},
						{Weight: Hint, Library: "ucx", Since: "1.10.0", Until: "1.11.2"},
						{Weight: Hint, Field: "errno", Is: []string{"101", "113", "110"}},
					},
					Decide: "ip -br addr on the peer: whose address is it? ucx_info -d | grep -A2 tcp",
					Remedy: "UCX_NET_DEVICES=eth0 (the interface of the network between the nodes); UCX from 1.12 " +
						"on, which doesn't pair lo with other nodes",
					Sources: []string{"openucx/ucx#6695", "openucx/ucx#7599"},
				},
				noListener(
					Usual, Clue{Weight: Hint, Field: "errno", Is: []string{"111"}},
					Clue{Weight: -Hint, Contains: "dest_addr=127."},
				),
				{
					Slug: "firewall", Title: "a firewall or security group drops the connection", Weight: Rare,
					Clues: []Clue{
						{Weight: Hint, Field: "errno", Is: []string{"110", "113"}},
					},
					Decide: "nc -vz ADDRESS PORT from the same container",
					Remedy: "open the ports between the nodes; UCX_TCP_PORT_RANGE bounds them",
				},
				{
					Slug: "resource-limit", Title: "too many connections at once for the peer's backlog",
					Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Line: "tcp-retries"}},
					Decide: "netstat -s | grep -i listen on the peer", Remedy: "sysctl net.core.somaxconn, " +
						"net.ipv4.tcp_max_syn_backlog; UCX_TCP_MAX_CONN_RETRIES",
				},
			},
		},
		{
			ID: "RDX-435", Name: "ucx-connection-reset", Title: "the other end of a connection of UCX has gone",
			Explanation: "The peer's process has ended or closed the connection. Its own log has the cause.",
			Sources:     []string{"openucx/ucx, src/ucs/type/status.c"}, Standing: evidence.Echo,
			Lines: []Line{
				{
					Name: "reset", Program: UCX, All: []string{"Connection reset by remote peer"},
					Source: "openucx/ucx, src/ucs/type/status.c",
				},
				{
					Name: "py-reset", Program: UCX, All: []string{"UCXConnectionReset"},
					Source: "rapidsai/ucx-py, ucp/exceptions.py",
				},
				{
					Name: "py-canceled", Program: UCX, All: []string{"UCXCanceled"},
					Source: "rapidsai/ucx-py, ucp/exceptions.py",
				},
				{
					Name: "py-closed", Program: UCX, All: []string{"UCXCloseError"},
					Source: "rapidsai/ucx-py, ucp/exceptions.py",
				},
				{
					Name: "nixl-disconnect", Program: UCX, All: []string{"NIXL_ERR_REMOTE_DISCONNECT"},
					Source: "ai-dynamo/nixl, src/api/cpp/nixl_types.h",
				},
			},
			Causes: []Cause{
				{
					Slug: "dead-peer", Title: "the peer's process has ended or closed the connection", Weight: Common,
					Decide: "the log of the peer, and dmesg of its node for the OOM killer", Remedy: "what ended it",
				},
				{
					Slug: "link-flap", Title: "the connection broke on the way", Weight: Rare,
					Decide: "dmesg and link counters of both nodes; rdmactl doctor --only link-downed",
					Remedy: "the link",
				},
			},
		},
		{
			ID: "RDX-445", Name: "ucx-rdmacm", Title: "rdma_cm of UCX could not resolve or reach the peer",
			Explanation: "UCX connects by an IP address through rdma_cm. The address must be one of an RDMA " +
				"interface, and the peer must listen there.",
			Sources: []string{"openucx/ucx, src/uct/ib/rdmacm/rdmacm_cm.c"}, Standing: evidence.Failed,
			Lines: []Line{
				{
					Name: "rdmacm-event", Program: UCX, All: []string{"got error event RDMA_CM_EVENT_"},
					Source: "openucx/ucx, src/uct/ib/rdmacm/rdmacm_cm.c",
				},
				{
					Name: "rdmacm-resolve", Program: UCX, All: []string{"rdma_resolve_addr(src=", ") failed"},
					Source: "openucx/ucx, src/uct/ib/rdmacm/rdmacm_cm_ep.c",
				},
				{
					Name: "rdmacm-bind", Program: UCX, All: []string{"rdma_bind_addr(addr=", ") failed"},
					Source: "openucx/ucx, src/uct/ib/rdmacm/rdmacm_listener.c",
				},
				{
					Name: "listener-none", Program: UCX,
					All:    []string{"cannot create listener: none of the available components supports it"},
					Source: "openucx/ucx, src/ucp/core/ucp_listener.c", Speaks: []string{"wrong-device"},
				},
			},
			Causes: []Cause{
				{
					Slug: "interface-choice", Title: "the IP address isn't one of an RDMA interface", Weight: Common,
					Clues: []Clue{
						{
							Weight: Strong, Contains: "RDMA_CM_EVENT_ADDR_ERROR",
						}, {
							Weight: Hint, Field: "errno", Is: []string{"19", "99"},
						},
					},
					Decide: "rdma link; ip -br addr: the address of the RDMA netdev",
					Remedy: "the address of the RDMA interface",
				},
				noListener(
					Rare, Clue{Weight: Strong, Contains: "RDMA_CM_EVENT_REJECTED"},
					Clue{Weight: Hint, Contains: "RDMA_CM_EVENT_CONNECT_ERROR"},
				),
				{
					Slug: "udp-blocked", Title: "RoCE packets don't reach the peer, though TCP does", Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Contains: "RDMA_CM_EVENT_UNREACHABLE"},
						{Weight: Hint, Contains: "RDMA_CM_EVENT_ROUTE_ERROR"},
					},
					Decide: "rdmactl connect PEER", Remedy: "UDP port 4791 in firewalls and switches",
				},
				wrongName(Rare),
			},
		},
	}
}
