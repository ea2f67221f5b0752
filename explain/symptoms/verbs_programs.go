package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Source files of programs with verbs.
const (
	vbCeph  = "ceph/ceph, src/msg/async/rdma/Infiniband.cc"
	vbVMA   = "Mellanox/libvma, src/vma/dev/net_device_val.cpp"
	vbDPDK  = "DPDK, drivers/common/mlx5"
	vbEAL   = "DPDK, lib/eal/linux"
	vbNVMe  = "spdk/spdk, lib/nvme/nvme_rdma.c"
	vbNVMf  = "spdk/spdk, lib/nvmf/rdma.c"
	vbNVMfC = "spdk/spdk, lib/nvmf/ctrlr.c"
	vbUtils = "spdk/spdk, lib/rdma_utils/rdma_utils.c"
)

func verbsPrograms() []Symptom {
	return []Symptom{
		{
			ID: "RDX-530", Name: "ceph-rdma", Title: "Ceph's RDMA messenger could not start",
			Explanation: "ms_type async+rdma takes device, port and GID from the configuration, and ends if one " +
				"of them doesn't fit.",
			Sources: []string{vbCeph, "ceph/ceph#69614"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "ceph-open", vbCeph, "open rdma device failed"),
				says(Verbs, "ceph-port", vbCeph, "binding_port", "port not found").speaks("port-down"),
				says(Verbs, "ceph-gid", vbCeph, "Requested local GID was not found in GID table").decides("gid-index"),
				says(Verbs, "ceph-qp", vbCeph, "failed to create queue pair"),
				says(Verbs, "ceph-qp-hint", vbCeph,
					"try reducing ms_async_rdma_receive_queue_length").speaks("device-limit"),
				says(Verbs, "ceph-state", vbCeph, "failed to transition to ", " state: (").speaks("gid-index"),
				says(Verbs, "ceph-buffers", vbCeph,
					"WARNING: OUT OF RX BUFFERS").as(evidence.Vague).speaks("device-limit"),
				says(Verbs, "ceph-type", "ceph/ceph, src/msg/async/Stack.cc", "ms_async_transport_type ",
					" is not supported!").
					speaks("missing-library"),
			},
			Causes: []Cause{
				maybe(Usual, "memlock", "the limit of locked memory of the daemon is too low",
					"systemctl show ceph-osd@0 -p LimitMEMLOCK",
					"LimitMEMLOCK=infinity and PrivateDevices=no in the units of ceph-*",
					onErrno(Strong, "errno 12: cannot allocate memory", "12"),
					onSeen("verbs/ceph-memlock", "Ceph warns of the limit")),
				maybe(Usual, "no-device-node", "the unit or container may not open /dev/infiniband (PrivateDevices)",
					"systemctl show ceph-osd@0 -p PrivateDevices", "PrivateDevices=no, or the devices in the container",
					onErrno(Strong, "the device could not be opened", "1", "2", "13"), onLine(Hint, "ceph-open",
						"the device could not be opened")),
				maybe(Rare, "port-down", "the port of ms_async_rdma_port_num isn't active",
					"ibv_devinfo; rdmactl detect",
					"an active port, and ms_async_rdma_device_name"),
				maybe(Rare, "gid-index", "ms_async_rdma_local_gid or the GID's type doesn't fit this node",
					"show_gids",
					"ms_async_rdma_local_gid and ms_async_rdma_roce_ver of this node, or ms_async_rdma_gid_idx"),
				maybe(Rare, "device-limit", "the queues are longer than the device or the memory allows",
					"ibv_devinfo -v: max_qp_wr, max_srq_wr",
					"smaller ms_async_rdma_receive_queue_len, ms_async_rdma_send_buffers and "+
						"ms_async_rdma_buffer_size"),
				maybe(Rare, "missing-library", "this build of Ceph has no RDMA messenger",
					"ceph --version; ldd ceph-osd | grep ibverbs",
					"a build with WITH_RDMA=ON"),
			},
		},
		{
			ID: "RDX-531", Name: "pingpong", Title: "a test program of libibverbs could not use the device",
			Explanation: "ibv_rc_pingpong and its like take GID index 0 to be none: on RoCE they need -g.",
			Sources:     []string{vbPing, "SoftRoCE/rxe-dev#47"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "pingpong-gid", vbPing, "can't read sgid of index ").with("gidIndex",
					"of index ").speaks("gid-index"),
				says(Verbs, "pingpong-lid", vbPing, "Couldn't get local LID").speaks("subnet-manager", "gid-index"),
				says(Verbs, "pingpong-context", vbPing, "Couldn't get context for ").not(
					"the device").speaks("no-device-node"),
				says(Perftest, "pingpong-connect", vbPing, "Couldn't connect to remote QP").as(evidence.Vague),
				says(Verbs, "pingpong-read", vbPing, "Couldn't read/write remote address").as(evidence.Waiting),
				says(Verbs, "pingpong-qp", vbPing, "Couldn't create QP").as(evidence.Vague),
			},
			Causes: []Cause{
				maybe(Usual, "gid-index", "no GID index is given on RoCE, or it isn't in the table",
					"show_gids; ibv_devinfo: link_layer",
					"-g INDEX of the RoCE v2 GID on both sides"),
				maybe(Rare, "subnet-manager", "the port has no LID: no subnet manager", "ibv_devinfo: port_lid",
					"a subnet manager; on RoCE -g"),
				maybe(Rare, "no-device-node", "the device can't be opened", "ls -l /dev/infiniband",
					"the device nodes and their permissions"),
				maybe(Rare, "dead-peer", "the other side ended", "its output", "what it says",
					onLine(Strong, "pingpong-read", "the other side closed the connection")),
			},
		},
		{
			ID: "RDX-532", Name: "pyverbs", Title: "a call of pyverbs failed",
			Explanation: "The exception carries the error number of the verb.",
			Sources:     []string{"rdma-core, pyverbs"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "pyverbs-error", "rdma-core, pyverbs/pyverbs_error.py",
					"PyverbsRDMAError: ").not("Completion status"),
			},
			Causes: []Cause{
				maybe(Usual, "gid-index",
					"an attribute of the address doesn't fit: GID index, LID instead of GID, MTU, or port",
					"show_gids; ibv_devinfo: link_layer",
					"on InfiniBand LIDs, on RoCE is_global=1 with the GID index of the RoCE v2 GID",
					onErrno(Strong, "errno 22: an attribute was refused", "22"), onErrno(Strong,
						"no route to the peer", "110", "113", "101")),
				maybe(Rare, "memlock", "the limit of locked memory is too low", "ulimit -l", "ulimit -l unlimited",
					onErrno(Strong, "errno 12", "12")),
				maybe(Rare, "not-privileged", "the user may not do this", "ls -l /dev/infiniband; capabilities",
					"CAP_NET_RAW, or the permissions",
					onErrno(Strong, "errno 1 or 13", "1", "13")),
				maybe(Rare, "driver-refuses", "the device doesn't have the feature", "ibv_devinfo -v",
					"another device or transport",
					onErrno(Strong, "errno 95: not supported", "95", "93", "38")),
				maybe(Rare, "no-device-node", "the device isn't there", "ibv_devices", "the device's name and nodes",
					onErrno(Strong, "no such device", "19", "2"), onText(Strong, "Failed to find device",
						"the name isn't there")),
			},
		},
	}
}

func dpdkSymptoms() []Symptom {
	return []Symptom{
		{
			ID: "RDX-533", Name: "dpdk-hugepages", Title: "DPDK or SPDK got no huge pages",
			Explanation: "The environment takes its memory from huge pages that are reserved before.",
			Sources:     []string{vbEAL}, Standing: evidence.Origin,
			Lines: []Line{
				says(Verbs, "eal-hugepage-info", vbEAL, "Cannot get hugepage information"),
				says(Verbs, "eal-init-memory", vbEAL, "FATAL: Cannot init memory").as(evidence.Failed),
				says(Verbs, "eal-hugetlbfs", vbEAL, "but no mounted hugetlbfs found for that size"),
				says(Verbs, "eal-no-free", vbEAL, "No free hugepages reported in hugepages-2048kB").as(evidence.Vague),
				says(Verbs, "eal-not-enough", vbEAL, "Not enough memory available on socket ").as(evidence.Failed),
				says(Verbs, "eal-prealloc", vbEAL, "Cannot preallocate ", "hugepages").as(evidence.Failed),
			},
			Causes: []Cause{
				maybe(Common+Strong, "no-hugepages",
					"no huge pages are reserved, too few are free, or hugetlbfs isn't mounted",
					"grep Huge /proc/meminfo; mount | grep hugetlbfs",
					"sysctl vm.nr_hugepages=N (SPDK: HUGEMEM=4096 scripts/setup.sh); in a pod the resource "+
						"hugepages-2Mi"),
			},
		},
		{
			ID: "RDX-534", Name: "dpdk-mlx5", Title: "DPDK's mlx5 or mlx4 driver could not use the card",
			Explanation: "The driver works beside the kernel's one: it needs mlx5_core and mlx5_ib loaded, the " +
				"device in /dev/infiniband, rdma-core, and the port in Ethernet mode. The card must not be bound " +
				"to vfio-pci.",
			Sources:  []string{vbDPDK, "k8snetworkplumbingwg/sriov-network-device-plugin#123", "bytedance/libtpa#14"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "mlx5-no-match", vbDPDK, "No Verbs device matches PCI device").with("device",
					"PCI device "),
				says(Verbs, "mlx5-not-found", vbDPDK, "Verbs device not found: ").as(evidence.Echo),
				says(Verbs, "mlx5-drivers", vbDPDK, "are kernel drivers loaded?"),
				says(Verbs, "mlx5-glue", vbDPDK, "annot load glue library").decides("missing-library"),
				says(Verbs, "mlx5-dependency", vbDPDK,
					"run-time dependency on rdma-core libraries").decides("missing-library"),
				says(Verbs, "mlx5-glue-version", vbDPDK, "rdma-core glue ", " mismatch").speaks("version-mismatch"),
				says(Verbs, "mlx5-ethernet", "DPDK, drivers/net/mlx5/linux/mlx5_os.c",
					"port is not configured in Ethernet mode").
					decides("port-link-type"),
				says(Verbs, "mlx5-aborted", vbDPDK, "probe of PCI device ", "aborted after encountering an error"),
				says(Verbs, "mlx5-priority", "DPDK, drivers/net/mlx5/mlx5_flow.c", "maximum priority: ",
					"expected 8/16").speaks("not-privileged"),
				says(Verbs, "mlx5-devx-caps", vbDPDK, "Unable to read HCA caps in DevX mode").speaks("not-privileged"),
				says(Verbs, "mlx5-mac", "DPDK, drivers/net/mlx5/linux/mlx5_os.c",
					"cannot get MAC address, is mlx5_en").speaks("foreign-device"),
				says(Verbs, "mlx5-representors", "DPDK, drivers/net/mlx5/linux/mlx5_os.c",
					"unable to recognize master/representors on the IB device").
					speaks("foreign-device"),
				says(Verbs, "mlx5-context", vbDPDK,
					"mlx5_common: Failed to initialize device context").as(evidence.Echo),
				says(Verbs, "mlx5-load", vbDPDK, "Failed to load driver = mlx5").as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Usual, "module-missing",
					"the kernel's driver isn't there: mlx5_ib isn't loaded, or the function is bound to vfio-pci",
					"ls /sys/class/infiniband; lspci -k -s DEVICE",
					"modprobe mlx5_ib ib_uverbs; bind the function to mlx5_core again",
					onLine(Hint, "mlx5-no-match", "no verbs device has that PCI address"), onErrno(Hint, "errno 2",
						"2")),
				maybe(Usual, "no-device-node",
					"the pod has no /dev/infiniband/uverbs* for the function (isRdma of the device plugin)",
					"ls /dev/infiniband in the container",
					"\"isRdma\": true in the device plugin's resource, or the devices",
					onErrno(Hint, "errno 2: a file isn't there", "2"), onLine(Hint, "mlx5-no-match",
						"no verbs device has that PCI address")),
				maybe(Rare, "not-privileged",
					"the process lacks CAP_NET_RAW, CAP_NET_ADMIN or CAP_IPC_LOCK: the card refuses its flows",
					"capsh --print in the container", "NET_RAW, NET_ADMIN and IPC_LOCK",
					onErrno(Strong, "not permitted", "1", "13"), onErrno(Hint, "errno 95", "95")),
				maybe(Rare, "missing-library", "DPDK can't load rdma-core's libibverbs and libmlx5",
					"ldconfig -p | grep -E 'ibverbs|mlx5'",
					"install rdma-core (libibverbs-dev when building)"),
				maybe(Rare, "version-mismatch", "rdma-core or OFED is older than this DPDK wants",
					"ofed_info -s; the glue's version",
					"matching releases: DPDK's guide of the mlx5 driver lists them"),
				maybe(Rare, "port-link-type", "the port is in InfiniBand mode, and the driver needs Ethernet",
					"ibv_devinfo: link_layer",
					"mstconfig -d DEVICE set LINK_TYPE_P1=2, and a reset"),
				maybe(Rare, "foreign-device", "the interface of the card is in another network namespace",
					"ip link in the pod",
					"the interface in the pod's namespace"),
				maybe(Rare, "resource-limit",
					"the card or its firmware refused: no more objects, or SR-IOV settings", "dmesg | grep mlx5",
					"what dmesg says", onErrno(Strong, "errno 12: out of memory", "12")),
			},
		},
	}
}

func vmaSymptoms() []Symptom {
	return []Symptom{
		{
			ID: "RDX-535", Name: "vma-offload", Title: "libvma can't offload an interface",
			Explanation: "libvma maps each interface with an IP address to an RDMA device. VLANs, bonds and " +
				"bridges have none of their own, and not all ways to stack them are supported.",
			Sources:  []string{vbVMA, "Mellanox/libvma#31", "Mellanox/libvma#109", "Mellanox/libvma#691"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "vma-resource", "Mellanox/libvma, src/vma/util/utils.cpp",
					"ERROR while opening file /sys/class/net/", "/device/").
					with("path", "opening file ").speaks("interface-unsupported"),
				says(Verbs, "vma-privilege", vbVMA,
					"Offloaded resources are restricted to root or user with CAP_NET_RAW").
					as(evidence.Origin).decides("not-privileged"),
				says(Verbs, "vma-qp", vbVMA, "VMA was not able to create QP for this device (errno").with("errno",
					"errno = "),
				says(Verbs, "vma-not-offloaded", vbVMA, "will not be offloaded", "VMA").as(evidence.Vague),
				says(Verbs, "vma-lag", vbVMA,
					"VMA cannot offload the device while RoCE LAG is enabled").as(evidence.Origin).
					decides("interface-unsupported"),
				says(Verbs, "vma-vlan-bond", vbVMA,
					"vlan over bond while fail_over_mac=1 is not offloaded").decides("interface-unsupported"),
				says(Verbs, "vma-bond", vbVMA,
					"VMA doesn't support current bonding configuration").speaks("interface-unsupported"),
				says(Verbs, "vma-ring", "Mellanox/libvma, src/vma/dev/ring_simple.cpp", "VMA PANIC",
					"ring[").as(evidence.Vague).
					speaks("interface-unsupported"),
				says(Verbs, "vma-flow", "Mellanox/libvma, src/vma/dev/ib_ctx_handler_collection.cpp",
					"VMA will not operate properly while flow steering").
					as(evidence.Origin).decides("flow-steering-off"),
			},
			Causes: []Cause{
				maybe(Usual, "interface-unsupported",
					"the interface is a VLAN, bond or bridge that this release can't map to an RDMA device",
					"ip -d link show INTERFACE; VMA_TRACELEVEL=debug: 'Blocking offload'",
					"a newer libvma (or XLIO), a supported bond (active-backup or 802.3ad, roce_lag_enable 0), or "+
						"the physical interface"),
				maybe(Rare, "not-privileged", "the process has no CAP_NET_RAW", "getcap of the program",
					"setcap cap_net_raw,cap_net_admin+ep",
					onErrno(Strong, "not permitted", "1", "13")),
				maybe(Rare, "flow-steering-off", "flow steering of mlx4 is off",
					"cat /sys/module/mlx4_core/parameters/log_num_mgm_entry_size",
					"options mlx4_core log_num_mgm_entry_size=-1, and reload"),
				maybe(Rare, "device-limit", "VMA_RX_WRE or VMA_TX_WRE is larger than the device has",
					"ibv_devinfo -v: max_qp_wr",
					"smaller values", onErrno(Strong, "errno 22", "22")),
				maybe(Rare, "memlock", "the limit of locked memory is too low", "ulimit -l", "ulimit -l unlimited",
					onErrno(Strong, "errno 12", "12")),
			},
		},
	}
}
