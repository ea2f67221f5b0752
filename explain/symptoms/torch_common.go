package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Where PyTorch and libraries beside it print what is about a process and its GPU.
var (
	c10dPython  = source{Torch, "pytorch/pytorch, torch/distributed/distributed_c10d.py and rendezvous.py"}
	torchCUDA   = source{Torch, "pytorch/pytorch, torch/cuda/__init__.py"}
	torchBuild  = source{Torch, "pytorch/pytorch, torch/utils/cpp_extension.py"}
	cudaLibrary = source{Torch, "pytorch/pytorch, aten/src/ATen/cuda/CUDABlas.cpp; cuBLAS and cuDNN"}
	spawn       = source{Torch, "pytorch/pytorch, torch/multiprocessing/spawn.py"}
	faulthandle = source{Torch, "Python, Modules/faulthandler.c"}
	rayWorker   = source{Torch, "ray-project/ray, src/ray/raylet/node_manager.cc"}
	rayConnect  = source{Torch, "ray-project/ray, python/ray/_private/services.py"}
)

// commonSymptoms are about what ends a job of PyTorch before it communicates.
func commonSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-760", Name: "rendezvous-environment", Title: "the process group of PyTorch can't be set up",
			Explanation: "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT come from torchrun, or must be set; the " +
				"process group is made before it is used.",
			Sources:  []string{"pytorch/pytorch, torch/distributed/rendezvous.py"},
			Standing: evidence.Origin,
			Lines: []Line{
				c10dPython.says("environment", " expected, but not set", "environment variable").
					decides("launcher-ranks"),
				c10dPython.says("no-group", "Default process group has not been initialized").speaks("program-usage"),
				c10dPython.says("no-backend", "No backend type associated with device type").decides("program-usage"),
				c10dPython.says("libuv", "use_libuv was requested but PyTorch was buil").decides("build-options"),
			},
			Causes: []Cause{
				maybe(Usual, "launcher-ranks", "the program was started without torchrun, or without these variables",
					"env | grep -e RANK -e WORLD_SIZE -e MASTER_", "torchrun, or the variables of the batch system"),
				maybe(Usual, "program-usage",
					"the program uses a group that isn't there, or tensors of the wrong device",
					"init_process_group and its backend; the device of the tensors",
					"init_process_group first; cpu:gloo,cuda:nccl for tensors of both"),
				maybe(
					Rare,
					"build-options",
					"this build of PyTorch has no libuv",
					"python -m torch.utils.collect_env",
					"USE_LIBUV=0",
				),
			},
		},
		{
			ID:    "RDX-761",
			Name:  "rendezvous-connection",
			Title: "torchrun could not reach the store of the rendezvous",
			Explanation: "With the backend c10d, the node whose name or address is that of --rdzv-endpoint starts " +
				"the store, and all connect to it. If no node takes the name for its own, nobody listens.",
			Sources:  []string{"pytorch/pytorch, torch/distributed/elastic/rendezvous", "pytorch/pytorch#79388"},
			Standing: evidence.Waiting,
			Lines: []Line{
				rendezvous.says("connection", "RendezvousConnectionError"),
				rendezvous.says("connection-store", "The connection to the C10d store has failed"),
			},
			Causes: []Cause{
				maybe(
					Common,
					"nobody-listens",
					"no node takes the endpoint's name for its own, or that node isn't up",
					"hostname -f and getent hosts NAME on that node; ss -ltnp there",
					"the node's own name or address as --rdzv-endpoint; is_host=true in --rdzv-conf",
				),
				maybe(Usual, "firewall", "the port can't be reached", "nc -vz HOST PORT from each node",
					"open the port"),
				maybe(Usual, "name-resolution", "the name leads to another address", "getent hosts NAME on all nodes",
					"an address, or a correct /etc/hosts"),
			},
		},
		{
			ID: "RDX-762", Name: "gpu-busy", Title: "the GPU is taken by another process",
			Explanation: "In exclusive mode one process may use a GPU.",
			Sources:     []string{"CUDA Runtime API, cudaErrorDevicesUnavailable"}, Standing: evidence.Origin,
			Lines: []Line{
				cudaText.says("busy", "CUDA-capable device(s) is/are busy or unavailable"),
				cudaText.says("all-busy", "all CUDA-capable devices are busy or unavailable"),
			},
			Causes: []Cause{
				maybe(Common, "gpu-exclusive", "the compute mode is exclusive, and a process has the GPU",
					"nvidia-smi -q -d COMPUTE; nvidia-smi: processes",
					"nvidia-smi -c DEFAULT, or end the other process"),
				maybe(Usual, "gpu-hardware", "the GPU has failed, or MIG has no instance",
					"dmesg | grep Xid; nvidia-smi -L",
					"reset the GPU; make MIG instances"),
			},
		},
		{
			ID: "RDX-763", Name: "cuda-library", Title: "cuBLAS or cuDNN could not be set up on the GPU",
			Explanation: "Their handles need memory of the GPU, and their libraries must fit PyTorch's CUDA.",
			Sources:     []string{"cuBLAS and cuDNN, status codes"}, Standing: evidence.Failed,
			Lines: []Line{
				cudaLibrary.says("cublas-memory", "CUBLAS_STATUS_ALLOC_FAILED").speaks("gpu-memory"),
				cudaLibrary.says("cublas-start", "CUBLAS_STATUS_NOT_INITIALIZED"),
				cudaLibrary.says("cudnn-start", "CUDNN_STATUS_NOT_INITIALIZED"),
				cudaLibrary.says("dnn", "DNN library initialization failed").as(evidence.Vague),
			},
			Causes: []Cause{
				maybe(Common, "gpu-memory", "the GPU has no memory left", "nvidia-smi while the job starts",
					"a smaller share of memory (XLA_PYTHON_CLIENT_MEM_FRACTION, --gpu-memory-utilization) or batch"),
				maybe(Usual, "version-mismatch", "another cuBLAS or cuDNN is found than PyTorch or JAX needs",
					"LD_LIBRARY_PATH; pip list | grep -i -e cublas -e cudnn",
					"unset LD_LIBRARY_PATH; one set of libraries"),
				maybe(Rare, "gpu-kernel-fault", "an earlier kernel has failed", "CUDA_LAUNCH_BLOCKING=1",
					"the program or library of that kernel"),
			},
		},
		{
			ID: "RDX-764", Name: "cuda-build", Title: "PyTorch or an extension was built for another CUDA, or none",
			Explanation: "Extensions that are compiled at the first use need the nvcc of PyTorch's CUDA.",
			Sources: []string{
				"pytorch/pytorch, torch/utils/cpp_extension.py", "deepspeedai/DeepSpeed, op_builder/builder.py",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				torchCUDA.says("not-compiled", "Torch not compiled with CUDA enabled").decides("cuda-build"),
				torchBuild.says("detected", "mismatches the version that was used to compile").decides("cuda-build"),
				source{Torch, "deepspeedai/DeepSpeed, op_builder/builder.py"}.
					says("installed", "does not match the version torch was compiled with").decides("cuda-build"),
				source{Torch, "deepspeedai/DeepSpeed, op_builder/builder.py"}.
					says("cuda-home", "CUDA_HOME does not exist, unable to compile").decides("missing-library"),
				torchBuild.says("ninja", "Ninja is required to load C++ extensions").decides("missing-library"),
				torchBuild.says("cuda-home-torch", "CUDA_HOME environment variable is not set").
					decides("missing-library"),
			},
			Causes: []Cause{
				maybe(Common, "cuda-build", "the installed CUDA isn't that of PyTorch",
					"nvcc --version; torch.version.cuda",
					"PyTorch for the installed CUDA, or the toolkit of PyTorch's CUDA in CUDA_HOME"),
				maybe(Usual, "missing-library", "what is needed to compile isn't there",
					"nvcc --version; ninja --version",
					"the CUDA toolkit with CUDA_HOME, ninja; an image for development"),
			},
		},
		{
			ID: "RDX-765", Name: "gpu-capability", Title: "the GPU is too old for what the program asks for",
			Explanation: "Data types and kernels need a compute capability.",
			Sources:     []string{"vllm-project/vllm, platforms/cuda.py"}, Standing: evidence.Origin,
			Lines: []Line{
				vllmConfig.says("bfloat16", "Bfloat16 is only supported on GPUs with compute capability").
					decides("gpu-arch"),
				vllmConfig.says("capability", "is only supported on", "ompute capability").not("Bfloat16").
					speaks("gpu-arch"),
			},
			Causes: []Cause{
				maybe(Common, "gpu-arch", "this GPU doesn't have it",
					"nvidia-smi --query-gpu=compute_cap --format=csv", "--dtype half, or another GPU"),
			},
		},
		{
			ID: "RDX-766", Name: "ray-worker-died", Title: "a worker process of Ray ended without an error message",
			Explanation: "Ray sees only that the connection to the worker has closed. The kernel's OOM killer, a " +
				"crash in native code, and ray stop look alike.",
			Sources: []string{"ray-project/ray, src/ray/raylet/node_manager.cc"}, Standing: evidence.Vague,
			Lines: []Line{
				rayWorker.says("worker-exit", "Worker unexpectedly exits with a connection error code"),
				rayWorker.says("worker-died", "A worker died or was killed while executing a task").
					not("Worker unexpectedly exits"),
				rayWorker.says("worker-failure", "The leased worker has unrecoverable failure"),
			},
			Causes: []Cause{
				maybe(
					Common,
					"host-memory",
					"the memory of the node or container ran out, and the process was killed",
					"dmesg -T | grep -i oom on that node; ray logs; the memory limit of the container",
					"more memory, fewer processes, less in the object store or offloaded to the CPU",
					onSeen(string(evidence.KernelOOM), ""),
				),
				maybe(Usual, "process-crash", "native code of the worker crashed",
					"python-core-worker-*.log and worker-*.err of that process in /tmp/ray/session_latest/logs",
					"matching versions of the libraries"),
				maybe(Usual, "elsewhere", "the worker ended because of an error of its own",
					"the traceback of that worker, before this line", "the first error"),
			},
		},
		{
			ID: "RDX-767", Name: "ray-not-running", Title: "no Ray cluster runs where the program looks for one",
			Explanation: "The address comes from --address, RAY_ADDRESS or the files of a cluster on this node.",
			Sources:     []string{"ray-project/ray, python/ray/_private/services.py"}, Standing: evidence.Origin,
			Lines: []Line{
				rayConnect.says("no-instance", "Could not find any running Ray instance").
					decides("server-unreachable"),
				rayConnect.says("no-address", "Can't find a `node_ip_address.json` file").
					speaks("server-unreachable"),
			},
			Causes: []Cause{
				maybe(Common, "server-unreachable", "ray start did not run on this node, or as another user",
					"ray status; ls /tmp/ray", "ray start --head, or --address of the head; RAY_ADDRESS"),
			},
		},
		{
			ID:    "RDX-768",
			Name:  "loader-died",
			Title: "a worker of the data loader ended",
			Explanation: "Loader workers are processes. They end by signals if memory runs out, and by errors in the " +
				"dataset's code.",
			Sources:  []string{"pytorch/pytorch, torch/utils/data/dataloader.py"},
			Standing: evidence.Failed,
			Lines: []Line{
				dataLoader.says("loader-killed", "DataLoader worker", "is killed by signal: Killed").
					speaks("host-memory"),
				dataLoader.says("loader-exited", "DataLoader worker", "exited unexpectedly").as(evidence.Vague),
				dataLoader.says("loader-segv", "DataLoader worker", "is killed by signal: Segmentation").
					speaks("process-crash"),
			},
			Causes: []Cause{
				maybe(Usual, "host-memory", "the memory of the node or container ran out",
					"dmesg | grep -i oom; the memory limit of the container", "fewer loader workers, more memory"),
				shmTooSmall(Usual),
				maybe(Usual, "process-crash", "native code in the dataset crashed, or doesn't survive fork",
					"num_workers=0 shows the error", "multiprocessing_context=\"spawn\"; the library of the dataset"),
			},
		},
		{
			ID: "RDX-769", Name: "gloo-closed", Title: "a process that Gloo is connected to has ended",
			Explanation: "A connection of Gloo that worked was closed: the first error of the peer is the cause.",
			Sources:     []string{"pytorch/gloo, gloo/transport/tcp/pair.cc"}, Standing: evidence.Echo,
			Lines: []Line{
				gloo.says("closed", "gloo/transport/tcp/").
					any("Connection closed by peer", "Connection reset by peer", "Broken pipe").not("] connect ["),
			},
			Causes: []Cause{
				maybe(Common, "dead-peer", "the peer's process has ended",
					"the logs of all processes: the one that ends first",
					"what ended it"),
				maybe(Rare, "host-memory", "the peer was killed because memory ran out",
					"dmesg | grep -i oom on its node",
					"more memory", onSeen(string(evidence.KernelOOM), "")),
			},
		},
		{
			ID:    "RDX-748",
			Name:  "allocator-assert",
			Title: "PyTorch's allocator of GPU memory failed in a call of NVML",
			Explanation: "When memory runs out, the allocator asks NVML what is in use for its message. If that call " +
				"fails, the assertion hides the message. With expandable segments it fails while it gives back.",
			Sources: []string{
				"pytorch/pytorch, c10/cuda/CUDACachingAllocator.cpp", "pytorch/pytorch#112377",
				"pytorch/pytorch#112950",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				allocator.says("nvml-init", "INTERNAL ASSERT FAILED", "CUDACachingAllocator", "nvmlInit").
					speaks("driver-mismatch"),
				allocator.says(
					"nvml-device",
					"INTERNAL ASSERT FAILED",
					"CUDACachingAllocator",
					"nvmlDeviceGetHandle",
				),
				allocator.says("nvml-result", "INTERNAL ASSERT FAILED", "CUDACachingAllocator", "NVML_SUCCESS == r").
					speaks("gpu-memory"),
				allocator.says("segments", "INTERNAL ASSERT FAILED", "CUDACachingAllocator", "handles_.at(").
					speaks("gpu-memory"),
			},
			Causes: []Cause{
				maybe(Usual, "gpu-memory", "the GPU's memory ran out, and the message was lost",
					"nvidia-smi while the job runs",
					"a smaller batch or share of memory; end other processes on the GPU"),
				maybe(Usual, "driver-mismatch", "libnvidia-ml isn't of the loaded driver's release, or isn't there",
					"nvidia-smi in the same container; cat /proc/driver/nvidia/version",
					"a reboot after the driver's update; a restart of the container"),
				maybe(Rare, "gpu-missing", "NVML can't see the GPU: MIG, a container without it, WSL",
					"nvidia-smi -L in the container; CUDA_VISIBLE_DEVICES", "the GPU's numbers, not UUIDs of MIG"),
			},
		},
	}
}
