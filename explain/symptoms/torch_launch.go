package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Where launchers and engines check what they were asked for.
var (
	deepSpeedRunner = source{Torch, "deepspeedai/DeepSpeed, deepspeed/launcher/runner.py"}
	deepSpeedLaunch = source{Torch, "deepspeedai/DeepSpeed, deepspeed/launcher/launch.py"}
	deepSpeedMemory = source{Torch, "deepspeedai/DeepSpeed, deepspeed/runtime/utils.py"}
	pdsh            = source{Torch, "chaos/pdsh, src/modules/xcmd.c"}
	megatronSizes   = source{Torch, "NVIDIA/Megatron-LM, megatron/core/parallel_state.py"}
	megatronArgs    = source{Torch, "NVIDIA/Megatron-LM, megatron/training/arguments.py"}
	trtllm          = source{Torch, "NVIDIA/TensorRT-LLM, tensorrt_llm and cpp/tensorrt_llm"}
	vllmEnvs        = source{Torch, "vllm-project/vllm, envs.py"}
	vllmConfig      = source{Torch, "vllm-project/vllm, config/parallel.py and executor"}
	cxxLoader       = source{Torch, "glibc, elf/dl-version.c and elf/dl-lookup.c"}
)

// launchSymptoms are about launchers, and settings of engines.
func launchSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-750", Name: "port-variable",
			Title: "a variable for a port has another value, such as an address from Kubernetes",
			Explanation: "For each Service, Kubernetes sets variables such as NAME_PORT=tcp://10.0.0.1:80 in all " +
				"pods of the namespace. A Service called vllm, master or redis overwrites VLLM_PORT, MASTER_PORT " +
				"or REDIS_PORT.",
			Sources:  []string{"vllm-project/vllm, envs.py", "Kubernetes, services and environment variables"},
			Standing: evidence.Origin,
			Lines: []Line{
				python.says("port-literal", "invalid literal for int() with base 10: 'tcp://").
					decides("setting-invalid"),
				vllmEnvs.says("port-uri", "appears to be a URI. This may be caused by a Kubernetes").
					decides("setting-invalid"),
				vllmEnvs.says("port-integer", "' must be a valid integer", "_PORT ").speaks("setting-invalid"),
			},
			Causes: []Cause{
				maybe(
					Common,
					"setting-invalid",
					"the variable has no port number: Kubernetes makes it from a Service of that name (tcp://…), "+
						"or it is set wrongly",
					"env | grep _PORT= in the pod; kubectl get services",
					"another name for the Service, or enableServiceLinks: false in the pod's spec",
				),
			},
		},
		{
			ID: "RDX-751", Name: "deepspeed-ssh", Title: "the launcher can't log in to a node",
			Explanation: "DeepSpeed, pdsh and mpirun start processes by ssh, without a password and without a " +
				"question about host keys.",
			Sources: []string{"deepspeedai/DeepSpeed, deepspeed/launcher/runner.py"}, Standing: evidence.Origin,
			Lines: []Line{
				deepSpeedRunner.says("ssh-unreachable", "was not reachable via ssh").speaks("ssh-keys"),
				deepSpeedRunner.says("ssh-command", "Command 'ssh -o PasswordAuthentication=no").speaks("ssh-keys"),
				pdsh.says("pdsh-exit", "ssh exited with exit code 255"),
				pdsh.says("pdsh-module", "module path \"", "pdsh@", "insecure").speaks("setting-invalid"),
				pdsh.says("pdsh-connect", ": connect: ", "pdsh@"),
			},
			Causes: []Cause{
				maybe(Common, "ssh-keys", "the node doesn't accept the key, or its host key is unknown",
					"ssh -o PasswordAuthentication=no NODE hostname, as the job's user and in its container",
					"a key without passphrase in authorized_keys of all nodes; StrictHostKeyChecking accept-new"),
				maybe(Usual, "sshd-missing", "no sshd runs there, or on another port",
					"nc -vz NODE 22", "sshd in the containers; --ssh_port, or Port in ~/.ssh/config"),
				maybe(Usual, "name-resolution", "the name in the hostfile is unknown", "getent hosts NODE",
					"an address in the hostfile"),
				maybe(Rare, "setting-invalid", "pdsh refuses its modules, whose folder others may write to",
					"the path in the line: ls -ld", "PDSH_RCMD_TYPE=ssh, and a folder that only root may write to"),
			},
		},
		{
			ID: "RDX-752", Name: "launcher-hostfile", Title: "the launcher's list of nodes or GPUs doesn't fit",
			Explanation: "The hostfile, --include, --exclude, --num_nodes and --num_gpus must agree with each other.",
			Sources:     []string{"deepspeedai/DeepSpeed, deepspeed/launcher/runner.py"}, Standing: evidence.Origin,
			Lines: []Line{
				deepSpeedRunner.says("no-hosts", "Num nodes is >1 but no extra nodes available via hostfile"),
				deepSpeedRunner.says("not-listed", "not found in hostfile", "Hostname"),
				deepSpeedRunner.says("no-slot", "No slot '", "specified on host"),
				deepSpeedRunner.says("bad-entry", "Hostfile contains a bad entry"),
				deepSpeedRunner.says("twice", "Hostfile contains multiple entries for"),
				deepSpeedRunner.says("empty", "Hostfile is empty or not formatted correctly"),
				deepSpeedRunner.says("no-gpus", "Unable to proceed, no GPU resources available").
					speaks("gpu-missing"),
				deepSpeedRunner.says("no-launcher", "launcher '", "' not installed").decides("missing-library"),
			},
			Causes: []Cause{
				maybe(Common, "launcher-ranks", "nodes or slots are missing or wrong in the hostfile",
					"the hostfile: NAME slots=GPUs in each line", "the hostfile, or the options"),
				maybe(Rare, "gpu-missing", "the process sees no GPU", "nvidia-smi -L",
					"--gpus all; CUDA_VISIBLE_DEVICES"),
				maybe(Rare, "missing-library", "the program that the launcher uses isn't installed",
					"which pdsh mpirun", "install it, or --launcher with another one"),
			},
		},
		{
			ID: "RDX-753", Name: "launcher-killing", Title: "DeepSpeed's launcher ended the processes of this node",
			Explanation: "A process has ended before the others. The first error above says why; if there is none, " +
				"the process was killed, mostly because the memory of the node ran out.",
			Sources:  []string{"deepspeedai/DeepSpeed, deepspeed/launcher/launch.py", "deepspeedai/DeepSpeed#4571"},
			Standing: evidence.Vague,
			Lines: []Line{
				deepSpeedLaunch.says("killing", "Killing subprocess ", "launch.py"),
				deepSpeedLaunch.says("return-code", "exits with return code = ", "launch.py").
					not("= -9", "= -7", "= -11", "= 0"),
				deepSpeedLaunch.says("return-bus", "exits with return code = -7").as(evidence.Failed).
					speaks("shm-too-small"),
				deepSpeedLaunch.says("return-segv", "exits with return code = -11").as(evidence.Failed).
					speaks("process-crash"),
			},
			Causes: []Cause{
				maybe(Usual, "elsewhere", "a process ended with an error of its own",
					"the first traceback above, on all nodes", "the first error"),
				maybe(Rare, "host-memory",
					"the node's memory ran out: weights, optimizer states and loaders are on the CPU",
					"dmesg | grep -i oom; free -g while the job starts; the memory limit of the container",
					"less offload to the CPU, or to NVMe; fewer loader workers; more memory",
					onSeen("pytorch/memory-full", "")),
				shmTooSmall(Rare),
				maybe(Rare, "process-crash", "native code accessed memory that isn't there",
					"faulthandler of Python; gdb with the core",
					"matching versions of torch, CUDA and DeepSpeed's operators"),
			},
		},
		{
			ID: "RDX-754", Name: "memory-report", Title: "DeepSpeed reports that the node's memory is nearly full: " +
				"no fault by itself",
			Explanation: "The value is that of psutil for the whole node, also in a container.",
			Sources:     []string{"deepspeedai/DeepSpeed, deepspeed/runtime/utils.py"}, Standing: evidence.Harmless,
			Lines: []Line{
				deepSpeedMemory.says("memory-full", "CPU Virtual Memory:", "percent = ").any(
					"percent = 8", "percent = 9", "percent = 100",
				).not("percent = 8.", "percent = 9.", "percent = 8%", "percent = 9%"),
			},
		},
		{
			ID: "RDX-755", Name: "parallel-sizes", Title: "the sizes of the parallel groups don't fit the processes",
			Explanation: "Tensor, pipeline, context and expert sizes multiply; the number of processes must be a " +
				"multiple of it, or exactly that.",
			Sources: []string{
				"NVIDIA/Megatron-LM, megatron/core/parallel_state.py", "NVIDIA/TensorRT-LLM", "vllm-project/vllm",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				megatronSizes.says("not-divisible", "is not divisible by", "orld").
					any("world_size (", "world size (", "orld size").not("atch", "{world_size}").
					decides("launcher-ranks"),
				trtllm.says("engine-world", "Engine world size (", "Runtime world size (").decides("launcher-ranks"),
				trtllm.says("mpi-size", "Assertion failed:").any(
					"mpiSize == tp * pp", "MPI size", "mpi_size", "World size", "world size",
				).decides("launcher-ranks"),
				vllmConfig.says("world-gpus", "World size (", "is larger than the number of available GPUs").
					speaks("not-enough-gpus"),
				vllmConfig.says("local-gpus", "to less than max local gpu count").speaks("not-enough-gpus"),
				vllmConfig.says("heads", "attention heads", "must be divisible by tensor parallel size").
					decides("setting-invalid"),
				sglangServer.says("tp-nodes", "tp_size must be divisible by").decides("setting-invalid"),
			},
			Causes: []Cause{
				maybe(Common, "launcher-ranks", "more or fewer processes were started than the sizes need",
					"tensor × pipeline × context size against the number of processes",
					"mpirun -n or --nproc_per_node × --nnodes as the product of the sizes"),
				maybe(Usual, "not-enough-gpus", "the node, or the cluster that has joined, has fewer GPUs",
					"nvidia-smi -L; ray status", "smaller sizes, or all nodes in the cluster"),
				maybe(Rare, "setting-invalid", "the model can't be split into that many parts",
					"attention heads of the model's config.json", "a size that divides them"),
			},
		},
		{
			ID:    "RDX-756",
			Name:  "queue-setting",
			Title: "Megatron needs another value of CUDA_DEVICE_MAX_CONNECTIONS",
			Explanation: "With one hardware queue, communication and computation start in the order of their calls, " +
				"which overlapped tensor parallelism relies on.",
			Sources:  []string{"NVIDIA/Megatron-LM, megatron/training/arguments.py"},
			Standing: evidence.Origin,
			Lines: []Line{
				megatronArgs.says("max-connections", "CUDA_DEVICE_MAX_CONNECTIONS to 1").
					any("require setting", "equires setting").not("While", "while").decides("setting-invalid"),
				megatronArgs.says("max-connections-fsdp", "CUDA_DEVICE_MAX_CONNECTIONS", "FSDP", "requires").
					any("large than one", "> 1 or unset").decides("setting-invalid"),
			},
			Causes: []Cause{
				maybe(Common, "setting-invalid", "the variable has another value",
					"env | grep CUDA_DEVICE_MAX_CONNECTIONS",
					"the value that the line asks for, on all nodes"),
			},
		},
		{
			ID: "RDX-757", Name: "nccl-result-unknown",
			Title: "NCCL returned a result that its own library has no name for",
			Explanation: "The result codes of NCCL grow with its releases. A code without a name shows that the " +
				"program was built for another release than the one that is loaded.",
			Sources: []string{"NVIDIA/nccl, src/init.cc", "NVIDIA/TensorRT-LLM#1131"}, Standing: evidence.Failed,
			Lines: []Line{
				trtllm.says("unknown-result", "'unknown result code'", "NCCL").speaks("version-mismatch"),
			},
			Causes: []Cause{
				maybe(Common, "version-mismatch",
					"another NCCL is loaded than the program was built for: that of torch's wheel",
					"pip list | grep -e nccl -e torch; grep nccl /proc/PID/maps",
					"the release of torch, and with it of nvidia-nccl, that the program's requirements name"),
				maybe(Rare, "library-conflict", "two NCCL libraries are in the process", "grep nccl /proc/PID/maps",
					"one of them"),
			},
		},
		{
			ID:    "RDX-758",
			Name:  "cxx-library",
			Title: "a C++ or torch library is of another release than an extension needs",
			Explanation: "An extension needs symbols that the library which is found first doesn't have: a libstdc++ " +
				"of conda or of the system that is older than the compiler, or another torch than at build time.",
			Sources:  []string{"ld.so(8)", "deepseek-ai/DeepEP#211"},
			Standing: evidence.Origin,
			Lines: []Line{
				cxxLoader.says("glibcxx", "version `GLIBCXX_", "not found").decides("library-too-old"),
				cxxLoader.says("cxxabi", "version `CXXABI_", "not found").decides("library-too-old"),
				cxxLoader.says("glibc", "version `GLIBC_2", "not found").any("ImportError", "OSError").
					decides("library-too-old"),
				cxxLoader.says("std-symbol", "undefined symbol: _ZNSt").speaks("library-too-old"),
				cxxLoader.says("c10-symbol", "undefined symbol: _Z", "3c10").speaks("version-mismatch"),
				cxxLoader.says("torch-symbol", "undefined symbol: _Z", "5torch").speaks("version-mismatch"),
				cxxLoader.says("aten-symbol", "undefined symbol: _Z", "2at").any("2at4", "2at6", "2at5", "2at3").
					speaks("version-mismatch"),
			},
			Causes: []Cause{
				maybe(
					Usual,
					"library-too-old",
					"the libstdc++ or libc that is found is older than the one at build time",
					"strings LIBSTDC++ | grep -e GLIBCXX -e CXXABI; LD_DEBUG=libs PROGRAM",
					"a newer libstdcxx-ng in conda, LD_LIBRARY_PATH of the right one, or a build in this environment",
				),
				maybe(Usual, "version-mismatch", "the extension was built for another release of torch",
					"python -c 'import torch; print(torch.__version__)' against the wheel's name",
					"build the extension again, or its wheel for this torch and CUDA"),
			},
		},
	}
}
