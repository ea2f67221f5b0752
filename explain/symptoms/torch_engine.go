package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Where engines and launchers print what is about their workers.
var (
	vllmRay      = source{Torch, "vllm-project/vllm, executor and ray utilities"}
	vllmEngine   = source{Torch, "vllm-project/vllm, v1/engine"}
	vllmNIXL     = source{Torch, "vllm-project/vllm, distributed/kv_transfer/kv_connector/v1/nixl"}
	vllmReduce   = source{Torch, "vllm-project/vllm, csrc/custom_all_reduce.cuh"}
	vllmPynccl   = source{Torch, "vllm-project/vllm, distributed/device_communicators"}
	sglangKV     = source{Torch, "sgl-project/sglang, srt/disaggregation"}
	sglangServer = source{Torch, "sgl-project/sglang, srt/server_args.py"}
)

// engineSymptoms are about vLLM, SGLang and Ray.
func engineSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID:          "RDX-383",
			Name:        "ray-cluster",
			Title:       "the Ray cluster lost a node, or can't be joined",
			Explanation: "Ray's head watches its nodes; workers need the same versions of Ray and Python as the head.",
			Sources: []string{
				"ray-project/ray, gcs_server, python/ray/_private/utils.py", "ray-project/ray#12153",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				ray.says("heartbeats", "has been marked dead because the detector has missed too many heartbeats").
					speaks("dead-node"),
				ray.says("gcs", "Failed to connect to GCS").not("GCS may have been killed").speaks("firewall"),
				ray.says("gcs-killed", "GCS may have been killed").speaks("dead-peer"),
				ray.says("gcs-request", "Failed to send request to gcs, reconnecting").speaks("firewall"),
				ray.says("redis", "Unable to connect to Redis at", "is reachable from this machine").
					speaks("firewall"),
				ray.says("redis-context", "Could not establish connection to ", "(context.err = ").
					any("to redis", "to Redis").speaks("firewall"),
				ray.says("gcs-unable", "nable to connect to GCS").speaks("firewall"),
				ray.says("ray-version", "Version mismatch: The cluster was started with").decides("version-mismatch").
					as(evidence.Origin),
				ray.says("node-died", "Owner's node has crashed").speaks("dead-node"),
			},
			Causes: []Cause{
				{
					Slug: "dead-node", Title: "a node of the cluster has failed or is overloaded", Weight: Usual,
					Decide: "ray status; the raylet's log on that node", Remedy: "the node",
				},
				{
					Slug: "firewall", Title: "the ports of Ray's head can't be reached", Weight: Usual,
					Decide: "nc -vz HEAD 6379 from the worker",
					Remedy: "open the ports, or the right address of the head",
				},
				maybe(Rare, "dead-peer", "the head's server (GCS) was stopped, or killed",
					"gcs_server.out and the OOM killer on the head; was ray stop called?",
					"what ended it; more memory for the head"),
				{
					Slug:   "version-mismatch",
					Title:  "head and worker have different versions of Ray or Python",
					Weight: Rare,
					Decide: "ray --version; python --version on all nodes", Remedy: "one image for all nodes",
				},
			},
		},
		{
			ID: "RDX-384", Name: "not-enough-gpus", Title: "the cluster has fewer GPUs than the job asks for",
			Explanation: "Nodes that have not joined, or GPUs that are taken, are missing.",
			Sources:     []string{"vllm-project/vllm, executor and ray utilities"},
			Standing:    evidence.Failed,
			Lines: []Line{
				vllmRay.says("exceeds", "number of required GPUs exceeds the total number of available GPUs"),
				vllmRay.says("no-gpu-node", "Current node has no GPU available"),
				vllmRay.says("waiting-320", "placement group of specs for 320 seconds").as(evidence.Waiting),
				vllmRay.says("waiting-640", "placement group of specs for 640 seconds").as(evidence.Waiting),
				vllmRay.says("waiting-1280", "placement group of specs for 1280 seconds").as(evidence.Waiting),
				ray.says("cannot-fulfill", "No available node types can fulfill resource request").
					not("'node:").as(evidence.Waiting),
				ray.says("cannot-fulfill-node", "No available node types can fulfill resource request", "'node:").
					as(evidence.Waiting).speaks("interface-choice"),
				ray.says("node-request", "': 0.001", "'node:").not("specs=", "specs:", "undles").
					as(evidence.Waiting).speaks("interface-choice"),
				vllmRay.says("waiting-150", "placement group of specs for 150 seconds").as(evidence.Waiting),
				vllmRay.says("waiting-310", "placement group of specs for 310 seconds").as(evidence.Waiting),
				vllmRay.says("waiting-630", "placement group of specs for 630 seconds").as(evidence.Waiting),
				vllmRay.says("not-provided", "Cannot provide a placement group of"),
				vllmRay.says("driver-node", "driver node id", "is not included in a placement"),
				vllmRay.says("driver-gpus", "Ray does not allocate any GPUs on the driver node"),
			},
			Causes: []Cause{
				{
					Slug:   "not-enough-gpus",
					Title:  "a node has not joined the cluster, or its GPUs are taken",
					Weight: Common,
					Decide: "ray status: nodes and GPUs",
					Remedy: "start Ray on all nodes; tensor × pipeline size as GPUs",
				},
				{
					Slug:    "interface-choice",
					Title:   "Ray knows this node by another address than the program: that of another interface",
					Weight:  Rare,
					Decide:  "ray list nodes: is the address in the request among them? echo $VLLM_HOST_IP",
					Remedy:  "ray start --node-ip-address as VLLM_HOST_IP, on each node",
					Sources: []string{"vllm-project/vllm#7815", "eugr/spark-vllm-docker#227"},
				},
			},
		},
		{
			ID: "RDX-385", Name: "same-address", Title: "two nodes report the same address",
			Explanation: "Each node must tell the others an address of its own.",
			Sources:     []string{"vllm-project/vllm, executor and ray utilities"},
			Standing:    evidence.Origin,
			Lines: []Line{
				vllmRay.says("unique-ip", "Every node should have a unique IP address").decides("interface-choice"),
			},
			Causes: []Cause{
				{
					Slug:   "interface-choice",
					Title:  "VLLM_HOST_IP is the same on several nodes, or the wrong interface is used",
					Weight: Common, Decide: "echo $VLLM_HOST_IP; hostname -I on each node",
					Remedy: "VLLM_HOST_IP with the address of each node, before ray start",
				},
			},
		},
		{
			ID: "RDX-386", Name: "engine-echo", Title: "the engine ended after something else had failed",
			Explanation: "The first error above these lines is the cause.",
			Sources:     []string{"vllm-project/vllm, v1/engine and distributed/device_communicators"},
			Standing:    evidence.Echo,
			Lines: []Line{
				vllmEngine.says("root-cause", "ngine core initialization failed"),
				vllmEngine.says("engine-start", "Engine process failed to start"),
				vllmEngine.says("worker-init", "WorkerProc initialization failed"),
				vllmEngine.says("engine-dead", "EngineDeadError"),
				vllmPynccl.says("pynccl", "RuntimeError: NCCL error: "),
				sglang.says("scheduler-exception", "Scheduler hit an exception"),
				elastic.says("closing", "closing signal SIGTERM"),
				sglang.says("scheduler-died", "scheduler died during initialization").not("code: -9)", "code: -11)"),
				sglang.says("capture", "Capture cuda graph failed"),
				sglang.says("sigquit", "Received sigquit from a child"),
				sglang.says("initialization", "Initialization failed. Please see the error messages above"),
				trtllm.says("executor-worker", "Executor worker died during initialization"),
				trtllm.says("executor-returned", "Executor worker returned error"),
			},
			Causes: []Cause{
				{
					Slug: "elsewhere", Title: "the cause is in another line or another log", Weight: Common,
					Decide: "rdmactl explain with the logs of all workers, with NCCL_DEBUG=INFO",
					Remedy: "the first error",
				},
			},
		},
		{
			ID:   "RDX-387",
			Name: "custom-allreduce",
			Title: "PyTorch and vLLM's remarks about all-reduce, barriers and the end of a " +
				"process: no fault by themselves",
			Explanation: "vLLM's own all-reduce needs GPUs that reach each other directly; without it NCCL is " +
				"used. A barrier without device_ids takes the GPU with the number of the rank.",
			Sources:  []string{"vllm-project/vllm, distributed/device_communicators/custom_all_reduce.py"},
			Standing: evidence.Harmless,
			Lines: []Line{
				vllmPynccl.says("custom", "ustom allreduce is disabled because"),
				lazyInit.says("destroy", "destroy_process_group() was not called before program exit"),
				lazyInit.says("barrier-device", "devices used by this process are currently unknown"),
			},
		},
		{
			ID: "RDX-388", Name: "kv-transfer", Title: "prefill and decode lost each other",
			Explanation: "The transfer of the cache between instances failed; the transfer engine's own lines " +
				"name the cause.",
			Sources:  []string{"sgl-project/sglang, srt/disaggregation"},
			Standing: evidence.Waiting,
			Lines: []Line{
				sglangKV.says("prefill-dead", "Failed to get kvcache from prefill instance"),
				sglangKV.says("lost-prefill", "Losing connection with prefill instance"),
				sglangKV.says("decode-dead", "Decode instance could be dead"),
				sglangKV.says("bootstrapping", "KVPoll.Bootstrapping"),
				sglangKV.says("waiting-input", "KVPoll.WaitingForInput"),
				sglangKV.says("handshake", "Decode handshake failed for request"),
				sglangKV.says("transfer-failed", "Decode transfer failed for request"),
				sglangKV.says("bootstrap-failed", "Prefill bootstrap failed for request"),
				sglangKV.says("tp-sizes", "does NOT support PD different TP sizes").as(evidence.Origin).
					decides("setting-invalid"),
			},
			Causes: []Cause{
				{
					Slug: "dead-peer", Title: "the other instance has ended, or is overloaded", Weight: Common,
					Decide: "the log of the other instance at that time", Remedy: "what ended it",
				},
				{
					Slug:   "interface-choice",
					Title:  "the address that an instance gives to the others can't be reached",
					Weight: Usual,
					Decide: "the address in the bootstrap's lines, from the other node: nc -vz ADDRESS PORT",
					Remedy: "--host and --disaggregation-ib-device; settings of Mooncake or NIXL",
				},
				{
					Slug:   "setting-invalid",
					Title:  "for this model prefill and decode must have the same tensor parallel size",
					Weight: Rare,
					Decide: "--tp-size of both instances",
					Remedy: "the same --tp-size, or a release that supports it",
				},
				{
					Slug: "gid-index", Title: "the transfer engine's RDMA connections fail", Weight: Usual,
					Decide: "rdmactl connect between the two nodes; the lines of Mooncake or UCX",
					Remedy: "MC_GID_INDEX or UCX_IB_GID_INDEX with the routable RoCE v2 GID",
				},
			},
		},
		{
			ID: "RDX-389", Name: "engine-device", Title: "an RDMA device is named that this node doesn't have",
			Explanation: "Names of devices differ between nodes.",
			Sources:     []string{"sgl-project/sglang, srt/server_args.py"},
			Standing:    evidence.Origin,
			Lines: []Line{
				sglangServer.says("invalid-ib", "Invalid IB devices specified").decides("wrong-device"),
			},
			Causes: []Cause{
				{
					Slug: "wrong-device", Title: "the name isn't one of this node's RDMA devices", Weight: Common,
					Decide: "rdmactl detect on each node",
					Remedy: "--disaggregation-ib-device with a name of this node",
				},
			},
		},
		{
			ID: "RDX-390", Name: "cuda-after-fork", Title: "CUDA was used before the process was forked",
			Explanation: "CUDA doesn't survive fork; the child process needs a new start.",
			Sources:     []string{"pytorch/pytorch, torch/cuda/__init__.py"},
			Standing:    evidence.Origin,
			Lines: []Line{
				lazyInit.says("fork", "Cannot re-initialize CUDA in forked subprocess").decides("program-usage"),
			},
			Causes: []Cause{
				{
					Slug:   "program-usage",
					Title:  "the program uses CUDA before it starts workers by fork",
					Weight: Common,
					Decide: "where CUDA is first used",
					Remedy: "the start method spawn; VLLM_WORKER_MULTIPROC_METHOD=spawn",
				},
			},
		},
		{
			ID:    "RDX-394",
			Name:  "kv-lease",
			Title: "prefill freed blocks of its cache before decode had read them",
			Explanation: "The prefill side keeps the blocks of a request for a time. If decode comes later, it reads " +
				"blocks of another request, and the answer is wrong without an error.",
			Sources:  []string{"vllm-project/vllm, distributed/kv_transfer/kv_connector/v1/nixl"},
			Standing: evidence.Failed,
			Lines: []Line{
				vllmNIXL.says("expired", "Releasing expired KV blocks for request"),
				vllmNIXL.says("invalid-blocks", "Potentially invalid KV blocks for unrecognized request").
					speaks("kv-lease"),
			},
			Causes: []Cause{
				{
					Slug:   "kv-lease",
					Title:  "the time for which prefill keeps blocks is too short for decode",
					Weight: Common,
					Decide: "the time from the request's arrival at decode to this line",
					Remedy: "VLLM_NIXL_ABORT_REQUEST_TIMEOUT, or the lease of the connector, above that time",
				},
				{
					Slug: "dead-peer", Title: "the decode instance has ended or can't reach prefill", Weight: Usual,
					Decide: "the log of the decode instance", Remedy: "what ended it",
				},
			},
		},
	}
}
