package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func ptraceScope(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "ptrace-scope", Title: "the kernel doesn't let a process read another one's memory (CMA): Yama's " +
			"ptrace_scope, seccomp, or a user namespace",
		Weight: weight, Clues: clues,
		Decide: "sysctl kernel.yama.ptrace_scope; CapEff of /proc/self/status; is each rank in a container of its own?",
		Remedy: "kernel.yama.ptrace_scope=0; in containers --cap-add=SYS_PTRACE and one container for the ranks of " +
			"a node; or without CMA: UCX_TLS=^cma, --mca btl_vader_single_copy_mechanism none, --mca smsc ^cma",
		Sources: []string{"openucx/ucx#3545", "openucx/ucx#3046", "apptainer/apptainer#1227", "open-mpi/ompi#10694"},
	}
}

func ucxSharedMemorySymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-424", Name: "ucx-shared-memory", Title: "UCX could not make a segment of shared memory",
			Explanation: "Ranks of one node exchange messages through files in /dev/shm (posix) or System V " +
				"segments (sysv). Containers have 64 MiB of /dev/shm unless they are told otherwise. A bus error " +
				"is what the first write to a page that no longer fits ends in.",
			Sources: []string{
				"openucx/ucx, src/uct/sm/mm/posix/mm_posix.c", "openucx/ucx, src/ucs/sys/sys.c", "openucx/ucx#1037",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				{
					Name: "posix-full", Program: UCX,
					All:    []string{"Not enough memory to write total of ", "/dev/shm"},
					Source: "openucx/ucx, src/uct/sm/mm/posix/mm_posix.c", Decides: "shm-too-small",
				},
				{
					Name: "posix-alloc", Program: UCX, All: []string{" bytes using md posix for "},
					Source: "openucx/ucx, src/uct/base/uct_mem.c", Standing: evidence.Failed,
					Speaks: []string{"shm-too-small"},
				},
				{
					Name: "posix-alloc-old", Program: UCX, All: []string{" bytes using md posix: "},
					Source: "openucx/ucx 1.1, src/uct/base/uct_mem.c", Standing: evidence.Failed,
					Speaks: []string{"shm-too-small"},
				},
				{
					Name: "posix-stat", Program: UCX, All: []string{"could not stat shared memory device "},
					Source: "openucx/ucx, src/uct/sm/mm/posix/mm_posix.c",
				},
				{
					Name: "mm-alloc", Program: UCX, All: []string{"mm_iface failed to allocate receive FIFO"},
					Source: "openucx/ucx, src/uct/sm/mm/base/mm_iface.c", Standing: evidence.Failed,
				},
				{
					Name: "sysv-limit", Program: UCX, All: []string{"shmget(size=", "failed: "},
					Source: "openucx/ucx, src/ucs/sys/sys.c", Speaks: []string{"shm-limit"},
				},
				{
					Name: "bus-error", Program: UCX, All: []string{"Caught signal 7 (Bus error"},
					Source: "openucx/ucx, src/ucs/debug/debug.c", Standing: evidence.Failed,
				},
				{
					Name: "ompi-backing-file", Program: Libfabric,
					All:    []string{"It appears as if there is not enough space for "},
					Source: "open-mpi/ompi, opal/mca/shmem/mmap/help-opal-shmem-mmap.txt",
					Speaks: []string{"shm-too-small"},
				},
			},
			Causes: []Cause{
				shmTooSmall(
					Common, Clue{Weight: Hint, Contains: "No space left"},
					Clue{Weight: Hint, Contains: "Out of memory"},
				),
				{
					Slug: "shm-limit", Title: "the limits of System V shared memory are too small", Weight: Rare,
					Clues: []Clue{
						{Weight: Hint, Field: "errno", Is: []string{"28", "22", "12"}},
					},
					Decide: "ipcs -l; ipcs -m: segments that ended jobs left behind",
					Remedy: "sysctl kernel.shmmax, shmall and shmmni; ipcrm of leftovers; UCX_TLS=^sysv",
				},
				{
					Slug: "host-memory",
					Title: "the memory limit of the container or job ends the write (cgroup), or huge pages have " +
						"run out",
					Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Line: "bus-error"}},
					Decide: "dmesg | grep -i -e oom -e hugetlb; memory.max and hugetlb.*.max of the control group",
					Remedy: "a larger limit; UCX_POSIX_HUGETLB_MODE=n, UCX_SYSV_HUGETLB_MODE=n",
				},
			},
		},
		{
			ID: "RDX-425", Name: "ucx-shared-memory-peer",
			Title: "a rank can't open the shared memory of another rank of its node",
			Explanation: "UCX takes two processes for neighbours by the host's identity. If each is in a container " +
				"or namespace of its own, the segment of the other isn't reachable: through /proc/PID/fd it needs " +
				"the same PID and user namespace, and by its name the same /dev/shm.",
			Sources:  []string{"openucx/ucx, src/uct/sm/mm/posix/mm_posix.c", "openucx/ucx#4224", "openucx/ucx#4511"},
			Standing: evidence.Origin,
			Lines: []Line{
				{
					Name: "posix-proc-link", Program: UCX, All: []string{"open(file_name=/proc/", "failed: "},
					Source: "openucx/ucx, src/uct/sm/mm/posix/mm_posix.c", Speaks: []string{"ipc-namespace"},
				},
				{
					Name: "posix-open", Program: UCX, All: []string{"shm_open(file_name=", "failed: "},
					Source: "openucx/ucx, src/uct/sm/mm/posix/mm_posix.c",
				},
				{
					Name: "mm-connect", Program: UCX, All: []string{"mm ep failed to connect to remote FIFO id "},
					Source: "openucx/ucx, src/uct/sm/mm/base/mm_ep.c", Standing: evidence.Failed,
				},
				{
					Name: "sysv-attach", Program: UCX, All: []string{"shmat(shmid=", "failed: "},
					Source: "openucx/ucx, src/uct/sm/mm/sysv/mm_sysv.c",
				},
			},
			Causes: []Cause{
				separateNamespaces(Common, Clue{Weight: Hint, Field: "errno", Is: []string{"13", "1", "2", "22"}}),
				{
					Slug: "not-privileged", Title: "the ranks run as different users, or /dev/shm isn't writable",
					Weight: Rare, Clues: []Clue{{Weight: Hint, Field: "errno", Is: []string{"13"}}},
					Decide: "ls -ld /dev/shm; the user of both processes", Remedy: "the same user; mode 1777",
				},
				shmTooSmall(Rare, Clue{Weight: Strong, Field: "errno", Is: []string{"28", "12"}}),
				{
					Slug: "dead-peer", Title: "the other rank has ended", Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Field: "errno", Is: []string{"2"}}},
					Decide: "the log of the other rank", Remedy: "what ended it",
				},
			},
		},
		{
			ID: "RDX-426", Name: "cma-not-permitted", Title: "a process may not read the memory of another one (CMA)",
			Explanation: "Cross-memory attach (process_vm_readv) needs the right to trace the other process. " +
				"Ubuntu restricts it to children (ptrace_scope 1), and containers by seccomp and namespaces.",
			Sources: []string{
				"openucx/ucx, src/uct/sm/scopy/cma/cma_ep.c", "openucx/ucx#3545", "apptainer/apptainer#1227",
				"open-mpi/ompi#10694",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				{
					Name: "cma-read", Program: UCX, All: []string{"process_vm_readv", "Operation not permitted"},
					Source: "openucx/ucx, src/uct/sm/scopy/cma/cma_ep.c", Decides: "ptrace-scope",
				},
				{
					Name: "cma-write", Program: UCX, All: []string{"process_vm_writev", "Operation not permitted"},
					Source: "openucx/ucx, src/uct/sm/scopy/cma/cma_ep.c", Decides: "ptrace-scope",
				},
				{
					Name: "cma-gone", Program: UCX, All: []string{"process_vm_readv", "No such process"},
					Source: "openucx/ucx, src/uct/sm/scopy/cma/cma_ep.c", Standing: evidence.Failed,
				},
				{
					Name: "vader-read", Program: Libfabric, All: []string{"Read -1, expected ", "errno = 1"},
					None:   []string{"errno = 14"},
					Source: "open-mpi/ompi 4.1, opal/mca/btl/vader/btl_vader_get.c", Decides: "ptrace-scope",
				},
				{
					Name: "smsc-read", Program: Libfabric, All: []string{"CMA read -1, expected ", "errno = 1"},
					None:   []string{"errno = 14"},
					Source: "open-mpi/ompi 5, opal/mca/smsc/cma/smsc_cma_module.c", Decides: "ptrace-scope",
				},
				{
					Name: "ompi-ptrace", Program: Libfabric,
					All:    []string{"Linux kernel CMA support was requested via the"},
					Source: "open-mpi/ompi 4.1, opal/mca/btl/vader/help-btl-vader.txt", Standing: evidence.Vague,
					Speaks: []string{"ptrace-scope"},
				},
				{
					Name: "efa-ptrace", Program: Libfabric,
					All:    []string{"SHM transfer will be disabled because of ptrace protection"},
					Source: "ofiwg/libfabric, prov/efa/src/efa_shm.c", Standing: evidence.Harmless,
				},
			},
			Causes: []Cause{
				ptraceScope(Common),
				separateNamespaces(Usual, Clue{Weight: Strong, Line: "cma-gone"}),
				{
					Slug: "dead-peer", Title: "the other rank has ended", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Line: "cma-gone"}},
					Decide: "the log of the other rank", Remedy: "what ended it",
				},
			},
		},
		{
			ID: "RDX-427", Name: "single-copy-module",
			Title: "the kernel module for copies between processes (KNEM, XPMEM) isn't usable",
			Explanation: "Without it UCX and Open MPI use CMA or copies through shared memory. It matters only if " +
				"the transport was asked for by name, or if the module is of another release than the library.",
			Sources: []string{
				"openucx/ucx, src/uct/sm/scopy/knem/knem_md.c", "openucx/ucx, src/uct/sm/mm/xpmem/mm_xpmem.c",
			},
			Lines: []Line{
				{
					Name: "knem-open", Program: UCX,
					All:    []string{"Could not open the KNEM device file at /dev/knem"},
					Source: "openucx/ucx, src/uct/sm/scopy/knem/knem_md.c",
				},
				{
					Name: "knem-abi", Program: UCX, All: []string{"KNEM ABI mismatch: "},
					Source: "openucx/ucx, src/uct/sm/scopy/knem/knem_md.c", Speaks: []string{"module-missing"},
				},
				{
					Name: "xpmem-register", Program: UCX,
					All:    []string{"xpmem failed to register process address space"},
					Source: "openucx/ucx, src/uct/sm/mm/xpmem/mm_xpmem.c",
				},
				{
					Name: "xpmem-attach", Program: UCX, All: []string{"failed to attach xpmem apid "},
					Source: "openucx/ucx, src/uct/sm/mm/xpmem/mm_xpmem.c",
				},
				{
					Name: "xpmem-get", Program: UCX, All: []string{"xpmem_get(segid=", "failed: "},
					Source: "openucx/ucx, src/uct/sm/mm/xpmem/mm_xpmem.c",
				},
				{
					Name: "vader-knem", Program: Libfabric,
					All:    []string{"Open MPI failed to open the /dev/knem device"},
					Source: "open-mpi/ompi, opal/mca/smsc/knem/help-smsc-knem.txt", Standing: evidence.Vague,
				},
			},
			Standing: evidence.Failed,
			Causes: []Cause{
				{
					Slug: "module-missing", Title: "the module isn't loaded, or of another release than the library",
					Weight: Common, Decide: "lsmod | grep -e xpmem -e knem; ls -l /dev/xpmem /dev/knem",
					Remedy: "modprobe it, or build it again for this kernel; UCX_TLS=^xpmem,knem meanwhile",
				},
				{
					Slug: "not-privileged", Title: "the container lacks the device file", Weight: Usual,
					Clues:  []Clue{{Weight: Strong, Field: "errno", Is: []string{"13", "1"}}},
					Decide: "ls -l /dev/xpmem /dev/knem in the container",
					Remedy: "--device /dev/xpmem, or UCX_TLS=^xpmem,knem",
				},
				separateNamespaces(
					Usual, Clue{Weight: Hint, Line: "xpmem-get"}, Clue{Weight: Hint, Line: "xpmem-attach"},
				),
			},
		},
	}
}
