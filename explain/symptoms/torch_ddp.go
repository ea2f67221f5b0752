package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Where PyTorch's DDP and launchers of jobs print what is about the program itself.
var (
	reducer      = source{Torch, "pytorch/pytorch, torch/csrc/distributed/c10d/reducer.cpp"}
	argparse     = source{Torch, "Python, argparse; pytorch/pytorch, torch/distributed/launch.py"}
	rayWorkers   = source{Torch, "ray-project/ray, src/ray/core_worker/core_worker_process.cc"}
	rayNode      = source{Torch, "ray-project/ray, python/ray/_private/node.py and services.py"}
	rayWorkerRPC = source{Torch, "ray-project/ray, src/ray/raylet/worker_pool.cc"}
)

// ddpSymptoms are about how a program uses DDP, and how Ray starts on a node.
func ddpSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-770", Name: "ddp-reduction",
			Title: "DDP did not get a gradient for each parameter, once for each",
			Explanation: "DDP sums the gradients of all parameters in each iteration. A parameter that took no part " +
				"in the loss, or that is used twice in the backward pass, breaks it; the network has no part in it.",
			Sources: []string{"pytorch/pytorch, torch/csrc/distributed/c10d/reducer.cpp"}, Standing: evidence.Origin,
			Lines: []Line{
				reducer.says("reduction", "Expected to have finished reduction in the prior iteration").
					decides("program-usage"),
				reducer.says("ready-once", "Expected to mark a variable ready only once").decides("program-usage"),
				reducer.says("no-gradient", "which did not receive grad for rank").not("Expected to have finished").
					speaks("program-usage"),
			},
			Causes: []Cause{
				maybe(Common, "program-usage",
					"parameters that aren't in the loss, or used twice: a branch, a frozen part, checkpointing",
					"TORCH_DISTRIBUTED_DEBUG=DETAIL: the names of the parameters",
					"find_unused_parameters=True; static_graph=True or use_reentrant=False with checkpoints"),
			},
		},
		{
			ID: "RDX-771", Name: "ddp-model-differs", Title: "DDP compared the models of the ranks, and they differ",
			Explanation: "Ranks exchange the number and sizes of their parameters when DDP is set up. If another " +
				"rank is said to have none, its number did not arrive: the first collective gave a wrong result.",
			Sources: []string{
				"pytorch/pytorch, torch/csrc/distributed/c10d/reducer.cpp", "SWivid/F5-TTS#1008",
				"pytorch/pytorch#68735", "yifan123/flow_grpo#245",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				reducer.says("model-lost", "DDP expects same model across all ranks", "inconsistent 0 params"),
				reducer.says("model-differs", "DDP expects same model across all ranks").not("inconsistent 0 params"),
				reducer.says("sizes", "appears not to match sizes of the same param in process"),
			},
			Causes: []Cause{
				maybe(Usual, "program-fault", "the ranks build different models: a branch on the rank, another config",
					"the number of parameters on each rank", "the same model on all ranks",
					onLine(Hint, "model-differs", "the numbers differ"), onLine(Hint, "sizes", "the sizes differ"),
					onLine(-Hint, "model-lost", "no model has no parameters")),
				maybe(Rare, "gpu-p2p", "direct access between the GPUs gives wrong data: IOMMU, ACS, the GPUs' kind",
					"NCCL_P2P_DISABLE=1 to test, within a node", "IOMMU and ACS off, else NCCL_P2P_DISABLE=1",
					onLine(Hint, "model-lost", "the other rank's number did not arrive")),
				maybe(Rare, "interface-choice",
					"between nodes: NCCL uses cards, a GID index or an interface that don't reach each other",
					"NCCL_DEBUG=INFO on all nodes; nccl-tests between them",
					"NCCL_SOCKET_IFNAME, NCCL_IB_HCA and NCCL_IB_GID_INDEX of the common network",
					onLine(Hint, "model-lost", "the other rank's number did not arrive")),
				maybe(Rare, "launcher-ranks", "the launcher started another number of processes than the config says",
					"num_processes of accelerate against CUDA_VISIBLE_DEVICES", "the same number"),
			},
		},
		{
			ID: "RDX-772", Name: "local-rank-argument", Title: "the program doesn't know the launcher's argument",
			Explanation: "torch.distributed.launch passes --local-rank since PyTorch 2.0, and --local_rank before; " +
				"torchrun passes none and sets LOCAL_RANK.",
			Sources: []string{
				"pytorch/pytorch, torch/distributed/launch.py", "sail-sg/metaformer#12", "hkchengrex/XMem#18",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				argparse.says("local-rank", "unrecognized arguments: --local-rank=").speaks("version-mismatch"),
				argparse.says("local-rank-old", "unrecognized arguments: --local_rank=").speaks("launcher-ranks"),
			},
			Causes: []Cause{
				maybe(Usual, "version-mismatch", "the program was written for another release of PyTorch",
					"python -c 'import torch; print(torch.__version__)'",
					"torchrun and LOCAL_RANK, or --local-rank beside --local_rank in the program's parser"),
				maybe(Usual, "launcher-ranks", "the program expects torchrun, not torch.distributed.launch",
					"the program's README", "torchrun, or --use-env"),
			},
		},
		{
			ID: "RDX-773", Name: "ray-start", Title: "Ray could not start its processes on a node",
			Explanation: "Ray starts as many workers as it sees CPUs. In a job of Slurm or a container there are " +
				"fewer, and limits of processes and threads are lower: some don't register in time.",
			Sources: []string{
				"ray-project/ray, src/ray/core_worker", "ray-project/ray#21479", "marin-community/levanter#338",
				"verl-project/verl#523",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				rayWorkers.says("ray-register", "Failed to register worker ", "aylet"),
				rayWorkerRPC.says("not-registered", "have not registered within the timeout"),
				rayNode.says("node-startup", "The current node timed out during startup"),
			},
			Causes: []Cause{
				maybe(Common, "process-limit", "Ray starts more workers than the job has CPUs, or may have processes",
					"nproc and SLURM_CPUS_PER_TASK against ray status; ulimit -u; pids.max of the control group",
					"ray.init(num_cpus=…) or ray start --num-cpus of what the job has; a larger ulimit -u"),
				maybe(Usual, "dead-peer", "the raylet of the node has ended",
					"raylet.out and raylet.err of the session", "what ended it"),
				maybe(Rare, "host-memory", "the node's memory ran out", "dmesg | grep -i oom", "fewer workers",
					onSeen(string(evidence.KernelOOM), "")),
				maybe(Rare, "environment-differs", "another session's files are in Ray's directory, or it is full",
					"ls -l /tmp/ray; df -h /tmp", "ray stop; --temp-dir on a disk of the node"),
			},
		},
		{
			ID: "RDX-774", Name: "ray-object-store",
			Title:       "Ray's object store is on a disk, since /dev/shm is small",
			Explanation: "Ray goes on, but slowly, and other programs in the container need /dev/shm, too.",
			Sources:     []string{"ray-project/ray, python/ray/_private/utils.py"}, Standing: evidence.Vague,
			Lines: []Line{
				rayNode.says("object-store", "object store is using", "instead of /dev/shm").speaks("shm-too-small"),
			},
			Causes: []Cause{
				maybe(Common, "shm-too-small", "/dev/shm of the container is too small", "df -h /dev/shm",
					"--shm-size of about a third of the memory, or --ipc=host"),
			},
		},
	}
}
