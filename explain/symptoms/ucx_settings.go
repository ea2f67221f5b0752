package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func ucxSettingSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-422", Name: "ucx-misspelt-variable",
			Title:       "UCX doesn't know a variable, but one of nearly the same name",
			Explanation: "The setting has no effect. UCX names the variable that it takes for the meant one.",
			Sources:     []string{"openucx/ucx, src/ucs/config/parser.c"},
			Standing:    evidence.Vague,
			Lines: []Line{{
				Name: "misspelt-variable", Program: UCX, All: []string{"unused environment variable", "(maybe: "},
				Fields: []Field{{Name: "what", After: "(maybe: "}}, Source: "openucx/ucx, src/ucs/config/parser.c",
				Speaks: []string{"setting-invalid"},
			}},
			Causes: []Cause{{
				Slug: "setting-invalid", Title: "the name of a variable is misspelt, so it has no effect",
				Weight: Common,
				Decide: "ucx_info -c | grep NAME; rdmactl env lint", Remedy: "the name in the parentheses",
			}},
		},
		{
			ID: "RDX-423", Name: "ucx-unused-variable",
			Title: "UCX doesn't know a variable whose name begins with UCX_",
			Explanation: "It belongs to another release or to another program (modules of clusters set UCX_HOME " +
				"and UCX_ROOT). It has no effect; only if it was meant to have one is it a fault.",
			Sources: []string{"openucx/ucx, src/ucs/config/parser.c"}, Standing: evidence.Harmless,
			Lines: []Line{{
				Name: "unused-variable", Program: UCX, All: []string{"unused environment variable"},
				Source: "openucx/ucx, src/ucs/config/parser.c",
			}},
		},
		{
			ID: "RDX-436", Name: "ucx-invalid-setting", Title: "a setting of UCX has a value that it refuses",
			Explanation: "The line names the setting, the value and what is expected.",
			Sources:     []string{"openucx/ucx, src/ucs/config/parser.c", "openucx/ucx, src/uct/ib/base"},
			Standing:    evidence.Origin,
			Lines: []Line{
				{
					Name: "invalid-value", Program: UCX, All: []string{"Invalid value for ", "'. Expected: "},
					Fields: []Field{{Name: "what", After: "Invalid value for "}},
					Source: "openucx/ucx, src/ucs/config/parser.c", Decides: "setting-invalid",
				},
				{
					Name: "gid-and-subnet", Program: UCX,
					All:    []string{"both GID_INDEX and ROCE_SUBNET_LIST are specified"},
					Source: "openucx/ucx, src/uct/ib/base/ib_iface.c", Decides: "setting-invalid",
				},
				{
					Name: "only-pcie-relaxed", Program: UCX,
					All:    []string{"IB_PCI_RELAXED_ORDERING=", "memory keys"},
					Source: "openucx/ucx, src/uct/ib/base/ib_md.c", Speaks: []string{"setting-invalid"},
				},
				{
					Name: "device-twice", Program: UCX, All: []string{"' is specified multiple times", "device '"},
					Source: "openucx/ucx, src/ucp/core/ucp_context.c", Standing: evidence.Vague,
					Speaks: []string{"setting-invalid"},
				},
				{
					Name: "tls-list-empty", Program: UCX,
					All:    []string{"The TLs list is empty. Please specify the transports"},
					Source: "openucx/ucx, src/ucp/core/ucp_context.c", Decides: "setting-invalid",
				},
				{
					Name: "device-list-empty", Program: UCX,
					All:    []string{"The device lists are empty. Please specify the devices"},
					Source: "openucx/ucx, src/ucp/core/ucp_context.c", Decides: "setting-invalid",
				},
			},
			Causes: []Cause{{
				Slug: "setting-invalid", Title: "the value of a setting is wrong, or two settings exclude each other",
				Weight: Common, Decide: "env | grep UCX_; ucx_info -cf; rdmactl env lint",
				Remedy: "a value that the line lists, or unset it",
			}},
		},
		{
			ID: "RDX-437", Name: "ucx-pkey", Title: "UCX has no partition key that it may use on the port",
			Explanation: "The port's table has no key, or not the one of UCX_IB_PKEY, or only as a limited member. " +
				"The subnet manager writes the table.",
			Sources: []string{"openucx/ucx, src/uct/ib/base/ib_iface.c"}, Standing: evidence.Origin,
			Lines: []Line{
				{
					Name: "pkey-missing", Program: UCX, All: []string{"unable to find specified pkey "},
					Fields: []Field{{Name: "device", After: " on "}},
					Source: "openucx/ucx, src/uct/ib/base/ib_iface.c",
				},
				{
					Name: "pkey-none", Program: UCX, All: []string{"there is no valid pkey to use on "},
					Fields: []Field{{Name: "device", After: "to use on "}},
					Source: "openucx/ucx, src/uct/ib/base/ib_iface.c",
				},
			},
			Causes: []Cause{
				{
					Slug: "pkey", Title: "the partition key isn't in the port's table, or only as a limited member",
					Weight: Common,
					Decide: "cat /sys/class/infiniband/DEVICE/ports/1/pkeys/*; rdmactl doctor --only pkey",
					Remedy: "a full membership (0x8001) in the subnet manager's partitions.conf; UCX_IB_PKEY with " +
						"a key of the table",
				},
				{
					Slug: "subnet-manager", Title: "no subnet manager has configured the port", Weight: Rare,
					Decide: "ibstat: the port's state and its SM lid", Remedy: "start the subnet manager",
				},
				{
					Slug: "vf-guid", Title: "the virtual function has no GUID, so it isn't in a partition",
					Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Contains: "no valid pkey"}},
					Decide: "rdmactl detect: node and port GUIDs", Remedy: "write GUIDs before the function is used",
				},
			},
		},
		{
			ID: "RDX-441", Name: "ucx-fork", Title: "a process that uses RDMA was forked, or can't be",
			Explanation: "Pages that are registered aren't copied on write as usual. Without support by kernel and " +
				"library (Linux 5.12 and rdma-core 35, or ibv_fork_init) a child and its parent can corrupt data.",
			Sources: []string{
				"openucx/ucx, src/uct/ib/base/ib_md.c",
				"open-mpi/ompi, opal/runtime/help-opal-runtime.txt",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				{
					Name: "fork-issued", Program: UCX,
					All:    []string{"ibv_fork_init() was disabled or failed, yet a fork()"},
					Source: "openucx/ucx, src/uct/ib/base/ib_md.c",
				},
				{
					Name: "fork-init-failed", Program: UCX, All: []string{"ibv_fork_init() failed: "},
					None:   []string{"continuing"},
					Source: "openucx/ucx, src/uct/ib/base/ib_md.c", Standing: evidence.Failed,
				},
				{
					Name: "ompi-fork", Program: Libfabric,
					All:    []string{"A process has executed an operation involving a call"},
					Source: "open-mpi/ompi, opal/runtime/help-opal-runtime.txt",
				},
				{
					Name: "openib-fork", Program: Libfabric,
					All:    []string{"WARNING: fork() support was requested for the OpenFabrics"},
					Source: "open-mpi/ompi, opal/mca/btl/openib/help-mpi-btl-openib.txt",
				},
				{
					Name: "efa-fork-init", Program: Libfabric,
					All:    []string{"Fork support requested but ibv_fork_init failed"},
					Source: "ofiwg/libfabric, prov/efa/src/efa_fork_support.c", Standing: evidence.Failed,
				},
			},
			Causes: []Cause{
				{
					Slug: "fork-unsafe",
					Title: "the program forks (system(), subprocess, workers of a data loader) after RDMA was " +
						"initialised, without fork support",
					Weight: Common, Decide: "uname -r; where the program forks: strace -f -e trace=fork,vfork,clone",
					Remedy: "RDMAV_FORK_SAFE=1 (EFA: FI_EFA_FORK_SAFE=1), UCX_IB_FORK_INIT=y; a kernel from 5.12 " +
						"on; start children before MPI_Init, or with spawn",
				},
				{
					Slug: "fork-support", Title: "RDMA was used before ibv_fork_init could be called",
					Weight: Rare,
					Clues: []Clue{
						{Weight: Strong, Line: "fork-init-failed"}, {Weight: Strong, Line: "efa-fork-init"},
					},
					Decide: "which library calls libibverbs first", Remedy: "RDMAV_FORK_SAFE=1 for the whole process",
				},
			},
		},
		{
			ID: "RDX-442", Name: "ucx-open-files", Title: "the process may not open more files",
			Explanation: "Each connection of TCP, and each segment of shared memory, takes a file descriptor.",
			Sources:     []string{"openucx/ucx, src/ucs/sys/sock.c"}, Standing: evidence.Origin,
			Lines: []Line{{
				Name: "open-files", Program: UCX,
				All:    []string{"the maximal number of files that could be opened simultaneously"},
				Source: "openucx/ucx, src/ucs/sys/sock.c", Decides: "file-limit",
			}},
			Causes: []Cause{fileLimit(Common)},
		},
		{
			ID: "RDX-432", Name: "ucx-leftovers", Title: "UCX lists what the program left behind at its end",
			Explanation: "The program ended without waiting for its requests or freeing its objects. It is no " +
				"cause of anything before.",
			Sources:  []string{"openucx/ucx, src/ucs/datastruct/mpool.c", "openucx/ucx, src/ucp/core/ucp_worker.c"},
			Standing: evidence.Harmless,
			Lines: []Line{
				{
					Name: "leftover-object", Program: UCX, All: []string{" was not returned to mpool "},
					Source: "openucx/ucx, src/ucs/datastruct/mpool.c",
				},
				{
					Name: "leftover-operations", Program: UCX, All: []string{" pending operations were not flushed"},
					Source: "openucx/ucx, src/ucp/core/ucp_worker.c",
				},
				{
					Name: "leftover-endpoints", Program: UCX,
					All:    []string{" endpoints were not destroyed", "worker 0x"},
					Source: "openucx/ucx, src/ucp/core/ucp_worker.c",
				},
				{
					Name: "leftover-regions", Program: UCX, All: []string{" regions remained on lru list"},
					Source: "openucx/ucx, src/ucs/memory/rcache.c",
				},
			},
		},
		{
			ID: "RDX-443", Name: "ucx-library-conflict",
			Title: "libraries of different releases of UCX meet in a process",
			Explanation: "A program was built with another release than the one that is loaded, or libucp, libuct " +
				"and libucs are of different releases: OFED, HPC-X, conda and wheels each bring their own.",
			Sources: []string{"openucx/ucx, src/ucp/core/ucp_context.c", "open-mpi/ompi, " +
				"ompi/mca/pml/ucx", "ai-dynamo/nixl#1561"},
			Standing: evidence.Failed,
			Lines: []Line{
				{
					Name: "api-version", Program: UCX, All: []string{"UCP API version is incompatible: required >= "},
					Source: "openucx/ucx, src/ucp/core/ucp_context.c",
				},
				{
					Name: "api-version-old", Program: UCX, All: []string{"UCP version is incompatible, required: "},
					Source: "openucx/ucx 1.9, src/ucp/core/ucp_context.c",
				},
				{
					Name: "symbol-ucp", Program: UCX, All: []string{"undefined symbol: ucp_"},
					Source: "glibc, elf/dl-lookup.c", Standing: evidence.Origin,
				},
				{
					Name: "symbol-ucs", Program: UCX, All: []string{"undefined symbol: ucs_"},
					Source: "glibc, elf/dl-lookup.c", Standing: evidence.Origin,
				},
				{
					Name: "symbol-uct", Program: UCX, All: []string{"undefined symbol: uct_"},
					Source: "glibc, elf/dl-lookup.c", Standing: evidence.Origin,
				},
				{
					Name: "too-old", Program: UCX, All: []string{"UCX version ", " is too old, please install"},
					Source: "open-mpi/ompi, ompi/mca/pml/ucx/pml_ucx.c",
				},
				{
					Name: "nixl-soname", Program: UCX, All: []string{"but NIXL UCX backend bound to "},
					Source: "ai-dynamo/nixl, src/plugins/ucx/ucx_plugin.cpp", Standing: evidence.Origin,
				},
			},
			Causes: []Cause{{
				Slug: "library-conflict", Title: "another release of UCX is loaded than the program was built with",
				Weight: Common,
				Decide: "ldd of the program and of its plugins; grep libuc /proc/PID/maps; ucx_info -v for each copy",
				Remedy: "one copy: its lib directory first in LD_LIBRARY_PATH, without the one of OFED or HPC-X; " +
					"or build the program again",
				Sources: []string{"ai-dynamo/nixl#1561"},
			}},
		},
	}
}
