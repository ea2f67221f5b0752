package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func smTools() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-641", Name: "umad-open", Title: "a tool could not open the management device of InfiniBand",
			Explanation: "ibstat, ibnetdiscover, perfquery, ibacm and others use /dev/infiniband/umad*, which " +
				"ib_umad makes for root.",
			Sources:  []string{smUmad, smMad, "linux-rdma/rdma-core#393", "linux-rdma/rdma-core#321"},
			Standing: evidence.Origin,
			Lines: []Line{
				says(OpenSM, "umad-abi", smUmad, "umad_init: can't read ABI version from").decides("module-missing"),
				says(OpenSM, "umad-loaded", smUmad, "ib_umad module loaded?").decides("module-missing"),
				says(OpenSM, "umad-sysfs", smUmad,
					"/sys/class/infiniband_mad/abi_version (No such file").decides("module-missing"),
				says(OpenSM, "umad-port", smMad, "an't open UMAD port").as(evidence.Failed),
				says(OpenSM, "umad-smi-port", smMad, "an't open SMI UMAD port").as(evidence.Failed),
				says(OpenSM, "umad-gsi-port", smMad, "an't open GSI UMAD port").as(evidence.Failed),
				says(OpenSM, "umad-library", smMad, "can't init UMAD library").as(evidence.Failed),
				says(OpenSM, "mad-port", "rdma-core, libibnetdisc/ibnetdisc.c",
					"can't open MAD port (").as(evidence.Vague),
				says(OpenSM, "mad-port-perfquery", smDiags, "iberror: failed: Failed to open '",
					"' port '").as(evidence.Vague),
				says(OpenSM, "acm-umad", smACM, "fail to initialize umad"),
			},
			Causes: []Cause{
				maybe(Common, "not-privileged", "the user may not open /dev/infiniband/umad*: root only",
					"ls -l /dev/infiniband/umad*; id",
					"as root (sudo), or a udev rule", onErrno(Strong, "permission denied", "13", "1")),
				maybe(Usual, "module-missing", "ib_umad isn't loaded: it is only for cards with InfiniBand ports",
					"lsmod | grep ib_umad",
					"modprobe ib_umad; add it to /etc/rdma/modules/rdma.conf", onErrno(Hint, "no such file", "2")),
				maybe(Usual, "port-link-type", "the tool takes the first port, and that is Ethernet (RoCE) or down",
					"ibstat: Link layer; -C DEVICE -P PORT",
					"-C and -P of an InfiniBand port; on RoCE these tools have nothing to ask"),
				maybe(Rare, "no-device-node", "the container has no umad devices", "ls /dev/infiniband",
					"the devices in the container"),
			},
		},
		{
			ID: "RDX-642", Name: "umad-register",
			Title:       "a tool could not register with the kernel for management datagrams",
			Explanation: "On ports in Ethernet mode there is no subnet management, so the kernel refuses that class.",
			Sources:     []string{smMad, "treydock/infiniband_exporter#26"}, Standing: evidence.Origin,
			Lines: []Line{
				says(OpenSM, "client-register", smMad, "client_register for mgmt"),
				says(OpenSM, "smp-agent", smDiags, "Couldn't register agent for SMPs"),
				says(OpenSM, "acm-mad-client", smACM, "unable to register MAD client"),
			},
			Causes: []Cause{
				maybe(Common, "port-link-type", "the port is Ethernet (RoCE): it has no subnet management",
					"ibstat: Link layer; -C DEVICE -P PORT",
					"-C with a device whose link layer is InfiniBand; on RoCE use ethtool and the switches"),
				maybe(Usual, "version-mismatch",
					"the kernel's MAD layer refuses: modules of another OFED, or a kernel with a defect",
					"uname -r; modinfo ib_umad ib_core",
					"modules of one source; another kernel"),
			},
		},
		{
			ID: "RDX-643", Name: "mad-timeout", Title: "a node or switch didn't answer a management datagram",
			Explanation: "The path to it is broken, it hangs, or an M_Key protects it. Tools go on with the rest " +
				"of the fabric.",
			Sources: []string{smMad, smDisc, "guilbaults/infiniband-exporter#12"}, Standing: evidence.Failed,
			Lines: []Line{
				says(OpenSM, "srp-mad", "rdma-core, srp_daemon/srp_daemon.c", " MAD status ", "srp_daemon"),
				says(OpenSM, "madrpc", smMad, "_do_madrpc failed; dport ("),
				says(OpenSM, "mad-rpc", smMad, "mad_rpc: ", "recv failed: "),
				says(OpenSM, "umad-status", smDisc, "bad status 110", "umad ("),
				says(OpenSM, "mad-status", smDisc, ") bad status 0x", "mad ("),
				says(OpenSM, "sminfo", smDiags, "sminfo: iberror: ").as(evidence.Failed).speaks("subnet-manager"),
				says(OpenSM, "discover", smDiags, "discover failed", "ib").as(evidence.Echo),
				says(OpenSM, "iberror", smDiags, ": iberror: failed: ").as(evidence.Vague),
				says(OpenSM, "bad-port-state", smDiags,
					"Bad port state found: node").as(evidence.Failed).speaks("cable"),
				says(OpenSM, "cannot-reach", smDiags, "can't reach port at ", "find_route").as(evidence.Vague),
			},
			Causes: []Cause{
				maybe(Usual, "cable", "a link of the path is down or bad",
					"rdmactl fabric trace to the node; rdmactl fabric errors", "the cable or port"),
				maybe(Usual, "card-firmware", "the node or switch hangs or is off", "rdmactl fabric ping NODE",
					"reset it; its firmware"),
				maybe(Rare, "subnet-manager", "no subnet manager has given LIDs to this port or the target",
					"rdmactl fabric sm; ibstat: Base lid 0",
					"start a subnet manager", onText(Hint, "Lid 0", "the target's LID is 0")),
				maybe(Rare, "mkey", "an M_Key protects the node", "opensm.conf: m_key; ibdiags' --m_key",
					"-y KEY, or no protection",
					onText(Strong, "0x000c", "the status says that the key is wrong")),
			},
		},
		{
			ID: "RDX-644", Name: "sa-query", Title: "subnet administration (SA) doesn't answer or has no such record",
			Explanation: "saquery, IPoIB and rdma_cm ask subnet administration at the port's SM LID.",
			Sources:     []string{smDiags}, Standing: evidence.Failed,
			Lines: []Line{
				says(OpenSM, "sa-result", smDiags, "ERROR: Query result returned 0x"),
				says(OpenSM, "sa-failed", smDiags, "Query SA failed: "),
				says(OpenSM, "sa-none", smDiags, "No SM/SA found on port "),
				says(OpenSM, "sa-bind", smDiags, "Failed to bind to the SA"),
				says(OpenSM, "acm-join", smACM, "ERROR - send join failed"),
				says(OpenSM, "acm-join-status", smACM, "ERROR - join response status"),
			},
			Causes: []Cause{
				maybe(Common, "subnet-manager", "no subnet manager runs on this fabric, or it doesn't answer",
					"rdmactl fabric sm; sminfo; ibstat: SM lid",
					"start or restart the subnet manager"),
				maybe(Rare, "pkey",
					"the port isn't a member of the default partition, through which subnet administration is asked",
					"cat /sys/class/infiniband/*/ports/1/pkeys/*",
					"the default partition in partitions.conf: limited membership (0x7fff) is enough for queries"),
			},
		},
		{
			ID: "RDX-645", Name: "ibtools-device", Title: "a tool of infiniband-diags doesn't find the device",
			Explanation: "The name or port isn't there, or sysfs refuses to be read.",
			Sources:     []string{smDiags, "linux-rdma/rdma-core#239"}, Standing: evidence.Failed,
			Lines: []Line{
				says(OpenSM, "ib-device-missing", smDiags, "' IB device can't be found"),
				says(OpenSM, "ib-device-stat", smDiags, "stat of IB device '").speaks("defect:ibstat-rate"),
				says(OpenSM, "ib-device-port", smDiags, "' has no port number "),
			},
			Causes: []Cause{
				maybe(Usual, "wrong-device",
					"the name isn't that of a device of this node: persistent names (udev) rename mlx5_0 to ibp…",
					"ibv_devices; rdma link",
					"the name of this node, or NAME_FALLBACK in 60-rdma-persistent-naming.rules"),
				maybe(Rare, "defect:ibstat-rate",
					"libibumad before release 16 fails on a port without a cable, whose rate can't be read",
					"ibstat --version; cat /sys/class/infiniband/DEVICE/ports/1/rate",
					"rdma-core 16 or later; plug in the cable"),
			},
		},
		{
			ID: "RDX-646", Name: "ibacm", Title: "ibacm could not serve a port",
			Explanation: "ibacm names an endpoint for each partition of a port by the IPoIB interface with the " +
				"same P_Key. Limited members have P_Keys without the bit 0x8000, and IPoIB shows them with it.",
			Sources: []string{smACM, "linux-rdma/rdma-core#413"}, Standing: evidence.Failed,
			Lines: []Line{
				says(OpenSM, "acm-endpoint", smACM, "unable to assign EP name for pkey ").with("pkey", "for pkey "),
				says(OpenSM, "acm-devices", smACM, "ERROR - unable to open any devices").speaks("module-missing"),
				says(OpenSM, "acm-no-devices", smACM, "ERROR - no devices", "acm_").
					not("acm_cma").speaks("module-missing"),
				says(OpenSM, "acm-providers", smACM, "ERROR - unable to open any providers").speaks("missing-library"),
			},
			Causes: []Cause{
				maybe(Common, "pkey", "the port is a limited member of the partition (no bit 0x8000), or no IPoIB "+
					"interface has that P_Key", "the pkeys of the port in sysfs (infiniband/*/ports/1/pkeys) "+
					"against pkey of its IPoIB interfaces", "full membership, or an ibacm that masks the bit "+
					"(rdma-core 20 or later); an IPoIB child interface for the P_Key",
					onLine(Strong, "acm-endpoint", "the P_Key has no endpoint")),
				maybe(Rare, "module-missing", "no card's driver, or ib_umad, is loaded",
					"ibv_devices; lsmod | grep ib_umad", "load them, or don't start ibacm"),
				maybe(Rare, "missing-library", "the provider (libibacmp.so) isn't installed", "ls /usr/lib*/ibacm",
					"install it"),
			},
		},
	}
}
