package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

var (
	orteErrmgr = source{Libfabric, "open-mpi/ompi, orte/mca/errmgr/base/help-errmgr-base.txt"}
	orteMaps   = source{Libfabric, "open-mpi/ompi, orte/mca/rmaps/base/help-orte-rmaps-base.txt"}
	orteRun    = source{Libfabric, "open-mpi/ompi, orte/tools/orterun/help-orterun.txt"}
	slurmPMI   = source{Libfabric, "open-mpi/ompi, ompi/mca/rte/orte"}
	psm        = source{Libfabric, "cornelisnetworks/opa-psm2; ofiwg/libfabric, prov/psm3"}
	ompiPSM    = source{Libfabric, "open-mpi/ompi, ompi/mca/mtl/psm2/help-mtl-psm2.txt"}
)

func launcherSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-482", Name: "mpi-daemon", Title: "mpirun could not start or reach its daemon on a node",
			Explanation: "Before any rank runs, mpirun starts a daemon on each node (by ssh or the batch system), " +
				"which connects back over TCP.",
			Sources: []string{"open-mpi/ompi, orte/mca/errmgr/base/help-errmgr-base.txt"}, Standing: evidence.Failed,
			Lines: []Line{
				orteErrmgr.says("daemon-start", "ORTE was unable to reliably start one or more daemons"),
				orteErrmgr.says("daemon-start-prte", "PRTE was unable to reliably start one or more daemons"),
				orteErrmgr.says("daemon-failed", "An ORTE daemon has unexpectedly failed after launch and before"),
				orteErrmgr.says(
					"daemon-failed-prte",
					"A PRTE daemon has unexpectedly failed after launch and before",
				),
				orteErrmgr.says("daemon-lost", "ORTE has lost communication with a remote daemon").
					speaks("dead-node"),
				orteErrmgr.says("daemon-lost-prte",
					"PRTE has lost communication with a remote daemon").speaks("dead-node"),
				orteErrmgr.says("daemon-connect", "ORTE is unable to establish a communication connection to the"),
				orteErrmgr.says("daemon-binary", "orted: command not found").decides("missing-library"),
				orteErrmgr.says("daemon-binary-prte", "prted: command not found").decides("missing-library"),
				source{Libfabric, "Intel MPI, hydra"}.says("hydra-daemon", "unable to run bstrap_proxy on "),
			},
			Causes: []Cause{
				{
					Slug:   "missing-library",
					Title:  "Open MPI isn't found on the node: PATH and LD_LIBRARY_PATH of a non-interactive shell",
					Weight: Usual, Decide: "ssh NODE which orted (prted)",
					Remedy: "mpirun --prefix, or its full path; the same installation on all nodes",
				},
				{
					Slug:   "interface-choice",
					Title:  "the daemon can't connect back: mpirun offers an interface that doesn't lead to the node",
					Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Line: "daemon-failed"}, {Weight: Hint, Line: "daemon-connect"}},
					Decide: "ip -br addr of mpirun's node",
					Remedy: "--mca oob_tcp_if_include eth0 (Open MPI 5: --prtemca)",
				},
				{
					Slug: "firewall", Title: "a firewall drops the connection back", Weight: Usual,
					Decide: "nc -vz from the node to mpirun's", Remedy: "open the ports between the nodes",
				},
				{
					Slug: "dead-node", Title: "the node or its daemon has ended", Weight: Rare,
					Decide: "the node's log; sinfo", Remedy: "what ended it",
				},
			},
		},
		{
			ID: "RDX-499", Name: "mpi-launcher", Title: "the launcher and MPI don't share a process manager (PMI)",
			Explanation: "Each rank then thinks that it is alone, or stops in MPI_Init.",
			Sources:     []string{"open-mpi/ompi, ompi/mca/rte", "openpmix/prrte#1635"}, Standing: evidence.Origin,
			Lines: []Line{
				slurmPMI.says("srun-direct", "The application appears to have been direct launched using \"srun\"").
					decides("launcher"),
				slurmPMI.says("srun-slurm", "OMPI was not built with SLURM's PMI support").decides("launcher"),
				slurmPMI.says("pmix-unreachable", "OPAL ERROR: Unreachable in file ").any("pmix", "ext2x", "ext3x"),
				slurmPMI.says("pmix-missing", "PMI2_Job_GetId failed").speaks("launcher"),
			},
			Causes: []Cause{
				{
					Slug:   "launcher",
					Title:  "Slurm's PMI isn't the one that this MPI was built with",
					Weight: Common,
					Clues:  []Clue{onLine(Hint, "pmix-unreachable", "")},
					Decide: "srun --mpi=list; ompi_info | grep -i pmi",
					Remedy: "srun --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH, Intel MPI with I_MPI_PMI_LIBRARY); or " +
						"start with mpirun",
				},
				mpiVersions(
					Usual, onSeen("libfabric/pmix-unavailable", "the server answers, and refuses the rank"),
					onSeen("libfabric/pmix-store", "the shared store of PMIx can't be read"),
				),
			},
		},
		{
			ID: "RDX-494", Name: "mpi-mapping", Title: "mpirun could not place or start the ranks",
			Explanation: "Nothing of the network is involved: the allocation, the program's path or its time.",
			Sources:     []string{"open-mpi/ompi, orte/mca/rmaps/base/help-orte-rmaps-base.txt"},
			Standing:    evidence.Failed,
			Lines: []Line{
				orteMaps.says("slots", "not enough slots available in the system to satisfy the ").
					speaks("launcher-ranks"),
				orteMaps.says("no-nodes", "All nodes which are allocated for this job are already filled").
					speaks("launcher-ranks"),
				orteMaps.says("bind-overload", "A request was made to bind ").speaks("launcher-ranks"),
				orteMaps.says("map-failed", "Your job failed to map").speaks("launcher-ranks"),
				orteMaps.says("map-none", "No nodes are available for this job").speaks("launcher-ranks"),
				orteMaps.says("map-allocated", "There are no allocated resources for the application").
					speaks("launcher-ranks"),
				orteRun.says("executable",
					"was unable to launch the specified application as it could not access").speaks("program-usage"),
				orteRun.says("executable-find", "was unable to find the specified executable file").
					speaks("program-usage"),
				orteRun.says("time-limit", "The user-provided time limit for job execution has been reached").
					decides("job-cancelled"),
			},
			Causes: []Cause{
				{
					Slug:   "launcher-ranks",
					Title:  "more ranks are asked for than the nodes have slots",
					Weight: Usual,
					Decide: "the hostfile (slots=), and the batch system's tasks per node",
					Remedy: "as many ranks as slots; --oversubscribe if that is meant",
				},
				{
					Slug:   "program-usage",
					Title:  "the program isn't at that path on a node, or can't be executed",
					Weight: Usual,
					Decide: "ls -l of the path on each node, in the container",
					Remedy: "the right path",
				},
				{
					Slug: "job-cancelled", Title: "mpirun's time limit ended the job", Weight: Rare,
					Decide: "--timeout of mpirun", Remedy: "a longer one, if the job wasn't hanging",
				},
			},
		},
		{
			ID: "RDX-495", Name: "mvapich-cache", Title: "MVAPICH runs without its registration cache",
			Explanation: "Another library intercepts malloc. Messages work, large ones are slower.",
			Sources:     []string{"MVAPICH2, src/mpid/ch3/channels/common/src/memory"}, Standing: evidence.Harmless,
			Lines: []Line{
				mvapich.says("mvapich-ptmalloc", "Error in initializing MVAPICH2 ptmalloc library"),
			},
		},
		{
			ID: "RDX-801", Name: "mvapich-signal", Title: "MVAPICH reports that a rank crashed",
			Explanation: "It prints signals of the whole program. Memory of a GPU crashes a rank that has no CUDA " +
				"support, which MVAPICH2 has with MV2_USE_CUDA=1 only.",
			Sources: []string{
				"MVAPICH2, src/mpid/ch3/channels/common/src/util/error_handling.c", "MVAPICH2 user guide, CUDA",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				mvapich.says("mvapich-signal", "[error_sighandler] Caught error: "),
				mvapich.says("mvapich-cuda-off", "MVAPICH2 has been built with support for CUDA. But, MV2_USE_CUDA").
					as(evidence.Harmless),
			},
			Causes: []Cause{
				{
					Slug: "no-cuda-support", Title: "a GPU pointer was given to MPI, and MV2_USE_CUDA isn't 1",
					Weight: Usual,
					Clues:  []Clue{onSeen("libfabric/mvapich-cuda-off", "MVAPICH says that MV2_USE_CUDA isn't set")},
					Decide: "does the program hand GPU memory to MPI? echo $MV2_USE_CUDA",
					Remedy: "MV2_USE_CUDA=1 on all ranks, or a staging copy in host memory",
				},
				{
					Slug: "program-usage", Title: "the program itself crashes, or gives MPI a wrong buffer",
					Weight: Usual,
					Decide: "MV2_DEBUG_SHOW_BACKTRACE=1: the functions on top", Remedy: "what the backtrace names",
				},
			},
		},
	}
}

func psmSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-491", Name: "psm-open", Title: "PSM can't open the card (Omni-Path, or PSM3 over RoCE)",
			Explanation: "Each rank takes a hardware context of the card; there are about as many as cores. The " +
				"port must be active, and /dev/hfi1_0 accessible.",
			Sources: []string{
				"pmodels/mpich#4757", "charmplusplus/charm#1966", "open-mpi/ompi#10601", "open-mpi/ompi#1578",
				"uxlfoundation/oneDAL#3741", "intel/MLSL#25",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				psm.says("psm-context", "assign_context command failed: ").speaks("resource-limit"),
				psm.says("psm-receive", "hfi_userinit: mmap of rcvhdrq").speaks("memlock"),
				psm.says("psm-appear", "device failed to appear after ", "hfi").speaks("port-down"),
				psm.says("psm-open", "can't open hfi unit: "),
				psm.says("psm3-open", "can't open nic unit: "),
				psm.says("psm3-verbs", "Unable to initialize verbs NIC "),
				psm.says(
					"psm2-inactive",
					"no PSM2 device is active",
				),
				psm.says("psm2-unit", "no hfi device is found"),
				psm.says("psm2-contexts",
					"Failed to read number of free contexts from HFI unit ").speaks("wrong-device"),
				ompiPSM.says("psm-endpoint",
					"was unable to open an endpoint. Please make sure that the network link is").
					as(evidence.Vague),
				ompiPSM.says("psm-init", "Initialization of PSM2 library failed").as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug:   "resource-limit",
					Title:  "the card has fewer contexts than ranks, or other jobs hold them",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Contains: "Device or resource busy"},
						{Weight: Hint, Seen: "libfabric/psm-context"},
					},
					Decide:  "cat /sys/class/infiniband/hfi1_0/nctxts and nfreectxts; leftovers of ended jobs",
					Remedy:  "PSM2_MAX_CONTEXTS_PER_JOB and context sharing, num_user_contexts of hfi1; end leftovers",
					Sources: []string{"open-mpi/ompi#1578"},
				},
				{
					Slug: "port-down", Title: "the port isn't active, or the driver isn't loaded", Weight: Usual,
					Decide: "opainfo, rdmactl status; lsmod | grep hfi1",
					Remedy: "fabric manager (opafm), cable; modprobe hfi1",
				},
				{
					Slug: "wrong-device", Title: "PSM3 takes a card that it can't use, or the card isn't hfi1_0",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Line: "psm3-open"},
						{Weight: Strong, Line: "psm3-verbs"},
						{Weight: Hint, Contains: "hfi unit: -1"},
					},
					Decide: "rdma link: the names of the devices; fi_info -p psm3",
					Remedy: "FI_PROVIDER=tcp or verbs, PSM3_NIC; PSM3_DEVICES=self,shm on one node; " +
						"devices named hfi1_0 (no renaming by udev)",
				},
				{
					Slug: "memlock", Title: "the limit of locked memory (memlock) is too low", Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Contains: "Resource temporarily unavailable"},
						{Weight: Strong, Contains: "Cannot allocate memory"},
						{Weight: Strong, Seen: "libfabric/psm-send-cq"},
					},
					Decide: "ulimit -l in the job", Remedy: "memlock unlimited",
				},
				{
					Slug:   "signal-interrupts",
					Title:  "a signal interrupts the call, such as the timer of a profiler (gprof, -pg)",
					Weight: Rare, Clues: []Clue{{Weight: Decisive, Contains: "Interrupted system call"}},
					Decide: "the program without -pg or its profiler", Remedy: "start profiling after MPI_Init",
				},
				{
					Slug: "not-privileged", Title: "the process may not open /dev/hfi1_0", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Contains: "Permission denied"}},
					Decide: "ls -l /dev/hfi1*", Remedy: "its permission, or --device in the container",
				},
			},
		},
		{
			ID: "RDX-478", Name: "psm3-verbs", Title: "PSM3 can't set up a queue on a verbs device",
			Explanation: "libfabric tries PSM3 on any RDMA device. If another provider serves the job, its " +
				"complaints are harmless; else the device doesn't suit it.",
			Sources: []string{"ofiwg/libfabric, prov/psm3/psm3/hal_verbs/verbs_ep.c"}, Standing: evidence.Vague,
			Lines: []Line{
				psm.says("psm3-init-qp", "Failed to modify UD QP to INIT on "),
				psm.says("psm3-srq", "Unable to create SRQ on "), psm.says("psm3-pd", "Unable to alloc PD on "),
				psm.says("psm3-recv-cq", "Unable to create recv CQ of size "),
				psm.says("psm3-none", "Did not detect any RDMA devices"),
			},
			Causes: []Cause{
				{
					Slug:   "card-firmware",
					Title:  "firmware or driver of the device refuses the queue (bonds, old firmware)",
					Weight: Usual, Clues: []Clue{{Weight: Hint, Contains: "Invalid argument"}},
					Decide: "rdma link; ibv_devinfo: fw_ver", Remedy: "current firmware; another device (PSM3_NIC)",
				},
				{
					Slug: "wrong-device", Title: "PSM3 tries a device that isn't meant for it", Weight: Usual,
					Clues: []Clue{
						onText(
							Hint,
							"Operation not permitted",
							"another provider or UCX is meant to use this device",
						),
					},
					Decide:  "FI_PROVIDER=^psm3: does the job run?",
					Remedy:  "FI_PROVIDER=^psm3 (verbs or tcp); with UCX --mca mtl ^ofi --mca btl ^ofi; PSM3_NIC",
					Sources: []string{"easybuilders/easybuild-easyconfigs#20233"},
				},
				mpiMemlock(Rare, Clue{Weight: Strong, Field: "errno", Is: []string{"12"}}),
			},
		},
		{
			ID: "RDX-493", Name: "psm-shared-memory",
			Title: "PSM could not set up shared memory between ranks of a node",
			Explanation: "Its segments are files in /dev/shm. Files that aborted jobs left behind, of other users, " +
				"are in the way; in containers the directory must be common.",
			Sources: []string{
				"cornelisnetworks/opa-psm2#42", "cornelisnetworks/opa-psm2#48", "flux-framework/flux-core#667",
				"UCL-ARC/rcps-buildscripts#337",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				psm.says("shm-stale", "Delete stale shared memory files in /dev/shm").speaks("stale-shm"),
				psm.says("shm-allocate",
					"Unable to allocate shared memory for intra-node messaging").speaks("stale-shm"),
				psm.says("shm-segment", "could not set up shared memory segment", "PSM"),
				psm.says("shm-remote", "opening remote shared memory object in shm_open: ").speaks("ipc-namespace"),
				psm.says("shm-object", "Error creating shared memory object in shm_open"),
				source{Libfabric, "open-mpi/ompi, opal/mca/shmem/mmap/help-opal-shmem-mmap.txt"}.
					says("shm-system-call", "A system call failed during shared memory initialization that should"),
				source{Libfabric, "open-mpi/ompi 4.1, opal/mca/btl/vader/help-btl-vader.txt"}.
					says("shm-vader", "A system call failed during vader shared memory BTL initialization"),
			},
			Causes: []Cause{
				{
					Slug: "stale-shm", Title: "files that ended jobs left in /dev/shm are in the way", Weight: Usual,
					Decide: "ls -l /dev/shm on that node: psm2_shm.*, vader_segment.*, of which user and when?",
					Remedy: "delete them, and in the epilog of jobs; Open MPI 4.0.2 or later cleans up",
					Sources: []string{
						"UCL-ARC/rcps-buildscripts#337",
					},
				},
				shmTooSmall(
					Usual, Clue{Weight: Strong, Contains: "No space left"},
					Clue{Weight: Strong, Field: "errno", Is: []string{"28"}},
				),
				{
					Slug:   "ipc-namespace",
					Title:  "the ranks of a node don't share /dev/shm: separate containers or private mounts",
					Weight: Usual, Clues: []Clue{{Weight: Hint, Contains: "No such file or directory"}},
					Decide: "ls -l /proc/PID/ns/{ipc,mnt} of two ranks",
					Remedy: "one container per node, or a common /dev/shm (-v /dev/shm:/dev/shm, --ipc=host)",
				},
				{
					Slug: "not-privileged", Title: "/dev/shm isn't writable", Weight: Rare,
					Clues: []Clue{
						{Weight: Strong, Contains: "Permission denied"},
						{Weight: Hint, Field: "errno", Is: []string{"13"}},
					},
					Decide: "ls -ld /dev/shm; touch /dev/shm/x", Remedy: "mode 1777",
				},
			},
		},
	}
}
