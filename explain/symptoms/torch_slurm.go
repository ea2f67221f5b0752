package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Sources of lines of Slurm.
var (
	slurmErrors = source{Torch, "SchedMD/slurm, src/common/slurm_errno.c"}
	slurmRun    = source{Torch, "SchedMD/slurm, src/srun and src/api/step_launch.c"}
	slurmGRES   = source{Torch, "SchedMD/slurm, src/interfaces/gres.c and src/plugins/gpu"}
	slurmDaemon = source{Torch, "SchedMD/slurm, src/slurmd"}
	// slurmController are checks of what slurmd has registered.
	slurmController = source{Torch, "SchedMD/slurm, src/slurmctld/node_mgr.c"}
	slurmMunge      = source{Torch, "SchedMD/slurm, src/plugins/auth/munge"}
	slurmPMIx       = source{Torch, "SchedMD/slurm, src/plugins/mpi/pmix"}
	slurmCgroup     = source{Torch, "SchedMD/slurm, src/plugins/cgroup"}
)

// Texts of errors of Slurm's communication, and of programs of Slurm.
var (
	slurmLinkErrors = []string{
		"Socket timed out", "Protocol authentication", "Unable to contact", "Zero Bytes", "Communication connection",
		"Incompatible versions", "an't find an address",
	}
	slurmPrograms = []string{"slurm", "srun", "sbatch", "salloc", "squeue", "sinfo", "sacct", "scontrol", "scancel"}
)

// slurmSymptoms are about Slurm: requests that it refuses, its configuration, its daemons, and the
// start of tasks.
func slurmSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-880", Name: "slurm-request", Title: "Slurm refuses the job's request",
			Explanation: "The options of the job, or of a step in it, don't fit the partition, its nodes or the " +
				"limits of the account.",
			Sources: []string{"SchedMD/slurm, src/common/slurm_errno.c"}, Standing: evidence.Origin,
			Lines: []Line{
				slurmErrors.says("slurm-gres", "Invalid generic resource (gres) specification"),
				slurmErrors.says("slurm-tres", "Invalid Trackable RESource (TRES) specification"),
				slurmErrors.says("slurm-insufficient-gres", "Insufficient GRES available in allocation").
					speaks("resource-in-use"),
				slurmErrors.says("slurm-node-config", "Requested node configuration is not available"),
				slurmErrors.says("slurm-partition", "Invalid partition name specified").speaks("setting-invalid"),
				slurmErrors.says("slurm-account", "Invalid account or account/partition combination specified").
					speaks("batch-account"),
				slurmErrors.says("slurm-qos", "Invalid qos specification").speaks("batch-account"),
				slurmErrors.says("slurm-policy", "Job violates accounting/QOS policy").speaks("batch-account"),
				slurmErrors.says("slurm-time", "Requested time limit is invalid").speaks("setting-invalid"),
				slurmErrors.says("slurm-cpus", "More processors requested than permitted").speaks("setting-invalid"),
				slurmErrors.says("slurm-feature", "Invalid feature specification").any(slurmPrograms...).
					speaks("setting-invalid"),
				slurmErrors.says("slurm-node-down", "Required node not available (down, drained or reserved)").
					speaks("dead-node"),
				slurmErrors.says("slurm-memory", "Memory required by task is not available").
					speaks("resource-in-use"),
				slurmErrors.says("slurm-layout", "Unable to layout tasks on given cpus").speaks("resource-in-use"),
				slurmErrors.says("slurm-distribute", "failed to distribute tasks (bind_type:").
					speaks("resource-in-use"),
				slurmRun.says("slurm-bind", "Unable to satisfy cpu bind request").speaks("resource-in-use"),
				slurmRun.says("slurm-mem-options", "SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are").
					speaks("setting-invalid"),
				slurmGRES.says("slurm-gpus-per-task", "Failed to validate job spec").
					any("--gpus", "--tres", "sbatch", "srun", "salloc").
					speaks("setting-invalid"),
				slurmGRES.says("slurm-gres-type", "GRES specification (with and without type identification)").
					speaks("setting-invalid"),
				slurmRun.says("slurm-step", "Unable to create step for job ").not(slurmLinkErrors...).
					as(evidence.Vague),
				slurmRun.says("slurm-allocate", "Unable to allocate resources: ").not(slurmLinkErrors...).
					as(evidence.Vague),
				slurmRun.says("slurm-submit", "Batch job submission failed: ").not(slurmLinkErrors...).
					as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug:   "setting-invalid",
					Title:  "the job asks for what the partition doesn't have, or its options contradict each other",
					Weight: Common,
					Decide: "scontrol show partition; sinfo -o '%P %G %c %m %f'; the job's options and " +
						"SLURM_ variables",
					Remedy: "names and numbers of sinfo (--gres=gpu:8 or --gpus-per-node); without GRES in " +
						"slurm.conf, no --gres; srun inside of another job inherits its variables: unset " +
						"SLURM_MEM_PER_NODE",
				},
				{
					Slug:   "resource-in-use",
					Title:  "another step of the job, or the limits of the allocation, leave too little for this step",
					Weight: Usual,
					Decide: "scontrol show step; the job's --gres, --mem and --cpus-per-task",
					Remedy: "srun --overlap for a step beside another one; --exact, --mem=0, --cpu-bind=none",
				},
				{
					Slug: "batch-account", Title: "account, QOS or their limits don't allow the job", Weight: Rare,
					Decide: "sacctmgr show assoc user=$USER; sacctmgr show qos",
					Remedy: "an account and QOS of the list, or a smaller job",
				},
				{
					Slug: "dead-node", Title: "the nodes that fit are down, drained or reserved", Weight: Rare,
					Decide: "sinfo -R; scontrol show node", Remedy: "what the reason says, then state=resume",
				},
			},
		},
		{
			ID:    "RDX-881",
			Name:  "slurm-step-waits",
			Title: "a step waits for resources of its own job",
			Explanation: "Since Slurm 20.11 a step has its resources for itself: a second srun in the same job waits " +
				"until the first one has ended.",
			Sources:  []string{"SchedMD/slurm, src/srun/srun_job.c"},
			Standing: evidence.Waiting,
			Lines: []Line{
				slurmRun.says("step-disabled", "step creation temporarily disabled, retrying"),
				slurmRun.says("step-still-disabled", "step creation still disabled, retrying"),
			},
			Causes: []Cause{
				{
					Slug: "resource-in-use", Title: "another step of the job has all CPUs, GPUs or memory",
					Weight: Common,
					Decide: "squeue -s; scontrol show step JOB",
					Remedy: "srun --overlap, or --exact with what each step needs",
				},
				{
					Slug: "setting-invalid", Title: "memory or GPUs of the step are more than the job has",
					Weight: Usual,
					Decide: "scontrol show job: TRES", Remedy: "--mem=0; as many GPUs as the job has",
				},
			},
		},
		{
			ID:          "RDX-882",
			Name:        "slurm-gres",
			Title:       "Slurm's configuration of GPUs doesn't fit the node",
			Explanation: "gres.conf and slurm.conf must name as many GPUs, and files that are there, as the node has.",
			Sources:     []string{"SchedMD/slurm, src/interfaces/gres.c"},
			Standing:    evidence.Origin,
			Lines: []Line{
				slurmGRES.says("gres-duplicate", "gres.conf duplicate records for").decides("setting-invalid"),
				slurmGRES.says("gres-cores", "invalid GRES core specification (").decides("setting-invalid"),
				slurmGRES.says("gres-count", " count reported lower than configured"),
				slurmGRES.says("gres-count-changed", "Changed size count of GRES "),
				slurmGRES.says("gres-autodetect",
					"If using AutoDetect the amount of GPUs configured in slurm.conf does not match"),
				slurmGRES.says("gres-discard",
					"Discarding the following config-only GPU due to lack of File specification"),
				slurmGRES.says("gres-mismatch", "has mismatching Cores or Links from the device found on the system").
					speaks("setting-invalid"),
				slurmGRES.says("gres-file", "is not a valid character or block device, fix your gres.conf"),
				slurmGRES.says("gres-waiting", "Waiting for gres.conf file "),
				slurmGRES.says("gres-no-nvml",
					"to autodetect nvml functionality, but we weren't able to find that lib").
					speaks("build-options"),
				slurmGRES.says("gres-file-count", "gres/gpu has \"File\"", "Count").speaks("setting-invalid"),
				slurmGRES.says("gres-mig", "MIG mode is enabled, but no MIG devices were found").
					speaks("setting-invalid"),
				slurmGRES.says("gres-killing", "Killing job ", "count mismatch on node ").speaks("gpu-missing"),
			},
			Causes: []Cause{
				{
					Slug:   "setting-invalid",
					Title:  "gres.conf, slurm.conf and the node disagree about the GPUs",
					Weight: Common,
					Decide: "slurmd -G on the node; NodeName and Gres in slurm.conf",
					Remedy: "AutoDetect=nvml (or nvidia) alone, without lines of the same GPUs; Cores= by slurmd -G; " +
						"Gres=gpu:N of the real number",
				},
				{
					Slug: "gpu-missing", Title: "a GPU of the node has failed or fallen off the bus", Weight: Usual,
					Decide: "nvidia-smi -L on the node; dmesg | grep -i xid", Remedy: "reset or replace it",
				},
				{
					Slug: "driver-not-loaded", Title: "slurmd started before the GPU's driver", Weight: Usual,
					Clues: []Clue{
						onText(Strong, "/dev/nvidia", "a device file of the driver isn't there"),
						onLine(Hint, "gres-waiting", ""),
					},
					Decide: "ls /dev/nvidia*; systemctl status slurmd nvidia-persistenced",
					Remedy: "After=nvidia-persistenced.service for slurmd; restart slurmd",
				},
				{
					Slug: "build-options", Title: "slurmd was built without NVML", Weight: Rare,
					Decide: "ls /usr/lib*/slurm/gpu_nvml.so",
					Remedy: "a build with NVML, or AutoDetect=nvidia (24.11 or later)",
				},
			},
		},
		{
			ID: "RDX-883", Name: "slurm-communication", Title: "Slurm's programs can't talk to each other",
			Explanation: "Nothing of the network for RDMA: srun, slurmctld, slurmd and munge talk over TCP by host " +
				"names, and trust each other by munge's key and clock.",
			Sources:  []string{"SchedMD/slurm, src/common/slurm_errno.c", "SchedMD/slurm, src/plugins/auth/munge"},
			Standing: evidence.Failed,
			Lines: []Line{
				slurmMunge.says("munge-decode", "Munge decode failed: ").as(evidence.Origin).
					speaks("batch-credentials"),
				slurmMunge.says("munge-encode", "Munge encode failed: ").as(evidence.Origin).
					speaks("batch-credentials"),
				slurmMunge.says("munge-clock", "Check for out of sync clocks").as(evidence.Origin).
					speaks("batch-credentials"),
				slurmErrors.says("slurm-authentication", "Protocol authentication error").any(slurmPrograms...).
					speaks("batch-credentials"),
				slurmErrors.says("slurm-credential", "Invalid job credential").any(slurmPrograms...).
					speaks("batch-credentials"),
				slurmErrors.says("slurm-expired", "Job credential expired").speaks("batch-credentials"),
				slurmErrors.says("slurm-versions", "Incompatible versions of client and server code").
					any(slurmPrograms...).
					as(evidence.Origin).speaks("version-mismatch"),
				slurmErrors.says("slurm-controller", "Unable to contact slurm controller").
					speaks("server-unreachable"),
				slurmErrors.says("slurm-no-address", "Can't find an address, check slurm.conf").
					speaks("name-resolution"),
				slurmPMIx.says("slurm-host-address", "slurm_receive_msgs: ", "failed: Socket timed out"),
				slurmErrors.says("slurm-timeout", "Socket timed out on send/recv operation"),
				slurmErrors.says("slurm-zero-bytes", "Zero Bytes were transmitted or received").any(slurmPrograms...),
				slurmErrors.says("slurm-connection", "Communication connection failure").any(slurmPrograms...),
				slurmRun.says("slurm-launch-timeout", "timeout waiting for task launch, started "),
				slurmRun.says("slurm-step-timeout", "Timed out waiting for job step to complete").as(evidence.Echo),
				slurmErrors.says("slurm-connect-io", "Slurmd could not connect IO").speaks("firewall"),
			},
			Causes: []Cause{
				{
					Slug: "batch-credentials", Title: "munge's keys differ, munged isn't running, or clocks differ",
					Weight: Common,
					Decide: "munge -n | ssh NODE unmunge, both ways; md5sum /etc/munge/munge.key; date on both",
					Remedy: "the same munge.key on all nodes, systemctl restart munge; chrony",
				},
				{
					Slug:   "firewall",
					Title:  "a firewall, or a wrong address of the node, blocks slurmd's or srun's ports",
					Weight: Usual,
					Decide: "nc -vz NODE 6818 from slurmctld and the login node, and back; SrunPortRange",
					Remedy: "open 6817-6819 and SrunPortRange; NodeAddr in slurm.conf",
				},
				{
					Slug:   "server-unreachable",
					Title:  "slurmctld or slurmd isn't running, or too busy",
					Weight: Usual,
					Decide: "scontrol ping; systemctl status slurmd on the node; sdiag",
					Remedy: "start it; MessageTimeout; fewer submissions at once; a prolog or image import that is " +
						"slow",
				},
				{
					Slug: "name-resolution", Title: "the host name of a node or of srun's node isn't known there",
					Weight: Usual,
					Decide: "getent hosts NAME on both sides", Remedy: "/etc/hosts, DNS or NodeAddr",
				},
				{
					Slug: "version-mismatch", Title: "Slurm's releases on the nodes are too far apart", Weight: Rare,
					Decide: "slurmd -V; slurmctld -V; srun -V",
					Remedy: "upgrade slurmdbd, slurmctld, slurmd in this order",
				},
			},
		},
		{
			ID: "RDX-884", Name: "slurm-launch", Title: "Slurm could not start the tasks of a step",
			Explanation: "slurmstepd's lines, in the job's error file or the slurmd log of the node, say which of " +
				"plugins, folders and program it was.",
			Sources: []string{
				"SchedMD/slurm, src/api/step_launch.c", "SchedMD/slurm, src/slurmd/slurmstepd/mgr.c",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				slurmRun.says("mpi-type", "Invalid MPI type '").as(evidence.Origin).decides("launcher"),
				slurmErrors.says("mpi-name", "Invalid MPI plugin name").as(evidence.Origin).speaks("launcher"),
				slurmErrors.says("mpi-prelaunch", "MPI plugin's pre-launch setup failed").speaks("launcher"),
				slurmDaemon.says("mpi-prefork", "Failed mpi_g_slurmstepd_prefork").speaks("launcher"),
				slurmPMIx.says("pmix-version", "incorrect PMIx library version loaded").as(evidence.Origin).
					speaks("launcher"),
				slurmPMIx.says("pmix-library", "can not load PMIx library").as(evidence.Vague).
					speaks("missing-library"),
				slurmErrors.says("plugin-load", "Couldn't load specified plugin name for mpi/").as(evidence.Vague).
					speaks("missing-library"),
				slurmErrors.says("plugin-find", "Couldn't find the specified plugin name for mpi/").
					speaks("launcher"),
				slurmErrors.says("mpi-context", "MPI: Cannot create context for mpi/").as(evidence.Vague),
				slurmPMIx.says("pmix-p2p", "pmixp_p2p_send: ", "send failed, rc=").as(evidence.Origin).
					speaks("batch-pmix"),
				slurmPMIx.says("pmix-ucx", "mpi/pmix", "Cannot open UCX lib").speaks("batch-pmix"),
				slurmPMIx.says("pmix-collective", "mpi/pmix", "collective timeout").speaks("batch-pmix"),
				slurmPMIx.says("pmix-send", "mpi/pmix", "Cannot send ").speaks("batch-pmix"),
				slurmDaemon.says("task-execve", "slurmstepd: error: execve()").as(evidence.Origin).
					speaks("program-usage"),
				slurmDaemon.says("task-chdir", "error: couldn't chdir to `").as(evidence.Vague),
				slurmDaemon.says("prolog", "prolog failed status=").speaks("batch-prolog"),
				slurmErrors.says("prolog-error", "Job prolog failed").speaks("batch-prolog"),
				slurmDaemon.says("plugin-stack", "Plugin stack initialization failed").speaks("batch-plugin"),
				slurmErrors.says("plugin-init", "launch failed: Plugin initialization failed").speaks("batch-plugin"),
				slurmDaemon.says("spank-required", "spank: required plugin ", "failed with rc=").as(evidence.Echo).
					speaks("batch-plugin"),
				slurmRun.says("task-launch", "error: task ", " launch failed: "),
				slurmRun.says("step-launch", "error: Task launch for ", " failed on node "),
				slurmRun.says("application-launch", "Application launch failed: ").as(evidence.Vague),
				slurmRun.says("step-aborted", " aborted before step completely launched").as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug:   "launcher",
					Title:  "the MPI type (--mpi, MpiDefault) isn't there on the node, or doesn't fit its PMIx",
					Weight: Usual,
					Clues:  []Clue{onText(Hint, "Unspecified error", "a plugin failed without an error number")},
					Decide: "srun --mpi=list; ls /usr/lib*/slurm/mpi_pmix*.so; the slurmd log of the node",
					Remedy: "--mpi=pmi2, or none for torchrun and NCCL without MPI; Slurm built with the node's PMIx",
				},
				{
					Slug: "missing-library", Title: "libpmix isn't on the node, or of another major version",
					Weight:  Rare,
					Decide:  "ldconfig -p | grep pmix; ldd of mpi_pmix_v*.so on the node",
					Remedy:  "the PMIx package that Slurm was built with, on all nodes and in images of slurmd",
					Sources: []string{"SlinkyProject/containers#1"},
				},
				{
					Slug: "batch-plugin", Title: "a SPANK plugin such as Pyxis failed on the node", Weight: Usual,
					Decide: "the slurmd log of the node; plugstack.conf",
					Remedy: "what it says; the plugin for this release of Slurm",
				},
				{
					Slug: "batch-prolog", Title: "the prolog script failed on the node", Weight: Usual,
					Decide: "the slurmd log; run the prolog by hand",
					Remedy: "the script, then scontrol update state=resume",
				},
				{
					Slug:   "program-usage",
					Title:  "the program isn't on the node, can't be executed, or is in no path",
					Weight: Usual,
					Decide: "srun -w NODE ls -l PROGRAM",
					Remedy: "a shared folder, its full path, chmod +x",
				},
				{
					Slug:   "batch-pmix",
					Title:  "Slurm's PMIx plugin can't reach that of another node, or lacks UCX",
					Weight: Rare,
					Decide: "env | grep SLURM_PMIX; getent hosts of the nodes on each other",
					Remedy: "SLURM_PMIX_DIRECT_CONN=false or SLURM_PMIX_DIRECT_CONN_UCX=false; names of the nodes",
				},
			},
		},
		{
			ID: "RDX-885", Name: "slurm-node", Title: "Slurm lost a node of the job, or drained it",
			Explanation: "slurmctld ends the job if slurmd of a node doesn't answer. What ranks report only follows.",
			Sources:     []string{"SchedMD/slurm, src/api/step_launch.c", "SchedMD/slurm, src/slurmd"},
			Standing:    evidence.Failed,
			Lines: []Line{
				slurmRun.says("node-failure-on", "srun: error: Node failure on ").as(evidence.Origin).
					speaks("dead-node"),
				slurmRun.says("node-io", "io error and missing step on node ").speaks("dead-node"),
				slurmRun.says("node-step-io", "step missing and io error on node ").speaks("dead-node"),
				slurmErrors.says("kill-task", "Kill task failed").speaks("process-blocked"),
				slurmController.says("node-memory", " has low real_memory size (").speaks("setting-invalid"),
				slurmController.says("node-low-memory", "Low RealMemory (reported:").speaks("setting-invalid"),
				slurmController.says("node-low-cores", "Low socket*core*thread count").speaks("setting-invalid"),
				slurmDaemon.says("epilog", "epilog failed status=").speaks("batch-prolog"),
				slurmCgroup.says("cgroup-bpf", "BPF load error (").as(evidence.Origin).speaks("memlock"),
				slurmCgroup.says("cgroup-create", "unable to create cgroup '").
					not("No space left on device", "Cannot allocate memory").as(evidence.Origin).
					speaks("cgroup-version"),
				slurmCgroup.says("cgroup-controller", " cgroup controller is not available").as(evidence.Vague).
					speaks("cgroup-version"),
			},
			Causes: []Cause{
				{
					Slug: "dead-node", Title: "the node failed, or its slurmd doesn't answer", Weight: Common,
					Decide: "sinfo -R; the console and dmesg of the node; systemctl status slurmd",
					Remedy: "drain the node, and what its log says",
				},
				{
					Slug:   "process-blocked",
					Title:  "a process of the job can't be killed: it waits in a driver or a file system",
					Weight: Rare,
					Decide: "ps -eo stat,wchan:30,cmd | grep ^D on the node",
					Remedy: "a reboot; UnkillableStepTimeout",
				},
				{
					Slug:   "setting-invalid",
					Title:  "slurm.conf says more memory, CPUs or disk of the node than slurmd finds there",
					Weight: Rare,
					Decide: "slurmd -C on the node against its line in slurm.conf",
					Remedy: "RealMemory a little below what slurmd -C prints, and its counts; then scontrol update " +
						"NodeName=NODE State=RESUME",
				},
				{
					Slug: "batch-prolog", Title: "the epilog script failed and drained the node", Weight: Rare,
					Decide: "the slurmd log", Remedy: "the script, or the plugin that it runs",
				},
				{
					Slug: "memlock", Title: "slurmd's limit of locked memory is too small for its device rules",
					Weight: Rare,
					Decide: "systemctl show slurmd -p LimitMEMLOCK", Remedy: "LimitMEMLOCK=infinity",
				},
				slurmCgroupVersion(),
			},
		},
		{
			ID: "RDX-911", Name: "slurm-cgroup", Title: "Slurm can't put a step into its control group",
			Explanation: "A cpuset takes no process as long as it has no CPUs or no memory nodes; the kernel has " +
				"at most 65535 memory groups, and older ones don't free those of ended jobs.",
			Sources: []string{
				"Azure/cyclecloud-slurm#388", "SchedMD/slurm, src/plugins/cgroup", "cpuset(7)",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				slurmCgroup.says("cgroup-procs", "cgroup.procs' failed: ", "write value '"),
				slurmCgroup.says("cgroup-pids", "error: unable to add pids to '"),
				slurmCgroup.says("cgroup-full", "unable to create cgroup '").
					any("No space left on device", "Cannot allocate memory").as(evidence.Origin).
					speaks("cgroup-leak"),
				slurmCgroup.says("cgroup-task", "task/cgroup: unable to add task[pid="),
				slurmCgroup.says("cgroup-account", "jobacct_gather/cgroup: unable to instanci").as(evidence.Vague),
				slurmCgroup.says("affinity", "task_g_set_affinity: ").as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug:   "setting-invalid",
					Title:  "the CPUs of the node in slurm.conf aren't those of the machine, or its cpuset is empty",
					Weight: Usual,
					Clues:  []Clue{onText(Strong, "cpuset", "it is the group for CPUs")},
					Decide: "slurmd -C against NodeName in slurm.conf; cpuset.cpus and cpuset.mems of the parents",
					Remedy: "the line of slurmd -C; task/affinity without task/cgroup for a try",
				},
				{
					Slug: "cgroup-leak", Title: "the kernel doesn't free the memory groups of ended jobs",
					Weight: Rare,
					Clues:  []Clue{onText(Decisive, "/memory/", "it is the group for memory")},
					Decide: "grep memory /proc/cgroups: num_cgroups",
					Remedy: "a reboot; a newer kernel, or ConstrainKmemSpace=no",
				},
				slurmCgroupVersion(),
			},
		},
	}
}

// slurmCgroupVersion is the cause that Slurm looks for control groups of the other version.
func slurmCgroupVersion() Cause {
	return Cause{
		Slug: "cgroup-version", Title: "Slurm's plugin for control groups doesn't fit the node", Weight: Rare,
		Decide: "stat -fc %T /sys/fs/cgroup; CgroupPlugin in cgroup.conf",
		Remedy: "CgroupPlugin=autodetect; Delegate=yes for slurmd",
	}
}
