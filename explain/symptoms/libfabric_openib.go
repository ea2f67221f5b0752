package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Files of texts and sources of Open MPI's BTL for verbs.
var (
	openibHelp = source{Libfabric, "open-mpi/ompi 4.1, opal/mca/btl/openib/help-mpi-btl-openib.txt"}
	openibCPC  = source{Libfabric, "open-mpi/ompi 4.1, opal/mca/btl/openib/help-mpi-btl-openib-cpc-base.txt"}
	openibCode = source{Libfabric, "open-mpi/ompi 4.1, opal/mca/btl/openib"}
	verbsHelp  = source{Libfabric, "open-mpi/ompi 4.1, opal/mca/common/verbs/help-opal-common-verbs.txt"}
	oobUD      = source{Libfabric, "open-mpi/ompi 3.1, orte/mca/oob/ud/help-oob-ud.txt"}
	mvapich    = source{Libfabric, "MVAPICH2, src/mpid/ch3/channels/mrail/src/gen2"}
)

func openibUnused(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "openib-unused",
		Title: "the openib BTL isn't meant for this device any more: from Open MPI 4.0 on UCX serves InfiniBand " +
			"and RoCE; if it does, this is no fault",
		Weight: weight, Clues: clues,
		Decide: "mpirun --mca pml_base_verbose 10: is pml ucx selected? ompi_info | grep ucx",
		Remedy: "--mca pml ucx --mca btl ^openib; without UCX in this build: Open MPI built --with-ucx",
		Sources: []string{
			"open-mpi/ompi#6517", "open-mpi/ompi#10693", "open-mpi/ompi#11063", "shankar1729/jdftx#270",
		},
	}
}

func mpiMemlock(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "memlock", Title: "the limit of locked memory (memlock) of the processes is too low", Weight: weight,
		Clues:  clues,
		Decide: "mpirun bash -c 'ulimit -l', not in a login shell; rdmactl doctor --only memlock,memlock-jobs",
		Remedy: "memlock unlimited for what starts the ranks: LimitMEMLOCK=infinity of slurmd or sshd, " +
			"/etc/security/limits.conf, --ulimit memlock=-1 of the container",
		Sources: []string{"openucx/ucx#8229", "flux-framework/flux-core#4451"},
	}
}

func openibSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-471", Name: "openib-device", Title: "Open MPI's openib BTL didn't take an RDMA device",
			Explanation: "From 4.0 on it leaves InfiniBand to UCX and says so. The warning alone is no fault: see " +
				"which component carries the messages.",
			Sources: []string{
				"open-mpi/ompi#6517", "open-mpi/ompi#10693", "open-mpi/ompi#7188", "open-mpi/ompi#7461",
				"shankar1729/jdftx#270",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				openibHelp.says("openib-by-default",
					"By default, for Open MPI 4.0 and later, infiniband ports on a device").
					speaks("openib-unused"),
				openibHelp.says("openib-init-error", "WARNING: There was an error initializing an OpenFabrics device."),
				openibHelp.says("openib-none-near",
					"WARNING: No OpenFabrics devices of the right type were found within"),
			},
			Causes: []Cause{
				openibUnused(Common),
				{
					Slug: "build-options", Title: "this Open MPI has no UCX, so InfiniBand isn't used at all",
					Weight: Usual,
					Decide: "ompi_info | grep -i ucx; ldd mca_pml_ucx.so: not found?",
					Remedy: "Open MPI built --with-ucx and UCX's libraries on all nodes; or --mca " +
						"btl_openib_allow_ib 1",
					Sources: []string{"open-mpi/ompi#7461"},
				},
				mpiMemlock(Rare, Clue{Weight: Strong, Seen: "libfabric/ompi-create-cq"}),
			},
		},
		{
			ID: "RDX-472", Name: "openib-parameters", Title: "Open MPI has no preset parameters for this device",
			Explanation: "The card is newer than this Open MPI. It works with defaults, if openib is used at all.",
			Sources:     []string{"open-mpi/ompi 4.1, opal/mca/btl/openib/help-mpi-btl-openib.txt"},
			Standing:    evidence.Harmless,
			Lines: []Line{
				openibHelp.says("openib-parameters",
					"WARNING: No preset parameters were found for the device that Open MPI"),
			},
		},
		{
			ID: "RDX-473", Name: "openib-connection", Title: "openib has no way to connect on this port",
			Explanation: "rdmacm needs an IP address on the port, and a per-peer queue as the first one; udcm " +
				"needs InfiniBand. On RoCE only rdmacm works, and the default queues are all shared.",
			Sources: []string{
				"open-mpi/ompi#2853", "open-mpi/ompi#3573", "open-mpi/ompi#1468", "open-mpi/ompi#11063",
				"open-mpi/ompi#4499",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				openibCode.says("openib-rdmacm-pp", "rdmacm CPC only supported when the first QP is a PP QP").
					decides("openib-queues").as(evidence.Origin),
				openibCode.says("openib-rdmacm", "openib BTL: rdmacm CPC unavailable for use on ").
					with("device", "use on ").as(evidence.Vague),
				openibCPC.says("openib-no-cpc", "No OpenFabrics connection schemes reported that they were able to be"),
				openibHelp.says("openib-queues",
					"The Open MPI receive queue configuration for the OpenFabrics devices").
					decides("openib-queues"),
				openibHelp.says("openib-queues-two",
					"Open MPI detected two devices on a single server that have different").
					decides("openib-queues"),
			},
			Causes: []Cause{
				openibUnused(Common),
				{
					Slug: "openib-queues",
					Title: "openib's receive queues don't suit the device: RoCE needs a per-peer queue first, and " +
						"all devices the same queues",
					Weight: Usual, Clues: []Clue{{Weight: Strong, Link: "RoCE"}},
					Decide:  "ibv_devinfo: link_layer; ompi_info --param btl openib --level 9 | grep receive_queues",
					Remedy:  "--mca btl_openib_receive_queues P,128,256,192,128:S,2048,1024,1008,64:…, or pml ucx",
					Sources: []string{"open-mpi/ompi#2853"},
				},
				mpiMemlock(
					Usual, Clue{Weight: Strong, Seen: "libfabric/ompi-create-cq"},
					Clue{Weight: Strong, Seen: "libfabric/psm-send-cq"},
				),
				{
					Slug: "interface-choice", Title: "the port has no IP address, which rdmacm needs", Weight: Rare,
					Decide: "ip -br addr of the RDMA interface", Remedy: "an address on it, or pml ucx",
				},
			},
		},
		{
			ID: "RDX-474", Name: "mpi-create-queue", Title: "MPI could not create a queue on the RDMA device",
			Explanation: "Queues are locked memory. Under a batch system the limit is that of its daemon, not of a " +
				"login shell.",
			Sources: []string{
				"open-mpi/ompi#6468", "open-mpi/ompi#4499", "open-mpi/ompi#11236", "flux-framework/flux-core#4451",
				"ofiwg/libfabric#7324",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				openibHelp.says("openib-no-memory",
					"allocate some locked memory.  This typically can indicate that the").
					speaks("memlock"),
				openibHelp.says("openib-no-queue", "create an internal queue.  This typically indicates a failed"),
				oobUD.says("ompi-create-cq", "Failed to create a completion queue (CQ)"),
				oobUD.says("ompi-create-qp", "Failed to create a queue pair (QP)").speaks("driver-refuses"),
				openibCode.says("openib-create-qp", "error creating qp errno says "),
				openibCode.says("openib-create-qp-sl", "error creating qp ", "btl_openib_"),
				openibCode.says("openib-create-cqs", "error creating cqs", "btl_openib").as(evidence.Vague),
				openibCode.says("openib-protection-domain", "error allocating protection domain for "),
				openibCode.says("openib-post-send", "error posting send request error 12: "),
				mvapich.says("mvapich-cq", "cannot create cq"),
				mvapich.says("mvapich-cq-old", "Could not create CQ"),
				mvapich.says("mvapich-qp", "Failed to create QP", "mrail"),
				source{Libfabric, "ofiwg/libfabric, prov/psm3/psm3/hal_verbs/verbs_ep.c"}.
					says("psm-send-cq", "Unable to create send CQ of size "),
			},
			Causes: []Cause{
				mpiMemlock(Common, Clue{Weight: Strong, Field: "errno", Is: []string{"12"}}),
				{
					Slug: "resource-limit", Title: "the card has no more queues, or fewer than are asked for",
					Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Field: "errno", Is: []string{"22", "28", "95"}}},
					Decide: "rdma resource show; ibv_devinfo -v: max_cqe, max_qp_wr, max_sge",
					Remedy: "fewer ranks per card; a current Open MPI with UCX",
				},
				{
					Slug: "driver-refuses",
					Title: "the device has no UD queue pairs (iWARP, EFA, virtual devices), which Open MPI's " +
						"component ud tries",
					Weight: Rare, Decide: "rdma link; ibv_devinfo: transport iWARP?",
					Remedy: "--mca oob ^ud (Open MPI 3 and older): the job goes on without it",
				},
				oldUserSpace(Usual, Clue{Weight: Strong, Field: "errno", Is: []string{"95", "71", "38"}}),
			},
		},
		{
			ID: "RDX-475", Name: "openib-registered-memory",
			Title: "only part of the memory can be registered with the card",
			Explanation: "The driver of ConnectX-3 and older sizes its translation tables when it is loaded. The " +
				"product of 2^log_num_mtt, 2^log_mtts_per_seg and the page size should be twice the memory.",
			Sources:  []string{"open-mpi/ompi 4.1, opal/mca/btl/openib/help-mpi-btl-openib.txt"},
			Standing: evidence.Vague,
			Lines: []Line{
				openibHelp.says("openib-registered-memory",
					"WARNING: It appears that your OpenFabrics subsystem is configured to "+
						"only").decides("driver-option"),
			},
			Causes: []Cause{{
				Slug:   "driver-option",
				Title:  "log_num_mtt or log_mtts_per_seg of mlx4_core is too small for the memory",
				Weight: Common, Decide: "cat /sys/module/mlx4_core/parameters/log_*mtt*",
				Remedy: "options mlx4_core log_num_mtt=24 log_mtts_per_seg=1 (for 64 GiB twice the memory), then " +
					"reload it",
			}},
		},
		{
			ID: "RDX-476", Name: "openib-ports",
			Title:       "Open MPI found no active port, or not the one that was named",
			Explanation: "Ports must be active, and names must be those of this node.",
			Sources:     []string{"open-mpi/ompi 4.1, opal/mca/btl/openib/help-mpi-btl-openib.txt"},
			Standing:    evidence.Failed,
			Lines: []Line{
				openibHelp.says("openib-no-ports",
					"WARNING: There is at least one non-excluded one OpenFabrics device found").
					speaks("port-down"),
				openibHelp.says("openib-nonexistent",
					"WARNING: One or more nonexistent OpenFabrics devices/ports were").
					decides("wrong-device"),
				openibHelp.says("openib-gid-index", "Open MPI tried to use a GID index that was too large for an").
					decides("gid-index"),
				mvapich.says("mvapich-no-hca", "No active HCAs found on the system").speaks("port-down"),
				mvapich.says("mvapich-no-port", "Could not find active port on ").speaks("port-down"),
				openibHelp.says("openib-event",
					"The OpenFabrics stack has reported a network error event").speaks("link-flap"),
			},
			Causes: []Cause{
				{
					Slug: "port-down", Title: "no port is active: cable, switch, or no subnet manager",
					Weight: Common,
					Decide: "rdmactl status; rdmactl doctor --only port-active,subnet-manager",
					Remedy: "plug and enable the port; start the subnet manager",
				},
				{
					Slug:   "wrong-device",
					Title:  "btl_openib_if_include (or MV2_IBA_HCA) names a device that isn't here",
					Weight: Usual, Decide: "rdmactl detect against the setting", Remedy: "the names of this node",
				},
				{
					Slug: "gid-index", Title: "btl_openib_gid_index is beyond the table", Weight: Rare,
					Decide: "rdmactl show DEVICE", Remedy: "an index of the table",
				},
				{
					Slug: "link-flap", Title: "the link went down", Weight: Rare,
					Decide: "dmesg; rdmactl doctor --only link-downed", Remedy: "cable, transceiver, switch",
				},
			},
		},
		{
			ID: "RDX-477", Name: "openib-query", Title: "Open MPI can't open or query the RDMA device",
			Explanation: "The device is listed, but the calls of the library fail: user space and driver are of " +
				"different stacks (MLNX_OFED with experimental verbs, rdma-core), or the device's file isn't " +
				"accessible.",
			Sources: []string{
				"open-mpi/ompi#5810", "open-mpi/ompi#5914", "open-mpi/ompi#8260", "open-mpi/ompi#6017",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				source{Libfabric, "MLNX_OFED 4, libibverbs"}.
					says(
						"exp-comp-mask",
						"ibv_exp_query_device: invalid comp_mask").speaks("defect:openmpi-exp-query"),
				openibCode.says("openib-attributes", "error obtaining device attributes for ").
					with("device", "attributes for "),
				openibCode.says("openib-context", "error obtaining device context for ").with("device", "context for "),
				verbsHelp.says("openib-open", "Open MPI failed to open an OpenFabrics device."),
				verbsHelp.says("openib-query", "Open MPI failed to query an OpenFabrics device."),
				openibCode.says("openib-gid", "ibv_query_gid failed (", "btl_openib"),
				mvapich.says("mvapich-open", "Failed to open HCA"),
			},
			Causes: []Cause{
				{
					Slug:   "defect:openmpi-exp-query",
					Title:  "Open MPI 2.x, 3.0.2 and 3.1.2 pass uninitialised fields to ibv_exp_query_device",
					Weight: Rare, Decide: "ompi_info --version",
					Remedy:  "Open MPI 3.0.4, 3.1.4, 4.0 or later; --mca btl ^openib with pml ucx",
					Sources: []string{"open-mpi/ompi#6017"},
				},
				oldUserSpace(Common, Clue{Weight: Strong, Field: "errno", Is: []string{"71", "95", "38", "93"}}),
				{
					Slug: "not-privileged", Title: "the process may not open the device", Weight: Usual,
					Clues:  []Clue{{Weight: Strong, Field: "errno", Is: []string{"1", "13"}}},
					Decide: "ls -l /dev/infiniband", Remedy: "the device's permission; --device /dev/infiniband",
				},
				openibUnused(Usual),
			},
		},
	}
}
