package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func kernelMlx5() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-560", Name: "mlx5-probe", Title: "mlx5_core could not start the card",
			Explanation: "The driver sets the firmware up step by step. An error of the driver's own request " +
				"(-22) is a driver and firmware that don't fit; firmware that stays in its initializing state " +
				"hangs. A version of 65535 is all ones: reads of the card fail, as after the loss of its PCIe link.",
			Sources: []string{knMlx5 + "/main.c", "pocopico/rp-ext#129"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "mlx5-hca-cap", knMlx5+"/main.c", "handle_hca_cap failed").speaks("driver-firmware"),
				says(Kernel, "mlx5-preinit", knMlx5+"/main.c", "initializing state, aborting").decides("card-firmware"),
				says(Kernel, "mlx5-dead", knMlx5+"/main.c", "firmware version: 65535.65535").
					speaks("card-firmware", "card-hardware"),
				says(Kernel, "mlx5-command-interface", knMlx5+"/main.c",
					"Failed initializing command interface").speaks("card-firmware"),
				says(Kernel, "mlx5-issi", knMlx5+"/main.c", "mlx5_core",
					"failed to set issi").speaks("driver-firmware"),
				says(Kernel, "mlx5-driver-too-old", knMlx5+"/cmd.c", "Driver cmdif rev(",
					"differs from firmware").decides("driver-firmware"),
				says(Kernel, "mlx5-load", knMlx5+"/main.c", "mlx5_load_one failed with error code").as(evidence.Vague),
				says(Kernel, "mlx5-init-one", knMlx5+"/main.c",
					"mlx5_init_one failed with error code").as(evidence.Vague),
				says(Kernel, "mlx5-probe-failed", "Linux, drivers/base/dd.c", "mlx5_core", ": probe of ",
					"failed with error").as(evidence.Vague),
				says(Kernel, "mlx5-boot-pages", knMlx5+"/main.c", "failed to allocate boot pages").
					speaks("host-memory"),
				says(Kernel, "mlx5-vectors", knMlx5, "Failed to alloc IRQs", "mlx5_core").speaks("resource-limit"),
				says(Kernel, "mlx5-bar", "Linux, drivers/pci/setup-res.c", "mlx5_core",
					"Missing registers BAR").speaks("card-hardware"),
			},
			Causes: []Cause{
				maybe(Usual, "driver-firmware", "driver and firmware don't fit: the kernel's mlx5_core is too "+
					"old for this card or firmware, or was built wrongly for this kernel",
					"modinfo mlx5_core; the firmware version in dmesg; another kernel or OFED",
					"a newer kernel or OFED for the driver, or the firmware of the driver's time", onErrno(Hint,
						"error -22", "22")),
				maybe(Usual, "card-firmware", "the card's firmware hangs or is damaged",
					"mstflint -d DEVICE verify; does it come back after a cold start?",
					"power the node off and on; burn the firmware again; replace the card"),
				maybe(Rare, "resource-limit", "no interrupt vectors or virtual functions left",
					"dmesg; mstconfig: NUM_PF_MSIX, NUM_VF_MSIX", "more vectors, fewer functions"),
				maybe(Rare, "card-hardware", "the card doesn't answer on PCIe, or gets no resources there",
					"lspci -vv; BIOS: above 4G decoding, MMIO size", "the BIOS's settings; another slot"),
				maybe(Rare, "host-memory", "the kernel has no memory for the firmware's pages", "free -m; dmesg",
					"more memory; earlier loading"),
			},
		},
		{
			ID: "RDX-561", Name: "mlx5-recovery", Title: "a Mellanox card is being recovered, or its recovery failed",
			Explanation: "After a fatal error the driver resets the function; its queue pairs are lost.",
			Sources:     []string{knMlx5 + "/health.c"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "mlx5-bad-device", knMlx5+"/health.c", "handling bad device here"),
				says(Kernel, "mlx5-recovery-aborted", knMlx5+"/health.c", "health recovery flow aborted"),
				says(Kernel, "mlx5-recovery-failed", knMlx5+"/health.c", "health recovery failed", "mlx5"),
				says(Kernel, "mlx5-error-start", knMlx5+"/health.c", "mlx5_enter_error_state"),
				says(Kernel, "mlx5-pci-error", knMlx5+"/main.c", "mlx5_pci_err_detected"),
				says(Kernel, "mlx5-sw-reset", knMlx5+"/health.c", "start of software reset", "mlx5").
					not("mlx5_fw_reset"),
				says(Kernel, "mlx5-command-stuck", knMlx5+"/cmd.c", "command resource", "leak").as(evidence.Failed),
				says(Kernel, "mlx5-no-done", knMlx5+"/cmd.c", "mlx5_cmd_comp_handler", "timeout").as(evidence.Failed),
			},
			Causes: []Cause{
				maybe(Common+Strong, "card-firmware", "the card's firmware stopped working",
					"devlink health show; mstdump; rdmactl doctor --only devlink-health",
					"reset the card (mstfwreset), update its firmware; replace it if it comes back",
					onLine(-Strong, "mlx5-pci-error", "the error came from PCIe, not from the firmware")),
				maybe(Usual, "card-hardware", "PCIe errors or power", "dmesg: AER; lspci -vvv",
					"the slot, the riser or the card",
					onLine(Strong+Hint, "mlx5-pci-error", "PCIe reported the error")),
			},
		},
		{
			ID: "RDX-562", Name: "mlx5-module", Title: "a Mellanox card reports a problem of its cable or transceiver",
			Explanation: "The driver prints what the card says of the module in the cage.",
			Sources:     []string{knMlx5 + "/events.c"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "module-error", knMlx5+"/events.c", "Port module event[error]: ").with("port",
					"module "),
				says(Kernel, "module-power", knMlx5+"/events.c", "Port module event",
					"Power budget exceeded").decides("cable"),
			},
			Causes: []Cause{
				maybe(Common+Strong, "cable",
					"cable or transceiver: not supported, not readable, too hot, or unplugged, as the line says",
					"ethtool -m INTERFACE; mlxlink -d DEVICE",
					"reseat or replace it; a type that card and switch support"),
			},
		},
		{
			ID: "RDX-563", Name: "mlx5-mkeys", Title: "the kernel could not make memory keys",
			Explanation: "mlx5_ib keeps a cache of memory keys. The firmware has a limit for all processes; keys " +
				"of killed processes, or a defect, can use it up.",
			Sources: []string{
				"Linux, drivers/infiniband/hw/mlx5/mr.c", "openucx/ucx#6264",
				"kvcache-ai/Mooncake#1765",
			}, Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "mkey-async", "Linux, drivers/infiniband/hw/mlx5/mr.c",
					"async reg mr failed. status -").with("errno", "status -"),
				says(Kernel, "mkey-create", "Linux, drivers/infiniband/hw/mlx5/mr.c", "create mkey failed, "),
				says(Kernel, "umr-wait", "Linux, drivers/infiniband/hw/mlx5/umr.c", "reg umr failed"),
			},
			Causes: []Cause{
				maybe(Common+Strong, "resource-limit",
					"the card has no more memory keys: too many registrations, or keys that processes have leaked",
					"rdma resource show mr; cat /sys/kernel/debug/mlx5/*/mr_cache",
					"fewer and larger registrations; end the processes that hold them, reload mlx5_ib or reboot"),
				maybe(Usual, "card-firmware", "the firmware refuses",
					"the mlx5_cmd lines in dmesg: status and syndrome", "newer firmware"),
			},
		},
	}
}

func kernelCards() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-564", Name: "bnxt-firmware", Title: "a Broadcom card's firmware doesn't answer, or RDMA " +
				"can't be set up on it",
			Explanation: "bnxt_en sends commands (HWRM) to the firmware; bnxt_re needs a driver and firmware of " +
				"the same package, and RDMA switched on in the card's configuration.",
			Sources: []string{knBnxt, "Linux, drivers/infiniband/hw/bnxt_re"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "bnxt-hwrm-timeout", knBnxt, "bnxt_en ", "Error (timeout: ", ") msg {0x"),
				says(Kernel, "bnxt-hwrm-abandoned", knBnxt, "bnxt_en ", "hwrm req_type 0x",
					" error 0x").as(evidence.Vague),
				says(Kernel, "bnxt-fatal", knBnxt, "bnxt_en ", "irmware fatal"),
				says(Kernel, "bnxt-re-roce", "Linux, drivers/infiniband/hw/bnxt_re/main.c",
					"RoCE is not supported on this device").speaks("rdma-off"),
				says(Kernel, "bnxt-re-probe", "Linux, drivers/infiniband/hw/bnxt_re/main.c",
					"Failed to initialize RCFW", "bnxt_re"),
				says(Kernel, "bnxt-re-channel", "Linux, drivers/infiniband/hw/bnxt_re/main.c",
					"Failed to allocate RCFW Channel"),
				says(Kernel, "bnxt-re-register", "Linux, drivers/infiniband/hw/bnxt_re/main.c",
					"Failed to register with IB: "),
				says(Kernel, "bnxt-re-hwqp", "Linux, drivers/infiniband/hw/bnxt_re/ib_verbs.c",
					"ailed to create HW QP").as(evidence.Failed).
					speaks("resource-limit"),
				says(Kernel, "bnxt-re-hwcq", "Linux, drivers/infiniband/hw/bnxt_re/ib_verbs.c",
					"ailed to create HW CQ").as(evidence.Failed).
					speaks("resource-limit"),
				says(Kernel, "bnxt-re-stall", "Linux, drivers/infiniband/hw/bnxt_re/qplib_rcfw.c",
					"FW STALL Detected").decides("card-firmware"),
			},
			Causes: []Cause{
				maybe(Common, "card-firmware",
					"the card's firmware hangs, or driver and firmware are of different packages",
					"ethtool -i; niccli or bnxtnvm; devlink health show",
					"driver, libbnxt_re and firmware of one package; reset the card"),
				maybe(Rare, "rdma-off", "RDMA is off in the card's configuration", "niccli --getoption support_rdma",
					"niccli --setoption support_rdma=1, and reboot"),
				maybe(Rare, "resource-limit", "the card or function has no more queue pairs", "rdma resource show",
					"fewer queue pairs; the RoCE profile of the card"),
			},
		},
		{
			ID: "RDX-565", Name: "irdma-setup", Title: "the Intel card's RDMA could not be set up, or its control " +
				"queue failed",
			Explanation: "irdma depends on ice (E810) or i40e (X722) and on the card's DDP package.",
			Sources:     []string{"Linux, drivers/infiniband/hw/irdma", "Linux, drivers/net/ethernet/intel/ice"},
			Standing:    evidence.Origin,
			Lines: []Line{
				says(Kernel, "irdma-cqp", "Linux, drivers/infiniband/hw/irdma/utils.c", "completion_err=", "maj=0x",
					"waiting="),
				says(Kernel, "irdma-reset", "Linux, drivers/infiniband/hw/irdma/main.c", "Requesting a reset",
					"irdma"),
				says(Kernel, "irdma-probe", "Linux, drivers/infiniband/hw/irdma", "failed with error", ": probe of ",
					"irdma"),
				says(Kernel, "ice-rdma", "Linux, drivers/net/ethernet/intel/ice",
					"RDMA is not supported on this device", "ice ").speaks("rdma-off"),
				says(Kernel, "ice-ddp", "Linux, drivers/net/ethernet/intel/ice", "Entering Safe Mode",
					"ice ").speaks("missing-library"),
				says(Kernel, "ice-msix", "Linux, drivers/net/ethernet/intel/ice",
					"not enough device MSI-X vectors").speaks("resource-limit"),
			},
			Causes: []Cause{
				maybe(Usual, "card-firmware", "firmware or driver of the card don't fit or hang",
					"ethtool -i; dmesg | grep -E 'ice|irdma'",
					"ice, irdma, NVM and DDP of one Intel release"),
				maybe(Rare, "missing-library",
					"the DDP package isn't there, so the card runs in safe mode without RDMA",
					"ls /lib/firmware/intel/ice/ddp",
					"install it (linux-firmware), in the initramfs, too"),
				maybe(Rare, "rdma-off", "RDMA is off for the card (UEFI or devlink)",
					"devlink dev param; devlink port",
					"devlink dev param set enable_roce or enable_iwarp; the UEFI's setting"),
				maybe(Rare, "resource-limit", "no interrupt vectors left", "dmesg",
					"fewer virtual functions or queues"),
			},
		},
		{
			ID: "RDX-566", Name: "efa-driver", Title: "the EFA driver could not start or run a command",
			Explanation: "The adapter's admin queue answers with a status.",
			Sources:     []string{"Linux, drivers/infiniband/hw/efa"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "efa-admin-timeout", "Linux, drivers/infiniband/hw/efa/efa_com.c",
					"send any completion for admin cmd"),
				says(Kernel, "efa-interrupt", "Linux, drivers/infiniband/hw/efa/efa_com.c",
					"receive any MSI-X interrupt", "The device sent a completion"),
				says(Kernel, "efa-register-mr", "Linux, drivers/infiniband/hw/efa/efa_com_cmd.c",
					"Failed to register mr", "efa").speaks("resource-limit"),
				says(Kernel, "efa-probe", "Linux, drivers/infiniband/hw/efa/efa_main.c", "failed with error",
					": probe of ", "efa"),
				says(Kernel, "efa-pin", "Linux, drivers/infiniband/hw/efa/efa_verbs.c",
					"Failed to pin and map user space memory", "efa").speaks("memlock"),
			},
			Causes: []Cause{
				maybe(Usual, "memlock",
					"memory can't be pinned: the limit of locked memory, or GPU memory without p2p",
					"ulimit -l; modinfo efa: p2p",
					"memlock unlimited; an efa driver with GPU Direct"),
				maybe(Usual, "resource-limit", "the adapter has no more regions or queue pairs",
					"rdma resource show", "fewer and larger registrations; huge pages"),
				maybe(Rare, "version-mismatch", "the driver doesn't fit the kernel or the instance", "modinfo efa",
					"the EFA installer of AWS"),
			},
		},
		{
			ID: "RDX-567", Name: "other-card-firmware", Title: "a card's driver reports that its firmware or " +
				"commands fail",
			Explanation: "hns, ionic, qedr, cxgb4, erdma and mlx4 each name their command queue.",
			Sources:     []string{"Linux, drivers/infiniband/hw"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "mlx4-command", "Linux, drivers/net/ethernet/mellanox/mlx4/cmd.c", "mlx4_core",
					"command 0x", " timed out"),
				says(Kernel, "mlx4-internal", "Linux, drivers/net/ethernet/mellanox/mlx4/catas.c",
					"Internal error detected", "mlx4_core"),
				says(Kernel, "mlx4-health", "Linux, drivers/net/ethernet/mellanox/mlx4/catas.c", "mlx4_core",
					"device is going to be reset"),
				says(Kernel, "hns-cmd", "Linux, drivers/infiniband/hw/hns", "CMDQ move tail", "timeout", "hns"),
				says(Kernel, "ionic-command", "Linux, drivers/net/ethernet/pensando/ionic", "DEVCMD IONIC_",
					"timeout"),
				says(Kernel, "ionic-heartbeat", "Linux, drivers/net/ethernet/pensando/ionic", "FW heartbeat stalled",
					"ionic "),
				says(Kernel, "qed-mcp", "Linux, drivers/net/ethernet/qlogic/qed", "MFW failed to respond", "[qed_"),
				says(Kernel, "cxgb4-fatal", "Linux, drivers/net/ethernet/chelsio/cxgb4",
					"encountered fatal error, adapter stopped", "cxgb4 "),
			},
			Causes: []Cause{
				maybe(Common+Strong, "card-firmware", "the card's firmware stopped answering",
					"dmesg around; devlink health show",
					"reset the card; newer firmware and driver; replace it if it comes back"),
				maybe(Usual, "card-hardware", "PCIe errors or power", "dmesg: AER; lspci -vvv",
					"slot, power or card"),
			},
		},
	}
}

func kernelSoft() []Symptom {
	return []Symptom{
		{
			ID: "RDX-568", Name: "soft-rdma", Title: "a software RDMA device (rxe, siw) could not be made",
			Explanation: "rdma_rxe opens UDP port 4791 for IPv4 and IPv6. Old kernels give up when IPv6 is off; " +
				"old rxe_cfg writes to parameters that newer kernels don't have.",
			Sources:  []string{knRxe, "SoftRoCE/rxe-dev#49", "SoftRoCE/rxe-dev#55", "pmem/rpma#560"},
			Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "rxe-ipv6", knRxe+"/rxe/rxe_net.c", "Failed to create IPv6 UDP tunnel").speaks("ipv6-off"),
				says(Kernel, "rxe-ipv4", knRxe+"/rxe/rxe_net.c",
					"Failed to create IPv4 UDP tunnel").speaks("port-in-use"),
				says(Kernel, "rxe-insert", "kmod, modprobe", "could not insert 'rdma_rxe'").not(
					"Address family").as(evidence.Failed),
				says(Kernel, "rxe-address-family", "kmod, modprobe", "could not insert 'rdma_rxe'",
					"Address family not supported").decides("ipv6-off"),
				says(Kernel, "rxe-configured", knRxe+"/rxe/rxe.c", "already configured on",
					"rdma_rxe").as(evidence.Vague).speaks("interface-choice"),
				says(Kernel, "rxe-real-device", knRxe+"/rxe/rxe.c",
					"rxe creation allowed on top of a real device only").speaks("interface-choice"),
				says(Kernel, "rxe-cfg-mtu", "librxe, rxe_cfg",
					"Use of uninitialized value $rmtu").as(evidence.Vague).speaks("version-mismatch"),
				says(Kernel, "rxe-cfg-echo", "librxe, rxe_cfg",
					"sh: echo: I/O error").as(evidence.Vague).speaks("version-mismatch"),
				says(Kernel, "siw-register", knRxe+"/siw/siw_main.c", "siw: device registration error"),
			},
			Causes: []Cause{
				maybe(Usual, "version-mismatch", "rxe_cfg or librxe are older than the kernel's rdma_rxe",
					"rdma link; rdma --version", "rdma link add rxe0 type rxe netdev INTERFACE (iproute2 5.0 or "+
						"later), with rdma-core's provider"),
				maybe(Rare, "ipv6-off",
					"IPv6 is off on this node (ipv6.disable=1), and this kernel's rdma_rxe needs it",
					"cat /proc/cmdline",
					"sysctl net.ipv6.conf.all.disable_ipv6=1 in place of ipv6.disable=1, or a newer kernel"),
				maybe(Rare, "port-in-use", "something else has UDP port 4791", "ss -ulnp | grep 4791", "end it"),
				maybe(Rare, "interface-choice", "the interface has a device already, or is virtual (VLAN, bond)",
					"rdma link", "the physical interface"),
			},
		},
		{
			ID: "RDX-569", Name: "rdma-core-refused", Title: "the kernel's RDMA core or connection manager refused",
			Explanation: "ib_core, rdma_cm and ib_cm print when a device, a GID or a request doesn't fit.",
			Sources:     []string{"Linux, drivers/infiniband/core"}, Standing: evidence.Vague,
			Lines: []Line{
				says(Kernel, "core-gid-add", "Linux, drivers/infiniband/core/cache.c", "unable to add gid ", " error="),
				says(Kernel, "core-register", "Linux, drivers/infiniband/core/device.c",
					"Couldn't register device with "),
				says(Kernel, "core-cache", "Linux, drivers/infiniband/core", "ib_query_port failed ("),
				says(Kernel, "cma-listen", "Linux, drivers/infiniband/core/cma.c",
					"RDMA CMA: cma_listen_on_dev, error -").with("errno", "error -"),
				says(Kernel, "cma-route", "Linux, drivers/infiniband/core/cma.c", "RDMA CM: ",
					"_ERROR: failed to ").with("errno", "status -"),
			},
			Causes: []Cause{
				maybe(Usual, "gid-index", "the GID table of the port is full or changed",
					"rdmactl detect; show_gids", "addresses that the port needs"),
				maybe(Usual, "rails-not-connected", "the address or route could not be resolved",
					"ip route get PEER; rdma link", "address and route",
					onErrno(Strong, "no route or no answer", "110", "101", "113", "2")),
				maybe(Rare, "subnet-manager", "the subnet manager gave no path", "rdmactl fabric sm",
					"a working subnet manager", onText(Hint, "ROUTE", "the route failed")),
			},
		},
	}
}
