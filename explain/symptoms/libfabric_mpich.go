package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Sources of MPICH and of what is built on it: Intel MPI, MVAPICH, Cray MPICH.
var (
	mpichSock   = source{Libfabric, "pmodels/mpich, src/mpid/ch3/channels/nemesis/netmod/tcp"}
	mpichErrors = source{Libfabric, "pmodels/mpich, src/mpi/errhan/errnames.txt"}
	mpichOFI    = source{Libfabric, "pmodels/mpich, src/mpid/ch4/netmod/ofi/ofi_impl.h"}
	mpichUCX    = source{Libfabric, "pmodels/mpich, src/mpid/ch4/netmod/ucx/errnames.txt"}
	hydra       = source{Libfabric, "pmodels/mpich, src/pm/hydra"}
	mvapichHCA  = source{Libfabric, "MVAPICH2, src/mpid/ch3/channels/mrail/src/gen2/rdma_iba_priv.c"}
)

func mpichSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-787", Name: "mpich-connection", Title: "ranks of MPICH, or its launcher, can't connect over TCP",
			Explanation: "The launcher's proxy on each node connects back to mpiexec, and ranks connect to the " +
				"addresses that their peers have published: those of the host's name. A name that stands for " +
				"127.0.1.1 in /etc/hosts can't be reached from elsewhere.",
			Sources: []string{
				"pmodels/mpich#1595", "pmodels/mpich#2263", "pmodels/mpich#4712", "pmodels/mpich, src/pm/hydra",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				hydra.says("hydra-connect", "unable to connect from ", "\" to \"").with("address", "\" to \""),
				hydra.says("hydra-server", "unable to connect to server ", " at port ").
					with("address", "to server ").as(evidence.Vague),
				mpichSock.says("nem-refused", "ommunication error with rank ", "onnection refused"),
				mpichSock.says("nem-closed", "ommunication error with rank ").not("onnection refused").
					as(evidence.Echo),
				mpichErrors.says("sock-refused", "[ch3:sock] connection refused"),
				mpichErrors.says("sock-failed", "[ch3:sock] failed to connect to remote process"),
			},
			Causes: []Cause{
				{
					Slug: "loopback-address", Title: "the host's name stands for a loopback address (127.0.1.1)",
					Weight: Usual,
					Clues: []Clue{
						onText(Decisive, "127.0.", "the address is a loopback address"),
						onText(Strong, "localhost", "the address is that of this node"),
					},
					Decide: "getent hosts $(hostname) on each node",
					Remedy: "the address of the network for the host's name in /etc/hosts, no line with 127.0.1.1",
				},
				{
					Slug: "firewall", Title: "a firewall drops the ports of the job", Weight: Common,
					Clues: []Clue{
						onText(Hint, "imed out", ""), onText(Hint, "No route to host", ""),
						onText(Hint, "check for firewalls", ""),
					},
					Decide: "nc -vz from one node to the other; iptables -S, firewall-cmd --list-all",
					Remedy: "allow all ports between the nodes, or MPIR_CVAR_CH3_PORT_RANGE and MPIEXEC_PORT_RANGE",
				},
				{
					Slug: "interface-choice", Title: "the address is of an interface that the other node can't reach",
					Weight: Usual, Decide: "ip -br addr on both nodes: whose address is it?",
					Remedy: "-iface eth0 of mpiexec, MPIR_CVAR_NEMESIS_TCP_NETWORK_IFACE, I_MPI_HYDRA_IFACE",
				},
				{
					Slug: "dead-peer", Title: "the other rank, or mpiexec, has ended", Weight: Usual,
					Clues:  []Clue{onLine(Strong, "nem-closed", "")},
					Decide: "the first rank that ends", Remedy: "what ended it",
				},
			},
		},
		{
			ID: "RDX-788", Name: "mpich-fabric-call",
			Title: "a call of MPICH or Intel MPI to its network library failed",
			Explanation: "The last line of the error stack names the call and libfabric's reason. Sends and " +
				"completions fail if the provider or the peer does; registrations if the provider can't use the " +
				"memory.",
			Sources: []string{
				"pmodels/mpich, src/mpid/ch4/netmod/ofi/ofi_impl.h", "ofiwg/libfabric#10072", "geoschem/GCHP#47",
				"easybuilders/easybuild-easyconfigs#21715", "JCSDA/spack-stack#1356",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				mpichOFI.says("ofi-send", "OFI tagged s", " failed"), mpichOFI.says("ofi-receive", "OFI tagged recv"),
				mpichOFI.says("ofi-inject", "OFI tagged inject", " failed"),
				mpichOFI.says("ofi-write", "OFI rdma write", " failed"),
				mpichOFI.says("ofi-read", "OFI rdma read", " failed"),
				mpichOFI.says("ofi-atomic", "OFI atomic", " failed", "MPIDI_OFI"),
				mpichOFI.says("ofi-poll", "OFI poll failed"),
				mpichOFI.says("ofi-register", "OFI memory registration failed"),
				mpichOFI.says("ofi-call", "OFI call ", " failed", "ofi_").as(evidence.Vague),
				mpichOFI.says("ofi-default-nic", " failed (default nic=").with("device", "default nic=").
					as(evidence.Vague),
				mpichUCX.says("ucx-status", "ucx function returned with failed status").as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug: "dead-peer", Title: "the peer has ended, or its node is unreachable", Weight: Usual,
					Clues: []Clue{
						onText(Hint, "unreachable", ""), onText(Hint, "onnection reset", ""),
						onText(Hint, "ransport retry", ""), onText(Hint, "timed out", ""),
						onText(Strong, "PTLTE_NOT_FOUND", "the peer's endpoint is gone"),
					},
					Decide: "the first rank that ends; dmesg of its node", Remedy: "what ended it",
				},
				{
					Slug:   "shm-too-small",
					Title:  "UCX has no memory for its workers: /dev/shm is too small, or limits of the container",
					Weight: Rare,
					Clues:  []Clue{onText(Strong, "No resources are available", "")},
					Decide: "df -h /dev/shm; ulimit -a; UCX_LOG_LEVEL=debug",
					Remedy: "--shm-size or --ipc=host; fewer ranks on the node; UCX_TLS with what the node has",
				},
				{
					Slug:   "library-defect",
					Title:  "a defect of the provider or of this release of MPI with this kind of call",
					Weight: Usual,
					Clues: []Clue{
						onLine(Hint, "ofi-write", ""), onLine(Hint, "ofi-read", ""), onLine(Hint, "ofi-atomic", ""),
						onLine(Hint, "ofi-register", ""), onText(Hint, "mr_reg", ""),
						onText(Hint, "Invalid argument", ""),
					},
					Decide: "the same job with FI_PROVIDER=tcp, and with MPIR_CVAR_CH4_OFI_ENABLE_RMA=0",
					Remedy: "another release of MPI or libfabric, another FI_PROVIDER (mlx, verbs, psm3, tcp); " +
						"MPIR_CVAR_CH4_OFI_ENABLE_RMA=0",
					Sources: []string{"geoschem/GCHP#47", "easybuilders/easybuild-easyconfigs#21715"},
				},
				noProvider(Usual, onText(Hint, "Invalid argument", "")),
				mpiMemlock(Rare, onText(Strong, "Cannot allocate memory", ""), onErrno(Strong, "", "12"),
					onLine(Hint, "ofi-register", ""),
					onText(Strong, "MPIDI_UCX_init", "UCX can't make its worker, which registers memory first")),
			},
		},
		{
			ID: "RDX-789", Name: "hydra-launch", Title: "mpiexec of MPICH or Intel MPI could not start the program",
			Explanation: "The program is looked for on each node, in the same folder. Lines of demux_poll and " +
				"pmiserv after it only follow.",
			Sources:  []string{"pmodels/mpich, src/pm/hydra", "pmodels/mpich#6719"},
			Standing: evidence.Failed,
			Lines: []Line{
				hydra.says("hydra-exec", "execvp error on file ").not("on file ssh").decides("program-usage"),
				hydra.says("hydra-directory", "unable to change wdir to ").speaks("program-usage"),
				hydra.says("hydra-ssh", "execvp error on file ssh").speaks("ssh-client"),
				hydra.says("hydra-hostfile", "unable to open host file"),
				hydra.says("hydra-closed", "control_cb ", "assert (!closed) failed").as(evidence.Vague),
				hydra.says("hydra-callback", "HYDT_dmxu_poll_wait_for_event ", "returned error status").
					as(evidence.Echo),
				hydra.says("hydra-wait", "process manager error waiting for completion").as(evidence.Echo),
				hydra.says("hydra-proxy", "Launch proxy failed").as(evidence.Echo),
				source{Libfabric, "Intel MPI, hydra"}.says("hydra-bstrap", "nable to run bstrap_proxy on ").
					not("unable to run bstrap_proxy on "),
			},
			Causes: []Cause{
				{
					Slug: "program-usage", Title: "the program isn't at that path on a node, or can't be executed",
					Weight: Usual,
					Decide: "ls -l of the path on each node, in the container", Remedy: "the right path on all nodes",
				},
				{
					Slug: "launcher", Title: "the program was built with another MPI than mpiexec's", Weight: Usual,
					Clues:  []Clue{onLine(Hint, "hydra-closed", "")},
					Decide: "ldd PROGRAM | grep libmpi; mpiexec --version",
					Remedy: "mpiexec of the MPI that the program was built with, first in PATH",
				},
				{
					Slug: "dead-node", Title: "a node or a rank has ended, and mpiexec lost its proxy", Weight: Usual,
					Clues:  []Clue{onLine(Hint, "hydra-closed", "")},
					Decide: "dmesg of the nodes, the batch system's log", Remedy: "what ended it",
				},
				{
					Slug: "ssh-client", Title: "there is no ssh client where mpiexec runs", Weight: Rare,
					Decide: "which ssh", Remedy: "openssh-client in the image, or -launcher fork, slurm",
				},
				{
					Slug:   "firewall",
					Title:  "the node's daemon can't be started, or can't connect back",
					Weight: Rare,
					Clues:  []Clue{onLine(Strong, "hydra-bstrap", "")},
					Decide: "ssh NODE true; nc -vz from the node to mpiexec's",
					Remedy: "ssh without a password, open ports; I_MPI_HYDRA_BOOTSTRAP=ssh or slurm, I_MPI_HYDRA_IFACE",
				},
				{
					Slug: "setting-invalid", Title: "the host file isn't there, or can't be read", Weight: Rare,
					Clues:  []Clue{onLine(Decisive, "hydra-hostfile", "")},
					Decide: "ls -l of the host file", Remedy: "its right path; a line end after the last host",
				},
			},
		},
		{
			ID:    "RDX-790",
			Name:  "mpi-own-name",
			Title: "a rank can't turn the name of its own node into an address",
			Explanation: "MPICH publishes the address of the host's name. Names that DHCP or a container gave often " +
				"aren't in /etc/hosts or DNS.",
			Sources: []string{
				"pmodels/mpich#4710", "JuliaParallel/MPI.jl#824", "conda-forge/fenics-feedstock#44",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				mpichErrors.says("mpich-hostname", "gethostbyname failed, ", "(errno ").decides("name-resolution"),
				mpichErrors.says("mpich-getaddrinfo", "getaddrinfo failed", "MPI").speaks("name-resolution"),
				mpichErrors.says("mpich-lookup", "[ch3:sock] hostname lookup failed").decides("name-resolution"),
				hydra.says("hydra-own-name", "unable to get local hostname").speaks("name-resolution"),
			},
			Causes: []Cause{{
				Slug: "name-resolution", Title: "the host's name has no address here", Weight: Common,
				Decide: "getent hosts $(hostname)",
				Remedy: "a line with the address and $(hostname) in /etc/hosts; on macOS scutil --set HostName too",
			}},
		},
		{
			ID: "RDX-791", Name: "mvapich-device", Title: "MVAPICH found no RDMA device that it can use",
			Explanation: "MVAPICH2 takes the devices with an active port, or those that MV2_IBA_HCA names.",
			Sources:     []string{"MVAPICH2, src/mpid/ch3/channels/mrail/src/gen2/rdma_iba_priv.c"},
			Standing:    evidence.Failed,
			Lines: []Line{
				mvapichHCA.says("mvapich-none", "No HCAs found on the system").speaks("no-device-node"),
				mvapichHCA.says("mvapich-no-device", "No IB device found").as(evidence.Vague),
				mvapichHCA.says("mvapich-dpm", "HCA not found on the system"),
				mvapichHCA.says("mvapich-requested", "The HCA (", ") the user requested for is not").
					decides("wrong-device"),
				mvapichHCA.says("mvapich-port", "Active ports could not be found").speaks("port-down"),
				mvapichHCA.says("mvapich-unknown", "Unknown HCA type: this build of MVAPICH2").as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug: "no-device-node", Title: "the node or container has no RDMA device", Weight: Common,
					Decide: "rdmactl detect in the container; ls /dev/infiniband",
					Remedy: "--device /dev/infiniband; without RDMA a build for TCP (ch3:nemesis, or MPICH)",
				},
				{
					Slug: "port-down", Title: "no port is active", Weight: Usual,
					Decide: "rdmactl status", Remedy: "cable, switch port, subnet manager",
				},
				{
					Slug: "wrong-device", Title: "MV2_IBA_HCA names a device that this node doesn't have",
					Weight: Usual, Clues: []Clue{{Weight: Strong, Variable: "MV2_IBA_HCA"}},
					Decide: "rdma link; echo $MV2_IBA_HCA", Remedy: "unset MV2_IBA_HCA, or a name of rdma link",
				},
			},
		},
		{
			ID: "RDX-792", Name: "intel-mpi-settings",
			Title: "a setting of Intel MPI doesn't suit this release or node",
			Explanation: "Since 2019 Intel MPI has the fabrics shm, ofi and shm:ofi only, and takes the process " +
				"manager of Slurm from I_MPI_PMI_LIBRARY. Each rank that finds no process manager runs alone.",
			Sources:  []string{"Intel MPI, developer reference", "intel/MLSL#25", "QMCPACK/qmcpack#1158"},
			Standing: evidence.Origin,
			Lines: []Line{
				intelMPI.says("impi-fabric", "fabric is unknown or has been removed from the product").
					decides("setting-invalid"),
				intelMPI.says("impi-pmi", "PMI server not found. Please set I_MPI_PMI_LIBRARY").decides("launcher"),
				intelMPI.says("impi-numa", "comm->shm_numa_layout[").speaks("topology-view"),
			},
			Causes: []Cause{
				{
					Slug: "setting-invalid", Title: "I_MPI_FABRICS names a fabric that this release doesn't have",
					Weight: Usual,
					Decide: "env | grep I_MPI", Remedy: "unset I_MPI_FABRICS, or shm:ofi with FI_PROVIDER",
				},
				{
					Slug: "launcher", Title: "Slurm's process manager isn't connected with Intel MPI", Weight: Usual,
					Decide: "echo $I_MPI_PMI_LIBRARY; srun --mpi=list",
					Remedy: "I_MPI_PMI_LIBRARY=/…/libpmi2.so with srun --mpi=pmi2, or mpirun",
				},
				{
					Slug: "topology-view", Title: "the NUMA nodes that the process sees aren't those of the machine",
					Weight: Usual,
					Decide: "numactl -H in the container, and on the host",
					Remedy: "I_MPI_SHM=off or I_MPI_FABRICS=ofi; a newer release; the container with all of /sys",
				},
			},
		},
	}
}
