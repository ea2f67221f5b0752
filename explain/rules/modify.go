package rules

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// modifyRule is about queue pairs that can't be connected.
func modifyRule() Rule {
	return Rule{
		ID:    "RDX-110",
		Name:  "modify-qp",
		Title: "a queue pair could not be connected to its peer's",
		Explanation: "On RoCE the kernel looks for the peer in this step, before any packet of the queue pair: " +
			"it takes the GID's interface, looks up a route and asks for the neighbour's address. The error " +
			"number says which of these failed. On InfiniBand nothing is looked up here.",
		Sources: []string{
			"Linux, drivers/infiniband/core/addr.c",
			"NVIDIA/nccl#769",
			"NVIDIA/nccl#925",
			"NVIDIA/nccl#2013",
		},
		Find: findModify,
	}
}

// modifies returns the failures of connecting a queue pair, or of making an address handle.
func modifies(f *facts.Facts) []*facts.Failure {
	list := with(of(f, evidence.NCCLVerb, evidence.MooncakeVerb, evidence.VerbsError, evidence.UCXVerb), "call",
		"ibv_modify_qp", "ibv_create_ah")
	list = append(list, of(f, evidence.UCXAddress, evidence.PerftestModify)...)
	return list
}

func findModify(f *facts.Facts) []Finding {
	var findings []Finding
	byErrno := map[string][]*facts.Failure{}
	var order []string
	for _, x := range modifies(f) {
		n := x.Event.Fields["errno"]
		if byErrno[n] == nil {
			order = append(order, n)
		}
		byErrno[n] = append(byErrno[n], x)
	}
	for _, n := range order {
		list := byErrno[n]
		x := list[0]
		c := &candidates{}
		var why string
		switch n {
		case "110":
			why = "the peer's neighbour address (ARP, ND) was not answered"
			modifyTimedOut(f, c, list)
		case "101", "113":
			why = "there is no route to the peer from that interface"
			modifyNoRoute(c, list)
		case "19":
			why = "the GID's network interface is not in this network namespace, or gone"
			modifyNoDevice(c, list)
		case "61":
			why = "the entry of the GID table is empty"
			modifyNoData(f, c, list)
		case "12":
			why = "out of memory or of another resource"
			memoryCauses(f, c, list)
		case "1", "13":
			why = "not permitted"
			c.add("not-privileged", "the container or user isn't allowed to", common+strong).
				supports(strong, "errno "+n, x.Event.Place).
				todo("capabilities and device cgroup of the container",
					"IPC_LOCK and the device's permission, or a privileged container").
				from("sgl-project/sglang#12533")
		case "22", "":
			why = "an attribute was refused"
			if n == "" {
				why = "the error number is not in the log"
			}
			modifyInvalid(f, c, list)
		default:
			why = "errno " + n
			modifyInvalid(f, c, list)
		}
		findings = append(findings, Finding{
			What:    fmt.Sprintf("%s could not connect a queue pair to %s: %s", where(x), toward(x), why),
			Failure: x, Events: events(list), Causes: c.causes(),
		})
	}
	return findings
}

func modifyTimedOut(f *facts.Facts, c *candidates, list []*facts.Failure) {
	rails := c.add(
		"rails-not-connected",
		"the two ports are on networks that are not connected to each other",
		common,
	)
	for _, x := range list {
		if a, b, other := otherSubnets(x); other {
			rails.supports(strong, fmt.Sprintf("%s and %s are in different networks", a, b), x.Event.Place)
			break
		}
	}
	if e := firstOf(f, evidence.NCCLEnv, "name", "NCCL_CROSS_NIC"); e != nil && e.Fields["value"] == "0" {
		rails.opposes(usual, "NCCL_CROSS_NIC=0 keeps to rails", e.Place)
	}
	rails.todo("rdmactl cluster verify --hosts NODE1,NODE2: which cards reach each other; ping -I INTERFACE PEER",
		"NCCL_CROSS_NIC=0 on rail-only fabrics; NCCL_IB_HCA with the ports that are connected").
		from("NVIDIA/nccl#2013", "getainode/ainode#89")
	bad := gidFaults(f, list)
	gid := c.add("gid-index", "the connection uses a GID that can't reach the peer", usual)
	for _, g := range bad {
		if g.linkLocal {
			gid.supports(strong+hint, g.text, g.places...)
		}
	}
	if v, p, ok := variable(f, gidVariable(list[0])); ok {
		gid.supports(hint, gidVariable(list[0])+"="+v+" forces an index", p...)
	}
	if x := list[0].Event; x.Kind == evidence.PerftestModify && x.Fields["call"] == "ibv_create_ah" {
		gid.supports(hint, "an address handle asks for the neighbour of a GID that the program chose", x.Place)
	}
	gid.fromTables(list).todo("show_gids on both nodes: the type and address of the index in use",
		"unset NCCL_IB_GID_INDEX (NCCL 2.21 or later), or set that of the routable RoCE v2 GID").
		from("NVIDIA/nccl#769")
	c.add("switch-port-mode", "VLAN or mode of the switch port", rare).
		todo("rdmactl doctor --probe PEER", "the same VLAN on both ports")
	externalPlugin(f, c)
}

func modifyNoRoute(c *candidates, list []*facts.Failure) {
	rails := c.add("rails-not-connected", "no route from the rail's interface to the peer's address", common)
	rails.supports(strong, "errno "+list[0].Event.Fields["errno"]+" of the kernel's route lookup", list[0].Event.Place).
		todo("ip route get PEER oif INTERFACE from ADDRESS", "a gateway and a rule for each rail")
	c.add("gid-index", "the GID belongs to another network", usual).
		todo("show_gids", "the GID of the right network")
}

func modifyNoDevice(c *candidates, list []*facts.Failure) {
	x := list[0]
	d := c.add(
		"foreign-device",
		"the RDMA device's network interface is not in this network namespace",
		common+strong,
	)
	d.supports(strong, "errno 19 comes from the lookup of the GID's interface", x.Event.Place)
	if n := x.Node; n != nil && len(n.Devices) > 4 {
		d.supports(
			hint,
			fmt.Sprintf("%d RDMA devices are visible on %s", len(n.Devices), n.Name),
			n.Devices[0].Places...)
	}
	d.todo("rdma link and ip link in the same container: devices without their netdev",
		"attach the rail network to the pod, or NCCL_IB_HCA with the pod's own devices").
		from("NVIDIA/nccl#925", "NVIDIA/nccl#799")
	c.add("no-rail-interface", "the pod has no interface of the rail at all", usual).
		todo("ip -br link in the pod", "attach the network of the rail").from("akash-network/provider#424")
}

func modifyNoData(f *facts.Facts, c *candidates, list []*facts.Failure) {
	x := list[0]
	bad := gidFaults(f, list)
	v, p, forced := variable(f, gidVariable(x))
	moved := c.add(
		"gid-moved",
		"the forced GID index is empty now: the table changes after link and address events",
		usual,
	)
	moved.fromTables(list).supports(strong, "errno 61 says that the entry is empty", x.Event.Place).
		supportsIf(forced, strong, gidVariable(x)+"="+v+" forces the index", p...).
		todo("show_gids: the index of the RoCE v2 GID now", "unset NCCL_IB_GID_INDEX, or set the present index").
		from("NVIDIA/nccl#2157")
	empty := c.add("gid-empty", "the port has no GID at that index: no address on its interface", usual)
	empty.fromTables(list).supports(strong, "errno 61 says that the entry is empty", x.Event.Place)
	for _, g := range bad {
		empty.supportsIf(g.zero, decisive, g.text, g.places...)
	}
	empty.todo("show_gids; ip -br address", "give the interface an address, or leave the port out by NCCL_IB_HCA")
}

func modifyInvalid(f *facts.Facts, c *candidates, list []*facts.Failure) {
	x := list[0]
	switch x.Event.Fields["next"] {
	case "INIT":
		modifyInit(f, c, list)
		return
	case "RTS":
		modifySend(c, x)
		return
	}
	ib := link(x) == facts.LinkInfiniBand
	gid := c.add("gid-index", "GID index out of range, empty, or of the wrong RoCE version on one side", common)
	if ib {
		gid.opposes(usual, "the port is InfiniBand, where the LID is the address", x.Event.Place)
	}
	rail := c.add("no-rail-interface", "the pod or host has no interface of that port: its GID table is empty", rare)
	for _, g := range gidFaults(f, list) {
		if g.zero {
			rail.supports(strong+hint, g.text, g.places...)
			c.add("gid-empty", "the port has no GID at that index: no address on its interface", rare).
				supports(strong, g.text, g.places...).todo("show_gids; ip -br address", "an address on the interface")
			continue
		}
		gid.supports(strong, g.text, g.places...)
	}
	pluginMTU(f, c)
	if v, p, ok := variable(f, gidVariable(list[0])); ok {
		gid.supports(strong, gidVariable(list[0])+"="+v+" forces an index", p...)
	}
	gid.fromTables(list)
	for _, slug := range [...]string{"gid-empty", "gid-moved"} {
		empty := (&candidates{}).add(slug, "the entry of the GID table is empty, or another one than before", usual).
			fromTables(list).todo("show_gids: the index of the RoCE v2 GID now",
			"unset NCCL_IB_GID_INDEX, or set the present index")
		if len(empty.For) > 0 {
			c.list = append(c.list, empty)
		}
	}
	indexes := map[string]bool{}
	for e := range f.Store.Of(evidence.PerftestPort) {
		if index := e.Fields["gidIndex"]; index != "" {
			indexes[index] = true
		}
	}
	gid.supportsIf(len(indexes) > 1, strong, "the two sides use different GID indexes").
		todo("show_gids on both nodes", "with NCCL 2.21 or later unset NCCL_IB_GID_INDEX; else set "+
			"the index of the routable RoCE v2 GID on each node").
		from("linux-rdma/perftest#44", "NVIDIA/nccl#622")
	grh := c.add("grh-required", "the port needs a global routing header, which the program doesn't set", rare)
	if e := firstOf(f, evidence.Setting, "name", "GRH required"); e != nil {
		grh.supports(decisive, e.Text, e.Place)
	}
	grh.supportsIf(ib, strong, "the port is InfiniBand, where no GID is needed otherwise", x.Event.Place).
		todo("ibv_devinfo -v: GRH required", "-x INDEX with perftest; a later NCCL").
		from("linux-rdma/perftest#393")
	driver := c.add("driver-refuses", "the driver refuses this change of state or attribute", rare)
	intel := driverName(x) == "irdma"
	driver.supportsIf(intel, strong, "the driver is irdma, which refuses RESET to RESET", x.Event.Place)
	lidOnEthernet(f, c, x, intel)
	driver.todo("dmesg of the driver", "a later driver or library").from("kvcache-ai/Mooncake#721")
	mtu := c.add("mtu-differs", "the path MTU is above the port's", rare)
	if d, ok := mtuDifference(f); ok {
		mtu.supports(strong, values(d))
	}
	mtu.todo("ibv_devinfo | grep active_mtu", "one MTU")
	rail.todo("ip -br link in the pod", "attach the rail's network").from("akash-network/provider#424")
}

// lidOnEthernet adds the defect of NCCL that takes a port of Ethernet with a LID for InfiniBand.
func lidOnEthernet(f *facts.Facts, c *candidates, x *facts.Failure, intel bool) {
	var port *evidence.Event
	for e := range f.Store.Of(evidence.DevicePort) {
		ours := x.Device == "" || e.Fields["device"] == x.Device
		if lid := e.Fields["lid"]; ours && e.Fields["link"] == "Ethernet" && lid != "" && lid != "0" {
			port = e
		}
	}
	l, ok := f.Library("nccl")
	if !ok || port == nil && !intel {
		return
	}
	if possible, certain := l.Between("", "2.11.99"); possible {
		e810 := c.add(
			"defect:nccl-e810-lid",
			"NCCL before 2.12 sets a LID on RoCE, which the E810's driver refuses",
			usual,
		)
		e810.supportsIf(certain, strong, "the version is before 2.12", l.Place()...).
			supportsIf(port != nil, strong, "a port of Ethernet has a LID: "+textOf(port), placeOf(port)...).
			todo("the version; ibstat: Base lid", "NCCL 2.12 or later").from("NVIDIA/nccl#622")
	}
}

// modifyInit is about the first step, which looks at nothing of the peer.
func modifyInit(f *facts.Facts, c *candidates, list []*facts.Failure) {
	x := list[0]
	d := c.add("driver-refuses", "the driver refuses this change of state", common)
	if e := firstOf(f, evidence.Setting, "name", "transition"); e != nil {
		d.supports(decisive, e.Text, e.Place)
	}
	d.supportsIf(anyDriver(f, "irdma"), strong, "the driver is irdma, which refuses RESET to RESET", x.Event.Place).
		todo("dmesg of the driver", "a later library or driver").from("kvcache-ai/Mooncake#721")
	c.add("environment-differs", "port number or P_Key index that the device doesn't have", usual).
		todo("ibv_devinfo; the program's settings", "the right port")
	c.add("not-privileged", "the container may not use the device", rare).
		todo("capabilities of the container", "IPC_LOCK, the device")
}

// modifySend is about the last step, from RTR to RTS: peer and address were given before it.
func modifySend(c *candidates, x *facts.Failure) {
	c.add("driver-refuses", "the driver or the card refuses one of this step's attributes: timeout, retries, "+
		"READs in flight (max_rd_atomic), packet number; or iWARP, where only rdma_cm makes this step", common).
		supports(hint, "the peer's address was accepted in the step before", x.Event.Place).
		todo("dmesg of the driver; ibv_devinfo -v: max_qp_init_rd_atom against the program's value",
			"the values that the device allows; rdma_cm (-R with perftest) on iWARP").
		from("linux-rdma/perftest#132", "waltligon/orangefs#43")
	c.add("gid-index", "GID index out of range, empty, or of the wrong RoCE version on one side", rare).
		todo("show_gids on both nodes", "the index of the routable RoCE v2 GID on both sides")
}

// anyDriver reports whether a device of a driver is named anywhere.
func anyDriver(f *facts.Facts, driver string) bool {
	for _, n := range f.Nodes {
		for _, d := range n.Devices {
			if d.Driver == driver {
				return true
			}
		}
	}
	return false
}

// pluginMTU adds the cause that an external plugin sets an MTU that the port doesn't have.
func pluginMTU(f *facts.Facts, c *candidates) {
	for e := range f.Store.Of(evidence.NCCLNetwork) {
		switch name := e.Fields["network"]; name {
		case "IB", "Socket", "AWS Libfabric", "Libfabric", "FasTrak", "gIB":
		default:
			if isIBExt(name) {
				continue
			}
			c.add("plugin-mtu", "the plugin "+name+" sets an MTU or GID that the port doesn't have", usual).
				supports(strong, "the queue pair is the plugin's: its attributes are its own", e.Place).
				todo("active_mtu of the ports against the plugin's source or settings", "a later plugin").
				from("autoscriptlabs/nccl-mesh-plugin#12")
			return
		}
	}
}

// driverName returns the driver of a failure's device.
func driverName(x *facts.Failure) string {
	if x.Node != nil {
		for _, d := range x.Node.Devices {
			if d.Name == x.Device {
				return d.Driver
			}
		}
	}
	for _, driver := range [...]string{"irdma", "mlx5", "bnxt_re"} {
		if strings.Contains(x.Event.Text, driver) {
			return driver
		}
	}
	return ""
}
