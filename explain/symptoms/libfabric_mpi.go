package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Files of texts and sources of Open MPI's start.
var (
	ompiHelp  = source{Libfabric, "open-mpi/ompi, opal/util/show_help.c"}
	ompiInit  = source{Libfabric, "open-mpi/ompi, opal/runtime/help-opal-runtime.txt"}
	ompiUsage = source{Libfabric, "open-mpi/ompi, ompi/runtime/help-mpi-runtime.txt"}
	ompiVars  = source{Libfabric, "open-mpi/ompi, opal/mca/base/help-mca-var.txt"}
	ompiError = source{Libfabric, "open-mpi/ompi, ompi/errhandler/help-mpi-errors.txt"}
	orteOOB   = source{Libfabric, "open-mpi/ompi 4.1, orte/mca/oob/tcp; openpmix/prrte, src/rml/oob"}
	orteSSH   = source{Libfabric, "open-mpi/ompi 4.1, orte/mca/plm/rsh; openpmix/prrte, src/mca/plm/ssh"}
	orteHosts = source{Libfabric, "openpmix/prrte, src/util/hostfile/help-hostfile.txt"}
)

func mpiStartSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-793", Name: "ompi-start", Title: "Open MPI's run-time could not start on a node",
			Explanation: "The name of the function that failed, and the value that it returned, stand below the " +
				"line. Usual reasons are a mix of releases, a session folder that can't be made, and a process " +
				"manager that can't be reached.",
			Sources: []string{
				"open-mpi/ompi, opal/runtime/help-opal-runtime.txt", "openpmix/prrte#997", "open-mpi/ompi#13725",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				ompiInit.says("start-orte", "It looks like orte_init failed for some reason"),
				ompiInit.says("start-opal", "It looks like opal_init failed for some reason"),
				ompiInit.says("start-prte", "It looks like \"prte_init()\" failed for some reason"),
				ompiInit.says("start-rte", "It looks like MPI runtime init failed for some reason"),
				ompiInit.says("start-shmem", "opal_shmem_base_select failed").speaks("shm-too-small"),
				ompiInit.says("start-session", "orte_session_dir failed").speaks("shm-permissions"),
				orteOOB.says("start-unpack", "Data unpack would read past end of buffer in file").as(evidence.Failed).
					speaks("version-mismatch"),
				orteOOB.says("start-versions", " detected a mismatch in versions between two processes").
					decides("version-mismatch"),
				ompiUsage.says("start-pmix", "PMIx_Init failed for the following reason").speaks("launcher"),
				ompiUsage.says("start-no-pmix", "No PMIx server was reachable, but a PMI1/2 was detected").
					speaks("launcher"),
				source{Libfabric, "open-mpi/ompi, ompi/tools/mpirun/help-mpirun.txt"}.
					says("start-prterun", "Open MPI's mpirun command was unable to find an underlying prterun").
					decides("missing-library"),
				ompiUsage.says("start-architecture", "at least one node in the allocation").as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug:   "version-mismatch",
					Title:  "nodes, or mpirun and the program, have different releases of MPI",
					Weight: Usual,
					Decide: "which mpirun orted; ompi_info --version on each node; ldd PROGRAM | grep libmpi",
					Remedy: "one installation on all nodes, its full path or --prefix; OPAL_PREFIX unset",
				},
				{
					Slug: "launcher", Title: "the process manager (PMIx) isn't reachable, or another one is expected",
					Weight: Usual, Decide: "srun --mpi=list; env | grep -e PMIX -e OPAL_PREFIX",
					Remedy: "mpirun of the same Open MPI; srun --mpi=pmix; mount the PMIx folder in the container",
				},
				{
					Slug: "missing-library", Title: "files of Open MPI, or a library that it needs, aren't found",
					Weight: Usual, Decide: "ompi_info; echo $OPAL_PREFIX; ldd $(which mpirun)",
					Remedy: "the whole installation at the place that it was built for, or OPAL_PREFIX",
				},
				shmTooSmall(Rare),
				{
					Slug: "shm-permissions", Title: "the session folder below /tmp can't be made", Weight: Rare,
					Decide: "echo $TMPDIR; df -h /tmp; ls -ld /tmp/ompi*",
					Remedy: "TMPDIR on a local disk with room, mode 1777; delete folders of other users' ended jobs",
				},
			},
		},
		{
			ID:    "RDX-794",
			Name:  "ompi-daemon-ssh",
			Title: "mpirun can't start its daemons: no ssh client, or no library",
			Explanation: "mpirun starts orted (prted) on each node by ssh, whose shell is not interactive: PATH and " +
				"LD_LIBRARY_PATH of a login shell aren't there.",
			Sources:  []string{"open-mpi/ompi 4.1, orte/mca/plm/rsh/help-plm-rsh.txt"},
			Standing: evidence.Origin,
			Lines: []Line{
				orteSSH.says("ssh-agent", "The value of the MCA parameter \"plm_").speaks("ssh-client"),
				orteSSH.says("orted-library", "orted: error while loading shared libraries: ").
					decides("missing-library"),
				orteSSH.says("prted-library", "prted: error while loading shared libraries: ").
					decides("missing-library"),
				orteSSH.says("orted-file", "bin/orted: No such file or directory").decides("missing-library"),
				orteSSH.says("prted-file", "bin/prted: No such file or directory").decides("missing-library"),
				orteSSH.says("as-root", "has detected an attempt to run as root").decides("setting-invalid"),
				orteSSH.says("no-slurm", "was unable to locate a", "usable \"srun\" command").
					decides("missing-library"),
			},
			Causes: []Cause{
				{
					Slug: "ssh-client", Title: "there is no ssh client where mpirun runs", Weight: Usual,
					Decide: "which ssh, where mpirun runs",
					Remedy: "openssh-client in the image; for one node only --mca plm isolated",
				},
				{
					Slug:   "missing-library",
					Title:  "Open MPI or a library that it needs isn't found in the shell that ssh opens",
					Weight: Usual, Decide: "ssh NODE 'which orted; ldd $(which orted)'",
					Remedy: "mpirun --prefix or its full path; LD_LIBRARY_PATH in ~/.bashrc before its first return",
				},
				{
					Slug:   "setting-invalid",
					Title:  "mpirun was started as root, which it refuses by default",
					Weight: Rare,
					Decide: "whoami in the container",
					Remedy: "--allow-run-as-root, or OMPI_ALLOW_RUN_AS_ROOT=1 and " +
						"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; better another user",
				},
			},
		},
		{
			ID: "RDX-795", Name: "ompi-routing", Title: "mpirun's daemons lost the way to each other",
			Explanation: "A daemon started, but its connection to mpirun or to another daemon did not last, or was " +
				"never made: usually mpirun offers an address that the node can't use.",
			Sources: []string{
				"horovod/horovod#504", "horovod/horovod#1684", "horovod/horovod#1850",
				"open-mpi/ompi 4.1, orte/mca/rml",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				orteOOB.says("route-unknown", "does not know how to route a message to the specified daemon"),
				orteOOB.says("route-contact", "sent to a process whose contact information is unknown"),
				orteOOB.says("route-send", "tcp_peer_send_blocking: send() to socket "),
				orteOOB.says("route-pmix", "PMIX ERROR: UNREACHABLE in file ").as(evidence.Echo),
				orteOOB.says("route-none", "No usable network interfaces were found on this host").
					speaks("interface-not-ready"),
			},
			Causes: []Cause{
				{
					Slug: "interface-choice", Title: "mpirun offers an address that the node can't reach",
					Weight: Common,
					Clues: []Clue{
						onText(Strong, "tcp://172.17.", "the address is one of Docker's bridge"),
						onLine(Hint, "route-send", ""),
					},
					Decide: "mpirun -report-uri -: the addresses; ip -br addr on mpirun's node",
					Remedy: "--mca oob_tcp_if_include eth0 --mca btl_tcp_if_include eth0; --network=host",
				},
				{
					Slug: "version-mismatch", Title: "the nodes have different releases of Open MPI", Weight: Usual,
					Clues:  []Clue{onLine(Hint, "route-send", "")},
					Decide: "mpirun --version on all nodes", Remedy: "one release on all nodes",
				},
				{
					Slug: "nobody-listens", Title: "the daemon did not start on the node", Weight: Usual,
					Decide: "the lines of ssh before", Remedy: "ssh to the node without a password, on its port",
				},
				{
					Slug: "interface-not-ready", Title: "the node has no interface with an address", Weight: Rare,
					Decide: "ip -br addr", Remedy: "an address; for one node --mca oob ^tcp",
				},
			},
		},
		{
			ID: "RDX-796", Name: "mpi-usage", Title: "the program calls MPI wrongly",
			Explanation: "Nothing of the network is involved.",
			Sources: []string{
				"open-mpi/ompi, ompi/runtime/help-mpi-runtime.txt", "pmodels/mpich, src/mpi/errhan/errnames.txt",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				ompiUsage.says("usage-before-init", "function was called before MPI_INIT was invoked").
					decides("program-usage"),
				ompiUsage.says("usage-after-finalize", "function was called after MPI_FINALIZE was invoked").
					decides("program-usage"),
				ompiUsage.says("usage-init-twice", "Open MPI has detected that this process has attempted to ").
					decides("program-usage"),
				ompiUsage.says("usage-finalize", "The function MPI_FINALIZE was invoked ").decides("program-usage"),
				ompiError.says("usage-truncate", "MPI_ERR_TRUNCATE: message truncated").decides("program-usage"),
				mpichErrors.says("usage-truncated", "Message truncated; ", " bytes received but buffer size is ").
					decides("program-usage"),
				ompiError.says("usage-communicator", "MPI_ERR_COMM: invalid communicator").speaks("launcher"),
				mpichErrors.says("usage-comm", ": Invalid communicator, error stack").speaks("launcher"),
			},
			Causes: []Cause{
				{
					Slug:   "program-usage",
					Title:  "the program's calls are wrong: sizes, order, or communicators that aren't there",
					Weight: Usual,
					Decide: "the call that the line names, and the counts on both sides", Remedy: "the program",
				},
				{
					Slug:   "launcher",
					Title:  "the program was built with the header of one MPI and runs with the library of another",
					Weight: Usual,
					Decide: "ldd PROGRAM | grep libmpi; mpicc --version", Remedy: "one MPI for both, and its mpirun",
				},
			},
		},
		{
			ID: "RDX-803", Name: "ompi-help", Title: "Open MPI can't read the file of its own messages",
			Explanation: "The name below the first line says which message it had: something else failed before. " +
				"If the file isn't there, Open MPI isn't where it was installed to, and doesn't find its " +
				"components either.",
			Sources: []string{
				"open-mpi/ompi, opal/util/show_help.c", "open-mpi/ompi#7246",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				ompiHelp.says("help-topic", "You were supposed to get help about"),
				ompiHelp.says("help-file", "/openmpi/help-", ".txt: No such file or directory").
					speaks("missing-library"),
				ompiHelp.says("help-limit", "/openmpi/help-", ".txt: Too many open files").as(evidence.Origin).
					decides("file-limit"),
			},
			Causes: []Cause{
				{
					Slug:   "missing-library",
					Title:  "Open MPI was moved, or has another path on this node or in the container",
					Weight: Usual,
					Decide: "which mpirun; ls of the folder in the line; echo $OPAL_PREFIX",
					Remedy: "OPAL_PREFIX=the folder where it is (mpirun -x OPAL_PREFIX), or that path for it",
				},
				{
					Slug: "version-mismatch", Title: "mpirun and the program are of different installations",
					Weight: Usual,
					Decide: "which mpirun; ldd PROGRAM | grep -e libmpi -e libopen-pal",
					Remedy: "one installation, first in PATH and LD_LIBRARY_PATH",
				},
				fileLimit(Rare),
			},
		},
		{
			ID:    "RDX-797",
			Name:  "ompi-settings",
			Title: "a setting of Open MPI can't be used here",
			Explanation: "Names of interfaces and subnets must be right on every node, and values must be those that " +
				"the release knows. Open MPI ignores the others, and then takes all interfaces.",
			Sources: []string{
				"open-mpi/ompi, opal/mca/btl/tcp/help-mpi-btl-tcp.txt",
				"open-mpi/ompi, opal/mca/base/help-mca-var.txt",
				"open-mpi/ompi#6293",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				ompiTCPHelp.says("setting-interface", "WARNING: An invalid value was given for ", "tcp_if_").
					speaks("host-interface"),
				ompiTCPHelp.says("setting-subnet", "Did not find interface matching this subnet").
					speaks("host-interface"),
				ompiTCPHelp.says("setting-unknown", "Message:    Unknown interface name").speaks("host-interface"),
				ompiVars.says("setting-value", "An invalid value was supplied for an MCA variable").
					speaks("setting-invalid"),
				ompiVars.says("setting-enum", "An invalid value was supplied for an enum variable").
					speaks("setting-invalid"),
				ompiVars.says("setting-negate", "MCA framework parameters can only take a single negation operator").
					decides("setting-invalid"),
				orteHosts.says("setting-hostfile", " was unable to open the hostfile").speaks("setting-invalid"),
				orteHosts.says("setting-hosts", "he requested hosts ", " not included in the current").
					speaks("launcher-ranks"),
				orteHosts.says("setting-parse", " detected a parse error in the hostfile").speaks("setting-invalid"),
			},
			Causes: []Cause{
				{
					Slug: "host-interface", Title: "an interface or subnet is named that this node doesn't have",
					Weight: Usual, Decide: "ip -br addr on the node that the line names",
					Remedy: "a subnet that all nodes have: --mca btl_tcp_if_include 10.0.0.0/16, also for oob_tcp",
				},
				{
					Slug: "setting-invalid", Title: "the value, or the file, is misspelt", Weight: Usual,
					Decide: "env | grep OMPI_MCA; ~/.openmpi/mca-params.conf; the mpirun line",
					Remedy: "the right value",
				},
				{
					Slug: "launcher-ranks", Title: "the hosts aren't those of the allocation", Weight: Rare,
					Decide: "the host file against the batch system's list",
					Remedy: "the names that the batch system has, or no host file",
				},
			},
		},
	}
}
