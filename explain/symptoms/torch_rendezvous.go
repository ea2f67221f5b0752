package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Where PyTorch and Gloo print what is about the meeting of the ranks.
var (
	c10dSocket = source{Torch, "pytorch/pytorch, torch/csrc/distributed/c10d/socket.cpp"}
	tcpStore   = source{Torch, "pytorch/pytorch, torch/csrc/distributed/c10d/TCPStore.cpp"}
	rendezvous = source{Torch, "pytorch/pytorch, torch/distributed/elastic/rendezvous"}
	gloo       = source{Torch, "pytorch/gloo, gloo/transport/tcp"}
	groupGloo  = source{Torch, "pytorch/pytorch, torch/csrc/distributed/c10d/ProcessGroupGloo.cpp"}
)

// webRequests are in lines about requests over HTTP: a program that finds no model hub or package
// index may go on without, and no node of the job is concerned.
func webRequests() []string { return []string{"HTTP", "http", "urllib"} }

// rendezvousSymptoms are about ranks that don't find each other.
func rendezvousSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-370", Name: "port-in-use", Title: "the job can't listen on its TCP port",
			Explanation: "Two jobs on one node have the same MASTER_PORT, an earlier one still runs, or two " +
				"processes believe that they are rank 0.",
			Sources:  []string{"pytorch/pytorch, torch/csrc/distributed/c10d/socket.cpp"},
			Standing: evidence.Origin,
			Lines: []Line{
				c10dSocket.says("listen", "server socket has failed to listen on any local network address").
					speaks("port-in-use"),
				c10dSocket.says("bind", "server socket has failed to bind").speaks("port-in-use"),
				tcpStore.says("eaddrinuse", "name: EADDRINUSE").decides("port-in-use"),
				python.says("errno-98", "[Errno 98] Address already in use").decides("port-in-use"),
				source{Torch, "huggingface/accelerate, utils/launch.py"}.
					says(
						"accelerate-port",
						"Tried to launch distributed communication on port",
					).decides("port-in-use"),
				source{Torch, "zeromq/pyzmq, zmq/error.py"}.says("zmq", "Address already in use (addr=").
					decides("port-in-use"),
				python.says("errno-99", "[Errno 99] Cannot assign requested address").not(webRequests()...).
					speaks("interface-choice"),
				rayNode.says("ray-running", "Ray is trying to start at ", "is already running at").
					decides("port-in-use"),
				source{Torch, "sgl-project/sglang, srt/utils"}.
					says(
						"sglang-port",
						"is not available in ",
						" is used by a process already",
					).decides("port-in-use"),
				python.says("errno-98-error", "[Errno 98] error while attempting to bind").decides("port-in-use"),
			},
			Causes: []Cause{
				{
					Slug: "port-in-use", Title: "another process listens on that port", Weight: Common,
					Decide: "ss -ltnp | grep :PORT on that node",
					Remedy: "end the earlier job, or another port for this one (MASTER_PORT, --rdzv-endpoint)",
				},
				{
					Slug: "interface-choice", Title: "the address isn't one of this node", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Field: "errno", Is: []string{"99"}}},
					Decide: "ip -br address", Remedy: "MASTER_ADDR is an address of the node of rank 0",
				},
			},
		},
		{
			ID: "RDX-371", Name: "name-resolution", Title: "the name of a node has no address",
			Explanation: "A rank can't turn the name of the master, or its own, into an address.",
			Sources:     []string{"getaddrinfo(3)", "pytorch/pytorch, torch/csrc/distributed/c10d/socket.cpp"},
			Standing:    evidence.Origin,
			Lines: []Line{
				c10dSocket.says("gai", "cannot be retrieved (gai error").decides("name-resolution"),
				c10dSocket.says("host-not-found", "host not found: ").
					any("Name or service not known", "Temporary failure", "No address associated", "nodename nor").
					not(webRequests()...).decides("name-resolution"),
				python.says("errno-2", "[Errno -2] Name or service not known").not(webRequests()...).
					decides("name-resolution"),
				python.says("errno-3", "[Errno -3] Temporary failure in name resolution").not(webRequests()...).
					decides("name-resolution"),
				source{Torch, "OpenSSH, sshconnect.c"}.says("ssh-slots", "ssh: Could not resolve hostname").
					any(":1: ", ":2: ", ":4: ", ":6: ", ":8: ", ":16: ").decides("program-usage"),
				source{Torch, "OpenSSH, sshconnect.c"}.says("ssh-name", "ssh: Could not resolve hostname").
					not("github", "gitlab").
					decides("name-resolution"),
				source{Torch, "pmodels/mpich, hydra"}.says("hydra-name", "unable to get host address for").
					decides("name-resolution"),
			},
			Causes: []Cause{
				{
					Slug:   "name-resolution",
					Title:  "the name is unknown to this node",
					Weight: Common,
					Decide: "getent hosts NAME on that node, or in that container",
					Remedy: "an address instead of the name, DNS, a headless service, or /etc/hosts on all nodes; if " +
						"Open MPI cut the domain off, --mca orte_keep_fqdn_hostnames 1",
				},
				{
					Slug: "program-usage",
					Title: "the launcher takes the number of slots for a part of the name: the syntax is another " +
						"MPI's",
					Weight: Rare,
					Decide: "mpirun --version, against the host list or host file",
					Remedy: "--host NODE:4 needs Open MPI 1.8 or later; NODE slots=4 in its host file, NODE:4 in " +
						"MPICH's",
				},
			},
		},
		{
			ID:   "RDX-372",
			Name: "address-family", Title: "IPv6 is tried first and isn't there: IPv4 follows, no fault",
			Explanation: "PyTorch tries all addresses of a name. Where IPv6 is off, the first one fails.",
			Sources:     []string{"pytorch/pytorch, torch/csrc/distributed/c10d/socket.cpp"},
			Standing:    evidence.Harmless,
			Lines: []Line{
				c10dSocket.says("family", "client socket", "errno: 97 - Address family not supported"),
				c10dSocket.says("server-family", "server socket", "errno: 97 - Address family not supported"),
				c10dSocket.says("hostname", "The hostname of the client socket cannot be retrieved"),
			},
		},
		{
			ID: "RDX-373", Name: "rank-missing", Title: "ranks wait for one that doesn't come",
			Explanation: "The store works, but a rank has not written its key or joined: it ended, was never " +
				"started, or is somewhere else in the program.",
			Sources:  []string{"pytorch/pytorch, torch/csrc/distributed/c10d/TCPStore.cpp"},
			Standing: evidence.Waiting,
			Lines: []Line{
				tcpStore.says("wait", "wait timeout after", "keys:").not("client socket"),
				tcpStore.says("socket-timeout", "RuntimeError: Socket Timeout"),
				tcpStore.says("unique-id", "But retrieving ncclUniqueId from [0] via c10d key-value store"),
				rendezvous.says("rdzv-timeout", "RendezvousTimeoutError"),
				rendezvous.says("rdzv-nodes", "Timed out waiting for", "nodes to join"),
				c10dPython.says("store-barrier", "Timed out initializing process group in store based barrier"),
				groupGloo.says("monitored", "failed to pass monitoredBarrier"),
				groupGloo.says("monitored-wrapper", "Monitored Barrier encountered error"),
				gloo.says("store-timeout", "Wait timeout for key(s)"),
				gloo.says("recv-timeout", "Timed out waiting", "recv operation to complete"),
				gloo.says("send-timeout", "Timed out waiting", "send operation to complete"),
			},
			Causes: []Cause{
				{
					Slug: "dead-peer", Title: "a rank has ended or was never started", Weight: Common,
					Clues: []Clue{
						{Weight: Strong, Seen: string(evidence.ProgramKilled)},
						{Weight: Strong, Seen: string(evidence.KernelOOM)},
					},
					Decide: "the logs of all ranks: the one that ends first, or that is missing",
					Remedy: "what ended it",
				},
				{
					Slug: "program-fault", Title: "a rank is at another place in the program: the calls don't match",
					Weight: Usual,
					Decide: "py-spy dump --pid PID on all ranks",
					Remedy: "the program: every rank makes the same calls",
				},
				{
					Slug: "interface-choice", Title: "the ranks reach the store, but not each other", Weight: Rare,
					Decide: "GLOO_SOCKET_IFNAME and the addresses of the nodes", Remedy: "GLOO_SOCKET_IFNAME",
				},
			},
		},
		{
			ID: "RDX-374", Name: "store-closed", Title: "the store of rank 0 is gone",
			Explanation: "The process with the store has ended; the first error of rank 0 is the cause.",
			Sources:     []string{"pytorch/pytorch, torch/csrc/distributed/c10d/TCPStore.cpp"},
			Standing:    evidence.Echo,
			Lines: []Line{
				tcpStore.says("got-0-bytes", "failed to recv, got 0 bytes"),
				tcpStore.says("remote-crash", "Did the remote server shutdown or crash"),
				tcpStore.says("send-bytes", "sendBytes failed on SocketImpl"),
				tcpStore.says("recv-value", "recvValue failed on SocketImpl"),
				tcpStore.says("unique-id-error", "via c10d key-value store by store->get(", "got error"),
				rendezvous.says("rdzv-closed", "RendezvousClosedError"),
				tcpStore.says("reset", "RuntimeError: Connection reset by peer"),
				tcpStore.says("broken-pipe", "RuntimeError: Broken pipe"),
			},
			Causes: []Cause{
				{
					Slug: "dead-peer", Title: "the process of rank 0 has ended", Weight: Common,
					Decide: "the log of rank 0", Remedy: "what ended it",
				},
				{
					Slug: "mesh-sidecar", Title: "a sidecar of a service mesh stands between the pods", Weight: Rare,
					Clues: []Clue{
						onText(Hint, ".svc.cluster.local", "the peers are pods"),
					},
					Decide:  "kubectl get pod: a container istio-proxy or linkerd-proxy",
					Remedy:  `sidecar.istio.io/inject: "false" (annotation and label) for the pods of the job`,
					Sources: []string{"kubeflow/trainer#2794"},
				},
			},
		},
		{
			ID: "RDX-375", Name: "gloo-interface", Title: "Gloo has no usable network interface",
			Explanation: "The name in GLOO_SOCKET_IFNAME is none of this node's, or the interface has no address.",
			Sources:     []string{"pytorch/gloo, gloo/transport/tcp/device.cc"},
			Standing:    evidence.Origin,
			Lines: []Line{
				gloo.says("no-interface", "Unable to find interface for", "gloo").decides("interface-choice"),
				gloo.says("ifa", "ifa != nullptr"),
			},
			Causes: []Cause{
				{
					Slug: "interface-choice", Title: "the interface isn't there, or has no address", Weight: Common,
					Clues:  []Clue{{Weight: Strong, Variable: "GLOO_SOCKET_IFNAME"}},
					Decide: "ip -br address in the container",
					Remedy: "GLOO_SOCKET_IFNAME with an interface of this node",
				},
			},
		},
		{
			ID:    "RDX-376",
			Name:  "gloo-local-fallback",
			Title: "Gloo uses a loopback address: it works on one node only",
			Explanation: "The host's name can't be resolved to an address of the node. With several nodes the others " +
				"then try to reach it at 127.0.0.1.",
			Sources:  []string{"pytorch/pytorch, torch/csrc/distributed/c10d/ProcessGroupGloo.cpp"},
			Standing: evidence.Harmless,
			Lines: []Line{
				groupGloo.says("fallback", "nable to resolve hostname to a (local) address"),
			},
		},
	}
}
