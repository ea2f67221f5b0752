package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Where JAX and XLA print what is about the processes of a job.
var (
	jaxInit         = source{Torch, "jax-ml/jax, jax/_src/distributed.py"}
	jaxBackend      = source{Torch, "jax-ml/jax, jax/_src/xla_bridge.py"}
	xlaCoordination = source{Torch, "openxla/xla, xla/tsl/distributed_runtime/coordination"}
	xlaClient       = source{Torch, "openxla/xla, xla/pjrt/distributed/client.h"}
	xlaRendezvous   = source{Torch, "openxla/xla, xla/service/rendezvous.cc"}
	xlaNCCL         = source{Torch, "openxla/xla, xla/backends/gpu/collectives"}
	grpcClient      = source{Torch, "grpc/grpc, src/core/load_balancing"}
)

// jaxSymptoms are about JAX jobs of several processes.
func jaxSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID:    "RDX-740",
			Name:  "jax-task-lost",
			Title: "a process of the JAX job has ended or was restarted",
			Explanation: "Each process sends heartbeats to the coordinator, which is in process 0. If they stop, the " +
				"coordinator ends all others. The process that is named has failed before, or its node is overloaded.",
			Sources:  []string{"openxla/xla, xla/tsl/distributed_runtime/coordination"},
			Standing: evidence.Waiting,
			Lines: []Line{
				xlaCoordination.says("heartbeat", "heartbeat timeout. This indicates that the remote task has failed").
					speaks("dead-peer"),
				xlaCoordination.says("unhealthy", "tasks are unhealthy (stopped sending heartbeats)").
					speaks("dead-peer"),
				xlaCoordination.says("incarnation", "unexpectedly tried to connect with a different").
					as(evidence.Failed),
				xlaCoordination.says("reconnect", "unexpectedly tried to connect while it is already in").
					as(evidence.Failed),
				xlaCoordination.says("disconnected", "Barrier failed because a task has disconnected").
					speaks("dead-peer"),
			},
			Causes: []Cause{
				maybe(Common, "dead-peer", "that process has ended, or its launcher started it again",
					"the log of the process that is named: what it says first; dmesg of its node",
					"what ended it; fresh processes for all ranks",
					onSeen(string(evidence.KernelOOM), ""), onSeen(string(evidence.ProgramKilled), "")),
				maybe(Usual, "launcher-ranks",
					"two processes have the same process_id, or two jobs the same coordinator",
					"process_id of all processes; a second job at the same address and port",
					"a process_id for each process, a port for each job",
					onLine(Usual, "incarnation", "a second process came with the same number")),
				maybe(Rare, "host-memory", "the node's memory ran out, and the process was killed",
					"dmesg | grep -i oom on that node", "more memory, or less in pinned buffers",
					onSeen(string(evidence.KernelOOM), "")),
				maybe(Rare, "process-blocked", "the process is busy for longer than the heartbeat's time limit",
					"what it did: compilation, pinned memory, a checkpoint",
					"heartbeat_timeout_seconds of jax.distributed.initialize"),
			},
		},
		{
			ID:    "RDX-741",
			Name:  "jax-barrier",
			Title: "processes of the JAX job wait for others that don't come",
			Explanation: "All processes register with the coordinator and meet at barriers. Those that are named as " +
				"missing never came: they were not started, can't reach the coordinator, or do something else.",
			Sources:  []string{"openxla/xla, xla/tsl/distributed_runtime/coordination", "jax-ml/jax#22740"},
			Standing: evidence.Waiting,
			Lines: []Line{
				xlaCoordination.says("barrier-connect", "Barrier timed out.", "PjRT_Client_Connect"),
				xlaCoordination.says("barrier", "Barrier timed out.", "arrier").not("PjRT_Client_Connect").
					any("Barrier_id", "Id: ", "tasks"),
				xlaCoordination.says("register", "RegisterTask").any("DEADLINE_EXCEEDED", "Deadline Exceeded").
					speaks("firewall"),
				xlaCoordination.says("get-key", "GetKeyValue() timed out with key"),
				xlaRendezvous.says("stuck", "This thread has been waiting for", "may be stuck"),
				xlaRendezvous.says("terminate", "Termination timeout for", "seconds exceeded"),
				xlaRendezvous.says("terminate-old", "Termination timeout of", "seconds exceeded. Exiting"),
			},
			Causes: []Cause{
				maybe(Common, "dead-peer", "a process was not started, or ended before",
					"the tasks that the line names: their logs", "what ended them"),
				maybe(
					Usual,
					"launcher-ranks",
					"num_processes is larger than the number of processes that were started",
					"num_processes and process_id of all processes; SLURM_NTASKS",
					"one process for each process_id below num_processes",
					onLine(Hint, "barrier-connect", "the first barrier of all processes"),
				),
				maybe(Usual, "firewall", "the coordinator's port can't be reached from the other nodes",
					"nc -vz COORDINATOR PORT from each node", "open the port, or the right address"),
				maybe(
					Rare,
					"interface-choice",
					"the coordinator's name resolves to an address that others don't reach",
					"getent hosts COORDINATOR on each node",
					"an address of the nodes' network",
				),
				maybe(Rare, "setting-invalid", "a proxy of the environment is between the processes",
					"env | grep -i proxy", "unset http_proxy and https_proxy, or no_proxy with the nodes",
					onSeen("pytorch/proxy", "")),
			},
		},
		{
			ID:    "RDX-742",
			Name:  "jax-coordinator",
			Title: "JAX's coordinator can't be reached",
			Explanation: "The coordinator listens in process 0. Nobody listens at that address and port if process 0 " +
				"has ended, has not come so far, or is elsewhere.",
			Sources:  []string{"openxla/xla, xla/tsl/distributed_runtime/coordination"},
			Standing: evidence.Waiting,
			Lines: []Line{
				xlaCoordination.says("grpc-coordination", "CoordinationService", "UNAVAILABLE").
					any("failed to connect", "Connection refused", "Socket closed", "connection attempt timed out"),
				grpcClient.says("grpc-addresses", "failed to connect to all addresses", "tasks").
					not("grpc_status\":14,\"details\":\"http"),
			},
			Causes: []Cause{
				maybe(Common, "dead-peer", "process 0 with the coordinator has ended",
					"the log of process 0", "what ended it",
					onText(Hint, "Socket closed", "a connection that worked was closed")),
				maybe(Usual, "nobody-listens", "process 0 isn't there yet, or at another address or port",
					"coordinator_address of all processes; ss -ltn on the node of process 0",
					"the address of the node of process 0 on all",
					onText(Usual, "refused", "the port was refused")),
				maybe(Usual, "firewall", "a firewall is between the nodes",
					"nc -vz COORDINATOR PORT from each node", "open the port",
					onText(Usual, "timed out", "no answer at all")),
			},
		},
		{
			ID: "RDX-743", Name: "jax-echo", Title: "JAX ended this process because another one failed",
			Explanation: "The coordinator passes each error on to all processes, and they end.",
			Sources:     []string{"openxla/xla, xla/pjrt/distributed/client.h"},
			Standing:    evidence.Echo,
			Lines: []Line{
				xlaClient.says("terminating", "Terminating process because the JAX distributed service detected"),
				xlaClient.says("terminating-coordinator",
					"Terminating process because the coordinator detected missing"),
				xlaCoordination.says("polled", "Polled an error from coordination service"),
				xlaCoordination.says("agent-error", "Coordination service agent in error status"),
				xlaCoordination.says("propagate", "Use error polling to propagate the following error"),
				xlaCoordination.says("grpc-information", "Additional GRPC error information from remote target"),
				xlaCoordination.says("stopped", "Coordination service has stopped."),
				xlaCoordination.says("disconnect", "Failed to disconnect from coordination service"),
			},
			Causes: []Cause{
				maybe(Common, "elsewhere", "another process failed first", "the logs of all processes, by time",
					"the first error"),
			},
		},
		{
			ID:    "RDX-744",
			Name:  "jax-processes",
			Title: "JAX's processes are not set up as the job needs",
			Explanation: "jax.distributed.initialize comes before anything else and needs the coordinator's address, " +
				"the number of processes and the number of this one; with Slurm and MPI it finds them itself.",
			Sources:  []string{"jax-ml/jax, jax/_src/distributed.py"},
			Standing: evidence.Origin,
			Lines: []Line{
				jaxInit.says("before", "jax.distributed.initialize() must be called before").decides("program-usage"),
				jaxInit.says("once", "distributed.initialize should only be called once").decides("program-usage"),
				jaxInit.says("address", "coordinator_address should be defined").decides("launcher-ranks"),
				jaxInit.says("number", "Number of processes must be defined").decides("launcher-ranks"),
				jaxInit.says("id", "The process id of the current process must be defined").decides("launcher-ranks"),
				jaxInit.says("range", "process_id and num_processes must be nonnegative").decides("launcher-ranks"),
			},
			Causes: []Cause{
				maybe(Usual, "launcher-ranks", "the launcher doesn't say which of how many processes this is",
					"the arguments of jax.distributed.initialize; SLURM_*, OMPI_* of the process",
					"coordinator_address, num_processes and process_id"),
				maybe(Usual, "program-usage", "the program calls it too late, or twice",
					"the program's first use of jax",
					"jax.distributed.initialize as the first call"),
			},
		},
		{
			ID: "RDX-745", Name: "jax-without-cuda", Title: "JAX was installed without CUDA, and uses the CPU",
			Explanation: "A GPU seems to be there, but the plugin for it isn't installed, or could not be loaded.",
			Sources:     []string{"jax-ml/jax, jax/_src/xla_bridge.py"}, Standing: evidence.Failed,
			Lines: []Line{
				jaxBackend.says("no-cuda-jaxlib", "CUDA-enabled jaxlib is not installed. Falling back").
					decides("missing-library"),
				jaxBackend.says("no-cuda-plugin", "Unable to initialize backend 'cuda'").
					not("INFO", "'cuda': module"),
			},
			Causes: []Cause{
				maybe(Common, "missing-library", "the package for CUDA is missing", "pip list | grep -i jax",
					`pip install "jax[cuda12]", in the versions of jax and jaxlib`),
				maybe(Usual, "gpu-missing", "the process can't open the GPU", "nvidia-smi -L in the container",
					"--gpus all; CUDA_VISIBLE_DEVICES"),
				maybe(Rare, "driver-too-old", "the driver is older than the CUDA of the package",
					"nvidia-smi: the CUDA version", "a newer driver, or an older package"),
			},
		},
		{
			ID:          "RDX-746",
			Name:        "jax-proxy",
			Title:       "a proxy is set where JAX connects its processes: no fault by itself",
			Explanation: "gRPC uses the proxy of the environment, also between the nodes of a job; the start may hang.",
			Sources:     []string{"jax-ml/jax, jax/_src/distributed.py"},
			Standing:    evidence.Harmless,
			Lines:       []Line{jaxInit.says("proxy", "JAX detected proxy variable(s) in the environment")},
		},
		{
			ID: "RDX-747", Name: "nccl-not-loaded", Title: "JAX or TensorFlow found no NCCL library",
			Explanation: "XLA loads libnccl.so.2 when the first collective starts. It is in a package of its own, " +
				"which the GPU's build of JAX requires.",
			Sources: []string{
				"openxla/xla, third_party/nccl", "LargeWorldModel/LWM#44", "jax-ml/jax#18391",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				xlaNCCL.says("nccl-not-loaded", "Unable to load NCCL library. Multi-GPU").decides("missing-library"),
			},
			Causes: []Cause{
				maybe(Common, "missing-library", "the NCCL library isn't installed, or not where it is looked for",
					"pip list | grep nccl; ldconfig -p | grep nccl; LD_LIBRARY_PATH",
					"pip install 'jax[cuda12]' or nvidia-nccl-cu12; its lib directory in LD_LIBRARY_PATH"),
				maybe(Rare, "library-conflict", "another framework in the process hides the library",
					"the same without the import of TensorFlow; LD_DEBUG=libs", "LD_PRELOAD of the right library"),
			},
		},
	}
}
