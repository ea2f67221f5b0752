package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Files of texts and sources of Open MPI.
var (
	ompiUCX       = source{UCX, "open-mpi/ompi, ompi/mca/pml/ucx/pml_ucx.c"}
	ompiCommonUCX = source{UCX, "open-mpi/ompi, opal/mca/common/ucx/common_ucx.c"}
	ompiRuntime   = source{Libfabric, "open-mpi/ompi, ompi/runtime/help-mpi-runtime.txt"}
	ompiTCPHelp   = source{Libfabric, "open-mpi/ompi, opal/mca/btl/tcp/help-mpi-btl-tcp.txt"}
	ompiTCP       = source{Libfabric, "open-mpi/ompi, opal/mca/btl/tcp"}
	ompiBML       = source{Libfabric, "open-mpi/ompi, ompi/mca/bml/r2/help-mpi-bml-r2.txt"}
	ompiPML       = source{Libfabric, "open-mpi/ompi, ompi/mca/pml/base/pml_base_select.c"}
	ompiBase      = source{Libfabric, "open-mpi/ompi, opal/mca/base/help-mca-base.txt"}
	ompiCUDA      = source{Libfabric, "open-mpi/ompi 4.1, opal/mca/common/cuda/help-mpi-common-cuda.txt"}
	ompiOFI       = source{Libfabric, "open-mpi/ompi, ompi/mca/mtl/ofi"}
	uccCore       = source{Libfabric, "openucx/ucc, src/core"}
	hcoll         = source{Libfabric, "HCOLL and SHARP, libraries of HPC-X"}
)

func openmpiSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-470", Name: "ompi-ucx", Title: "Open MPI's pml ucx failed",
			Explanation: "UCX's own line before says why. Without one, the usual reason is the limit of locked " +
				"memory, or ranks that don't all use pml ucx.",
			Sources:  []string{"open-mpi/ompi, ompi/mca/pml/ucx/pml_ucx.c", "open-mpi/ompi#6300"},
			Standing: evidence.Echo,
			Lines: []Line{
				ompiUCX.says("pml-worker", "Error: Failed to create UCP worker").as(evidence.Vague),
				ompiUCX.says("pml-address", "Failed to receive UCX worker address: ").as(evidence.Vague).
					speaks("environment-differs"),
				ompiUCX.says("pml-resolve", "Failed to resolve UCX endpoint for rank "),
				ompiUCX.says("pml-send", "Error: ucx send failed: "),
				ompiUCX.says("pml-receive", "Error: ucx recv failed: "),
				ompiUCX.says("pml-threads", "UCP worker does not support MPI_THREAD_MULTIPLE").as(evidence.Vague).
					speaks("build-options"),
			},
			Causes: []Cause{
				mpiMemlock(Usual, Clue{Weight: Hint, Line: "pml-worker"}),
				ucxWithoutVerbs(Rare, Clue{Weight: Decisive, Seen: "ucx/built-without-verbs"}),
				{
					Slug:   "environment-differs",
					Title:  "not all ranks use pml ucx: a node lacks the library or the device",
					Weight: Usual, Decide: "mpirun --mca pml_base_verbose 10: the pml of each node",
					Remedy: "the same Open MPI and UCX on all nodes; --mca pml ucx shows where it fails",
				},
				{
					Slug: "dead-peer", Title: "the other rank has ended", Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Line: "pml-send"}, {Weight: Hint, Line: "pml-receive"}},
					Decide: "the first rank that ends", Remedy: "what ended it",
				},
				{
					Slug: "build-options", Title: "UCX was built without multi-threading (--enable-mt)", Weight: Rare,
					Decide: "ucx_info -v | grep enable-mt", Remedy: "a UCX built with --enable-mt",
				},
			},
		},
		{
			ID: "RDX-479", Name: "ompi-unreachable", Title: "Open MPI has no component that connects two ranks",
			Explanation: "Each BTL, MTL and PML was left out: by settings, because its library or device is " +
				"missing, or because the networks of the two nodes differ. Verbose output (btl_base_verbose, " +
				"pml_base_verbose) says why.",
			Sources: []string{
				"open-mpi/ompi#3573", "open-mpi/ompi#9630", "open-mpi/ompi#14079", "open-mpi/ompi#6974",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				ompiBML.says("unreachable-pair",
					"At least one pair of MPI processes are unable to reach each other for"),
				ompiRuntime.says("unreachable-init",
					"MPI_INIT has failed because at least one MPI process is unreachable"),
				ompiPML.says("pml-none", " cannot be selected", "PML ").speaks("missing-library"),
				ompiCommonUCX.says("pml-support", "common_ucx.c:", "support level is none").as(evidence.Echo),
				ompiBase.says("framework-none", "No components were able to be opened in the ").
					speaks("missing-library"),
				ompiBase.says("component-missing", "A requested component was not found, or was unable to be opened").
					speaks("missing-library"),
				ompiTCP.says("tcp-pairing", "Unable to find reachable pairing between local and remote interfaces").
					as(evidence.Failed).speaks("interface-choice"),
				source{Libfabric, "open-mpi/ompi, opal/mca/btl/base/help-mpi-btl-base.txt"}.
					says("no-nics", "was unable to find any relevant network interfaces"),
				source{Libfabric, "open-mpi/ompi, ompi/mca/mtl/ofi/help-mtl-ofi.txt"}.
					says("ofi-modex", "The OFI MTL was not able to find endpoint information for a remote"),
			},
			Causes: []Cause{
				{
					Slug:  "setting-invalid",
					Title: "btl, pml or mtl are restricted to what doesn't lead to the other node", Weight: Usual,
					Decide: "env | grep OMPI_MCA; ~/.openmpi/mca-params.conf; the mpirun line",
					Remedy: "without --mca btl, pml and mtl; or with tcp and self among the btl",
				},
				{
					Slug: "no-device-node", Title: "UCX sees no RDMA device, or is too old to name its transports as " +
						"Open MPI expects",
					Weight: Rare,
					Clues:  []Clue{onLine(Strong, "pml-support", ""), onSeen("ucx/pml-support", "UCX was left out")},
					Decide: "ucx_info -v; ucx_info -d | grep -e Transport -e Device; rdmactl detect",
					Remedy: "a device in the container; a newer UCX; for TCP --mca opal_common_ucx_tls any " +
						"--mca opal_common_ucx_devices any",
					Sources: []string{"openucx/ucx#8549", "open-mpi/ompi#8496"},
				},
				{
					Slug:   "missing-library",
					Title:  "a component isn't built, or a library that it needs is missing on a node",
					Weight: Usual, Decide: "ompi_info | grep -e btl -e pml -e mtl; ldd of mca_*.so on each node",
					Remedy: "the libraries on all nodes (UCX with its package ucx-ib, libfabric), or another build",
				},
				{
					Slug: "interface-choice", Title: "the interfaces of the two nodes aren't in common networks",
					Weight:  Usual,
					Decide:  "ip -br addr on both nodes",
					Remedy:  "--mca btl_tcp_if_include eth0 (or a subnet, 10.0.0.0/16); btl_tcp_disable_family 6",
					Sources: []string{"open-mpi/ompi#14079"},
				},
				{
					Slug: "openib-queues", Title: "openib found no way to connect", Weight: Rare,
					Clues: []Clue{
						{Weight: Decisive, Seen: "libfabric/openib-rdmacm-pp"},
						{Weight: Strong, Seen: "libfabric/openib-no-cpc"},
					},
					Decide: "the lines of openib above",
					Remedy: "pml ucx, or a per-peer queue first in btl_openib_receive_queues",
				},
			},
		},
		{
			ID: "RDX-905", Name: "ompi-ofi-abort", Title: "Open MPI's mtl ofi ended the job",
			Explanation: "mtl_ofi_endpoint.h stands for a peer that gave no address, mtl_ofi.h for a completion " +
				"queue with an error. libfabric's own line says more: FI_LOG_LEVEL=warn.",
			Sources: []string{
				"open-mpi/ompi, ompi/mca/mtl/ofi/mtl_ofi.h", "ComputeCanada/puppet-magic_castle#137",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				ompiOFI.says("ofi-queue-read", "Error returned from fi_cq_read", "mtl_ofi"),
				ompiOFI.says("ofi-callback", "Error returned by request ", " callback: ", "mtl_ofi"),
				ompiOFI.says("ofi-abort", "The Open MPI OFI MTL is aborting the MPI job"),
			},
			Causes: []Cause{
				mpiMemlock(Usual, onText(Hint, "mtl_ofi_endpoint.h", ""), onText(Strong, "Cannot allocate memory", "")),
				{
					Slug: "dead-peer", Title: "the other rank has ended", Weight: Usual,
					Clues: []Clue{
						onLine(Hint, "ofi-queue-read", ""), onLine(Hint, "ofi-callback", ""),
					},
					Decide: "the first rank that ends", Remedy: "what ended it",
				},
				{
					Slug:   "environment-differs",
					Title:  "libfabric doesn't work on a node: another provider, release or interface",
					Weight: Rare,
					Decide: "fi_info -p of all nodes; FI_LOG_LEVEL=warn",
					Remedy: "the same provider on all nodes (FI_PROVIDER); --mca pml ob1 --mca btl tcp,self for a try",
				},
			},
		},
		{
			ID: "RDX-480", Name: "ompi-tcp", Title: "a TCP connection of Open MPI failed",
			Explanation: "Open MPI uses all interfaces that are up, also bridges of containers and virtual " +
				"machines, which have the same address on every node.",
			Sources: []string{
				"open-mpi/ompi#6377", "open-mpi/ompi#4963", "open-mpi/ompi#2168", "open-mpi/ompi#6240",
				"open-mpi/ompi#14371",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				ompiTCP.says("tcp-complete", "mca_btl_tcp_endpoint_complete_connect", "connect() to ").
					with("address", "connect() to "),
				ompiTCPHelp.says("tcp-client", "WARNING: Open MPI failed to TCP connect to a peer MPI process"),
				ompiTCPHelp.says("tcp-message", "Message:    connect() to ").with("address", "connect() to "),
				ompiTCPHelp.says("tcp-handshake", "WARNING: Open MPI failed to handshake with a connecting peer MPI"),
				ompiTCP.says("tcp-identifier", "received unexpected process identifier"),
				ompiTCPHelp.says("tcp-inbound", "Open MPI detected an inbound MPI TCP connection request from a peer").
					as(evidence.Vague),
				ompiTCPHelp.says("tcp-accepted",
					"WARNING: Open MPI accepted a TCP connection from what appears to be a"),
				ompiTCP.says("tcp-match", "Match incoming connection from ", "with locally known IP ").
					speaks("interface-choice"),
				ompiTCPHelp.says("tcp-accept",
					"WARNING: The accept(3) system call failed on a TCP socket").speaks("file-limit"),
				ompiTCP.says("tcp-bind", "bind on local address (", " failed").speaks("port-in-use"),
				source{Libfabric, "open-mpi/ompi, orte/mca/oob/tcp/help-oob-tcp.txt"}.
					says(
						"oob-connect",
						"A process or daemon was unable to complete a TCP connection").speaks("firewall"),
			},
			Causes: []Cause{
				{
					Slug: "interface-choice",
					Title: "Open MPI uses an interface that doesn't lead to the peer: docker0, virbr0, a second " +
						"address, or another network",
					Weight: Common,
					Clues: []Clue{
						{
							Weight: Decisive, Contains: "connect() to 172.17.",
							Text: "the address is one of Docker's bridge",
						},
						{
							Weight: Decisive, Contains: "connect() to 192.168.122.",
							Text: "the address is one of libvirt's bridge",
						},
						{Weight: Decisive, Contains: "connect() to 127.", Text: "the address is a loopback address"},
						{Weight: Hint, Line: "tcp-identifier"},
						{Weight: Hint, Line: "tcp-inbound"},
						{
							Weight: Hint, Field: "errno", Is: []string{"113", "110", "111", "101"},
							Text: "nobody answers there: often the address of a bridge or of a network of one node",
						},
					},
					Decide: "ip -br addr on both nodes: whose address is it?",
					Remedy: "--mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0, or _if_exclude " +
						"lo,docker0,virbr0",
					Sources: []string{"open-mpi/ompi#6377", "open-mpi/ompi#4963"},
				},
				{
					Slug: "firewall", Title: "a firewall drops the ports of the job", Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Field: "errno", Is: []string{"113", "110"}},
					},
					Decide: "nc -vz from one node to the other; iptables -S",
					Remedy: "allow all ports between the nodes, or btl_tcp_port_min_v4 and btl_tcp_port_range_v4",
				},
				{
					Slug: "dead-peer", Title: "the peer has ended", Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Field: "errno", Is: []string{"111", "104"}}},
					Decide: "the first rank that ends", Remedy: "what ended it",
				},
				{
					Slug: "port-in-use", Title: "no port of the address is free: so many connections of the node " +
						"use them all", Weight: Rare,
					Decide:  "ss -s; sysctl net.ipv4.ip_local_port_range; the ranks of the job times those of a node",
					Remedy:  "a larger net.ipv4.ip_local_port_range; btl_tcp_links 1; fewer ranks; RDMA instead of TCP",
					Sources: []string{"open-mpi/ompi#7246"},
				},
				fileLimit(
					Rare, onErrno(Strong, "", "24", "23"),
					Clue{Weight: Decisive, Seen: "libfabric/help-limit", Text: "Open MPI can't open another file"},
				),
			},
		},
		{
			ID: "RDX-481", Name: "ompi-peer-gone", Title: "a rank of MPI has gone, and others noticed",
			Explanation: "The rank that ended first has the cause.",
			Sources:     []string{"open-mpi/ompi, opal/mca/btl/tcp/help-mpi-btl-tcp.txt"}, Standing: evidence.Echo,
			Lines: []Line{
				ompiTCPHelp.says("peer-hung-up", "An MPI communication peer process has unexpectedly disconnected"),
				ompiTCP.says("peer-readv", "mca_btl_tcp_frag_recv: readv failed: "),
				ompiTCP.says("peer-writev", "mca_btl_tcp_frag_send: writev failed: "),
				ompiTCP.says("peer-writev-error", "mca_btl_tcp_frag_send: writev error "),
				ompiRuntime.says("mpi-init-failed", "It looks like MPI_INIT failed for some reason"),
				ompiRuntime.says("mpi-init-error", "*** An error occurred in MPI_"),
				mpich.says("mpich-init", "Fatal error in PMPI_"),
				mpich.says("mpich-init-plain", "Fatal error in MPI_"),
				mpich.says("mpich-init-internal", "Fatal error in internal_"),
				ompiRuntime.says("mpi-procs", "PML add procs failed"),
				mpich.says("mpich-termination", "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"),
			},
			Causes: []Cause{
				{
					Slug: "dead-peer", Title: "a rank has ended", Weight: Common,
					Decide: "the rank that ends first, and dmesg of its node", Remedy: "what ended it",
				},
				{
					Slug: "missing-library", Title: "MPI itself could not start: a component or a device is missing",
					Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Line: "mpi-init-failed"}, {Weight: Hint, Line: "mpich-init"}},
					Decide: "the lines above", Remedy: "what they name",
				},
			},
		},
		{
			ID: "RDX-483", Name: "ompi-cuda", Title: "Open MPI has no support for GPU memory here",
			Explanation: "Then GPU buffers can't be passed to MPI, which crashes or stops.",
			Sources:     []string{"open-mpi/ompi 4.1, opal/mca/common/cuda/help-mpi-common-cuda.txt"},
			Standing:    evidence.Vague,
			Lines: []Line{
				ompiCUDA.says("cuda-libraries",
					"The library attempted to open the following supporting CUDA libraries"),
				ompiRuntime.says("cuda-requested",
					"The user requested CUDA support with the --mca mpi_cuda_support 1 flag"),
				openibHelp.says("cuda-gdr-build",
					"You requested to run with CUDA GPU Direct RDMA support but the Open MPI"),
				openibHelp.says("cuda-gdr-ofed",
					"You requested to run with CUDA GPU Direct RDMA support but this OFED").
					speaks("peermem-missing"),
				ompiCUDA.says("cuda-host-register", "The call to cuMemHostRegister("),
			},
			Causes: []Cause{
				{
					Slug:  "no-cuda-support",
					Title: "this Open MPI was built without CUDA, or libcuda.so.1 isn't there", Weight: Common,
					Decide: "ompi_info --parsable --all | grep mpi_built_with_cuda_support:value; ldconfig -p | " +
						"grep libcuda",
					Remedy: "Open MPI (and UCX) built --with-cuda; the driver's libcuda in the container (--gpus " +
						"all); without GPU buffers: --mca opal_warn_on_missing_libcuda 0",
				},
				noPeermem(Rare),
			},
		},
		{
			ID: "RDX-498", Name: "ucc", Title: "UCC, the library for collectives, can't serve the job",
			Explanation: "UCC's collectives go over transport layers (TL): ucp, nccl, rccl, cuda, sharp. A layer " +
				"that can't be opened says why in its own line before, such as one of UCX.",
			Sources: []string{
				"openucx/ucc, src/core/ucc_context.c", "openucx/ucc, src/components/mc/ucc_mc.c",
			},
			Standing: evidence.Echo,
			Lines: []Line{
				uccCore.says("ucc-memory", "no components supported memory type ", " available").
					as(evidence.Failed).speaks("no-cuda-support"),
				uccCore.says("ucc-executor", "no suitable executor available for memory type ").
					as(evidence.Failed).speaks("no-cuda-support"),
				uccCore.says("ucc-no-ucp", "service team cannot be created, TL UCP context is not available"),
				uccCore.says("ucc-no-tl", "no TL contexts are available"),
				uccCore.says("ucc-no-cl", "no CL context created in ucc_context_create"),
				uccCore.says("ucc-no-libs", "lib_init failed: no CL libs were opened"),
				uccCore.says("ucc-no-layers", "no TLs are selected for ").as(evidence.Failed),
				uccCore.says("ucc-component", "lib_init failed for component: "),
				uccCore.says("ucc-required", "required TL ", " is not part of the context"),
				uccCore.says("ucc-tl-context", "failed to create tl context for "),
				uccCore.says("ucc-tl-missing", "CL_BASIC", "tl ", " is not available"),
			},
			Causes: []Cause{
				{
					Slug:   "no-cuda-support",
					Title:  "UCC has no CUDA or ROCm modules: built without, or libcuda isn't there",
					Weight: Rare, Decide: "ls lib/ucc (libucc_mc_cuda.so, libucc_ec_cuda.so), and ldd of them",
					Remedy: "a UCC built --with-cuda, beside a UCX with CUDA",
				},
				{
					Slug: "missing-library", Title: "a transport layer isn't built, or its library is missing",
					Weight: Usual, Decide: "UCC_LOG_LEVEL=info; ucc_info -s; ls lib/ucc",
					Remedy: "UCC built with UCX, or OMPI_MCA_coll_ucc_enable=0",
				},
				{
					Slug: "setting-invalid", Title: "UCC_TLS or UCC_CLS names a layer that isn't here", Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Line: "ucc-tl-missing"},
						{Weight: Hint, Line: "ucc-required"},
						{Weight: Strong, Variable: "UCC_TLS"},
					},
					Decide: "env | grep UCC_", Remedy: "without UCC_TLS and UCC_CLS",
				},
			},
		},
		{
			ID: "RDX-496", Name: "sharp-mpi", Title: "collectives in the switches (SHARP, HCOLL) can't be used",
			Explanation: "SHARP needs its aggregation manager on the node of the subnet manager, switches that " +
				"support it, and a port that is in the subnet. Without it, collectives run on the hosts.",
			Sources:  []string{"NVIDIA/nccl#1219", "NVIDIA/nccl#1425", "Mellanox/nccl-rdma-sharp-plugins#151"},
			Standing: evidence.Vague,
			Lines: []Line{
				hcoll.says("sharp-local-data", "ERROR sharp_get_local_data failed: "),
				hcoll.says("sharp-manager-port", "FabricProvider must bind to port with master SM").decides("sharp"),
				hcoll.says("sharp-job", "ERROR sharp_init_session failed: "),
				hcoll.says("hcoll-init", "Hcol library init failed"),
			},
			Causes: []Cause{
				{
					Slug: "sharp",
					Title: "SHARP's aggregation manager isn't running on the node of the master subnet manager, or " +
						"doesn't serve this port",
					Weight: Common, Decide: "systemctl status sharp_am on the subnet manager's node; sharp_hello",
					Remedy: "start sharp_am beside the master SM, with sharp_enabled 2 in opensm.conf; the port " +
						"that it manages (SHARP_COLL_IB_DEV_LIST, UCC_TL_SHARP_DEVICES)",
					Sources: []string{"NVIDIA/nccl#1425"},
				},
				{
					Slug:   "wrong-device",
					Title:  "the port isn't one of SHARP's subnet: RoCE, not active, or the subnet manager's own",
					Weight: Usual, Decide: "rdmactl status; the port in the line",
					Remedy: "name the InfiniBand port of the fabric",
				},
				{
					Slug: "resource-limit", Title: "the switches have no more trees for jobs", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Seen: "nccl/sharp-tree"}},
					Decide: "sharp_am's log: jobs and trees",
					Remedy: "end other jobs; NCCL_COLLNET_ENABLE=0, --mca coll ^hcoll",
				},
			},
		},
	}
}
