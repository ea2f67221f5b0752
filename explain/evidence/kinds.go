package evidence

// Symptom is the kind of lines that package symptoms describes, of any program. Field "symptom" is
// the ID of the rule, "line" the name of the line; the others depend on the line.
const Symptom Kind = "symptom"

// OtherFailure is the kind of lines of a known program that are of no known form and say that
// something failed. Field "program" is the program.
const OtherFailure Kind = "failure.other"

// OtherTrouble is the kind of lines of unknown programs that say that something failed.
const OtherTrouble Kind = "trouble.other"

// Kinds of events of NCCL and RCCL, with their fields in brackets. Field "library" is "nccl" or
// "rccl"; devices are verbs devices without port, and "port" is beside them.
const (
	NCCLVersion      Kind = "nccl.version"          // [version library cuda]: "2.21.5", "12.4"
	NCCLEnv          Kind = "nccl.env"              // [name value]: a value that was read
	NCCLEnvInvalid   Kind = "nccl.env.invalid"      // [name value default]
	NCCLBootstrap    Kind = "nccl.bootstrap"        // [interface address]; none: empty interface
	NCCLInitStart    Kind = "nccl.init.start"       // [comm rank nranks cudadev busid commid]
	NCCLInitComplete Kind = "nccl.init.complete"    // as NCCLInitStart
	NCCLRanks        Kind = "nccl.ranks"            // [comm rank nranks nnodes localranks]
	NCCLNetwork      Kind = "nccl.network"          // [network]: "IB", "Socket", "AWS Libfabric", …
	NCCLPlugin       Kind = "nccl.plugin"           // [name state]: loaded, missing, failed, probe
	NCCLNoNetwork    Kind = "nccl.network.none"     // [network]: no plugin could be initialized
	NCCLDevices      Kind = "nccl.ib.devices"       // [devices oob]: "mlx5_0:1/IB mlx5_1:1/RoCE", may be empty
	NCCLDevice       Kind = "nccl.ib.device"        // [device port link provider speed]
	NCCLVirtual      Kind = "nccl.ib.virtual"       // [index name devices]: ports merged to one
	NCCLNoDevice     Kind = "nccl.ib.none"          // no device found
	NCCLNoLibrary    Kind = "nccl.ib.library"       // [library]: libibverbs can't be opened
	NCCLHarmless     Kind = "nccl.harmless"         // [what]: a line that users take for a fault
	NCCLSockets      Kind = "nccl.socket.devices"   // [devices]: "eth0:10.0.0.1 eth1:10.0.1.1"; none: empty
	NCCLGDR          Kind = "nccl.gdr"              // [device enabled gpu distance limit]
	NCCLDMABuf       Kind = "nccl.dmabuf"           // [gpu]
	NCCLQP           Kind = "nccl.qp"               // [dev port qpn mtu link lid gidIndex gid]: mtu in bytes
	NCCLAsync        Kind = "nccl.async"            // [event device port fatal]
	NCCLChannel      Kind = "nccl.channel"          // [channel from to direction transport network nic proxy gdr]
	NCCLConnected    Kind = "nccl.connected"        // [what gdr pxn]
	NCCLCompletion   Kind = "nccl.completion"       // [status vendor direction device localGID remoteGID peer]
	NCCLVerb         Kind = "nccl.verb"             // [call errno device port state next gidIndex localGID remoteGID]
	NCCLVerbRetry    Kind = "nccl.verb.retry"       // as NCCLVerb, with [try tries]
	NCCLMerge        Kind = "nccl.ib.merge"         // [devices]: link layers that don't fit together
	NCCLUnequal      Kind = "nccl.ib.unequal"       // [local remote]: numbers of devices differ
	NCCLConnect      Kind = "nccl.tcp.connect"      // [address port errno]: gave up
	NCCLConnectRetry Kind = "nccl.tcp.retry"        // [address port errno]
	NCCLPeerClosed   Kind = "nccl.peer.closed"      // [peer]: an echo
	NCCLMagic        Kind = "nccl.tcp.magic"        // [peer]: a connection from somebody else
	NCCLSocketType   Kind = "nccl.tcp.type"         // [peer own address]: numbers of ncclSocketType
	NCCLFamily       Kind = "nccl.tcp.family"       // [family]: address without family
	NCCLTruncated    Kind = "nccl.truncated"        // [received expected]
	NCCLMismatch     Kind = "nccl.version.mismatch" // [rank version peerRank peerVersion]
	NCCLProxy        Kind = "nccl.proxy"            // [operation code]: an echo
	NCCLReturn       Kind = "nccl.return"           // [code]: a line of a backtrace, an echo
	NCCLResult       Kind = "nccl.result"           // [code call]: what the program got
	NCCLEnd          Kind = "nccl.end"              // [what]: Abort, Destroy, Revoke
	NCCLHint         Kind = "nccl.hint"             // [hint]: its own advice
	NCCLFault        Kind = "nccl.fault"            // [what]: stands for one cause
	NCCLWarn         Kind = "nccl.warn"             // any other warning
)

// Kinds of events of programs above NCCL.
const (
	TorchVersion    Kind = "torch.version"     // [version nccl]
	TorchWatchdog   Kind = "torch.watchdog"    // [rank seq op timeoutMs ranMs group elements]: a collective timed out
	TorchStuck      Kind = "torch.stuck"       // [rank seconds]: the watchdog or its heartbeat stopped
	TorchException  Kind = "torch.exception"   // [rank seq enqueued completed]
	TorchNCCLError  Kind = "torch.nccl.error"  // [class]: ncclSystemError, ncclRemoteError, …: an echo
	TorchStore      Kind = "torch.store"       // [address joined]: the rendezvous doesn't answer
	TorchMismatch   Kind = "torch.mismatch"    // [ranks]: collectives differ
	TorchMember     Kind = "torch.member"      // [rank world registered]: a process of Lightning begins
	RayError        Kind = "ray.error"         // an echo
	VLLMBroadcast   Kind = "vllm.broadcast"    // [seconds]: no block of shared memory: a worker hangs
	GlooConnect     Kind = "gloo.connect"      // [remote port errno]
	DeepEPTimeout   Kind = "deepep.timeout"    // [where]
	DeepEPVersion   Kind = "deepep.version"    // [version]
	NVSHMEMVersion  Kind = "nvshmem.version"   // [version]
	NVSHMEMError    Kind = "nvshmem.error"     // [call status syndrome transport]
	NVSHMEMInit     Kind = "nvshmem.init"      // [transport]: initialization failed
	NVSHMEMPeermem  Kind = "nvshmem.peermem"   // no module for GPU memory
	UCXVersion      Kind = "ucx.version"       // [version]
	UCXCompletion   Kind = "ucx.completion"    // [status vendor device port link]
	UCXPath         Kind = "ucx.path"          // [remoteQPN gidIndex remoteGID remoteLID tclass]: of the line above
	UCXTimeout      Kind = "ucx.timeout"       // [device]: endpoint timeout
	UCXAddress      Kind = "ucx.ah"            // [device errno gidIndex remoteGID]: no address handle
	UCXVerb         Kind = "ucx.verb"          // [call errno device limit memory]
	UCXNoDevice     Kind = "ucx.device"        // [device available]: names with transports, "eth0(tcp)"
	UCXUnreachable  Kind = "ucx.unreachable"   // [transports]
	UCXTransports   Kind = "ucx.transports"    // [transports]: what is used
	UCXEnvironment  Kind = "ucx.environment"   // [variables]: "NAME=VALUE NAME=VALUE", all that a process has
	UCXError        Kind = "ucx.error"         // any other error
	MooncakeError   Kind = "mooncake.error"    // any other error
	UCXDevX         Kind = "ucx.devx"          // [call syndrome errno]
	NIXLError       Kind = "nixl.error"        // [error]
	MooncakeDevice  Kind = "mooncake.device"   // [device lid gidIndex gid]
	MooncakeVerb    Kind = "mooncake.verb"     // [call errno device next gidIndex localGID remoteGID memory]
	MooncakeFailed  Kind = "mooncake.transfer" // [status device peer retries]
	LibfabricError  Kind = "libfabric.error"   // [provider status text]
	MPIError        Kind = "mpi.error"         // [what]: an echo
	ProgramHang     Kind = "program.hang"      // [what]: no progress, or ended by a time limit
	NCCLRAS         Kind = "nccl.ras"          // [counts]: equal, or different between ranks
	NCCLTestsRank   Kind = "nccl-tests.rank"   // [rank host gpu]
	NCCLTestsHead   Kind = "nccl-tests.head"   // of a process
	NCCLTestsResult Kind = "nccl-tests.result" // a row or the average
	ProgramKilled   Kind = "program.killed"    // [signal host rank]: OOM killer, SIGKILL, a traceback of Python
	ProgramProgress Kind = "program.progress"  // []: a program went on
	PythonTraceback Kind = "python.traceback"  // [exception]
	PythonException Kind = "python.exception"  // [exception]: a program's own, of the rank that raised it
	ProgramExit     Kind = "program.exit"      // [code host tasks localRank]: a launcher says that a process has ended
)

// Kinds of events of verbs programs, the kernel, and what surrounds them.
const (
	PerftestPort       Kind = "perftest.port"       // [device link mtu gidIndex transport]: the header
	PerftestAddress    Kind = "perftest.address"    // [side lid qpn psn gid]: side local or remote
	PerftestResult     Kind = "perftest.result"     // [bytes average unit]
	PerftestCompletion Kind = "perftest.completion" // [status vendor sent completed]
	PerftestModify     Kind = "perftest.modify"     // [qpn next errno]
	PerftestMemory     Kind = "perftest.memory"     // [errno gpu]: no memory region
	PerftestDevice     Kind = "perftest.device"     // [device]: not found
	PerftestConnect    Kind = "perftest.connect"    // [address port]: the TCP exchange
	CMAEvent           Kind = "cma.event"           // [event error reason]: rdma_cm
	MLX5CQE            Kind = "mlx5.cqe"            // [cqe device status vendor qpn opcode side]: cqe in hexadecimal
	VerbsCompletion    Kind = "verbs.completion"    // [status vendor device]: of any other program
	VerbsAsync         Kind = "verbs.async"         // [event device port]
	VerbsError         Kind = "verbs.error"         // [call errno device]

	KernelLink     Kind = "kernel.link"     // [device netdev port state]: up, down, flap
	KernelHealth   Kind = "kernel.health"   // [pci syndrome text]: the card's firmware
	KernelCommand  Kind = "kernel.command"  // [device pci command status syndrome errno]
	KernelHardware Kind = "kernel.hardware" // [pci what]: power, temperature, cable, PCIe
	KernelSymbol   Kind = "kernel.symbol"   // [module symbol]
	KernelModule   Kind = "kernel.module"   // [module errno]: can't be inserted
	KernelQP       Kind = "kernel.qp"       // [device port qpn vendor text]
	KernelCQE      Kind = "kernel.cqe"      // [device vendor status]
	KernelOOM      Kind = "kernel.oom"      // [process]
	KernelGPU      Kind = "kernel.gpu"      // [xid gpu]
	KernelIOMMU    Kind = "kernel.iommu"    // [device pci]: a DMA fault
	KernelReset    Kind = "kernel.reset"    // [device]
	KernelOther    Kind = "kernel.other"    // [driver device]: a line of an RDMA driver

	OpenSMError Kind = "opensm.error" // [code what]
	OpenSMEvent Kind = "opensm.event" // [event guid port]

	K8sVF        Kind = "k8s.vf"        // [vf what]: a virtual function can't be configured
	K8sNamespace Kind = "k8s.namespace" // the RDMA subsystem's namespace mode
	K8sOperator  Kind = "k8s.operator"  // [what]
	EFAError     Kind = "efa.error"     // [status text]
	Command      Kind = "command"       // [command]: output of a known program, such as lspci or ulimit
	Setting      Kind = "setting"       // [name value]: ACSCtl, memlock (KiB), iommu, netns, CmaTotal, machine
	DevicePort   Kind = "device.port"   // [device port state physical link mtu lid rate transport netdev]
	DeviceGID    Kind = "device.gid"    // [device port gidIndex gid type netdev]
)

// Kinds of events of recorded nodes (bundles of rdmactl snapshot), with the host's name in the
// process. GIDs are entries of the port's table, "INDEX GID TYPE" separated by semicolons, where
// TYPE is "v1", "v2", "ib" or "?".
const (
	RecordedNode    Kind = "recorded.node"        // [kernel memlock taken partial]
	RecordedPort    Kind = "recorded.port"        // [device port link state driver firmware netdev mtu addresses gids]
	RecordedSetting Kind = "recorded.environment" // [name value]: of the process that recorded, not of a job
)

// Kinds of events of the packets of a capture, by package capture, and of rdmactl's own records.
const (
	CapturePrefix Kind = "capture."        // [finding …]: kinds are the names of the findings of package capture
	OwnConnect    Kind = "rdmactl.connect" // [code stage cause peer device port remedy]: as rdmactl connect names it
	OwnPing       Kind = "rdmactl.ping"    // [code stage cause remedy]
	OwnDoctor     Kind = "rdmactl.doctor"  // [check outcome object]
	OwnCluster    Kind = "rdmactl.cluster" // [cause where confidence next]: a verdict

	OwnConsensus Kind = "rdmactl.consensus" // [check severity remedy]: breaks or slows
	OwnLint      Kind = "rdmactl.lint"      // [rule severity object remedy]: error or warn
	OwnFabric    Kind = "rdmactl.fabric"    // [fault object value]: a counter, or the end of a trace
)
