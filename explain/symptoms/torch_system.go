package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Where programs print what is about memory, files and libraries of the system.
var (
	dataLoader = source{Torch, "pytorch/pytorch, torch/utils/data/_utils/signal_handling.py"}
	sharedFile = source{Torch, "pytorch/pytorch, aten/src/ATen/MapAllocator.cpp"}
	elastic    = source{Torch, "pytorch/pytorch, torch/distributed/elastic"}
	posix      = source{Torch, "GNU C library and OpenMP run times, pthread_create"}
	ucxDebug   = source{Torch, "openucx/ucx, src/ucs/debug/debug.c"}
	ompiDebug  = source{Torch, "open-mpi/ompi, opal/util/stacktrace.c"}
	python     = source{Torch, "Python, errors of the operating system"}
	loader     = source{Torch, "glibc, elf/dl-load.c and elf/dl-lookup.c"}
	ray        = source{Torch, "ray-project/ray, raylet and gcs"}
	slurmStep  = source{Torch, "SchedMD/slurm, slurmstepd"}
)

// processSymptoms are about what ends a process from outside of the job.
func processSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-367", Name: "shared-memory", Title: "a process could not use shared memory",
			Explanation: "Data loaders and NCCL use files in /dev/shm. When it is full, a write raises SIGBUS. " +
				"Containers have 64 MiB of it unless they are told otherwise.",
			Sources:  []string{"pytorch/pytorch, torch/utils/data/_utils/signal_handling.py", "shm_overview(7)"},
			Standing: evidence.Origin,
			Lines: []Line{
				dataLoader.says("bus-error", "This might be caused by insufficient shared memory (shm)").
					speaks("shm-too-small"),
				dataLoader.says("worker-bus-error", "dataloader's workers are out of shared memory").
					speaks("shm-too-small"),
				elastic.says("exit-7", "failed (exitcode: -7)").speaks("shm-too-small"),
				spawn.says("spawn-bus", "terminated with signal SIGBUS").speaks("shm-too-small"),
				faulthandle.says("python-bus", "Fatal Python error: Bus error").speaks("shm-too-small"),
				python.says("errno-28", "[Errno 28] No space left on device", "/dev/shm").decides("shm-too-small"),
				elastic.says("sigbus", "Signal 7 (SIGBUS) received by PID").speaks("shm-too-small"),
				sharedFile.says("shm-write", "unable to write to file </torch_").speaks("shm-too-small"),
				sharedFile.says("shm-allocate", "unable to allocate shared memory(shm) for file").
					speaks("shm-too-small"),
				source{Torch, "open-mpi/ompi, opal/mca/btl/vader/help-btl-vader.txt"}.
					says("ompi-space", "there is not enough space for /dev/shm").decides("shm-too-small"),
				sharedFile.says("shm-open", "unable to open shared memory object").speaks("file-limit"),
			},
			Causes: []Cause{
				{
					Slug: "shm-too-small", Title: "/dev/shm is too small, or full", Weight: Common,
					Decide: "df -h /dev/shm in the container",
					Remedy: "--shm-size=16g or --ipc=host; an emptyDir with medium Memory at /dev/shm",
				},
				{
					Slug: "file-limit", Title: "the limit of open files is too small", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Field: "errno", Is: []string{"24", "23"}}},
					Decide: "ulimit -n as the job's user",
					Remedy: "ulimit -n 1048576, or the file_system sharing strategy",
				},
			},
		},
		{
			ID: "RDX-368", Name: "file-limit", Title: "a process has too many files open",
			Explanation: "Each connection, shared segment and memory region of a GPU is a file.",
			Sources:     []string{"getrlimit(2)"},
			Standing:    evidence.Origin,
			Lines: []Line{
				python.says("errno-24", "[Errno 24] Too many open files").decides("file-limit"),
				python.says("ancdata", "received 0 items of ancdata").speaks("file-limit"),
			},
			Causes: []Cause{
				fileLimit(Common),
			},
		},
		{
			ID:    "RDX-391",
			Name:  "thread-limit",
			Title: "a process could start no further thread or process",
			Explanation: "The limit of processes of the user, of the container or of the kernel is reached: " +
				"threads count.",
			Sources:  []string{"pthread_create(3)", "setrlimit(2)"},
			Standing: evidence.Origin,
			Lines: []Line{
				posix.says("pthread", "pthread_create failed", "Resource temporarily unavailable").
					decides("process-limit"),
				python.says("new-thread", "RuntimeError: can't start new thread").speaks("process-limit"),
				posix.says("openblas", "blas_thread_init: pthread_create failed").speaks("process-limit"),
				posix.says("fork-retry", "fork: retry: Resource temporarily unavailable").decides("process-limit"),
				posix.says("libgomp", "libgomp: Thread creation failed").speaks("process-limit"),
			},
			Causes: []Cause{
				{
					Slug: "process-limit", Title: "the limit of processes and threads is too small", Weight: Common,
					Decide: "ulimit -u; cat /sys/fs/cgroup/pids.max in the container",
					Remedy: "a larger limit (--pids-limit, podPidsLimit, LimitNPROC), or OMP_NUM_THREADS=1",
				},
				{
					Slug: "host-memory", Title: "no memory for the thread's stack", Weight: Rare,
					Decide: "free -g; ulimit -v", Remedy: "more memory",
				},
			},
		},
		{
			ID:    "RDX-392",
			Name:  "gpu-library-file",
			Title: "a file of a GPU library could not be opened",
			Explanation: "The library's kernels are in files of its own. If other ranks could load it, the limit of " +
				"open files is reached.",
			Sources:  []string{"ROCm/hipBLASLt", "pytorch/pytorch#137695"},
			Standing: evidence.Failed,
			Lines: []Line{
				source{Torch, "ROCm/hipBLASLt"}.says("hipblaslt", "rocblaslt error: Could not load"),
				source{Torch, "ROCm/rocBLAS"}.says("rocblas", "rocBLAS error: Cannot read"),
			},
			Causes: []Cause{
				{
					Slug: "missing-library", Title: "the file is missing, or the library has no kernels for this GPU",
					Weight: Usual, Decide: "ls of the file in the line", Remedy: "the complete package for this GPU",
				},
				{
					Slug: "file-limit", Title: "the limit of open files is too small", Weight: Rare,
					Clues: []Clue{
						{
							Weight: Strong, Seen: string(evidence.Setting),
							SeenField: "value", SeenIs: []string{"1024"},
							Text: "the limit of open files is 1024",
						},
					},
					Decide: "ulimit -n as the job's user; fewer ranks work", Remedy: "ulimit -n 1048576",
				},
			},
		},
		{
			ID: "RDX-369", Name: "library-load", Title: "a library could not be loaded",
			Explanation: "The image lacks the library, or has another version of it than the program was built for.",
			Sources:     []string{"ld.so(8)"},
			Standing:    evidence.Origin,
			Lines: []Line{
				vllm.says("vllm-nccl", "Failed to load NCCL library from"),
				loader.says("no-nccl", "cannot open shared object file", "libnccl").not("WARN", "INFO", "Plugin"),
				loader.says("no-cudart", "libcudart.so", "cannot open shared object file").not("NCCL INFO"),
				loader.says("no-cuda", "libcuda.so.1: cannot open shared object file").not("NCCL INFO"),
				loader.says("no-nvml", "libnvidia-ml.so.1: cannot open shared object file").
					not("NCCL INFO"),
				loader.says("no-nvshmem", "libnvshmem", "cannot open shared object file"),
				loader.says("no-mpi", "libmpi.so", "cannot open shared object file"),
				loader.says("nccl-symbol", "undefined symbol: nccl").speaks("version-mismatch"),
				loader.says("verbs-symbol", "undefined symbol: ibv_").speaks("version-mismatch"),
				loader.says("nvshmem-symbol", "undefined symbol: nvshmem").speaks("version-mismatch"),
			},
			Causes: []Cause{
				{
					Slug: "missing-library", Title: "the library is missing in the image, or not in the search path",
					Weight: Common, Decide: "ldconfig -p; ldd of the program; LD_LIBRARY_PATH",
					Remedy: "install its package (rdma-core, libnccl2, …), or its folder in LD_LIBRARY_PATH",
				},
				{
					Slug:   "no-toolkit",
					Title:  "the container has no libraries of the GPU's driver",
					Weight: Rare,
					Clues: []Clue{
						onText(Decisive, "libcuda.so.1", "this library comes with the driver of the host"),
						onText(Decisive, "libnvidia-ml", "this library comes with the driver of the host"),
					},
					Decide:  "nvidia-smi in the container and on the host",
					Remedy:  "--gpus all, runtimeClassName: nvidia, or apptainer --nv; outside, the driver itself",
					Sources: []string{"apptainer/singularity#4783"},
				},
				{
					Slug: "version-mismatch", Title: "another version of the library is found first", Weight: Usual,
					Decide: "LD_DEBUG=libs PROGRAM: which file is loaded", Remedy: "one version; fix LD_LIBRARY_PATH",
				},
			},
		},
		{
			ID: "RDX-380", Name: "host-memory", Title: "a process was killed because memory ran out",
			Explanation: "The kernel, the container's limit, Slurm or Ray ended it. What other ranks report only " +
				"follows.",
			Sources:  []string{"Linux, mm/oom_kill.c", "ray-project/ray, memory_monitor"},
			Standing: evidence.Origin,
			Lines: []Line{
				ray.says("ray-memory", "killed due to the node running low on memory").decides("host-memory"),
				sglang.says("scheduler-killed", "scheduler died during initialization (exit code: -9)").
					speaks("host-memory"),
				ray.says("ray-pressure", "killed due to memory pressure (OOM)").decides("host-memory"),
				slurmStep.says("slurm-oom", "oom-kill event(s) in").decides("host-memory"),
				slurmStep.says("slurm-oom-kill", "oom_kill event in").decides("host-memory"),
				source{Torch, "Kubernetes, container status"}.says("oom-killed", "OOMKilled").
					not("OOMKilled\":", "OOMKilled=").speaks("host-memory"),
			},
			Causes: []Cause{
				{
					Slug:   "host-memory",
					Title:  "the node, or the container's limit, ran out of memory",
					Weight: Common + Usual,
					Decide: "dmesg | grep -i oom on that node; kubectl describe pod; the memory limit of the job",
					Remedy: "more memory for the job, fewer loader workers, less pinned memory",
				},
				{
					Slug:   "dead-peer",
					Title:  "somebody or the scheduler ended the process with SIGKILL",
					Weight: Rare,
					Decide: "the scheduler's log", Remedy: "what ended it",
				},
			},
		},
		{
			ID:          "RDX-381",
			Name:        "ended-from-outside",
			Title:       "the job was ended from outside",
			Explanation: "A closed terminal, a scheduler or a person ended it. Errors after that only follow.",
			Sources: []string{
				"pytorch/pytorch, torch/distributed/elastic/multiprocessing/api.py",
				"SchedMD/slurm",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				elastic.says("sighup", "SIGHUP death signal").decides("session-closed"),
				elastic.says("got-sighup", "got signal: 1", "SignalException: ").
					not("signal: 10", "signal: 11", "signal: 12", "signal: 13", "signal: 14", "signal: 15").
					speaks("session-closed"),
				elastic.says("sigterm", "SIGTERM death signal").speaks("job-cancelled").as(evidence.Failed),
				elastic.says("got-sigterm", "got signal: 15").speaks("job-cancelled").as(evidence.Failed),
				slurmStep.says("preempted", "DUE TO PREEMPTION").decides("job-cancelled"),
				slurmStep.says("node-failure", "DUE TO NODE FAILURE").speaks("dead-node"),
				slurmStep.says("cancelled", "CANCELLED AT 20").
					not("DUE TO").speaks("job-cancelled").as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug: "session-closed", Title: "the terminal of the launcher was closed", Weight: Rare,
					Decide: "how the job was started", Remedy: "nohup, tmux, or a batch job",
				},
				{
					Slug: "job-cancelled", Title: "a scheduler or a person ended the job", Weight: Usual,
					Decide: "the scheduler's log: sacct, kubectl get events", Remedy: "what ended it",
				},
				{
					Slug: "dead-node", Title: "a node of the job failed", Weight: Rare,
					Decide: "sinfo -R; the console of the node", Remedy: "drain the node",
				},
			},
		},
		{
			ID: "RDX-382", Name: "process-crash", Title: "a process crashed",
			Explanation: "A native library of the process failed. What other ranks report only follows.",
			Sources:     []string{"signal(7)"},
			Standing:    evidence.Failed,
			Lines: []Line{
				elastic.says("sigsegv", "Signal 11 (SIGSEGV) received by PID"),
				elastic.says("exit-11", "failed (exitcode: -11)"),
				spawn.says("spawn-segv", "terminated with signal SIGSEGV"),
				faulthandle.says("python-segv", "Fatal Python error: Segmentation fault"),
				sglang.says("scheduler-segv", "scheduler died during initialization (exit code: -11)"),
				elastic.says("sigfpe", "Signal 8 (SIGFPE) received by PID"),
				ucxDebug.says("caught-8", "Caught signal 8 (Floating point exception"),
				ompiDebug.says("ompi-segv", "Signal: Segmentation fault (11)"),
				ompiDebug.says("ompi-bus", "Signal: Bus error (7)").speaks("shm-too-small"),
			},
			Causes: []Cause{
				{
					Slug:   "process-crash",
					Title:  "a library of the process accessed memory that isn't there",
					Weight: Common,
					Decide: "gdb -batch -ex bt PROGRAM core; faulthandler of Python",
					Remedy: "matching versions of the libraries in the stack",
				},
				{
					Slug:   "shm-too-small",
					Title:  "/dev/shm is full: a write to shared memory raises SIGBUS",
					Weight: Rare,
					Decide: "df -h /dev/shm in the container", Remedy: "--shm-size=16g or --ipc=host",
				},
				{
					Slug:   "version-mismatch",
					Title:  "libraries of different builds are loaded together",
					Weight: Usual,
					Decide: "pip check; LD_DEBUG=libs: which libnccl and libcudart are loaded",
					Remedy: "one build of each",
				},
			},
		},
		{
			ID: "RDX-909", Name: "memory-pin", Title: "memory could not be pinned",
			Explanation: "Buffers for RDMA and for copies of accelerators are locked in memory: the limit of the " +
				"container, or of the service that starts it, counts.",
			Sources: []string{"LMCache/LMCache-Ascend#5", "datenlord/async-rdma#107"}, Standing: evidence.Origin,
			Lines: []Line{
				source{Torch, "LMCache/LMCache-Ascend, csrc"}.says("pin-host",
					"Unable to pin host memory with error code"),
				source{Verbs, "datenlord/async-rdma, src"}.says("rust-register",
					"RawMemoryRegion::register_from_pd failed Os { code: 12"),
			},
			Causes: []Cause{
				{
					Slug: "memlock", Title: "the limit of locked memory (memlock) is too low", Weight: Common,
					Decide: "ulimit -l in the container; rdmactl doctor --only memlock",
					Remedy: "LimitMEMLOCK=infinity of containerd or docker; --ulimit memlock=-1; CAP_IPC_LOCK",
				},
				{
					Slug: "host-memory", Title: "the node has too little memory for the buffers", Weight: Rare,
					Decide: "free -g; the container's memory limit", Remedy: "smaller buffers, or more memory",
				},
			},
		},
	}
}
