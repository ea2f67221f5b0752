package symptoms

import (
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

func libfabricSymptoms() []Symptom {
	return slices.Concat(
		ofiSymptoms(), ofiPluginSymptoms(), openibSymptoms(), openmpiSymptoms(), launcherSymptoms(), psmSymptoms(),
		mpiStartSymptoms(), pmiSymptoms(), mpichSymptoms(), uccSymptoms(),
	)
}

// Sources of libfabric, its plugin for NCCL, and implementations of MPI.
var (
	libfabricCore = source{Libfabric, "ofiwg/libfabric, src/fabric.c"}
	libfabricEFA  = source{Libfabric, "ofiwg/libfabric, prov/efa/src"}
	libfabricShm  = source{Libfabric, "ofiwg/libfabric, prov/shm/src/smr_progress.c"}
	libfabricCXI  = source{Libfabric, "ofiwg/libfabric, prov/cxi/src"}
	verbsProvider = source{Libfabric, "ofiwg/libfabric, prov/verbs/src"}
	fabtests      = source{Libfabric, "ofiwg/libfabric, fabtests/common/shared.c"}
	ofiPlugin     = source{NCCL, "aws/aws-ofi-nccl, src"}
	mpich         = source{Libfabric, "pmodels/mpich, src/mpid/ch4/netmod/ofi/init_provider.c"}
	intelMPI      = source{Libfabric, "Intel MPI, src/mpid/ch4/netmod/ofi"}
)

func noProvider(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "setting-invalid",
		Title: "a setting, or MPI's own choice, selects a provider that can't be used here: FI_PROVIDER, " +
			"I_MPI_OFI_PROVIDER, I_MPI_FABRICS or mtl_ofi_provider_include",
		Weight: weight,
		Clues: append(
			clues, Clue{Weight: Strong, Variable: "FI_PROVIDER"},
			Clue{Weight: Strong, Variable: "I_MPI_OFI_PROVIDER"},
		),
		Decide: "env | grep -e FI_ -e I_MPI; fi_info -l, and fi_info without FI_PROVIDER",
		Remedy: "unset them, or FI_PROVIDER with one that fi_info lists: tcp on plain Ethernet, " +
			"else verbs, efa, cxi, psm3",
	}
}

func ofiWithoutDevice(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "no-device-node", Title: "the node or container has no device of the provider, or none that is active",
		Weight: weight, Clues: clues,
		Decide: "rdmactl detect in the container; ls /dev/infiniband; on AWS: does the instance have EFA interfaces?",
		Remedy: "--device /dev/infiniband, or the resource vpc.amazonaws.com/efa of the EFA device plugin; bring " +
			"the port up",
		Sources: []string{"aws-samples/aws-efa-nccl-baseami-pipeline#2"},
	}
}

func ofiWithoutLibrary(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "missing-library", Title: "this libfabric lacks the provider, or another libfabric is loaded",
		Weight: weight,
		Clues:  clues,
		Decide: "fi_info -l; grep libfabric /proc/PID/maps",
		Remedy: "the EFA installer in the image (libfabric and rdma-core of one release), FI_PROVIDER_PATH of " +
			"Intel MPI, or the vendor's libfabric first in LD_LIBRARY_PATH",
	}
}

func ofiSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-485", Name: "libfabric-no-provider", Title: "libfabric found no usable provider",
			Explanation: "fi_getinfo returned -61 (no data available): no provider has the capabilities that were " +
				"asked for, on a device that is there and active. FI_LOG_LEVEL=info says why each provider was " +
				"left out; lines about single providers are harmless.",
			Sources: []string{
				"ofiwg/libfabric#5149", "ofiwg/libfabric#7324", "QMCPACK/qmcpack#1158", "ofiwg/libfabric#8079",
				"aws-samples/aws-efa-nccl-baseami-pipeline#2", "NVIDIA/nccl#229",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				fabtests.says("getinfo-shared", "fi_getinfo(): ", "ret=-61"),
				libfabricCore.says("getinfo-command", "fi_getinfo: -61 (No data available)"),
				mpich.says("getinfo-mpich", "OFI fi_getinfo() failure"),
				intelMPI.says("getinfo-intel", "OFI addrinfo() failed"),
				intelMPI.says("fabric-intel", "fabric is not available and fallback fabric is not enabled"),
				source{Libfabric, "mercury-hpc/mercury, src/na/na_ofi.c"}.
					says("getinfo-mercury", "fi_getinfo failed, rc: -61"),
				ofiPlugin.says("ofi-no-provider", "find any optimal provider", "NET/OFI").as(evidence.Vague),
				ofiPlugin.says("ofi-no-eligible", "No eligible providers were found", "NET/OFI").as(evidence.Vague),
			},
			Causes: []Cause{
				ofiWithoutDevice(
					Common, Clue{Weight: Hint, Line: "ofi-no-provider"}, Clue{Weight: Hint, Line: "ofi-no-eligible"},
					Clue{Weight: Strong, Seen: "libfabric/verbs-inactive"},
				),
				ofiWithoutLibrary(Usual, Clue{Weight: Hint, Line: "getinfo-intel"}),
				noProvider(
					Usual, Clue{Weight: Strong, Line: "getinfo-intel"}, Clue{Weight: Hint, Line: "fabric-intel"},
				),
				maybe(Rare, "interface-not-ready",
					"with verbs: the interface of the port (IPoIB, or the RoCE one) has no IP address, by which "+
						"rdma_cm finds the device", "ip -br address; rdma link",
					"an address on that interface of both nodes",
					Clue{Weight: Strong, Seen: "libfabric/command-verbs", Text: "the provider verbs was asked for"}),
			},
		},
		{
			ID: "RDX-486", Name: "libfabric-endpoint", Title: "libfabric could not open an endpoint or queue",
			Explanation: "The provider is there, but the device refused a queue pair or completion queue: too " +
				"little lockable memory, too few contexts, or no active port.",
			Sources: []string{
				"aws/aws-ofi-nccl#44", "aws/aws-ofi-nccl#141", "aws/aws-ofi-nccl#889", "ofiwg/libfabric#8256",
				"llnl/sundials#316", "ofiwg/libfabric#7324",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				libfabricEFA.says("efa-cq", "Unable to create extended CQ: "),
				intelMPI.says("mpi-endpoint", "OFI endpoint open failed"),
				intelMPI.says("mpi-domain", "OFI domain open failed"),
				mpich.says("mpich-fabric", "OFI fi_fabric failed"),
				intelMPI.says("mpi-vector", "OFI get address vector map failed").as(evidence.Vague),
				source{Libfabric, "open-mpi/ompi, ompi/mca/mtl/ofi/help-mtl-ofi.txt"}.
					says("ompi-call", "Open MPI failed an OFI Libfabric library call ("),
				source{Libfabric, "open-mpi/ompi, ompi/mca/mtl/ofi/help-mtl-ofi.txt"}.
					says("ompi-call-38", "Error: Function not implemented (").as(evidence.Vague).speaks("vni"),
				source{Libfabric, "StanfordLegion/gasnet, gasnet_ofi.c"}.says("gasnet-domain", "fi_domain failed: -"),
				libfabricCXI.says("cxi-auth", "cxip_gen_auth_key failed").speaks("vni"),
				source{Libfabric, "ofiwg/libfabric, util/pingpong.c"}.
					says("pingpong-memory", "ret=-12 (Cannot allocate memory)", "pingpong.c:").speaks("memlock"),
				libfabricCXI.says("cxi-domain", "Failed to allocate CXI Domain, ret: ").speaks("vni"),
				libfabricCXI.says("cxi-lni", "Failed to allocate LNI, ret: ").speaks("vni"),
				libfabricCXI.says("cxi-service", "cxil_alloc_svc: ").speaks("vni"),
				libfabricCXI.says("cxi-cp", "Failed to allocate CP, ret: ").speaks("vni"),
			},
			Causes: []Cause{
				{
					Slug: "memlock", Title: "the limit of locked memory (memlock) is too low", Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Field: "errno", Is: []string{"12"}}, {Weight: Strong, Contains: "RC: -12"},
					},
					Decide: "ulimit -l in the job and container; rdmactl doctor --only memlock",
					Remedy: "memlock unlimited (--ulimit memlock=-1; LimitMEMLOCK of slurmd or containerd)",
				},
				{
					Slug: "resource-limit", Title: "the device has no more queues or contexts for so many processes",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Contains: "RC: -12"},
						{Weight: Hint, Field: "errno", Is: []string{"12", "11", "16", "28"}},
						{Weight: Strong, Seen: "libfabric/psm-context"},
					},
					Decide: "rdma resource show; processes of ended jobs: ps",
					Remedy: "end leftovers; fewer ranks per device",
				},
				ofiWithoutDevice(
					Usual, Clue{Weight: Hint, Field: "errno", Is: []string{"22", "19"}},
					Clue{Weight: Hint, Contains: "Invalid argument"}, Clue{Weight: Hint, Seen: "libfabric/psm-open"},
				),
				ofiWithoutLibrary(
					Rare, Clue{Weight: Hint, Contains: "Function not implemented"},
					Clue{Weight: Hint, Contains: "RC: -22"},
				),
				{
					Slug:   "wrong-device",
					Title:  "libfabric chose the provider psm3 for a card that isn't meant for it",
					Weight: Usual,
					Clues: []Clue{
						onText(Hint, "(fi_endpoint)", "psm3 often is the one that can't open an endpoint"),
						{Weight: Strong, Seen: "libfabric/psm3-open"},
						{Weight: Strong, Seen: "libfabric/psm3-init-qp"},
					},
					Decide: "FI_PROVIDER=^psm3: does the job run? fi_info -p psm3",
					Remedy: "FI_PROVIDER=^psm3 or --mca mtl ^ofi; PSM3_DEVICES=self,shm on one node; " +
						"PSM3_MULTI_EP=1; a newer libfabric",
					Sources: []string{"ofiwg/libfabric#6710", "ofiwg/libfabric#7324"},
				},
				{
					Slug:   "vni",
					Title:  "the job has no virtual network (VNI) on Slingshot, or its service no resources left",
					Weight: Rare,
					Clues: []Clue{onText(
						Strong, "Function not implemented", "so says Slingshot's provider without a VNI",
					)},
					Decide: "echo $SLINGSHOT_VNIS; cxi_service list",
					Remedy: "--network=single_node_vni,job_vni of sbatch, salloc and srun (SLURM_NETWORK); " +
						"mpiexec of the system; or enable the default service",
					Sources: []string{
						"mochi-hpc/mochi-margo#305", "flux-framework/flux-coral2#407", "uiuc-hpc/lci#110",
						"StanfordLegion/gasnet#22",
					},
				},
			},
		},
		{
			ID: "RDX-497", Name: "libfabric-verbs",
			Title: "libfabric's provider for verbs can't use a port or connection",
			Explanation: "It connects through rdma_cm: the port must be active, have an IP address, and the peer " +
				"must listen.",
			Sources:  []string{"ofiwg/libfabric#5149", "ofiwg/libfabric, prov/verbs/src"},
			Standing: evidence.Failed,
			Lines: []Line{
				verbsProvider.says("verbs-inactive",
					"<warn> There are no active ports").as(evidence.Vague).speaks("port-down"),
				verbsProvider.says("verbs-cm", "CM error event RDMA_CM_EVENT_"),
				verbsProvider.says("verbs-resolve", "rdma_resolve_addr: ", ":verbs:"),
				verbsProvider.says("verbs-create-qp", "ibv_create_qp: ", ":verbs:"),
				verbsProvider.says("verbs-rdma-qp", "rdma_create_qp: ", ":verbs:"),
				verbsProvider.says("verbs-create-cq", "ibv_create_cq: ", ":verbs:"),
				verbsProvider.says("verbs-reg", "ibv_reg_mr: ", ":verbs:"),
			},
			Causes: []Cause{
				{
					Slug: "interface-choice", Title: "the IP address isn't one of an RDMA interface", Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Line: "verbs-resolve"},
						{Weight: Strong, Contains: "RDMA_CM_EVENT_ADDR_ERROR"},
						{Weight: Hint, Field: "errno", Is: []string{"19", "99"}},
					},
					Decide: "rdma link; ip -br addr",
					Remedy: "FI_VERBS_IFACE, and an address on the RDMA interface (IPoIB or RoCE)",
				},
				{
					Slug: "port-down", Title: "no port is active", Weight: Rare,
					Decide: "rdmactl status", Remedy: "cable, switch port, subnet manager",
				},
				noListener(
					Usual, Clue{Weight: Strong, Contains: "RDMA_CM_EVENT_REJECTED"},
					Clue{Weight: Hint, Contains: "RDMA_CM_EVENT_CONNECT_ERROR"},
				),
				{
					Slug: "memlock", Title: "the limit of locked memory (memlock) is too low", Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Field: "errno", Is: []string{"12"}}, {Weight: Hint, Line: "verbs-create-qp"},
					},
					Decide: "ulimit -l in the job; rdmactl doctor --only memlock", Remedy: "memlock unlimited",
				},
				{
					Slug:   "resource-limit",
					Title:  "the card has no more queue pairs: too many connections on the node",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Line: "verbs-rdma-qp"},
						{
							Weight: Decisive, Seen: string(evidence.KernelCommand), SeenField: "command",
							SeenIs: []string{"CREATE_QP", "CREATE_CQ", "CREATE_MKEY"},
						},
					},
					Decide: "rdma resource show: qp; dmesg | grep CREATE_QP",
					Remedy: "fewer processes or connections: FI_OFI_RXM_USE_SRX=1, shared receive contexts",
				},
			},
		},
		{
			ID: "RDX-489", Name: "libfabric-versions", Title: "releases of libfabric don't fit each other",
			Explanation: "Peers must speak a common protocol, and plugins need a libfabric that is new enough.",
			Sources: []string{
				"ofiwg/libfabric, prov/efa/src/rdm", "aws/aws-ofi-nccl, src", "ofiwg/libfabric#10001",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				libfabricEFA.says("efa-protocol", " received a packet with invalid protocol version").
					decides("version-mismatch"),
				libfabricCore.says("fi-version", "Requested version is newer than library").speaks("library-too-old"),
				libfabricCore.says("fi-provider-version", "fi_version ", " < requested ").as(evidence.Vague).
					speaks("library-too-old"),
				source{Libfabric, "glibc, elf/dl-version.c"}.
					says("fabric-symbol", "version `FABRIC_1.", "not found").speaks("library-too-old"),
			},
			Causes: []Cause{
				{
					Slug: "version-mismatch", Title: "the nodes have different releases of libfabric", Weight: Usual,
					Decide: "fi_info --version on all nodes",
					Remedy: "one release (EFA installer) on all nodes and in all images",
				},
				{
					Slug: "library-too-old", Title: "the libfabric that is loaded is older than the program needs",
					Weight: Usual,
					Decide: "fi_info --version; grep libfabric /proc/PID/maps",
					Remedy: "a current libfabric (EFA installer), first in LD_LIBRARY_PATH",
				},
			},
		},
		{
			ID: "RDX-492", Name: "libfabric-shm-gpu",
			Title: "libfabric's provider for shared memory crashed in a copy",
			Explanation: "Within a node the EFA and rxm providers hand over to the provider shm. It copies with " +
				"the CPU if the program didn't ask for GPU memory (FI_HMEM), and a GPU pointer then ends the process.",
			Sources:  []string{"ofiwg/libfabric#12328", "kvcache-ai/Mooncake#2298"},
			Standing: evidence.Failed,
			Lines: []Line{
				libfabricShm.says("shm-sar", "smr_copy_from_sar").not("<", "failed"),
				libfabricShm.says("shm-to-sar", "smr_copy_to_sar").not("<", "failed"),
				libfabricShm.says("shm-copy", " ofi_copy_to_mr_iov").not("<", "failed"),
				libfabricShm.says("shm-copy-from", " ofi_copy_from_mr_iov").not("<", "failed"),
			},
			Causes: []Cause{
				{
					Slug:   "program-usage",
					Title:  "GPU memory is sent within a node, and the program didn't ask for FI_HMEM",
					Weight: Common, Decide: "the same with FI_EFA_ENABLE_SHM_TRANSFER=0",
					Remedy: "FI_EFA_ENABLE_SHM_TRANSFER=0, or a release of the program that asks for FI_HMEM",
				},
				{
					Slug: "library-defect", Title: "a defect of the provider shm", Weight: Usual,
					Decide: "a newer libfabric", Remedy: "a newer libfabric (EFA installer)",
				},
			},
		},
	}
}
