package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

const ncclShmSource = "NVIDIA/nccl, src/misc/shmutils.cc"

// ncclShmTooSmall returns the cause that /dev/shm is too small.
func ncclShmTooSmall() Cause {
	return shmTooSmall(Common,
		Clue{Weight: Strong, Contains: "No space left", Text: "the file system of /dev/shm is full"},
		Clue{Weight: Hint, Field: "errno", Is: []string{"28", "12"}})
}

//nolint:funlen // a table
func ncclMemorySymptoms() []Symptom {
	return []Symptom{
		{
			ID: "RDX-301", Name: "nccl-shared-memory", Title: "NCCL could not make a segment of shared memory",
			Explanation: "Ranks of one node exchange data through files in /dev/shm. Containers have 64 MiB of it " +
				"unless they are told otherwise.",
			Sources:  []string{ncclShmSource, "NVIDIA/nccl#290", "NVIDIA/nccl#525", "dmlc/xgboost#5963"},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("shm-create", "misc/shmutils.cc", "Error while creating shared memory segment"),
				nccl("shm-fallocate", "include/shm.h", "Call to posix_fallocate failed", "No space left on device").
					speaks("shm-too-small"),
				nccl("shm-fallocate-other", "include/shm.h", "Call to posix_fallocate failed"),
				nccl("shm-extend", "misc/shmutils.cc", "Error: failed to extend /dev/shm").not("retrying"),
				nccl("shm-file", "misc/shmutils.cc", "Error: failed to create shared memory file"),
				nccl("shm-map", "misc/shmutils.cc", "ould not map /dev/shm/nccl").any("Could", "could"),
				nccl("shm-open", "include/shm.h", "Call to shm_open failed"),
			},
			Causes: []Cause{
				ncclShmTooSmall(),
				{
					Slug: "not-privileged", Title: "the process may not write to /dev/shm", Weight: Rare,
					Clues:  []Clue{{Weight: Decisive, Field: "errno", Is: []string{"13", "1", "30"}}},
					Decide: "touch /dev/shm/x as the user of the job", Remedy: "the permissions of /dev/shm",
				},
				fileLimit(Rare, onErrno(Decisive, "", "24", "23")),
			},
		},
		{
			ID: "RDX-302", Name: "nccl-shared-memory-attach",
			Title: "a rank could not open the shared memory of another one",
			Explanation: "The other rank of the node made a file in /dev/shm and told its name. It isn't there if " +
				"the two run in containers with different /dev/shm, or if the other rank has ended.",
			Sources: []string{ncclShmSource, "NVIDIA/nccl, src/transport/shm.cc"},
			Lines: []Line{
				nccl("shm-attach-zero", "misc/shmutils.cc", "Error while attaching to shared memory segment",
					"(size 0)").
					speaks("cumem"),
				nccl("shm-attach", "misc/shmutils.cc", "Error while attaching to shared memory segment"),
				nccl("shm-open-file", "misc/shmutils.cc", "Call to open failed", "misc/shmutils.cc"),
			},
			Causes: []Cause{
				{
					Slug: "shm-not-shared", Title: "ranks of one node have different /dev/shm", Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Field: "errno", Is: []string{"2"}}},
					Decide: "ls -i /dev/shm in both containers",
					Remedy: "one container per node, --ipc=host for all, or NCCL_SHM_DISABLE=1",
				},
				ncclShmTooSmall(),
				cuMemBroken(Rare),
				{
					Slug: "dead-peer", Title: "the rank that made the segment has ended", Weight: Rare,
					Decide: "the logs of the other ranks of this node", Remedy: "what ended it",
				},
				{
					Slug: "not-privileged", Title: "ranks of one node run as different users", Weight: Rare,
					Clues:  []Clue{{Weight: Decisive, Field: "errno", Is: []string{"13", "1"}}},
					Decide: "ls -l /dev/shm", Remedy: "one user for all ranks",
				},
			},
		},
		{
			ID: "RDX-303", Name: "nccl-host-memory", Title: "NCCL got no host memory",
			Explanation: "An allocation of host memory failed: the node or the cgroup has none left, or pinned " +
				"memory is limited.",
			Sources:  []string{"NVIDIA/nccl, src/include/alloc.h", "NVIDIA/nccl, src/misc/utils.cc"},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("malloc-null", "misc/utils.cc", "Unrecoverable error detected: malloc(size="),
				nccl("malloc-bytes", "include/alloc.h", "Failed to malloc ", " bytes").warning(),
				nccl("host-alloc", "include/alloc.h", "Failed to CUDA host alloc "),
			},
			Causes: []Cause{
				{
					Slug: "host-memory", Title: "the host, or the container's cgroup, has no memory left",
					Weight: Common,
					Clues: []Clue{
						{Weight: Strong, Seen: "kernel.oom", Text: "the kernel ended processes for lack of memory"},
					},
					Decide: "free -g; cat /sys/fs/cgroup/memory.max and memory.events in the container",
					Remedy: "a higher memory limit of the pod, or less host memory in the program",
				},
				{
					Slug: "memlock", Title: "the limit of locked memory is too low for pinned buffers", Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Line: "host-alloc"}},
					Decide: "ulimit -l inside the launcher; rdmactl doctor --only memlock",
					Remedy: "memlock unlimited for the service that starts the job",
				},
			},
		},
		{
			ID: "RDX-304", Name: "nccl-gpu-memory", Title: "the GPU has no memory left for NCCL",
			Explanation: "NCCL takes buffers of its own, some hundred MiB for each communicator, beside those of " +
				"the program. Frameworks that reserve the whole GPU leave nothing.",
			Sources:  []string{"NVIDIA/nccl, src/include/alloc.h", "NVIDIA/nccl, src/include/checks.h"},
			Standing: evidence.Origin,
			Lines: []Line{
				cudaLine("cuda-oom", "out of memory").any("Cuda failure", "HIP failure").speaks("gpu-memory"),
				nccl("cuda-calloc", "include/alloc.h", "Failed to CUDA calloc"),
				nccl("cuda-malloc", "include/alloc.h", "Failed to CUDA malloc"),
			},
			Causes: []Cause{
				{
					Slug: "gpu-memory", Title: "the program, or another process, has taken the GPU's memory",
					Weight: Common,
					Decide: "nvidia-smi during the start: other processes, several ranks on one GPU, memory in use",
					Remedy: "leave memory to NCCL (gpu_memory_utilization, batch size), end stale processes, lower " +
						"NCCL_BUFFSIZE or NCCL_MAX_NCHANNELS",
				},
				{
					Slug: "local-rank", Title: "several ranks use the same GPU", Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Seen: "nccl/duplicate-gpu", Text: "two ranks are on one GPU"},
					},
					Decide: "nvidia-smi: several processes of the job on one GPU; torch.cuda.set_device(local_rank)",
					Remedy: "one GPU for each rank: set_device(local_rank) before the first collective",
				},
				{
					Slug: "gpu-p2p", Title: "the driver has no room for mappings of other GPUs (BAR1, IPC)",
					Weight: Rare,
					Decide: "nvidia-smi -q -d MEMORY: BAR1 memory",
					Remedy: "large BAR in the BIOS; NCCL_P2P_DISABLE=1 to test",
				},
			},
		},
	}
}
