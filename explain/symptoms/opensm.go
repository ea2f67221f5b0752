package symptoms

import (
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// Source files of OpenSM and of the libraries of infiniband-diags.
const (
	smVendor = "linux-rdma/opensm, libvendor/osm_vendor_ibumad.c"
	smCtrl   = "linux-rdma/opensm, opensm/osm_sm_mad_ctrl.c"
	smState  = "linux-rdma/opensm, opensm/osm_state_mgr.c"
	smGroups = "linux-rdma/opensm, opensm/osm_sa_mcmember_record.c"
	smMain   = "linux-rdma/opensm, opensm/main.c"
	smUmad   = "rdma-core, libibumad/umad.c"
	smMad    = "rdma-core, libibmad/rpc.c"
	smDisc   = "rdma-core, libibnetdisc/query_smp.c"
	smDiags  = "rdma-core, infiniband-diags"
	smACM    = "rdma-core, ibacm"
)

func opensmSymptoms() []Symptom { return slices.Concat(smStart(), smFabric(), smTools()) }

func smStart() []Symptom {
	return []Symptom{
		{
			ID: "RDX-630", Name: "opensm-register",
			Title: "OpenSM could not register with the kernel for management datagrams",
			Explanation: "OpenSM registers an agent for the class of subnet management on its port, through " +
				"ib_umad. If the kernel refuses, OpenSM ends, and the fabric has no subnet manager. The lines " +
				"that follow repeat it.",
			Sources: []string{smVendor, "linux-rdma/opensm#37"}, Standing: evidence.Origin,
			Lines: []Line{
				says(OpenSM, "register-class", smVendor, "ERR 5426: ", "Unable to register class"),
				says(OpenSM, "register-class-1", smVendor, "ERR 5428: ", "Unable to register class"),
				says(OpenSM, "agent-id", smVendor, "bad agent id ",
					"duplicate agent for class").speaks("subnet-manager"),
				says(OpenSM, "vendor-bind", smCtrl, "Vendor specific bind failed").as(evidence.Echo),
				says(OpenSM, "controller-bind", "linux-rdma/opensm, opensm/osm_sm.c",
					"MAD Controller bind failed").as(evidence.Echo),
				says(OpenSM, "no-previous-bind", smVendor, "No previous bind").as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Common, "version-mismatch", "the running kernel's MAD layer refuses the class: seen after "+
					"updates of the kernel (6.11) and with modules of another OFED",
					"uname -r; boot the kernel before; modinfo ib_umad; dmesg",
					"the kernel before, or a fixed one; ib_umad, ib_core and the driver of one source"),
				maybe(Usual, "subnet-manager", "another subnet manager or program already holds the class on this port",
					"pgrep -a opensm; systemctl status opensm; fuser -v /dev/infiniband/umad*",
					"end the other one; one per port"),
				maybe(Rare, "not-privileged", "OpenSM doesn't run as root, or the container has no umad device",
					"id; ls -l /dev/infiniband/umad*", "as root, with the device"),
			},
		},
		{
			ID: "RDX-631", Name: "opensm-open", Title: "OpenSM could not open its port",
			Explanation: "OpenSM needs /dev/infiniband/umad* and issm* as root.",
			Sources:     []string{smVendor}, Standing: evidence.Origin,
			Lines: []Line{
				says(OpenSM, "error-opening-umad", smVendor, "ERR 5415: Error opening UMAD"),
				says(OpenSM, "umad-get-ca", smVendor, "ERR 542A: ", "umad_get_ca"),
				says(OpenSM, "umad-get-port", smVendor, "ERR 542B: ", "umad_get_port"),
				says(OpenSM, "umad-open-port", smVendor, "ERR 542C: ", "umad_open_port"),
				says(OpenSM, "unable-open-port", smVendor, "ERR 5424: ", "Unable to open port").as(evidence.Echo),
				says(OpenSM, "issm", smVendor, "ERR 5431: ", "setting IS_SM capmask").as(evidence.Failed),
				says(OpenSM, "issm-path", smVendor, "ERR 542E: ", "Cannot resolve issm path").as(evidence.Failed),
			},
			Causes: []Cause{
				maybe(Usual, "module-missing", "ib_umad isn't loaded", "lsmod | grep ib_umad; ls /dev/infiniband",
					"modprobe ib_umad, and /etc/rdma/modules", onErrno(Strong, "errno 2: no such device file", "2",
						"19")),
				maybe(Usual, "not-privileged", "OpenSM doesn't run as root", "id; ls -l /dev/infiniband/umad*",
					"start it as root (systemctl start opensm)", onErrno(Strong, "permission denied", "13", "1")),
				maybe(Rare, "no-device-node", "the container has no umad and issm devices", "ls -l /dev/infiniband",
					"the devices in the container"),
			},
		},
		{
			ID: "RDX-632", Name: "opensm-port-choice", Title: "OpenSM found no port to manage",
			Explanation: "It takes the first active port of InfiniBand, or the GUID of -g. Ports in Ethernet mode " +
				"don't count.",
			Sources: []string{smVendor, smMain}, Standing: evidence.Origin,
			Lines: []Line{
				says(OpenSM, "guid-not-found", smVendor, "Unable to find requested CA guid"),
				says(OpenSM, "no-local-ports", smMain, "No local ports detected!"),
				says(OpenSM, "all-port-attr", smMain, "Error from osm_vendor_get_all_port_attr"),
				says(OpenSM, "not-ib-node", smVendor, "is not an IB node type").as(evidence.Vague),
				says(OpenSM, "cas-names", smVendor, "umad_get_cas_names failed"),
			},
			Causes: []Cause{
				maybe(Usual, "wrong-device",
					"the GUID in the configuration isn't that of a port of this node: another card, or a new one",
					"ibstat -p against guid in /etc/opensm/opensm.conf or PORTS in its service",
					"the right GUID, or none",
					onLine(Strong, "guid-not-found", "the configured GUID isn't there")),
				maybe(Usual, "module-missing", "no card's driver or ib_umad is loaded",
					"ibstat; lsmod | grep -E 'mlx._ib|ib_umad'", "load them"),
				maybe(Usual, "port-link-type", "the card's ports are in Ethernet mode", "ibstat: Link layer",
					"mstconfig -d DEVICE set LINK_TYPE_P1=1, and a reset; Ethernet needs no subnet manager"),
			},
		},
		{
			ID: "RDX-633", Name: "opensm-port-down", Title: "the port of the subnet manager is down",
			Explanation: "The manager can't reach the fabric; nothing new comes up until its link is back.",
			Sources:     []string{smState}, Standing: evidence.Origin,
			Lines: []Line{says(OpenSM, "sm-port-down", smState, "SM port is down")},
			Causes: []Cause{
				maybe(Common+Usual, "port-down",
					"the link of the manager's port is down: cable, switch port, or the wrong port is configured",
					"ibstat on that node: Physical state; the switch's port",
					"the cable or switch port, or -g with a port that has a link"),
			},
		},
	}
}

func smFabric() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-634", Name: "opensm-duplicate-guid", Title: "two nodes of the fabric have the same GUID",
			Explanation: "OpenSM tells nodes by GUID. Duplicates come from cloned firmware or configurations of " +
				"virtual functions, or from a loop.",
			Sources: []string{"linux-rdma/opensm, opensm/osm_node_info_rcv.c"}, Standing: evidence.Origin,
			Lines: []Line{
				says(OpenSM, "duplicate-node", "linux-rdma/opensm, opensm/osm_node_info_rcv.c",
					"ERR 0D01: ").decides("duplicate-guid"),
				says(OpenSM, "duplicate-text", "linux-rdma/opensm, opensm/osm_node_info_rcv.c",
					"Found duplicated node GUID").
					decides("duplicate-guid"),
				says(OpenSM, "duplicate-fatal", "linux-rdma/opensm, opensm/osm_node_info_rcv.c",
					"Duplicate GUID found", "subnet").
					decides("duplicate-guid"),
			},
			Causes: []Cause{
				maybe(Common, "duplicate-guid", "two cards, or virtual functions, have the same GUID",
					"rdmactl fabric topology: the two places in the line; ibstat on both",
					"mstflint sg on one of the cards, or other GUIDs for the functions"),
			},
		},
		{
			ID: "RDX-635", Name: "opensm-no-answer", Title: "a node or switch doesn't answer the subnet manager",
			Explanation: "A directed route ends at a port whose node doesn't answer: its firmware hangs, it boots, " +
				"its link is bad, or it has an M_Key of another manager. Single lines during reboots are normal.",
			Sources: []string{smVendor, smCtrl, "IBA 14.2.4"}, Standing: evidence.Failed,
			Lines: []Line{
				says(OpenSM, "smp-timeout", smVendor, "ERR 5411: ", "DR SMP Send completed with error"),
				says(OpenSM, "send-timeout", smVendor, "ERR 5410: ", "Send completed with error"),
				says(OpenSM, "mad-timeout", smCtrl, "ERR 3113: ", "MAD completed in error"),
				says(OpenSM, "mkey", smCtrl, "ERR 3120: ", "Possible mis-set mkey").speaks("mkey"),
				says(OpenSM, "set-failed", smCtrl, "ERR 3119: ", "Set method failed"),
				says(OpenSM, "remote-unknown", "linux-rdma/opensm, opensm/osm_port_info_rcv.c",
					"Unknown remote side for node").as(evidence.Vague),
				says(OpenSM, "errors-init", smState, "Errors during initialization").as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Usual, "subnet-manager", "this subnet manager asks for what the switches or cards don't "+
					"support: they are of another generation",
					"the attribute in the line; the releases of OpenSM and of the switches",
					"a newer OpenSM, or the subnet manager of the vendor",
					Clue{Weight: Strong, Seen: "opensm.error", SeenField: "code", SeenIs: []string{"3111"}},
					onText(-Hint, "SubnGet(NodeInfo)", "each node must answer SubnGet(NodeInfo)")),
				maybe(Usual, "cable", "the link on the path is bad",
					"rdmactl fabric errors; rdmactl fabric trace to the node in the line",
					"the cable or port"),
				maybe(Usual, "card-firmware", "the node's card or the switch hangs, or the node is off or booting",
					"rdmactl fabric ping NODE; the node's dmesg", "reset the card or switch, update its firmware"),
				maybe(Rare, "mkey", "the node has an M_Key of another subnet manager",
					"rdmactl fabric sm; m_key in opensm.conf and guid2mkey",
					"the same M_Key for all managers, or reset the node"),
			},
		},
		{
			ID: "RDX-636", Name: "opensm-managers", Title: "two subnet managers don't agree",
			Explanation: "Managers with different sm_key or M_Key ignore each other and both configure the fabric.",
			Sources:     []string{"linux-rdma/opensm, opensm/osm_sminfo_rcv.c"}, Standing: evidence.Origin,
			Lines: []Line{
				says(OpenSM, "sm-key", "linux-rdma/opensm, opensm/osm_sminfo_rcv.c", "ERR 2F18: "),
				says(OpenSM, "sm-key-remote", "linux-rdma/opensm, opensm/osm_sminfo_rcv.c",
					"with non-matching sm_key"),
				says(OpenSM, "sm-authentication", "linux-rdma/opensm, opensm/osm_sminfo_rcv.c",
					" authentication failure.", "Ignoring SMInfo"),
			},
			Causes: []Cause{
				maybe(Common+Strong, "sm-conflict", "another subnet manager runs with another sm_key",
					"rdmactl fabric sm; sminfo on both",
					"the same sm_key and priorities, or end one: a managed switch often runs one"),
			},
		},
		{
			ID: "RDX-637", Name: "opensm-group",
			Title: "the subnet manager refused to let a port join a multicast group",
			Explanation: "IPoIB and others join groups. A join fails if the port's rate, MTU or partition doesn't " +
				"fit the group, or if the group doesn't exist and the request lacks what is needed to create it.",
			Sources: []string{smGroups}, Standing: evidence.Failed,
			Lines: []Line{
				says(OpenSM, "join-missing", smGroups, "ERR 1B11: "),
				says(OpenSM, "join-state", smGroups, "ERR 1B10: "),
				says(OpenSM, "join-fields", smGroups, "ERR 1B12: ").speaks("multicast-group"),
				says(OpenSM, "join-other", smGroups, "validate_other_comp_fields failed").speaks("multicast-group"),
				says(OpenSM, "join-partition", smGroups, "ERR 1B14: ", "Port is not in partition").decides("pkey"),
				says(OpenSM, "join-modify", smGroups, "ERR 1B13: ").speaks("multicast-group"),
				says(OpenSM, "join-realizable", smGroups,
					"Requested MGRP parameters are not realizable").speaks("multicast-group"),
				says(OpenSM, "join-broadcast", smGroups, "ERR 1B1B: "),
			},
			Causes: []Cause{
				maybe(Usual, "multicast-group",
					"the port is slower, or has a smaller MTU, than the group, or asks for other values",
					"saquery -g: rate and MTU of the group; ibportstate of the port",
					"a group with the rate and MTU of the slowest port (partitions.conf: ipoib, rate=, mtu=)"),
				maybe(Usual, "pkey", "the port isn't a full member of the group's partition",
					"cat /sys/class/infiniband/*/ports/1/pkeys/*; partitions.conf",
					"full membership in partitions.conf"),
				maybe(Rare, "subnet-manager", "the broadcast group of the partition isn't made", "saquery -g",
					"ipoib in the partition's line of partitions.conf",
					onLine(Strong, "join-broadcast", "the broadcast group is missing")),
			},
		},
		{
			ID: "RDX-638", Name: "opensm-routing", Title: "the routing engine doesn't fit the fabric",
			Explanation: "fat-tree, torus and others demand a topology; OpenSM then falls back to another engine, " +
				"or leaves paths out.",
			Sources: []string{
				"linux-rdma/opensm, opensm/osm_ucast_ftree.c",
				"linux-rdma/opensm, opensm/osm_sa_path_record.c",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				says(OpenSM, "not-fat-tree", "linux-rdma/opensm, opensm/osm_ucast_ftree.c", "subnet is not FatTree"),
				says(OpenSM, "not-identified", "linux-rdma/opensm, opensm/osm_ucast_ftree.c",
					"topology hasn't been identified as FatTree"),
				says(OpenSM, "different-groups", "linux-rdma/opensm, opensm/osm_ucast_ftree.c",
					"Different number of ", "port group").as(evidence.Vague),
				says(OpenSM, "no-routing", "linux-rdma/opensm, opensm/osm_sa_path_record.c",
					"find routing from LID ").as(evidence.Failed),
				says(OpenSM, "dead-end", "linux-rdma/opensm, opensm/osm_sa_path_record.c", "Dead end path on switch"),
			},
			Causes: []Cause{
				maybe(Common, "routing-engine", "the topology isn't what the engine expects: a missing or extra "+
					"cable, or a switch of another rank", "rdmactl fabric topology; the GUIDs in the lines",
					"correct the cabling, root_guid_file, or routing_engine updn or minhop"),
				maybe(Usual, "cable", "a link of the path is down", "rdmactl fabric errors", "the link",
					onLine(Strong, "dead-end", "a path ends")),
			},
		},
	}
}
