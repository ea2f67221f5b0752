package symptoms

import (
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// Source files of SPDK's target and of DPDK.
const (
	vbNVMfT = "spdk/spdk, lib/nvmf/transport.c"
	vbNVMfN = "spdk/spdk, lib/nvmf/nvmf.c"
	vbEthev = "DPDK, lib/ethdev/rte_ethdev.c"
	vbNet5  = "DPDK, drivers/net/mlx5"
	vbNet4  = "DPDK, drivers/net/mlx4"
)

func targetSymptoms() []Symptom { return slices.Concat(spdkTarget(), dpdkPorts()) }

func spdkTarget() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-830", Name: "spdk-listen", Title: "SPDK's NVMe-oF target could not listen on an address",
			Explanation: "rdma_cm takes the device from the IP address: it must be on an interface of an RDMA " +
				"device of this node. In switchdev mode that is the device of the uplink's representor, and " +
				"addresses on other representors have none.",
			Sources:  []string{vbNVMf, vbNVMfN, "spdk/spdk#1326", "spdk/spdk#3708", "spdk/spdk#1682"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "spdk-bind", vbNVMf, "rdma_bind_addr() failed", "nvmf_rdma_"),
				says(Verbs, "spdk-bind-new", vbNVMf, "spdk_rdma_cm_bind_addr() failed"),
				says(Verbs, "spdk-listen-failed", vbNVMf, "rdma_listen() failed", "nvmf_rdma_").
					speaks("port-in-use"),
				says(Verbs, "spdk-listen-new", vbNVMf, "spdk_rdma_cm_listen() failed").speaks("port-in-use"),
				says(Verbs, "spdk-create-id", vbNVMf, "rdma_create_id() failed", "nvmf_rdma_"),
				says(Verbs, "spdk-context", vbNVMf, "ibv_context is null", "*ERROR*").speaks("overlay-address"),
				says(Verbs, "spdk-unable-listen", vbNVMfN, "Unable to listen on address '", "*ERROR*").with("address",
					"on address '").as(evidence.Vague),
				says(Verbs, "spdk-no-transport", vbNVMfN, "The transport must be created first").
					decides("setting-invalid"),
				says(Verbs, "spdk-unknown-device", vbNVMf, "but unable to find a corresponding device").
					speaks("bad-nic"),
				says(Verbs, "spdk-still-failed", vbNVMf, "Found new IB device but port ").speaks("overlay-address"),
			},
			Causes: []Cause{
				maybe(Common, "overlay-address",
					"no RDMA device of this node has the address: another interface, another node's address, or one "+
						"that isn't configured yet",
					"ip -br address; rdma link: the interface of the address",
					"the address of the RDMA interface, which must be up"),
				maybe(Usual, "switchdev",
					"the card is in switchdev mode: the address is on an interface whose RDMA device isn't the one "+
						"in use",
					"devlink dev eswitch show pci/ADDRESS; rdma link",
					"legacy mode, or the address on the interface that rdma link shows"),
				maybe(Rare, "port-in-use", "another target listens there", "rdma resource show cm_id",
					"another port, or end the other one"),
				maybe(
					Rare,
					"setting-invalid",
					"the RDMA transport wasn't created, or could not be",
					"rpc.py nvmf_get_transports",
					"rpc.py nvmf_create_transport -t RDMA first, and look at its errors",
				),
				maybe(Rare, "bad-nic", "the device was removed or is new since the start", "dmesg",
					"restart the target"),
			},
		},
		{
			ID:    "RDX-831",
			Name:  "spdk-transport",
			Title: "SPDK's NVMe-oF target could not make its RDMA transport",
			Explanation: "The transport opens all RDMA devices of the node and makes queues on each core: one device " +
				"that can't, such as one with small limits, is enough to fail.",
			Sources:  []string{vbNVMf, vbNVMfT, "spdk/spdk#2275", "spdk/spdk#1358", "spdk/spdk#1779"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "spdk-get-devices", vbNVMf, "rdma_get_devices() failed").not("nvme_rdma").
					speaks("missing-library"),
				says(Verbs, "spdk-event-channel", vbNVMf, "rdma_create_event_channel() failed", "nvmf_rdma_").
					speaks("missing-library"),
				says(Verbs, "spdk-cm-channel", vbNVMf, "spdk_rdma_cm_create_event_channel() failed").
					speaks("missing-library"),
				says(Verbs, "spdk-max-io", vbNVMf, "Unsupported max_io_size specified").decides("setting-invalid"),
				says(Verbs, "spdk-max-io-power", vbNVMfT, "must be a power of 2 and be greater than or equal 8KB").
					decides("setting-invalid"),
				says(
					Verbs,
					"spdk-poll-group",
					vbNVMfN,
					"Unable to create poll group for transport",
				).as(evidence.Echo),
				says(Verbs, "spdk-add-transport", "spdk/spdk, lib/nvmf/nvmf_rpc.c", "Failed to add transport to tgt").
					as(evidence.Echo),
				says(Verbs, "spdk-create-failed", "spdk/spdk, lib/nvmf/nvmf_rpc.c",
					"Transport type 'RDMA' create failed").as(evidence.Vague),
				says(Verbs, "spdk-new-transport", vbNVMfT, "Unable to create new transport of type RDMA").
					as(evidence.Vague),
				says(Verbs, "spdk-srq", vbNVMf, "Unable to create SRQ, errno ").speaks("device-limit"),
				says(Verbs, "spdk-iobuf", vbNVMfT, "Unable to reserve the full number of buffers for the pg").
					as(evidence.Vague).speaks("no-hugepages"),
				says(Verbs, "spdk-pd", vbNVMf, "Unable to allocate protection domain.", "*ERROR*"),
			},
			Causes: []Cause{
				maybe(Usual, "device-limit",
					"a device has smaller limits than the options ask for: the length of shared receive queues, say",
					"ibv_devinfo -v: max_srq_wr, max_cqe, max_qp_wr",
					"smaller -s (max_srq_depth) and -q, or --no-srq (-r)",
					onErrno(Hint, "errno 22: an attribute was refused", "22")),
				maybe(
					Usual,
					"missing-library",
					"libibverbs sees no device: the provider or /dev/infiniband is missing",
					"ibv_devices; ls /dev/infiniband; rdma link",
					"rdma-core's providers; modprobe rdma_ucm",
				),
				maybe(Rare, "no-hugepages", "SPDK has too little memory of huge pages for its buffers",
					"grep Huge /proc/meminfo; iobuf_get_stats", "HUGEMEM=4096 scripts/setup.sh; iobuf_set_options"),
				maybe(Rare, "setting-invalid", "an option of nvmf_create_transport can't work",
					"the line; rpc.py nvmf_create_transport -h", "a value in its range"),
			},
		},
		{
			ID:    "RDX-832",
			Name:  "spdk-post",
			Title: "SPDK could not post to a queue pair, or poll its completion queue",
			Explanation: "The provider refused the call: the queue is full, the request isn't valid for this " +
				"device, or the device is gone. What a connection lost, completions report.",
			Sources:  []string{vbNVMf, vbNVMe, "spdk/spdk#2434"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "spdk-post-send", vbNVMf, "Failed to post a send for the qpair ", "errno ").
					with("errno", "errno -"),
				says(Verbs, "spdk-post-recv", vbNVMf, "Failed to post a recv for the qpair ", "errno ").
					with("errno", "errno -"),
				says(Verbs, "spdk-post-queue", vbNVMe, "Failed to post WRs on "),
				says(Verbs, "spdk-polling", vbNVMe, "Error polling CQ", "*ERROR*"),
			},
			Causes: []Cause{
				maybe(Usual, "driver-refuses",
					"the device's provider refuses such a request: send with invalidate, inline, or chained requests",
					"ibv_devinfo: the device; again with the kernel's target on the same device",
					"newer firmware, driver and rdma-core of the card; another card",
					onErrno(Strong, "errno 22: the provider refused it", "22", "95")),
				maybe(Usual, "dead-peer", "the connection had ended before", "the lines before; the host's log",
					"what ended it"),
				maybe(Rare, "device-limit", "the queue is full", "the depth of the queues", "a smaller queue depth",
					onErrno(Strong, "errno 12: the queue is full", "12")),
			},
		},
	}
}

func dpdkPorts() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-833", Name: "dpdk-queue", Title: "DPDK could not configure a port or its queues",
			Explanation: "The driver says what the card can do, and the program asked for more, or for something " +
				"else. A limit of 1 or 0 is no limit of the card: driver and firmware don't understand each other.",
			Sources: []string{vbEthev, vbNet5, "CESNET/ipfixprobe#243"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "dpdk-descriptors-none", vbEthev, "Invalid value for nb_", "should be: <= 1, ").
					speaks("library-defect"),
				says(Verbs, "dpdk-descriptors", vbEthev, "Invalid value for nb_", "should be: <= ").
					speaks("device-limit"),
				says(Verbs, "dpdk-queues", vbEthev, "Ethdev port_id=", " nb_").any("rx_queues=", "tx_queues=").
					speaks("device-limit"),
				says(Verbs, "dpdk-offloads", vbEthev, "Ethdev port_id=", "does not support ", " offloads").
					speaks("driver-refuses"),
				says(
					Verbs,
					"dpdk-requested",
					vbEthev,
					"Ethdev port_id=",
					"requested Rx offloads",
				).any("doesn't match").
					speaks("driver-refuses"),
				says(Verbs, "dpdk-rss", vbEthev, "Ethdev port_id=", "invalid rss_hf").speaks("driver-refuses"),
				says(Verbs, "dpdk-devx-object", "DPDK, drivers/common/mlx5/mlx5_common_devx.c", "Can't create DevX ",
					" object"),
				says(Verbs, "dpdk-mr", "DPDK, drivers/common/mlx5/mlx5_common_mr.c", "Fail to create ",
					"MR for address").speaks("memlock"),
				says(Verbs, "dpdk-mr-pool", "DPDK, drivers/common/mlx5/mlx5_common_mr.c",
					"Failed to create an MR in PD ").speaks("memlock"),
				says(Verbs, "dpdk-umem", "DPDK, drivers/common/mlx5/mlx5_common_devx.c",
					"Failed to register umem for "),
				says(Verbs, "dpdk-uar", "DPDK, drivers/common/mlx5/mlx5_common.c", "Failed to allocate DevX UAR").
					speaks("driver-refuses"),
				says(Verbs, "dpdk-hws", vbNet5+"/linux/mlx5_os.c", "DV support is missing for HWS").
					decides("missing-library"),
				says(Verbs, "dpdk-domain", vbNet5+"/linux/mlx5_os.c", "mlx5dv_dr_create_domain failed").
					speaks("not-privileged"),
				says(Verbs, "dpdk-steering", vbNet5+"/linux/mlx5_os.c", "No SW steering support").
					as(evidence.Vague).speaks("driver-firmware"),
				says(Verbs, "dpdk-mlx4-steering", vbNet4+"/mlx4.c", "cannot set up internal flow rules").
					speaks("flow-steering-off"),
				says(Verbs, "dpdk-mlx4-attach", vbNet4+"/mlx4.c", "cannot attach flow rules").
					speaks("flow-steering-off"),
			},
			Causes: []Cause{
				maybe(Usual, "device-limit", "the program asks for more queues or descriptors than the port has",
					"dpdk-testpmd: show port info 0", "numbers in the range of the line"),
				maybe(Usual, "driver-refuses", "the driver or card doesn't have the feature that was asked for",
					"the guide of DPDK's driver; ethtool -i",
					"without that offload, or a newer card, firmware and driver"),
				maybe(Rare, "library-defect",
					"this release of DPDK takes a wrong limit from the card: releases of the long-term branches did "+
						"with "+
						"older ConnectX cards",
					"dpdk-testpmd of the same release; the release before it",
					"another release of DPDK (of the same branch, a newer one), newer firmware"),
				maybe(
					Rare,
					"memlock",
					"the memory can't be registered: the limit of locked memory, or DPDK's memory "+
						"comes in too many pieces",
					"ulimit -l; dmesg of mlx5",
					"ulimit -l unlimited; huge pages of 1 GiB",
					onErrno(Strong, "errno 12", "12"),
				),
				maybe(Rare, "not-privileged", "the process lacks CAP_NET_RAW and CAP_NET_ADMIN",
					"capsh --print; dmesg", "these capabilities, or as root",
					onErrno(Strong, "not permitted", "1", "13")),
				maybe(Rare, "driver-firmware", "the firmware, or its settings, lack what the driver wants",
					"mlxconfig -d DEVICE q; the guide of DPDK's driver",
					"newer firmware and the settings of the guide"),
				maybe(Rare, "missing-library", "DPDK was built without rdma-core's mlx5dv calls for it",
					"ldd; pkg-config --modversion libmlx5", "build with a newer rdma-core or OFED"),
				maybe(Rare, "flow-steering-off", "flow steering of the ConnectX-3 is off",
					"cat /sys/module/mlx4_core/parameters/log_num_mgm_entry_size",
					"options mlx4_core log_num_mgm_entry_size=-1 (or -7), and reload"),
			},
		},
		{
			ID: "RDX-834", Name: "dpdk-no-port", Title: "a DPDK program found no port",
			Explanation: "Ports of ConnectX cards stay with the kernel's driver and need DPDK's mlx5 driver in the " +
				"program, linked in or as a library beside it; those of other cards are bound to vfio-pci.",
			Sources: []string{
				"DPDK, app/test-pmd/testpmd.c", "F-Stack/f-stack#531", "F-Stack/f-stack#522", "F-Stack/f-stack#693",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				says(Verbs, "dpdk-probed", "DPDK, app/test-pmd/testpmd.c", "No probed ethernet devices"),
				says(Verbs, "dpdk-bye", "DPDK, examples", "No Ethernet ports - bye"),
				says(Verbs, "dpdk-none-found", "pktgen/Pktgen-DPDK", "Did not find any ports to use"),
				says(Verbs, "dpdk-cannot-use", "DPDK, lib/eal/common/eal_common_dev.c", "EAL: Requested device ",
					"cannot be used").as(evidence.Echo).with("device", "Requested device "),
				says(Verbs, "dpdk-attach", "DPDK, lib/eal/common/eal_common_dev.c",
					"EAL: Failed to attach device on primary process").as(evidence.Echo),
				says(Verbs, "dpdk-driver-attach", "DPDK, lib/eal/common/eal_common_dev.c",
					"EAL: Driver cannot attach the device").as(evidence.Echo),
				says(Verbs, "dpdk-bus", "DPDK, lib/eal/common/eal_common_bus.c", "EAL: Bus (pci) probe failed").
					as(evidence.Echo),
				says(Verbs, "dpdk-plugin", "DPDK, lib/eal/common/eal_common_options.c", "EAL: librte_",
					"cannot open shared object file").speaks("missing-library"),
				says(Verbs, "dpdk-vfio-group", "DPDK, lib/eal/linux/eal_vfio.c", "VFIO group is not viable!").
					as(evidence.Origin).decides("driver-unbound"),
				says(Verbs, "dpdk-vfio-managed", "DPDK, lib/eal/linux/eal_vfio.c", "not managed by VFIO driver").
					as(evidence.Vague).speaks("driver-unbound", "no-device-node"),
				says(
					Verbs,
					"dpdk-uio",
					"DPDK, drivers/bus/pci/linux/pci_uio.c",
					"EAL: Cannot open /sys/class/uio",
				).any(
					"Permission denied", "Read-only file system").
					as(evidence.Origin).
					speaks("not-privileged"),
			},
			Causes: []Cause{
				maybe(
					Usual,
					"missing-library",
					"the program has no driver for the card: DPDK was built without mlx5, or its driver isn't linked "+
						"in "+
						"or found at run time",
					"dpdk-testpmd finds it? strings PROGRAM | grep net_mlx5; ls of RTE_EAL_PMD_PATH",
					"build DPDK with libibverbs-dev; link with --whole-archive (pkg-config --static); -d "+
						"librte_net_mlx5.so",
				),
				maybe(Usual, "driver-unbound",
					"the card isn't bound to the right driver: mlx5_core for ConnectX, vfio-pci for others",
					"dpdk-devbind.py -s", "dpdk-devbind.py -b mlx5_core (or vfio-pci) ADDRESS"),
				maybe(Rare, "no-device-node", "the container has no /dev/infiniband/uverbs*, or /dev/vfio",
					"ls /dev/infiniband /dev/vfio", "the devices in the container"),
				maybe(Rare, "not-privileged", "the container may not write to /sys, or lacks capabilities",
					"capsh --print; mount | grep ' /sys '", "a privileged container, or vfio-pci in place of uio"),
			},
		},
	}
}
