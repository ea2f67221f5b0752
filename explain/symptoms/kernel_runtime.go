package symptoms

import (
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

const (
	knMlx4 = "Linux, drivers/net/ethernet/mellanox/mlx4"
	// knNVMeDev begins a controller's lines.
	knNVMeDev = "nvme nvme" //nolint:dupword // the driver's name, then the controller's

	knBnxR = "Linux, drivers/infiniband/hw/bnxt_re"
)

// kernelCardsMore are about drivers of cards at their start and while they run.
func kernelCardsMore() []Symptom {
	return slices.Concat(kernelStart(), kernelRuntime(), kernelMounts(), storageTools())
}

func kernelStart() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID:    "RDX-849",
			Name:  "mlx4-start",
			Title: "mlx4_core could not start a ConnectX-3 or older card",
			Lasts: true,
			Explanation: "The driver sets the firmware up step by step and ends at the first step that fails. Newer " +
				"OFED releases don't have these cards any more (4.9 is the last).",
			Sources:  []string{knMlx4 + "/main.c", knMlx4 + "/fw.c", knMlx4 + "/cmd.c"},
			Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "mlx4-semaphore", knMlx4+"/main.c", "Failed to obtain HW semaphore, aborting").
					speaks("card-firmware"),
				says(Kernel, "mlx4-reset", knMlx4+"/main.c", "Failed to reset HCA, aborting").speaks("card-firmware"),
				says(Kernel, "mlx4-init-fw", knMlx4+"/main.c", "Failed to init fw, aborting").speaks("card-firmware"),
				says(Kernel, "mlx4-query", knMlx4+"/main.c", " command failed, aborting", "mlx4_core"),
				says(Kernel, "mlx4-pending", knMlx4+"/cmd.c", "mlx4_cmd_post:cmd_pending failed").
					speaks("card-firmware"),
				says(Kernel, "mlx4-interrupt", knMlx4+"/main.c", "command failed to generate ", "mlx4_core").
					speaks("card-hardware"),
				says(Kernel, "mlx4-bar", knMlx4+"/main.c", "Missing UAR, aborting").speaks("pci-resources"),
				says(Kernel, "mlx4-dcs", knMlx4+"/main.c", "Missing DCS, aborting").speaks("pci-resources"),
				says(Kernel, "mlx4-revision", knMlx4+"/fw.c", "unsupported command interface revision").
					decides("driver-firmware"),
				says(Kernel, "mlx4-types", knMlx4+"/main.c", "Only same port types supported on this HCA").
					decides("port-link-type"),
				says(Kernel, "mlx4-type", knMlx4+"/main.c", "Requested port type for port ",
					"is not supported on this HCA").as(evidence.Failed).speaks("port-link-type"),
				says(
					Kernel,
					"mlx4-status",
					knMlx4+"/cmd.c",
					" failed: fw status = 0x",
					"mlx4_core",
				).as(evidence.Vague),
				says(
					Kernel,
					"mlx4-probe",
					"Linux, drivers/base/dd.c",
					"mlx4_core",
					": probe of ",
					"failed with error",
				).
					as(evidence.Vague),
			},
			Causes: []Cause{
				maybe(Usual, "card-firmware", "the card's firmware doesn't answer, or is damaged",
					"flint -d DEVICE q; after a cold start, too?", "a cold start; burn the firmware; another card"),
				maybe(Usual, "driver-firmware", "firmware and driver are of different times",
					"ethtool -i; dmesg: FW version", "the last firmware of the card; the kernel's own mlx4 driver"),
				maybe(Rare, "pci-resources", "no room for the card's registers: BAR, or functions in a VM",
					"lspci -vv; dmesg: BAR, no space", "above 4G decoding, SR-IOV or pci=realloc"),
				maybe(Rare, "card-hardware", "the card's interrupts or PCIe link don't work", "dmesg: AER; lspci -vv",
					"another slot; pci=nomsi to try; replace it"),
				maybe(Rare, "port-link-type", "the card can't have these types of ports, or not together",
					"cat /sys/bus/pci/devices/ADDRESS/mlx4_port*", "port_type_array=2,2 (or 1,1) of mlx4_core"),
			},
		},
		{
			ID:    "RDX-850",
			Name:  "bnxt-re-setup",
			Title: "bnxt_re could not set up RDMA on a Broadcom card",
			Lasts: true,
			Explanation: "bnxt_re works above bnxt_en of the same package: the names of its steps follow. The error " +
				"numbers are in hexadecimal and negative (0xffffffa1 is -95).",
			Sources:  []string{knBnxR + "/main.c"},
			Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "bnxt-netdev", knBnxR+"/main.c", "Failed to register with netedev"),
				says(Kernel, "bnxt-chip", knBnxR+"/main.c", "Failed to get chip context"),
				says(
					Kernel,
					"bnxt-vectors",
					knBnxR+"/main.c",
					"Failed to get MSI-X vectors",
				).any("bnxt").
					speaks("resource-limit"),
				says(
					Kernel,
					"bnxt-rcfw",
					knBnxR+"/main.c",
					"Failed to enable RCFW channel",
				).any("bnxt").
					speaks("card-firmware"),
				says(Kernel, "bnxt-creq", knBnxR+"/main.c", "Failed to allocate CREQ").speaks("card-firmware"),
				says(Kernel, "bnxt-context", knBnxR+"/main.c", "Failed to allocate QPLIB context").
					speaks("host-memory"),
				says(Kernel, "bnxt-hw", knBnxR+"/main.c", "Failed to initialize HW: ").any("bnxt").
					speaks("card-firmware"),
			},
			Causes: []Cause{
				maybe(Common, "version-mismatch",
					"bnxt_en, bnxt_re and firmware are of different packages: one in the kernel, one of the vendor",
					"modinfo bnxt_en bnxt_re: filename, version; ethtool -i",
					"both modules and libbnxt_re of one package, in the initramfs, too; the firmware of its time"),
				maybe(
					Usual,
					"card-firmware",
					"the firmware doesn't answer RDMA's commands",
					"dmesg before; ethtool -i",
					"newer firmware; a cold start",
				),
				maybe(Rare, "rdma-off", "RDMA is off in the card's configuration", "niccli --getoption support_rdma",
					"niccli --setoption support_rdma=1, and reboot"),
				maybe(
					Rare,
					"resource-limit",
					"no interrupt vectors are left for RDMA",
					"ethtool -l",
					"fewer channels",
				),
				maybe(
					Rare,
					"host-memory",
					"no memory in one piece for the contexts",
					"dmesg: page allocation failure",
					"load it earlier; fewer functions",
				),
			},
		},
	}
}

func kernelRuntime() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-851", Name: "card-heat", Title: "a card reports a health issue: heat, or an internal fault",
			Explanation: "The firmware names the fault and its severity. Above its threshold a card slows down or " +
				"stops: cards in servers need the chassis' air.",
			Sources: []string{knMlx5 + "/events.c", knMlx5 + "/health.c"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "mlx5-temperature", knMlx5+"/events.c", "High temperature on sensors with bit set").
					decides("card-hardware"),
				says(Kernel, "mlx5-health-heat", knMlx5+"/health.c", "Health issue observed, High temperature").
					decides("card-hardware"),
				says(Kernel, "mlx5-health-issue", knMlx5+"/health.c", "Health issue observed, ").
					speaks("card-firmware"),
			},
			Causes: []Cause{
				maybe(Usual, "card-hardware", "the card is too hot: not enough air, dust, or a fan",
					"mget_temp -d DEVICE; the BMC's sensors", "air over the card; fan profile of the BMC"),
				maybe(Usual, "card-firmware", "the firmware reports an internal fault: the line names it",
					"devlink health show; the lines below", "reset the card; newer firmware; replace it if it comes "+
						"back"),
			},
		},
		{
			ID:    "RDX-852",
			Name:  "mlx5e-cqe",
			Title: "a queue of the Ethernet interface had an error",
			Explanation: "The line is about the interface's own queue, not a program's: the driver recovers it. The " +
				"syndrome says how: 4 is a protection error of the host's memory.",
			Sources:  []string{knMlx5 + "/en"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "mlx5e-error-cqe", knMlx5+"/en", "Error cqe on cqn 0x").with("syndrome", "syndrome 0x"),
				says(Kernel, "mlx5e-attach", knMlx5+"/en_main.c", "mlx5e_attach_netdev failed"),
			},
			Causes: []Cause{
				maybe(Usual, "iommu", "the card may not read or write the memory: IOMMU or virtualization",
					"dmesg: DMAR, AMD-Vi, IO_PAGE_FAULT", "iommu=pt; the hypervisor's settings",
					Clue{Weight: Hint, Field: "syndrome", Is: []string{"4"}, Text: "a protection error"}),
				maybe(Usual, "driver-firmware", "driver and firmware of the card have a defect", "ethtool -i",
					"newer firmware and driver"),
				maybe(Rare, "card-hardware", "PCIe errors", "dmesg: AER", "slot or card"),
			},
		},
		{
			ID:    "RDX-853",
			Name:  "mlx5-lag",
			Title: "a bond of two ports could not become one RDMA device",
			Explanation: "Both ports must be of one card, in the same e-switch mode, without functions bound, and in " +
				"a bond whose mode the card can do.",
			Sources:  []string{knMlx5 + "/lag"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "lag-create", knMlx5+"/lag/lag.c", "ailed to create LAG", "mlx5"),
				says(Kernel, "lag-activate", knMlx5+"/lag/lag.c", "Failed to activate ", " LAG", "mlx5"),
				says(Kernel, "lag-deactivate", knMlx5+"/lag/lag.c", "Failed to deactivate ", " LAG", "mlx5"),
				says(Kernel, "lag-modify", knMlx5+"/lag/lag.c", "Failed to modify LAG", "mlx5"),
				says(Kernel, "lag-conditions", knMlx5+"/lag/lag.c", "Can't activate LAG offload, "),
			},
			Causes: []Cause{
				maybe(Usual, "interface-unsupported",
					"the bond's mode, hash or members aren't ones that the card can do",
					"cat /proc/net/bonding/BOND; the line", "active-backup, balance-xor or 802.3ad of both ports of "+
						"one card"),
				maybe(Usual, "switchdev", "virtual functions are bound, or the ports are in different e-switch modes",
					"devlink dev eswitch show; sriov_numvfs",
					"unbind the functions, the same mode on both, then the bond"),
				maybe(Rare, "driver-firmware", "the firmware refuses it", "dmesg: syndrome", "newer firmware"),
			},
		},
		{
			ID: "RDX-854", Name: "umem", Title: "the driver could not pin the memory that a program registers",
			Explanation: "-14: the range isn't mapped, or is memory of a device without a way to it (a GPU without " +
				"nvidia-peermem or DMA-BUF); -12: the limit of locked memory, or no memory.",
			Sources: []string{"Linux, drivers/infiniband/hw/mlx5/mr.c"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "umem-get", "Linux, drivers/infiniband/hw/mlx5/mr.c", "umem get failed (").with("errno",
					"failed (-"),
			},
			Causes: []Cause{
				maybe(Usual, "memlock", "the limit of locked memory", "ulimit -l of the process", "unlimited",
					onErrno(Strong, "-12", "12")),
				maybe(Usual, "peermem-missing", "GPU memory, and nvidia-peermem isn't loaded",
					"lsmod | grep peermem", "modprobe nvidia-peermem, or DMA-BUF", onErrno(Hint, "-14: bad address",
						"14")),
				maybe(Rare, "memory-range", "the range isn't ordinary memory, was freed, or isn't writable",
					"/proc/PID/maps", "the program", onErrno(Hint, "-14: bad address", "14")),
			},
		},
		{
			ID: "RDX-855", Name: "hns-setup", Title: "the HiSilicon RoCE driver's commands fail",
			Explanation: "hns_roce shares the function with hns3, whose reset ends RoCE, too.",
			Sources:     []string{"Linux, drivers/infiniband/hw/hns"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "hns-mailbox", "Linux, drivers/infiniband/hw/hns", "failed to post mailbox ").any("hns"),
				says(Kernel, "hns-init", "Linux, drivers/infiniband/hw/hns", "RoCE Engine init failed").any("hns"),
				says(Kernel, "hns-reset", "Linux, drivers/infiniband/hw/hns", "In reset process RoCE client").
					as(evidence.Vague),
			},
			Causes: []Cause{
				maybe(
					Common,
					"card-firmware",
					"the function is in reset, or its firmware doesn't answer",
					"dmesg: hns3 reset; ethtool -i",
					"newer firmware (IMP) and driver; reload hns_roce_hw_v2 and hns3",
				),
				maybe(Rare, "driver-firmware", "driver and firmware don't fit", "ethtool -i", "both of one release"),
			},
		},
		{
			ID: "RDX-856", Name: "nvme-runtime", Title: "the connection of an NVMe controller was lost or timed out",
			Explanation: "The host resets the controller after a time-out and connects again until ctrl_loss_tmo. " +
				"Whether target or network is the cause, the target's log of that time says.",
			Sources: []string{knNVMe, knNVMet}, Standing: evidence.Failed,
			Lines: []Line{
				says(
					Kernel,
					"nvme-io-timeout",
					knNVMe,
					knNVMeDev,
					": I/O ",
					"timeout",
				).not("reset controller", "disable controller",
					"completion polled", "aborting", "0000:").
					as(evidence.Vague),
				says(Kernel, "nvme-recovery", knNVMe, "starting error recovery", "nvme").as(evidence.Vague),
				says(Kernel, "nvme-reconnecting", knNVMe, "Reconnecting in ", "nvme").as(evidence.Echo),
				says(Kernel, "nvme-keep-alive", "Linux, drivers/nvme/host/core.c",
					"failed nvme_keep_alive_end_io error="),
				says(Kernel, "nvme-removing", "Linux, drivers/nvme/host/fabrics.c", "Removing controller", knNVMeDev).
					not("ctrl:").as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Usual, "dead-peer", "the target restarted, hangs, or its disks don't answer",
					"the target's log and dmesg at that time", "what it says"),
				maybe(
					Usual,
					"link-flap",
					"the link between them was down",
					"dmesg: link down; ethtool -S; the switch",
					"cable or port",
				),
				maybe(Usual, "congestion", "packets are lost: no PFC or ECN for this traffic",
					"rdmactl doctor --interval 10s on both: out_of_sequence, pause",
					"PFC or ECN on hosts and switches"),
			},
		},
	}
}

func kernelMounts() []Symptom {
	return []Symptom{
		{
			ID:    "RDX-857",
			Name:  "nfs-mount",
			Title: "an NFS mount was refused",
			Explanation: "With proto=rdma the client needs rpcrdma and an RDMA interface toward the server, and the " +
				"server must listen on RDMA (port 20049).",
			Sources:  []string{"linux-nfs, nfs-utils, utils/mount", "NVIDIA/deepops#1189"},
			Standing: evidence.Vague,
			Lines: []Line{
				says(Kernel, "mount-refused", "linux-nfs, nfs-utils, utils/mount", "mount.nfs: ").any(
					"Connection refused", "Protocol not supported", "Protocol error", "mount system call failed",
					"Connection timed out", "Invalid argument", "incorrect mount option", "No such device",
					"requested NFS version"),
			},
			Causes: []Cause{
				maybe(Usual, "nobody-listens", "the server doesn't listen there: nfsd without RDMA, or another port",
					"cat /proc/fs/nfsd/portlist on the server", "rdma=y in /etc/nfs.conf; port=20049 in the mount",
					onErrno(Strong, "connection refused", "111")),
				maybe(
					Usual,
					"module-missing",
					"rpcrdma (xprtrdma) isn't loaded, or OFED came without it",
					"modprobe rpcrdma; lsmod",
					"mlnxofedinstall --with-nfsrdma, or the kernel's modules",
					onText(
						Hint,
						"Protocol not supported",
						"the kernel has no such transport, or the server not this version",
					),
					onErrno(Hint, "errno 93", "93"),
				),
				maybe(Rare, "overlay-address", "the server's address isn't on its RDMA interface, or not from here",
					"ip route get ADDRESS; rdma link", "the RDMA address",
					onErrno(Strong, "timed out, or no device", "110", "19")),
				maybe(Rare, "setting-invalid", "an option of the mount can't work with this version",
					"dmesg; nfs(5)", "vers=3 or 4.x with rdma,port=20049",
					onText(Strong, "incorrect mount option", "an option is wrong"), onErrno(Hint, "errno 22", "22"),
					onText(Hint, "Protocol not supported", "the server may not have this version of NFS")),
			},
		},
		{
			ID: "RDX-858", Name: "daos-fabric", Title: "DAOS found no usable fabric interface, or could not start " +
				"its engine",
			Explanation: "daos_agent picks an interface of the class that the servers have; an engine opens its " +
				"fabric_iface with the provider of the configuration.",
			Sources:  []string{"daos-stack/daos, src/control/cmd/daos_agent/fabric.go", "daos-stack/daos, src/cart"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "daos-no-fabric", "daos-stack/daos, src/control/cmd/daos_agent/fabric.go",
					"no suitable fabric interface found of type"),
				says(Verbs, "daos-hg", "daos-stack/daos, src/cart/crt_hg.c", "ould not initialize HG class").
					as(evidence.Vague),
				says(
					Verbs,
					"daos-crt",
					"daos-stack/daos, src/cart/crt_init.c",
					"crt_init() failed",
				).as(evidence.Vague),
			},
			Causes: []Cause{
				maybe(Usual, "wrong-device", "fabric_iface or the provider isn't there on this node, or has no IP "+
					"address",
					"dmg network scan; daos_agent net-scan; ip -br address",
					"the names of this node in daos_server.yml"),
				maybe(Usual, "memlock", "the service's limit of locked memory hides the provider verbs",
					"systemctl show daos_agent -p LimitMEMLOCK", "LimitMEMLOCK=infinity",
					onErrno(Strong, "errno 12", "12")),
				maybe(Rare, "missing-library", "libfabric has no such provider", "fi_info -l", "DAOS' own libfabric"),
			},
		},
	}
}
