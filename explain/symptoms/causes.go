package symptoms

// Causes that symptoms of several programs share.

// shmTooSmall is the cause that the file system of shared memory is too small.
func shmTooSmall(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "shm-too-small", Title: "/dev/shm is too small, or full", Weight: weight, Clues: clues,
		Decide: "df -h /dev/shm in the container, while the job starts; rdmactl doctor --only shared-memory",
		Remedy: "--shm-size=16g or --ipc=host, or an emptyDir with medium Memory at /dev/shm; on a host, size= of " +
			"tmpfs in fstab; delete leftovers of ended jobs",
		Sources: []string{"NVIDIA/nccl#290", "openucx/ucx#1037"},
	}
}

// fileLimit is the cause that the limit of open files is too low.
func fileLimit(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "file-limit", Title: "the limit of open files (ulimit -n) is too low", Weight: weight, Clues: clues,
		Decide: "ulimit -n in the job; ls /proc/PID/fd | wc -l",
		Remedy: "ulimit -n 1048576: LimitNOFILE of what starts the job (slurmd, containerd), --ulimit nofile of docker",
	}
}
