package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// programUsage returns the cause that the program calls the library wrongly.
func programUsage(w Weight, title, decide, remedy string, clues ...Clue) Cause {
	return Cause{Slug: "program-usage", Title: title, Weight: w, Clues: clues, Decide: decide, Remedy: remedy}
}

// launcherRanks returns the cause that the launcher numbers ranks wrongly.
func launcherRanks(w Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "launcher-ranks", Title: "the launcher gave ranks, sizes or addresses that don't fit together",
		Weight: w, Clues: clues,
		Decide: "RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT (or NCCL_COMM_ID) of every process",
		Remedy: "each rank once, the same size for all, a port of its own for each job",
	}
}

//nolint:funlen // a table
func ncclRankSymptoms() []Symptom {
	return []Symptom{
		{
			ID: "RDX-324", Name: "duplicate-gpu", Title: "two ranks are on the same GPU",
			Explanation: "NCCL wants a GPU for each rank. Ranks share one if none of them calls cudaSetDevice, if " +
				"the launcher starts more ranks on a node than it has GPUs, or gives two the same local rank.",
			Sources:  []string{"NVIDIA/nccl, src/init.cc", "NVIDIA-NeMo/RL#3155"},
			Standing: evidence.Origin,
			Lines: []Line{
				{
					Name: "duplicate-gpu", Program: NCCL, All: []string{"Duplicate GPU detected : rank "},
					Fields: []Field{{Name: "rank", After: "rank "}, {Name: "gpu", After: "CUDA device "}},
					Source: "NVIDIA/nccl, src/init.cc", Speaks: []string{"local-rank"},
				},
				nccl("shared-partition", "init.cc", "Multiple Ranks are using the same GPU/Partition").
					speaks("local-rank"),
			},
			Causes: []Cause{
				{
					Slug: "local-rank", Title: "the launcher or the program put two ranks on one GPU", Weight: Common,
					Decide: "hostname, LOCAL_RANK and CUDA_VISIBLE_DEVICES of both ranks; ranks per node against " +
						"GPUs per node",
					Remedy: "cudaSetDevice(local rank) before NCCL; as many ranks on a node as it has GPUs; " +
						"placement of Ray or Slurm (--gpus-per-task, placement groups)",
				},
				{
					Slug: "hostname-shared", Title: "two nodes have the same host name and boot ID (cloned VMs)",
					Weight: Rare,
					Decide: "hostname; cat /proc/sys/kernel/random/boot_id on both",
					Remedy: "another NCCL_HOSTID on each node",
				},
			},
		},
		{
			ID: "RDX-326", Name: "bootstrap-ranks", Title: "the ranks that meet don't belong together",
			Explanation: "Rank 0 collects all ranks. It found one twice, or one that believes in another size of " +
				"the job: a launcher that numbers wrongly, or two jobs with the same address and port.",
			Sources:  []string{"NVIDIA/nccl, src/bootstrap.cc", "NVIDIA/nccl, src/init.cc"},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("bootstrap-twice", "bootstrap.cc", "Bootstrap Root : rank ", "has already checked in").
					speaks("launcher-ranks"),
				nccl("bootstrap-sizes", "bootstrap.cc", "Bootstrap Root : mismatch in ").speaks("launcher-ranks"),
				nccl("bootstrap-range", "bootstrap.cc", "Bootstrap Root : localId").warning(),
				nccl("rank-invalid", "init.cc", "Invalid rank requested : "),
				nccl("rank-exceeds", "init.cc", " exceeds ndev=").warning(),
				nccl("intra-ranks", "init.cc", "Failed to determine intra proc ranks rank"),
				nccl("intra-ranks-old", "init.cc", "Failed to determine intra ranks"),
				nccl("local-ranks", "init.cc", "Failed to determine local ranks rank"),
				nccl("grow-magic", "init.cc", "ncclCommGrow: magic mismatch"),
				nccl("bootstrap-unexpected", "bootstrap.cc", "Unexpected connections are not empty"),
			},
			Causes: []Cause{
				launcherRanks(Common),
				{
					Slug: "port-in-use", Title: "two jobs use the same address and port", Weight: Usual,
					Decide: "ss -tlnp on the node of rank 0; other jobs with the same MASTER_PORT or NCCL_COMM_ID",
					Remedy: "another port for each job; end what is left of the last run",
				},
				programUsage(Rare, "ranks make communicators in different orders",
					"the calls that make process groups on every rank",
					"the same new_group calls in the same order on all ranks"),
			},
		},
		{
			ID: "RDX-327", Name: "comm-id", Title: "the address or interface where the ranks meet is unusable",
			Explanation: "NCCL_COMM_ID is HOST:PORT of rank 0; the same for all ranks, and only rank 0 may own it.",
			Sources:     []string{"NVIDIA/nccl, src/bootstrap.cc", "NVIDIA/nccl, src/misc/socket.cc"},
			Standing:    evidence.Origin,
			Lines: []Line{
				nccl("comm-id", "bootstrap.cc", "Invalid NCCL_COMM_ID, please use format").decides("setting-invalid"),
				nccl("comm-id-set", "bootstrap.cc", "should not be called when NCCL_COMM_ID is set").
					speaks("setting-invalid"),
				nccl("address-pair", "misc/socket.cc", "Net : No valid <IPv4_or_hostname>:<port> pair found").
					speaks("setting-invalid"),
				nccl("address-ipv6", "misc/socket.cc", "Net : No valid [IPv6]:port pair found").
					speaks("setting-invalid"),
				nccl("address-info", "misc/socket.cc", "Net : error encountered when getting address info").
					speaks("name-resolution"),
				nccl("address-null", "misc/socket.cc", "Net : string is null"),
				nccl("oob-none", "bootstrap.cc", "no device found", "verify NCCL_OOB_NET_IFNAME").
					speaks("interface-choice"),
				nccl("bootstrap-none", "bootstrap.cc", "no socket interface found").warning().
					speaks("interface-choice"),
				nccl("bootstrap-unusable", "bootstrap.cc", "No usable listening interface found").warning().
					speaks("interface-choice"),
			},
			Causes: []Cause{
				{
					Slug: "setting-invalid", Title: "NCCL_COMM_ID has the wrong form, or is set where it mustn't be",
					Weight: Usual,
					Decide: "env | grep NCCL_; rdmactl env lint",
					Remedy: "HOST:PORT or [IPv6]:PORT; unset NCCL_COMM_ID under PyTorch",
				},
				{
					Slug: "name-resolution", Title: "the host name in the address isn't resolved", Weight: Usual,
					Decide: "getent hosts NAME on every node",
					Remedy: "DNS or /etc/hosts, or an address instead of the name",
				},
				{
					Slug:   "interface-choice",
					Title:  "no interface of this node has the name that is set, or there is only loopback",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Variable: "NCCL_SOCKET_IFNAME"},
						{Weight: Hint, Variable: "NCCL_SOCKET_FAMILY"},
					},
					Decide: "ip -br address in the container, against NCCL_SOCKET_IFNAME and NCCL_OOB_NET_IFNAME",
					Remedy: "NCCL_SOCKET_IFNAME with an interface that each node has, or =^docker,lo; a pod with a " +
						"network",
				},
			},
		},
		{
			ID:    "RDX-329",
			Name:  "collective-mismatch",
			Title: "the two ends of a transfer expect different sizes",
			Explanation: "Sender and receiver of NCCL's network transport disagree: they run different collectives, " +
				"with different settings (NCCL_PROTO, NCCL_ALGO, NCCL_BUFFSIZE) or with different versions.",
			Sources: []string{"NVIDIA/nccl, src/transport/net_ib.cc", "NVIDIA/nccl#969"},
			Lines: []Line{
				nccl("ib-mismatch", "transport/net_ib.cc", "collective mismatch error"),
				nccl("ib-receive-info", "transport/net_ib.cc", "posted incorrect receive info"),
				nccl("old-mismatch", "init.cc", "Mismatched collective detected, please check your collective calls"),
				nccl("old-hang", "init.cc", "this may be caused by a collective mismatch around rank"),
				nccl("collnet-sizes", "transport/coll_net.cc", "CollNet sizes: want="),
			},
			Causes: []Cause{
				{
					Slug:   "environment-differs",
					Title:  "the ranks differ in NCCL_PROTO, NCCL_ALGO, NCCL_BUFFSIZE or another variable",
					Weight: Common,
					Clues:  []Clue{{Weight: -Hint, Line: "old-mismatch"}, {Weight: -Hint, Line: "old-hang"}},
					Decide: "rdmactl env consensus; NCCL_DEBUG_SUBSYS=ENV on all ranks",
					Remedy: "the same environment on all nodes",
				},
				{
					Slug: "program-fault", Title: "the ranks call different collectives, or with different sizes",
					Weight: Usual,
					Clues:  []Clue{{Weight: Strong, Line: "old-mismatch"}, {Weight: Strong, Line: "old-hang"}},
					Decide: "NCCL_DEBUG_SUBSYS=COLL; TORCH_DISTRIBUTED_DEBUG=DETAIL",
					Remedy: "the program: same calls, counts and types on all ranks",
				},
				{
					Slug: "version-mismatch", Title: "the nodes run different versions of the library", Weight: Usual,
					Decide: "the version lines of all nodes", Remedy: "the same version on all nodes",
				},
			},
		},
		{
			ID: "RDX-338", Name: "comm-state",
			Title: "the communicator was used before it was ready, or after it was aborted",
			Explanation: "A non-blocking communicator answers ncclInProgress until it is ready. After an error or " +
				"an abort nothing works with it any more: these lines follow from what was before.",
			Sources: []string{"NVIDIA/nccl, src/init.cc", "NVIDIA/nccl, src/proxy.cc"},
			Lines: []Line{
				nccl("comm-early", "init.cc",
					"Attempt to use communicator before the previous operation returned ncclSuccess"),
				nccl("comm-abort", "proxy.cc", "is in abort state", "Comm 0x").as(evidence.Echo),
				nccl("comm-revoked", "enqueue.cc", "communicator was revoked").warning().as(evidence.Echo),
				nccl(
					"comm-destroyed",
					"init.cc",
					"has already been destroyed",
					"comm 0x",
				).warning().
					as(evidence.Echo),
				nccl("comm-async", "init.cc", "ncclCommSetAsyncError: error comm").as(evidence.Echo),
				nccl("comm-sync", "init.cc", "commDestroySync: comm").as(evidence.Echo),
				nccl("comm-reclaim", "init.cc", "commReclaim: ").warning().as(evidence.Echo),
				nccl("async-job", "group.cc", "ncclAsyncJobComplete: job").warning().as(evidence.Echo),
				nccl("host-plan", "enqueue.cc", "hostStreamPlanCallback() failed").as(evidence.Echo),
				nccl("in-progress", "init.cc", "NCCL operation in progress").as(evidence.Echo),
			},
			Causes: []Cause{
				programUsage(Usual,
					"the program doesn't wait until the communicator is ready, or uses it after its end",
					"ncclCommGetAsyncError before each use; threads that share the communicator",
					"poll until ncclSuccess; don't use a communicator after abort or destroy"),
				{
					Slug: "dead-peer", Title: "another rank failed before, and this one was aborted", Weight: Usual,
					Decide: "the first failure in the logs of all ranks", Remedy: "what failed there",
				},
			},
		},
		{
			ID: "RDX-339", Name: "comm-corrupted", Title: "the communicator is no valid object",
			Explanation: "The marks around the object are gone: it was freed, overwritten, or made by another copy " +
				"of the library.",
			Sources: []string{
				"NVIDIA/nccl, src/misc/argcheck.cc", "jax-ml/jax#39167", "pegainfer-project/pegainfer#810",
			},
			Lines: []Line{
				nccl("comm-corrupted", "misc/argcheck.cc", "corrupted comm object detected"),
			},
			Causes: []Cause{
				{
					Slug: "library-conflict", Weight: Usual,
					Title:  "two copies of NCCL are in the process: one made the object, the other got it",
					Decide: "grep libnccl /proc/PID/maps; without the import of TensorFlow or torch beside JAX",
					Remedy: "one copy: LD_LIBRARY_PATH, LD_PRELOAD, VLLM_NCCL_SO_PATH, or one framework",
				},
				programUsage(Usual, "the program uses a communicator after it was destroyed, or overwrites memory",
					"the order of destroy and use, also at the exit; valgrind", "the program"),
			},
		},
		{
			ID: "RDX-340", Name: "library-older",
			Title: "the program was built with another version of NCCL than it runs with",
			Explanation: "Parts of the interface for kernels are bound to the version; the library that is found " +
				"first counts.",
			Sources:  []string{"NVIDIA/nccl, src/dev_runtime.cc"},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("library-old", "dev_runtime.cc", "NCCL library is too old. This application was compiled").
					decides("version-mismatch"),
				nccl("library-incompatible", "dev_runtime.cc",
					"NCCL library is not backwards compatible. This application").
					decides("version-mismatch"),
				nccl("application-old", "devcomm/devcomm_v22902.cc",
					"The application was compiled with too old version of NCCL").
					decides("version-mismatch"),
				nccl("config-magic", "init.cc", "argument not initialized via NCCL_CONFIG_INITIALIZER").
					speaks("version-mismatch"),
				nccl(
					"properties-magic",
					"dev_runtime.cc",
					"must be initialized via NCCL_COMM_PROPERTIES_INITIALIZER",
				),
			},
			Causes: []Cause{
				{
					Slug:   "version-mismatch",
					Title:  "another libnccl.so.2 is found than the one that the program was built with",
					Weight: Common,
					Decide: "grep libnccl /proc/PID/maps; NCCL's version line",
					Remedy: "the version that was built with: LD_LIBRARY_PATH, pip's nvidia-nccl",
				},
				programUsage(Rare, "the structure isn't initialized by its macro", "the program's source",
					"NCCL_CONFIG_INITIALIZER"),
			},
		},
	}
}
