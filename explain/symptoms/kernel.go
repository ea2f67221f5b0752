package symptoms

import (
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// Folders of the kernel's source.
const (
	knNVMe   = "Linux, drivers/nvme/host/rdma.c"
	knFabric = "Linux, drivers/nvme/host/fabrics.c"
	knNVMet  = "Linux, drivers/nvme/target/rdma.c"
	knNFS    = "Linux, net/sunrpc/xprtrdma"
	knLNet   = "lustre-release, lnet/klnds/o2iblnd"
	knMlx5   = "Linux, drivers/net/ethernet/mellanox/mlx5/core"
	knBnxt   = "Linux, drivers/net/ethernet/broadcom/bnxt"
	knIPoIB  = "Linux, drivers/infiniband/ulp/ipoib"
	knSRP    = "Linux, drivers/infiniband/ulp"
	knRxe    = "Linux, drivers/infiniband/sw"
	knModule = "Linux, kernel/module; kmod, modprobe"
)

func kernelSymptoms() []Symptom {
	return slices.Concat(kernelNVMe(), kernelNFS(), kernelLustre(), kernelOthers(), kernelMlx5(), kernelCards(),
		kernelIPoIB(), kernelSoft(), kernelModules(), kernelHost(), kernelGPU())
}

func kernelNVMe() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-540", Name: "nvme-connect-rejected",
			Title: "the NVMe target answered and refused the Connect command",
			Explanation: "The RDMA connection works: the answer is NVMe's. Status 2 is an invalid field, which " +
				"older targets give for a keep-alive timeout on a discovery controller; 0x182 (386) is " +
				"another invalid parameter, such as the subsystem's NQN, 0x184 (388) a host that isn't allowed. " +
				"0x370 (880) and 0x371 (881) are the host's own: the path was lost while the command was on its way.",
			Sources:  []string{knFabric, "linux-nvme/nvme-cli#867", "linux-nvme/nvme-cli#3268"},
			Standing: evidence.Origin,
			Lines: []Line{
				says(
					Kernel,
					"nvme-connect-status",
					knFabric,
					"Connect command failed, error wo/DNR bit: ",
				).with("status", "DNR bit: ").
					not("error wo/DNR bit: -", "error wo/DNR bit: 880", "error wo/DNR bit: 881"),
				says(
					Kernel,
					"nvme-connect-path",
					knFabric,
					"Connect command failed, error wo/DNR bit: ",
				).with("status", "DNR bit: ").
					as(evidence.Vague).
					speaks("dead-peer"),
				says(Kernel, "nvme-connect-nqn", knFabric, "Connect Invalid Data Parameter").speaks("target-refuses"),
				says(Kernel, "nvme-connect-sqe", knFabric, "Connect Invalid SQE Parameter").speaks("version-mismatch"),
				says(Kernel, "nvme-connect-host", knFabric, "Connect for subsystem ",
					" is not allowed, hostnqn").decides("target-refuses"),
				says(Kernel, "nvme-connect-busy", knFabric,
					"Connect command failed: controller is busy").speaks("target-refuses"),
				says(Kernel, "nvme-connect-auth", knFabric,
					"Connect command failed: authentication required").decides("target-refuses"),
				says(Kernel, "nvme-connect-queue", knFabric, "failed to connect queue: ", " ret=").as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Common, "version-mismatch", "the target doesn't accept a parameter of the Connect command: "+
					"an older target and a newer host, such as a keep-alive timeout for discovery",
					"the target's log; the releases of both; nvme discover -k 0",
					"a newer target, or a host (kernel, nvme-cli) that sends no keep-alive timeout for discovery",
					Clue{
						Weight: Strong, Field: "status", Is: []string{"2", "16386"},
						Text: "status 2: invalid field in the command",
					}),
				maybe(Usual, "target-refuses",
					"the target's configuration doesn't let this host in, or has no such subsystem",
					"the target's allowed_hosts and subsystems; /etc/nvme/hostnqn",
					"allow the host's NQN, or attr_allow_any_host; the right subsystem",
					Clue{
						Weight: Strong, Field: "status", Is: []string{"386", "388", "16770", "16772"},
						Text: "the NQN or host is refused",
					}),
				maybe(Rare, "dead-peer", "the path broke while the command was on its way", "dmesg of both",
					"what the lines before say",
					Clue{
						Weight: Strong, Field: "status", Is: []string{"881", "880"},
						Text: "status 0x371: the path went away",
					}),
			},
		},
		{
			ID: "RDX-584", Name: "kernel-lockdown", Title: "the kernel's lockdown refuses a direct access to hardware",
			Explanation: "With secure boot the kernel is locked down: tools that write the configuration space of " +
				"a card, such as older mstflint, can't.",
			Sources:  []string{"kernel_lockdown(7)", "Linux, security/lockdown/lockdown.c"},
			Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "lockdown", "Linux, security/lockdown/lockdown.c",
					"is restricted; see man kernel_lockdown").
					decides("kernel-lockdown"),
				says(Kernel, "lockdown-audit", "Linux, security/selinux", "lockdown_reason=", "denied").
					decides("kernel-lockdown"),
			},
			Causes: []Cause{
				maybe(Common, "kernel-lockdown", "the kernel is locked down (secure boot, or a policy of SELinux)",
					"cat /sys/kernel/security/lockdown; mokutil --sb-state",
					"a newer mstflint (4.18 or later), which goes through the driver; or secure boot off"),
			},
		},
		{
			ID: "RDX-585", Name: "inline-size", Title: "a queue pair asks for more inline data than the card has",
			Explanation: "Programs ask for an inline size of their own, which cards of other makers may not have.",
			Sources:     []string{"Linux, drivers/infiniband/hw/qedr/verbs.c", "linux-rdma/perftest#139"},
			Standing:    evidence.Origin,
			Lines: []Line{
				says(Kernel, "qedr-inline", "Linux, drivers/infiniband/hw/qedr/verbs.c",
					"unsupported inline data size=").
					decides("device-limit"),
			},
			Causes: []Cause{
				maybe(Common, "device-limit", "the program's inline size is above the card's limit",
					"ibv_devinfo -v; the number in the line", "-I with perftest, or the program's own setting"),
			},
		},
		{
			ID: "RDX-586", Name: "vf-pending",
			Title: "the driver refuses to change virtual functions: another change hangs",
			Explanation: "The card or its driver has not finished an earlier change. A process that writes " +
				"sriov_numvfs hangs with it.",
			Sources:  []string{"Linux, drivers/net/ethernet/intel/i40e/i40e_virtchnl_pf.c"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "i40e-pending", "Linux, drivers/net/ethernet/intel/i40e/i40e_virtchnl_pf.c",
					"Unable to configure VFs, other operation is pending").speaks("card-firmware"),
			},
			Causes: []Cause{
				maybe(Common, "card-firmware", "the card or its driver hangs in a change of its virtual functions",
					"dmesg before the line; cat /proc/PID/stack of the writer",
					"reboot the node; newer firmware and driver"),
			},
		},
		{
			ID: "RDX-587", Name: "old-firmware", Title: "the card's firmware is older than the driver wants",
			Explanation: "The driver works without what the firmware lacks, or doesn't register the RDMA device.",
			Sources:     []string{"Linux, drivers/net/ethernet/mellanox/mlx4/en_main.c"},
			Standing:    evidence.Vague,
			Lines: []Line{
				says(Kernel, "mlx4-later-firmware", "Linux, drivers/net/ethernet/mellanox/mlx4",
					"please upgrade to later FW").speaks("driver-firmware"),
			},
			Causes: []Cause{
				maybe(Usual, "driver-firmware", "the firmware is too old for this driver",
					"ethtool -i; mstflint -d PCI q",
					"the firmware that the card's maker has for this driver"),
			},
		},
		{
			ID: "RDX-583", Name: "nvme-host-identity", Title: "the name or ID of this NVMe host is missing or wrong",
			Explanation: "A host has one NQN and one ID, in /etc/nvme. The kernel refuses a connection without a " +
				"name, and a second name for the same ID.",
			Sources:  []string{knFabric, "linux-nvme/nvme-cli#622", "kubernetes-csi/csi-driver-nvmf#34"},
			Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "nvme-same-hostid", knFabric, "found same hostid ", "but different hostnqn").
					decides("host-nqn"),
				says(Kernel, "nvme-same-hostnqn", knFabric, "found same hostnqn ", "but different hostid").
					decides("host-nqn"),
				says(Kernel, "nvme-no-hostnqn", knFabric, "missing value 'hostnqn=").decides("host-nqn"),
				says(Kernel, "nvme-no-hostid", knFabric, "missing value 'hostid=").decides("host-nqn"),
				says(Kernel, "nvme-bad-hostid", knFabric, "Invalid hostid ", "nvme").decides("host-nqn"),
			},
			Causes: []Cause{
				maybe(Common, "host-nqn", "the host's NQN or ID is empty, or doesn't fit the other one",
					"cat /etc/nvme/hostnqn /etc/nvme/hostid; --hostnqn and --hostid of the command",
					"nvme gen-hostnqn > /etc/nvme/hostnqn; one pair of NQN and ID for each host"),
			},
		},
		{
			ID: "RDX-541", Name: "nvme-rdma-connect", Title: "NVMe over RDMA could not connect to the target",
			Explanation: "The host's side of rdma_cm failed. -111 and -104: nobody listens there with RDMA, or " +
				"the target refused; -110: no answer; -19 and -22: the device can't do it.",
			Sources: []string{
				knNVMe, "spdk/spdk#697", "spdk/spdk#257", "linux-nvme/nvme-cli#2648", "spdk/spdk#900",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "nvme-rdma-established", knNVMe, "rdma connection establishment failed (").with("errno",
					"failed (-"),
				says(Kernel, "nvme-rdma-resolve", knNVMe, "rdma_resolve_addr wait failed (", "nvme").with("errno",
					"failed (-"),
				says(Kernel, "nvme-rdma-addr", knNVMe, "rdma_resolve_addr failed (-").with("errno", "failed (-"),
				says(Kernel, "nvme-rdma-rejected", knNVMe, "Connect rejected: status "),
				says(Kernel, "nvme-fabrics-write", "linux-nvme/nvme-cli",
					"ailed to write to /dev/nvme-fabrics: ").as(evidence.Vague),
				says(Kernel, "nvme-fabrics-new", "linux-nvme/libnvme",
					"ailed to write to nvme-fabrics device").as(evidence.Vague),
				says(Kernel, "nvme-reconnect", knNVMe, "Failed reconnect attempt ", "nvme").as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Usual, "module-missing",
					"nvme_rdma isn't loaded: not installed, OFED's empty one, or one built for other RDMA modules",
					"dmesg: no handler found for transport, unknown symbol; modinfo nvme_rdma; lsmod | grep nvme_rdma",
					"modprobe nvme_rdma; mlnxofedinstall --with-nvmf, or the kernel's RDMA modules throughout",
					onText(Strong, "/dev/nvme-fabrics: Invalid argument",
						"so a transport without its module is refused")),
				maybe(Usual, "nobody-listens", "no NVMe/RDMA target listens on that address and port, or it refused",
					"on the target: rdma resource show cm_id; its log",
					"start the target's RDMA listener on that address and port (4420)",
					onErrno(Strong, "refused or reset", "111", "104", "5"), onText(Strong, "invalid service ID",
						"nobody listens on that port")),
				maybe(Usual, "driver-refuses", "the device or its driver lacks what NVMe needs: memory management "+
					"extensions (siw, old rxe), or signature offload",
					"dmesg of host and target: fast registration, MR pool; ibv_devinfo -v",
					"another device or driver; newer kernel or OFED",
					onErrno(Strong, "errno 22: refused by the driver", "22"), onErrno(Hint, "errno 111",
						"111"),
					onSeen("linux/nvme-mr-pool", "the pool of memory regions was refused")),
				maybe(Usual, "overlay-address",
					"the address isn't on an RDMA interface of this node or of the target",
					"ip route get ADDRESS; rdma link",
					"the target's RDMA address, over the RDMA interface (host-traddr)",
					onErrno(Strong, "errno 19: no device", "19", "99", "101"),
					onErrno(Hint, "errno 104", "104")),
				maybe(Rare, "udp-blocked",
					"the target doesn't answer: UDP 4791 is dropped, or the networks aren't connected",
					"rdmactl doctor --probe PEER", "the path", onErrno(Strong,
						"errno 110: no answer", "110")),
				maybe(Rare, "target-refuses", "the controller exists already, or the target refuses the host",
					"nvme list-subsys; the target's log",
					"nvme disconnect first", onErrno(Strong, "errno 114: already connected", "114")),
			},
		},
		{
			ID: "RDX-542", Name: "nvme-rdma-resources",
			Title:       "NVMe over RDMA could not make its queues or memory regions",
			Explanation: "The driver or the card refused.",
			Sources:     []string{knNVMe, "openucx/ucx#9488"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "nvme-mr-pool", knNVMe, "ailed to initialize ", "mr pool sized ").as(evidence.Origin),
				says(Kernel, "nvme-mr-pool-old", knNVMe, "ailed to initialize MR pool sized "),
				says(Kernel, "nvmet-create-qp", knNVMet, "nvmet_rdma: failed to create_qp ret= "),
				says(Kernel, "nvmet-create-cq", knNVMet, "nvmet_rdma: failed to create CQ cqe= "),
				says(Kernel, "nvme-mem-ext", knNVMe, "Memory registrations not supported").decides("driver-refuses"),
			},
			Causes: []Cause{
				maybe(Usual, "driver-refuses", "the driver refuses regions for protection information (T10-PI) or "+
					"the like: a known defect of MLNX_OFED with some firmware",
					"the syndrome of mlx5_cmd in dmesg; the release notes",
					"another OFED or the kernel's driver; newer firmware; nvme_rdma without signature offload",
					onText(Strong, "pi mr pool", "the pool is for protection information")),
				maybe(Usual, "resource-limit", "the card has no more regions or queue pairs", "rdma resource show",
					"fewer queues (nvme connect -i 8)",
					onErrno(Strong, "errno 12", "12")),
			},
		},
		{
			ID: "RDX-543", Name: "nvme-transport-module",
			Title:       "the kernel has no module for NVMe over this transport",
			Explanation: "nvme_rdma isn't loaded, or was built for other RDMA modules.",
			Sources:     []string{knFabric}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "nvme-no-handler", knFabric, "no handler found for transport rdma"),
				says(Kernel, "nvmet-no-handler", "Linux, drivers/nvme/target/core.c", "nvmet: transport type ",
					"not supported"),
				says(Kernel, "nvme-no-fabrics", "linux-nvme/nvme-cli",
					"Failed to open /dev/nvme-fabrics: No such file").speaks("module-missing"),
			},
			Causes: []Cause{
				maybe(Common, "module-missing",
					"nvme_rdma (host) or nvmet_rdma (target) isn't loaded: with OFED it must be installed with it",
					"modprobe nvme_rdma; dmesg: disagrees about version of symbol",
					"modprobe nvme_rdma; mlnxofedinstall --with-nvmf"),
			},
		},
		{
			ID: "RDX-544", Name: "nvme-target", Title: "the kernel's NVMe target refused or could not listen",
			Explanation: "nvmet names subsystem, host and address in its lines.",
			Sources:     []string{knNVMet, "Linux, drivers/nvme/target/core.c"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "nvmet-host", "Linux, drivers/nvme/target/core.c", "nvmet: connect by host ",
					"not allowed").decides("target-refuses"),
				says(Kernel, "nvmet-subsystem", "Linux, drivers/nvme/target/core.c",
					"connect request for invalid subsystem ", "nvmet: ").decides("target-refuses"),
				says(Kernel, "nvmet-bind", knNVMet, "nvmet_rdma: binding CM ID to ", " failed (").with("errno",
					"failed (-"),
				says(Kernel, "nvmet-listen", knNVMet, "nvmet_rdma: listening to ", " failed (").with("errno",
					"failed (-"),
				says(Kernel, "nvmet-keepalive", "Linux, drivers/nvme/target/core.c", "nvmet: ctrl ",
					"keep-alive timer", "expired").as(evidence.Failed).
					speaks("dead-peer"),
			},
			Causes: []Cause{
				maybe(Usual, "target-refuses", "the host or the subsystem isn't configured on the target",
					"nvmetcli ls: allowed_hosts", "add it"),
				maybe(Usual, "overlay-address", "the address of the port isn't that of an RDMA interface",
					"rdma link; ip -br address",
					"addr_traddr of the RDMA interface", onErrno(Strong, "no RDMA device has the address", "19",
						"99")),
				maybe(Rare, "port-in-use", "another target has the port", "rdma resource show cm_id", "another port",
					onErrno(Strong, "errno 98", "98")),
				maybe(Rare, "dead-peer", "the host is gone or can't send keep-alives", "the host's dmesg",
					"what it says"),
			},
		},
	}
}

func kernelNFS() []Symptom {
	return []Symptom{
		{
			ID: "RDX-545", Name: "nfs-rdma-message",
			Title: "NFS over RDMA received a message that its buffer can't hold, or a broken one",
			Explanation: "Client and server agree on an inline size for each connection. A longer message ends " +
				"the receive with a local length error: the two implementations disagree, which changes of kernel " +
				"or of NFS version bring.",
			Sources: []string{knNFS, "openzfs/zfs#6795"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "nfs-recv-length", knNFS, "rpcrdma: Recv: local length error"),
				says(Kernel, "nfs-svc-length", knNFS, "svcrdma: Recv: local length error"),
			},
			Causes: []Cause{
				maybe(Common+Usual, "defect:nfs-rdma-v4", "NFS version 4 over RDMA of these kernels sends more "+
					"than the receive buffer holds: a defect of the kernel's xprtrdma or svcrdma",
					"the same mount with vers=3; uname -r on both sides",
					"vers=3, or newer kernels on both sides"),
				maybe(Usual, "version-mismatch", "client and server have different inline sizes or kernels",
					"sysctl sunrpc.rdma_max_inline_read and svc_rdma.max_req_size on both",
					"the same values and releases"),
			},
		},
		{
			ID: "RDX-546", Name: "nfs-rdma-connection", Title: "NFS over RDMA lost or could not make its connection",
			Explanation: "The number is the reason: -111 nobody listens with RDMA on that port (20049), -101 no " +
				"answer, -103 the other side closed, which servers also do with connections that are idle.",
			Sources: []string{knNFS, "NVIDIA/deepops#1189"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "nfs-closed-idle", knNFS, "rpcrdma: connection to ", " closed (-103)").
					as(evidence.Vague),
				says(Kernel, "nfs-closed", knNFS, "rpcrdma: connection to ", " closed (").with("errno", "closed (-"),
				says(Kernel, "nfs-rejected", knNFS, "rpcrdma: connection to ", " rejected: "),
				says(Kernel, "nfs-remote-access", knNFS, "rpcrdma: ",
					"remote access error").speaks("defect:nfs-rdma-v4"),
				says(Kernel, "nfs-retry", knNFS, "rpcrdma: ", "retry counter exceeded").speaks("udp-blocked"),
				says(Kernel, "mount-nfs", "nfs-utils, mount.nfs", "mount.nfs: ", "rdma").not("trying text-based"),
			},
			Causes: []Cause{
				maybe(Usual, "nobody-listens", "the server has no NFS/RDMA listener on that port",
					"cat /proc/fs/nfsd/portlist on the server: rdma 20049",
					"modprobe svcrdma (rpcrdma); rdma=y in /etc/nfs.conf, or echo rdma 20049 > /proc/fs/nfsd/portlist",
					onErrno(Strong, "errno 111: refused", "111"), onText(Strong, "rejected",
						"the server rejected the connection")),
				maybe(Usual, "udp-blocked", "the server doesn't answer over RDMA",
					"rdmactl doctor --probe PEER; rping",
					"the RDMA path; the address of the RDMA interface in the mount",
					onErrno(Strong, "errno 101: unreachable", "101", "110")),
				maybe(Usual, "dead-peer", "the other side closed the connection", "the other side's dmesg",
					"what it says",
					onErrno(Strong, "errno 103: aborted", "103", "107")),
				maybe(Rare, "defect:nfs-rdma-v4", "a defect of NFS over RDMA in this kernel",
					"another kernel; vers=3", "a newer kernel"),
			},
		},
		{
			ID: "RDX-547", Name: "nfs-rdma-service", Title: "the NFS server could not listen on RDMA",
			Explanation: "rpc.nfsd asks the kernel for the transport 'rdma', which the module rpcrdma (svcrdma) " +
				"has. If RDMA isn't wanted, the line is harmless.",
			Sources: []string{"nfs-utils, rpc.nfsd"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "nfsd-rdma", "nfs-utils, utils/nfsd/nfssvc.c", "Unable to request RDMA services"),
			},
			Causes: []Cause{
				maybe(Common, "module-missing",
					"rpcrdma (svcrdma) isn't loaded, or was built for other RDMA modules",
					"modprobe rpcrdma; dmesg",
					"modprobe rpcrdma; with OFED its package nfs-rdma (mlnx-nfsrdma); or rdma=n in /etc/nfs.conf",
					onErrno(Strong, "errno 93: the transport isn't known", "93")),
				maybe(Rare, "overlay-address", "no RDMA device can be bound", "rdma link", "an RDMA device",
					onErrno(Strong, "errno 19", "19")),
			},
		},
	}
}

func kernelLustre() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-548", Name: "lnet-interface", Title: "LNet could not use its InfiniBand interface",
			Explanation: "ko2iblnd needs the IPoIB (or RoCE) interface with an IP address when LNet starts. At " +
				"boot LNet may come before the network.",
			Sources: []string{knLNet, "stackhpc/ansible-slurm-appliance#561"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "lnetctl-query", "lustre-release, lnet/utils/lnetconfig",
					"couldn't query intf ").with("device", "query intf "),
				says(Kernel, "lnet-query", knLNet, "Can't query IPoIB interface ").with("device", "interface "),
				says(Kernel, "lnet-no-interface", knLNet, "ko2iblnd: No matching interfaces"),
				says(Kernel, "lnet-bind", knLNet, "Failed to bind ", " to device(").with("device", "bind "),
				says(Kernel, "lnet-start", "lustre-release, lnet/lnet/api-ni.c", "starting up LNI o2ib"),
				says(Kernel, "lnetctl-add", "lustre-release, lnet/utils/lnetconfig", "cannot add network: ",
					"descr: "),
			},
			Causes: []Cause{
				maybe(Common, "interface-not-ready", "the interface doesn't exist yet, is down or has no IP "+
					"address when LNet starts: at boot the order is a race",
					"ip -br address; systemctl restart lnet now that it is up",
					"order lnet.service after the network (After=network-online.target, and the interface's "+
						"device unit), or retry"),
				maybe(Usual, "interface-choice",
					"the name in lnet.conf or in options lnet networks= isn't that of this node",
					"ip link; lnetctl net show",
					"the name of the interface on this node"),
				maybe(Rare, "module-missing", "the card's driver or ib_ipoib isn't loaded",
					"ibstat; lsmod | grep ib_ipoib", "load it"),
			},
		},
		{
			ID: "RDX-549", Name: "lnet-connect", Title: "LNet could not connect to a peer over o2ib",
			Explanation: "The event names the step: address, route, connection, or a refusal of the peer's LNet.",
			Sources:     []string{knLNet}, Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "lnet-no-listener", knLNet, " rejected: no listener at ").speaks("nobody-listens"),
				says(Kernel, "lnet-queue-depth", knLNet,
					"rejected: incompatible message queue depth").decides("version-mismatch"),
				says(Kernel, "lnet-fragments", knLNet,
					"rejected: incompatible # of RDMA fragments").decides("version-mismatch"),
				says(Kernel, "lnet-o2iblnd", knLNet, "rejected: o2iblnd "),
				says(Kernel, "lnet-addr-error", knLNet, ": ADDR ERROR -", "kiblnd_").with("errno",
					"ERROR -").speaks("rails-not-connected"),
				says(Kernel, "lnet-route-error", knLNet, ": ROUTE ERROR -", "kiblnd_").with("errno",
					"ERROR -").speaks("subnet-manager"),
				says(Kernel, "lnet-unreachable", knLNet, ": UNREACHABLE -", "kiblnd_").with("errno",
					"UNREACHABLE -").speaks("dead-peer"),
				says(Kernel, "lnet-connect-error", knLNet, ": CONNECT ERROR -", "kiblnd_").with("errno", "ERROR -"),
			},
			Causes: []Cause{
				maybe(Usual, "dead-peer", "the server or router is down, or has gone from the fabric",
					"lnetctl ping NID; the server's state", "bring it back"),
				maybe(Usual, "rails-not-connected", "the peer's IPoIB address isn't reachable from this interface",
					"ping -I INTERFACE ADDRESS; lnetctl peer show", "the same network for both; LNet's routes"),
				maybe(Rare, "nobody-listens", "LNet doesn't run on the peer, or on another network",
					"lctl list_nids on the peer", "start it; the right NID"),
				maybe(Rare, "subnet-manager", "the subnet manager gives no path", "rdmactl fabric sm",
					"a working subnet manager"),
				maybe(Rare, "version-mismatch", "queue depth or fragments differ between the nodes",
					"options ko2iblnd: peer_credits, concurrent_sends, map_on_demand on both",
					"the same options of ko2iblnd on all nodes"),
			},
		},
		{
			ID: "RDX-550", Name: "lnet-timeout", Title: "an LNet transfer over o2ib timed out",
			Explanation: "The peer stopped answering: its node hangs, the fabric loses packets, or credits are " +
				"used up.",
			Sources: []string{knLNet, "jade-hpc-gpu/jade-hpc-gpu.github.io#14"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "lnet-tx-timeout", knLNet, "kiblnd_check_", "Timed out tx"),
				says(Kernel, "lnet-rdma-timeout", knLNet, "kiblnd_check_", "Timed out RDMA"),
				says(Kernel, "lnet-tx-complete", knLNet, "kiblnd_tx_complete()", "failed "),
				says(Kernel, "lustre-network-error", "lustre-release, lustre/ptlrpc/client.c",
					"Request sent has failed due to network error").as(evidence.Vague),
				says(Kernel, "lustre-connection", "lustre-release, lustre/ptlrpc/import.c",
					"was lost; in progress operations using this service").
					as(evidence.Vague),
				says(Kernel, "lustre-obd-ping", "lustre-release, lustre/ptlrpc", "operation obd_ping to node ",
					"failed: rc = -").as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Common, "dead-peer", "the server or router hangs or is gone",
					"lnetctl ping NID; the server's dmesg at that time", "what it says"),
				maybe(Usual, "link-flap", "a link of the path is bad", "rdmactl fabric errors; rdmactl doctor",
					"the cable or port"),
				maybe(Rare, "congestion", "the fabric or the server is overloaded",
					"PortXmitWait on the path; the server's load", "peer_credits; the load"),
			},
		},
		{
			ID: "RDX-551", Name: "lnet-queues", Title: "LNet could not make its queues",
			Explanation: "ko2iblnd asks for queue pairs that the card must have room for.",
			Sources:     []string{knLNet}, Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "lnet-create-qp", knLNet, "Can't create QP: -", "send_wr: ").with("errno", "QP: -"),
				says(Kernel, "lnet-create-cq", knLNet, "create CQ: ", "cqe: ", "kiblnd"),
				says(Kernel, "lnet-fmr", knLNet, "kiblnd_create_fmr_pool()", "Failed"),
			},
			Causes: []Cause{
				maybe(Common, "device-limit",
					"peer_credits, concurrent_sends or map_on_demand ask for deeper queues than the card has",
					"ibv_devinfo -v: max_qp_wr; options ko2iblnd",
					"smaller values, the same on all nodes", onErrno(Strong, "errno 12 or 22", "12", "22")),
				maybe(Rare, "resource-limit", "the card has no more queue pairs", "rdma resource show",
					"fewer peers or other users"),
			},
		},
	}
}
