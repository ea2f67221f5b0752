package symptoms

import (
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// Source files of libraries for remote calls, and of programs above them.
const (
	rpBRPC    = "apache/brpc, src/brpc/rdma/rdma_helper.cpp"
	rpBRPCEnd = "apache/brpc, src/brpc/rdma/rdma_endpoint.cpp"
	rpERPC    = "erpc-io/eRPC, src/transport_impl"
	rpMercury = "mercury-hpc/mercury, src/na/na_ofi.c"
	rpLDMS    = "ovis-hpc/ldms, lib/src/zap/rdma/zap_rdma.c"
	rpGluster = "gluster/glusterfs, rpc/rpc-transport/rdma/src/rdma.c"
	rpBeeGFS  = "ThinkParQ/beegfs, IBVSocket"
)

func rpcSymptoms() []Symptom { return slices.Concat(rpcLibraries(), storagePrograms(), cephRuntime()) }

func rpcLibraries() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-835", Name: "brpc-start", Title: "bRPC could not start RDMA",
			Explanation: "bRPC makes all its queues and its memory pool when it starts: prepared queue pairs take " +
				"two files each. What fails ends the program, or leaves it on TCP.",
			Sources:  []string{rpBRPC, rpBRPCEnd, "falcon-infra/falconfs#30", "apache/brpc#2566"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "brpc-channel", rpBRPCEnd, "Fail to create comp channel for CQ"),
				says(Verbs, "brpc-cq", rpBRPCEnd, "Fail to create ", " CQ").any("send CQ", "recv CQ", "polling CQ"),
				says(Verbs, "brpc-qp", rpBRPCEnd, "Fail to create QP", "rdma_endpoint"),
				says(Verbs, "brpc-resources", rpBRPCEnd, "Fail to allocate rdma resources, fallback to tcp"),
				says(Verbs, "brpc-fork", rpBRPC, "Fail to ibv_fork_init").decides("fork-support"),
				says(Verbs, "brpc-device", rpBRPC, "Fail to find available RDMA device").speaks("wrong-device"),
				says(Verbs, "brpc-no-device", rpBRPC, "Fail to find rdma device").speaks("missing-library"),
				says(Verbs, "brpc-open", rpBRPC, "Fail to open rdma device"),
				says(Verbs, "brpc-gid", rpBRPC, "Fail to find available RDMA GID").decides("gid-index"),
				says(Verbs, "brpc-register", rpBRPC, "Fail to register memory", "rdma_helper"),
				says(Verbs, "brpc-pool", rpBRPC, "Fail to initialize RDMA memory pool").as(evidence.Echo),
				says(Verbs, "brpc-library", rpBRPC, "Fail to load rdma dynamic lib").decides("missing-library"),
				says(Verbs, "brpc-block-type", rpBRPC, "rdma_recv_block_type incorrect").decides("setting-invalid"),
				says(Verbs, "brpc-disabled", rpBRPC, "RDMA is disabled due to some unrecoverable problem").
					as(evidence.Echo),
				says(Verbs, "brpc-built", rpBRPC, "brpc is not compiled with rdma").decides("build-options"),
			},
			Causes: []Cause{
				maybe(Usual, "memlock", "the limit of locked memory is too low for the memory pool and the queues",
					"ulimit -l", "ulimit -l unlimited; a smaller --rdma_memory_pool_initial_size_mb",
					onErrno(Strong, "errno 12: cannot allocate memory", "12"),
					onLine(Hint, "brpc-register", "memory can't be registered")),
				maybe(Usual, "file-limit", "the limit of open files is too low for the prepared queue pairs",
					"ulimit -n in the process (/proc/PID/limits)",
					"ulimit -n 1048576 where it is started; a smaller --rdma_prepared_qp_cnt",
					onErrno(Decisive, "errno 24: too many open files", "24")),
				maybe(Usual, "resource-limit", "the card has no more queue pairs or completion queues",
					"rdma resource show", "fewer prepared queue pairs, fewer processes",
					onErrno(Hint, "errno 12", "12")),
				maybe(Rare, "wrong-device", "--rdma_device names no device of this node, or none is active",
					"ibv_devices; ibv_devinfo", "its name here"),
				maybe(Rare, "missing-library", "libibverbs or the provider isn't installed",
					"ldconfig -p | grep ibverbs",
					"install rdma-core"),
				maybe(Rare, "no-device-node", "the container has no /dev/infiniband, or no right to open it",
					"ls -l /dev/infiniband; capabilities and device cgroup of the container",
					"the devices by a device plugin or --device (a mounted folder isn't enough), IPC_LOCK",
					onLine(Strong, "brpc-open", "the device is there, and can't be opened"), onErrno(Strong,
						"the file can't be opened", "2", "13", "1")),
				maybe(Rare, "gid-index", "no GID of the port is usable, or --rdma_gid_index is out of range",
					"show_gids", "an address on the interface; the index of the RoCE v2 GID"),
				maybe(Rare, "fork-support", "something in the process had registered memory before ibv_fork_init",
					"what uses verbs before bRPC starts", "start bRPC's RDMA first (GlobalRdmaInitializeOrDie)"),
				maybe(
					Rare,
					"setting-invalid",
					"rdma_recv_block_type isn't default, large or huge: it is a flag of gflags, not of the environment",
					"the flags of the program",
					"--rdma_recv_block_type=default",
				),
				maybe(Rare, "build-options", "bRPC was built without RDMA", "ldd | grep ibverbs", "WITH_RDMA=ON"),
			},
		},
		{
			ID: "RDX-836", Name: "brpc-connection", Title: "bRPC could not connect a queue pair, or lost it",
			Explanation: "The handshake runs over TCP: if it fails bRPC goes on over TCP.",
			Sources:     []string{rpBRPCEnd, "apache/brpc#2199"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "brpc-bringup", rpBRPCEnd, "Fail to bringup QP, fallback to tcp").as(evidence.Vague),
				says(Verbs, "brpc-init", rpBRPCEnd, "Fail to modify QP from RESET to INIT").speaks("driver-refuses"),
				says(Verbs, "brpc-rtr", rpBRPCEnd, "Fail to modify QP from INIT to RTR").speaks("gid-index"),
				says(Verbs, "brpc-rts", rpBRPCEnd, "Fail to modify QP from RTR to RTS").speaks("driver-refuses"),
				says(Verbs, "brpc-negotiate", rpBRPCEnd, "Fail to negotiate with server, fallback to tcp").
					speaks("version-mismatch"),
				says(Verbs, "brpc-hello", rpBRPCEnd, "Fail to ", "hello ").any("from server", "to server").
					as(evidence.Waiting),
				says(Verbs, "brpc-completion", rpBRPCEnd, "Fail to handle RDMA completion"),
				says(Verbs, "brpc-unregistered", rpBRPCEnd, "emory not registered for rdma").decides("program-usage"),
			},
			Causes: []Cause{
				maybe(Usual, "gid-index", "the GIDs of the two ends don't fit: index, version, or no route",
					"show_gids on both nodes", "--rdma_gid_index with the RoCE v2 GID on both sides"),
				maybe(
					Usual,
					"dead-peer",
					"the other side ended or doesn't use RDMA",
					"its log",
					"--use_rdma on both",
				),
				maybe(Rare, "version-mismatch", "the peer isn't built with RDMA, or speaks another version",
					"its release and flags", "the same release on both"),
				maybe(Rare, "driver-refuses", "the driver refuses the transition", "dmesg",
					"newer driver and firmware"),
				maybe(Rare, "program-usage",
					"the data aren't in memory that bRPC registered: an IOBuf was made before RDMA was initialized",
					"the order of initialization in the program",
					"initialize RDMA before any server, also those over TCP, is started"),
			},
		},
		{
			ID: "RDX-837", Name: "erpc", Title: "eRPC could not use the card or its memory",
			Explanation: "eRPC throws an exception with the name of the step.",
			Sources:     []string{rpERPC, "erpc-io/eRPC#86", "erpc-io/eRPC#48"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "erpc-hugepages", "erpc-io/eRPC, src/util/huge_alloc.cc",
					"eRPC HugeAlloc: Insufficient hugepages").decides("no-hugepages"),
				says(Verbs, "erpc-shm", "erpc-io/eRPC, src/util/huge_alloc.cc", "eRPC HugeAlloc: SHM ").
					speaks("shm-limit"),
				says(Verbs, "erpc-cq", rpERPC, "Failed to create SEND CQ. Forgot hugepages?").speaks("no-hugepages"),
				says(Verbs, "erpc-ah", rpERPC, "Failed to create self AH").speaks("gid-index"),
				says(Verbs, "erpc-link", rpERPC+"/verbs_common.h", "Invalid link layer. Port link layer is ").
					decides("build-options"),
				says(Verbs, "erpc-port", rpERPC+"/verbs_common.h", "Failed to resolve verbs port index").
					speaks("port-down"),
				says(Verbs, "erpc-register", rpERPC+"/verbs_common.h", "Failed to register mr.").as(evidence.Vague).
					speaks("memlock"),
				says(Verbs, "erpc-completion", rpERPC+"/verbs_common.h", "eRPC: Fatal error. Bad wc status ").
					speaks("dead-peer"),
				says(Verbs, "erpc-routing", "erpc-io/eRPC, src/rpc_impl/rpc_connect_handlers.cc",
					"Unable to resolve routing info ").speaks("gid-index"),
				says(Verbs, "erpc-routing-client", "erpc-io/eRPC, src/sm_types.h", "[Routing resolution failure]").
					speaks("gid-index"),
				says(Verbs, "erpc-daemon", rpERPC+"/dpdk", "eRPC DPDK daemon: Failed to initialize DPDK"),
				says(Verbs, "erpc-flow", rpERPC+"/raw", "Failed to create RECV flow").speaks("not-privileged"),
			},
			Causes: []Cause{
				maybe(Usual, "gid-index", "the GID that eRPC takes can't be resolved on RoCE: index 0, or link-local",
					"show_gids; eRPC's kDefaultGIDIndex", "the index of the RoCE v2 GID in the source; both hosts "+
						"alike"),
				maybe(
					Usual,
					"no-hugepages",
					"no huge pages are reserved on that NUMA node",
					"cat /sys/devices/system/node/*/hugepages/hugepages-2048kB/free_hugepages",
					"echo 2048 > /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages, on each node",
				),
				maybe(Rare, "shm-limit", "limits of System V shared memory, or segments that are left",
					"ipcs -m; sysctl kernel.shmmax kernel.shmall", "ipcrm the old ones; larger limits"),
				maybe(Rare, "memlock", "the limit of locked memory is too low", "ulimit -l",
					"ulimit -l unlimited, as root"),
				maybe(Rare, "build-options", "eRPC was built for the other link layer",
					"ibv_devinfo: link_layer", "cmake -DTRANSPORT=infiniband -DROCE=on for RoCE, off for InfiniBand"),
				maybe(Rare, "port-down", "no port of that index is active", "ibv_devinfo",
					"another index; bring it up"),
				maybe(Rare, "not-privileged", "flow steering needs CAP_NET_RAW", "id", "as root"),
				maybe(Rare, "dead-peer", "the peer doesn't answer", "its log", "what it says"),
			},
		},
		{
			ID: "RDX-838", Name: "mercury-fabric", Title: "Mercury (DAOS) could not use its fabric provider",
			Explanation: "Mercury's NA plugin opens libfabric's provider for the domain and interface that it is " +
				"given. With verbs the domain is the device (mlx5_0), and the interface needs an IP address.",
			Sources: []string{
				rpMercury, "daos-stack/daos#7482", "daos-stack/daos#4610", "mercury-hpc/mercury#343",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "na-domain", rpMercury, "fi_domain() failed, rc: ").with("errno", "rc: -"),
				says(Verbs, "na-fabric", rpMercury, "fi_fabric() failed, rc: ").with("errno", "rc: -"),
				says(Verbs, "na-endpoint", rpMercury, "fi_endpoint() failed, rc: ").with("errno", "rc: -"),
				says(Verbs, "na-enable", rpMercury, "fi_enable() endpoint failed, rc: ").with("errno", "rc: -"),
				says(Verbs, "na-cq", rpMercury, "fi_cq_open() failed, rc: ").with("errno", "rc: -"),
				says(Verbs, "na-register", rpMercury, "fi_mr_reg", "failed, rc: ").with("errno", "rc: -"),
				says(Verbs, "na-getinfo", rpMercury, "na_ofi_getinfo() failed").as(evidence.Echo),
				says(Verbs, "na-no-provider", rpMercury, "No provider found for ", "na_ofi").speaks("wrong-device"),
				says(
					Verbs,
					"na-candidates",
					rpMercury,
					"na_ofi_getinfo() returned 0 candidate",
				).speaks("wrong-device"),
				says(Verbs, "na-send", rpMercury, "fi_tsend() ", "failed, rc: ").with("errno", "rc: -"),
				says(Verbs, "na-retry", rpMercury, "retry operation of ", " failed, rc: ").with("errno", "rc: -"),
				says(Verbs, "na-read-error", rpMercury, "fi_cq_readerr", "got err: ").with("errno", "got err: "),
				says(Verbs, "na-unreachable", rpMercury, "NA_HOSTUNREACH").as(evidence.Vague),
			},
			Causes: []Cause{
				maybe(Usual, "wrong-device",
					"the interface or domain isn't one of this node, has no IP address, or isn't of that provider",
					"hg_info; fi_info -p verbs; ip -br address",
					"fabric_iface and fabric_iface_port (OFI_INTERFACE and OFI_DOMAIN) of this node",
					onErrno(Strong, "no such device or provider", "61", "19", "99")),
				maybe(Usual, "memlock", "the limit of locked memory of the service is too low",
					"ulimit -l of the process; systemctl show daos_agent -p LimitMEMLOCK",
					"LimitMEMLOCK=infinity in the unit", onErrno(Strong, "errno 12: cannot allocate memory", "12")),
				maybe(Usual, "dead-peer", "the peer doesn't answer or was overloaded", "its log and state",
					"what it says; fewer clients at once",
					onErrno(Strong, "no answer", "113", "110", "111", "104", "107", "5")),
				maybe(Rare, "missing-library", "libfabric was built without the provider", "fi_info -l",
					"the libfabric that DAOS ships"),
			},
		},
		{
			ID: "RDX-839", Name: "disni", Title: "DiSNI (SparkRDMA, Crail) could not use RDMA",
			Explanation: "The server binds to the address that it is given: without an RDMA device there is no " +
				"context.",
			Sources:  []string{"zrlio/disni#28", "Mellanox/SparkRDMA#31", "Mellanox/SparkRDMA#11"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "disni-context", "zrlio/disni", "setting up protection domain, no context found").
					speaks("overlay-address"),
				says(Verbs, "disni-library", "Mellanox/SparkRDMA", "libdisni not found!").decides("missing-library"),
				says(Verbs, "disni-unsatisfied", "zrlio/disni", "no disni in java.library.path").
					decides("missing-library"),
				says(Verbs, "disni-channel", "zrlio/disni, libdisni", "j2c::createEventChannel: ", "failed").
					speaks("missing-library"),
				says(Verbs, "disni-cq", "zrlio/disni, libdisni", "j2c::createCQ: ibv_create_cq failed").
					speaks("library-defect"),
				says(Verbs, "disni-register", "zrlio/disni, libdisni", "j2c::regMr: ibv_reg_mr failed").
					speaks("memlock"),
			},
			Causes: []Cause{
				maybe(
					Usual,
					"overlay-address",
					"the address isn't on an RDMA interface: localhost, or another network",
					"rdma link; ip -br address",
					"-a with the address of the RDMA interface; with siw or rxe on lo "+
						"too",
				),
				maybe(Usual, "missing-library", "libdisni, libibverbs or the provider isn't there on every node",
					"ibv_devices; ls of java.library.path", "install them on driver and executors"),
				maybe(Rare, "memlock", "the limit of locked memory is too low", "ulimit -l of the JVM's parent",
					"memlock unlimited"),
				maybe(Rare, "library-defect", "libdisni and the program are of different releases",
					"the releases of the jar and of libdisni", "the same release"),
			},
		},
	}
}

func storagePrograms() []Symptom {
	return []Symptom{
		{
			ID: "RDX-840", Name: "ldms-rdma", Title: "LDMS could not use RDMA",
			Explanation: "The transport zap_rdma registers its memory and connects by rdma_cm.",
			Sources:     []string{rpLDMS, "ovis-hpc/ldms#1474"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "ldms-register", rpLDMS, "__rdma_buffer_pool_alloc:", "ibv_reg_mr() failed").
					speaks("memlock"),
				says(Verbs, "ldms-zap", rpLDMS, "ZAP_RDMA [", " failed"),
			},
			Causes: []Cause{
				maybe(Usual, "memlock", "the user's limit of locked memory is too low", "ulimit -l",
					"memlock unlimited for that user", onErrno(Strong, "errno 12", "12")),
				maybe(Usual, "nobody-listens", "no ldmsd listens with RDMA there", "ldmsd's options",
					"-x rdma:PORT:HOST"),
			},
		},
		{
			ID: "RDX-841", Name: "gluster-rdma", Title: "GlusterFS could not use its RDMA transport",
			Explanation: "The transport rdma was removed with GlusterFS 8: volumes over TCP on IPoIB remain.",
			Sources:     []string{rpGluster, "gluster/glusterfs#449"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "gluster-qp", rpGluster, "could not create QP", "gf_rdma_create_qp").speaks("memlock"),
				says(Verbs, "gluster-device", rpGluster, "creation of device for rdma").speaks("missing-library"),
				says(Verbs, "gluster-init", rpGluster, "initialization of rdma device failed"),
				says(Verbs, "gluster-type", "gluster/glusterfs, rpc/rpc-lib/src/rpc-transport.c",
					"rpc-transport/rdma.so",
					"cannot open shared object file").decides("missing-library"),
				says(Verbs, "gluster-listen", rpGluster, "creating 1 rdma listeners failed").as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Usual, "missing-library", "this release of GlusterFS has no RDMA transport, or it isn't "+
					"installed",
					"glusterfs --version; ls /usr/lib*/glusterfs/*/rpc-transport",
					"transport tcp over the IPoIB address"),
				maybe(Usual, "overlay-address", "the address isn't on an RDMA interface", "rdma link; ip -br address",
					"the RDMA interface's address", onErrno(Strong, "no RDMA device", "19", "99")),
				maybe(Rare, "memlock", "the limit of locked memory is too low", "ulimit -l of glusterd",
					"LimitMEMLOCK=infinity", onErrno(Strong, "errno 12", "12")),
			},
		},
		{
			ID: "RDX-842", Name: "beegfs-socket", Title: "BeeGFS could not make or keep an RDMA connection",
			Explanation: "Client and servers try RDMA first and then TCP, unless TCP is switched off.",
			Sources:     []string{rpBeeGFS, "ThinkParQ/beegfs#100"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "beegfs-qp", rpBeeGFS, "IBVSocket_", "couldn't create QP").speaks("device-limit"),
				says(Kernel, "beegfs-cq", rpBeeGFS, "IBVSocket_", "couldn't create ", " CQ").speaks("device-limit"),
				says(Kernel, "beegfs-buffers", rpBeeGFS, "IBVSocket_", "couldn't prepare ").speaks("host-memory"),
				says(Kernel, "beegfs-rkey", rpBeeGFS, "ib_get_dma_mr() not supported on this platform").
					decides("setting-invalid"),
				says(Kernel, "beegfs-unsafe", rpBeeGFS, "Unsafe global rkey not supported on this platform").
					decides("setting-invalid"),
				says(Kernel, "beegfs-connection", rpBeeGFS, "Connection error (wc_status: ").speaks("dead-peer"),
				says(Kernel, "beegfs-stale", rpBeeGFS, "stale connection retries").as(evidence.Vague),
				says(Kernel, "beegfs-no-rdma", rpBeeGFS, "beegfs_rdma_socket_create called with no rdma support").
					decides("missing-library"),
				says(Kernel, "beegfs-config", "ThinkParQ/beegfs, client_module", "beegfs: ", "The config argument '",
					" is invalid").decides("setting-invalid"),
			},
			Causes: []Cause{
				maybe(Usual, "dead-peer", "the server ended the connection or doesn't answer",
					"beegfs-net; the server's log",
					"what it says"),
				maybe(Rare, "device-limit", "connRDMABufNum or connRDMABufSize ask for more than the card has",
					"ibv_devinfo -v: max_qp_wr, max_cqe", "smaller values, the same on all nodes"),
				maybe(Rare, "host-memory", "no memory for the buffers", "free -m; dmesg", "fewer or smaller buffers"),
				maybe(Rare, "setting-invalid",
					"the configuration has an argument or value that this release or kernel doesn't know",
					"the file of the running release: beegfs-client.conf in its package",
					"take the argument out; connRDMAKeyType=register where dma and global aren't supported"),
				maybe(Rare, "missing-library", "libbeegfs-ib isn't installed", "packages", "install it"),
			},
		},
		{
			ID: "RDX-843", Name: "diod-rdma", Title: "rdma_get_cm_event failed",
			Explanation: "The kernel or the device refused the call. Programs that take its -1 for an error number " +
				"print 'Unknown error -1': the kernel's log, or strace, says more.",
			Sources: []string{"chaos/diod#107", "rdma_get_cm_event(3)"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "cm-event-unknown", "chaos/diod, libdiod/diod_rdma.c",
					"rdma_get_cm_event: Unknown error -1"),
				says(Verbs, "cm-event-errno", "rdma_get_cm_event(3)", "rdma_get_cm_event: ").
					not("Unknown error", "RDMA_CM_EVENT_", "nvme_rdma_", "nvmf_rdma_", "libfabric:"),
			},
			Causes: []Cause{
				maybe(Usual, "program-usage",
					"the program changed its user after it had opened rdma_cm, which the kernel refuses",
					"dmesg: changed security contexts after opening file descriptor",
					"a newer release that opens RDMA after the change; no change of user",
					onSeen("linux/ucma-context", "the kernel says so"), onErrno(Strong, "errno 13", "13")),
				maybe(Usual, "bad-nic", "the device was removed, or the channel closed", "dmesg", "what dmesg says"),
			},
		},
	}
}
