package rules

import (
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// completionKinds are the events of completions with an error.
var completionKinds = []evidence.Kind{
	evidence.NCCLCompletion, evidence.UCXCompletion, evidence.UCXTimeout, evidence.MooncakeFailed,
	evidence.PerftestCompletion, evidence.VerbsCompletion,
}

// completions returns the failures that are completions with that status. A timeout of a UD
// endpoint of UCX is one with status 12, too.
func completions(f *facts.Facts, status string) []*facts.Failure {
	list := with(of(f, completionKinds...), "status", status)
	if status == "12" {
		list = append(list, with(of(f, evidence.UCXTimeout), "status", "")...)
	}
	return list
}

// timeoutRule is about requests that got no answer.
func timeoutRule() Rule {
	return Rule{
		ID:    "RDX-101",
		Name:  "retry-exceeded",
		Title: "requests got no answer: transport retry counter exceeded",
		Explanation: "The card sent a request again and again and got neither an acknowledgement nor a refusal. " +
			"Nothing came back, or nothing arrived: the address is wrong, the path drops packets, or the peer is " +
			"gone. On InfiniBand the subnet manager's routes are part of the path.",
		Sources: []string{"ibv_poll_cq(3)", "NVIDIA/nccl#426", "NVIDIA/nccl#905", "sgl-project/sglang#29127"},
		Find:    findTimeout,
	}
}

func findTimeout(f *facts.Facts) []Finding {
	list := completions(f, "12")
	if len(list) == 0 {
		return nil
	}
	first := list[0]
	s := scopeOf(list)
	c := &candidates{}
	ib := link(first) == facts.LinkInfiniBand
	if ib {
		timeoutInfiniBand(f, c, s)
	} else {
		timeoutRoCE(f, c, list, s)
	}
	timeoutCommon(f, c, list, s)
	what := fmt.Sprintf("%s got no answer from %s", where(first), toward(first))
	if more := len(list) - 1; more > 0 {
		what += fmt.Sprintf(", and %d more pairs %s", more, s.text())
	}
	return []Finding{{What: what, Failure: first, Events: events(list), Causes: c.causes()}}
}

// early returns whether the failures came from the first message on, and whether that is known.
func early(list []*facts.Failure) (early, known bool) {
	for _, x := range list {
		if x.SinceInit >= 0 {
			known = true
			early = early || x.SinceInit < 2*time.Minute
		}
	}
	return early, known
}

func timeoutRoCE(f *facts.Facts, c *candidates, list []*facts.Failure, s scope) {
	counted := firstOf(f, evidence.Setting, "name", "out_of_sequence")
	atOnce, known := early(list)
	bad, good := gidFaults(f, list), routable(list)
	gid := c.add("gid-index", "wrong GID: the connection doesn't use a routable RoCE v2 address", common)
	for _, g := range bad {
		gid.supports(strong, g.text, g.places...)
	}
	if v, p, ok := variable(f, gidVariable(list[0])); ok {
		gid.supports(hint, gidVariable(list[0])+"="+v+" forces an index, which can differ between nodes and move", p...)
	} else if l, ok := f.Library("nccl"); ok && family(list[0]) == "nccl" {
		possible, certain := l.Between("", "2.20.5")
		switch {
		case possible && good != nil && len(bad) == 0: // index 0 is a link-local one: another index is in use
		case possible:
			w := hint
			if certain && link(list[0]) == facts.LinkRoCE {
				w = strong
			}
			gid.supports(w, "NCCL before 2.21 uses GID index 0 unless NCCL_IB_GID_INDEX is set", l.Place()...)
		default:
			gid.opposes(hint, "NCCL since 2.21 looks for a RoCE v2 GID itself, and no index is forced", l.Place()...)
		}
	}
	logged := len(gid.For)
	gid.fromTables(list)
	if good != nil && len(bad) == 0 && len(gid.For) == logged {
		gid.opposes(usual, "the GIDs in the line are no link-local ones", good.Place)
	}
	if path := ucxPath(f, list[0]); path != nil && good == nil && len(bad) == 0 && len(gid.For) == logged {
		gid.opposes(usual, "the peer's GID "+path.Fields["remoteGID"]+" is a routable one", path.Place)
	}
	gid.opposesIf(known && !atOnce, strong, "it worked for minutes before, with the same GID")
	gid.todo(
		"rdmactl doctor --only gid-routable on both nodes; show_gids lists the tables",
		"with NCCL 2.21 or later unset NCCL_IB_GID_INDEX; else set the index of the routable RoCE v2 GID on each node",
	).
		from("NVIDIA/nccl#426", "pytorch/pytorch#81628")

	c.add("udp-blocked", "a switch, firewall or security group drops UDP port 4791", usual).
		supportsIf(known && atOnce, hint, "no request was ever answered").
		opposesIf(known && !atOnce, strong, "it worked for minutes before").
		todo("rdmactl doctor --probe PEER (checks roce-peer and path-mtu)", "let UDP 4791 through in both directions").
		from("uccl-project/uccl#803")
	mtuSmall(f, c, list)
	c.add("congestion", "packets are lost in congestion: no PFC, or ECN not set up", usual).
		supportsIf(known && !atOnce, strong, "it worked before, so the path exists").
		opposesIf(known && atOnce && !s.everywhere(), usual, "no request was ever answered").
		supportsIf(counted != nil, strong, textOf(counted), placeOf(counted)...).
		todo("rdmactl doctor --interval 10s on both nodes: out_of_sequence, rx_discards, pause counters",
			"one lossless class end to end: trust mode, PFC, ECN and traffic class on cards and switches")
	class := c.add("traffic-class", "the packets run in the wrong traffic class", rare)
	if e := firstOf(f, evidence.UCXPath, "tclass", "0"); e != nil {
		class.supports(hint, "the connection has traffic class 0", e.Place)
	}
	class.todo("rdmactl env lint: traffic class against the cards' trust and PFC settings",
		"set NCCL_IB_TC, or UCX_IB_TRAFFIC_CLASS, to the class that the switches protect").
		from("openucx/ucx#2434")
	version := c.add("roce-version-differs", "the two ends use different RoCE versions", rare)
	for _, g := range bad {
		version.supportsIf(g.linkLocal, hint, g.text, g.places...)
	}
	version.fromTables(list).
		todo("show_gids on both nodes: the type of the index in use", "use a RoCE v2 GID on both ends")
	moved := (&candidates{}).add("gid-moved", "the GID table changed, and the connection kept the old index", rare).
		fromTables(list).todo("show_gids before and after; the addresses of the interface",
		"stable addresses; restart the job")
	if len(moved.For) > 0 {
		c.list = append(c.list, moved)
	}
}

// routable returns a failure's event that names both GIDs, nil if none does.
func routable(list []*facts.Failure) *evidence.Event {
	for _, x := range list {
		if x.Event.Fields["localGID"] != "" && x.Event.Fields["remoteGID"] != "" {
			return x.Event
		}
	}
	return nil
}

// mtuSmall is about a path that drops large packets.
func mtuSmall(f *facts.Facts, c *candidates, list []*facts.Failure) {
	m := c.add("mtu-too-small", "the path drops large packets: its MTU is smaller than the ports'", rare)
	if d, ok := mtuDifference(f); ok {
		m.supports(strong, "the nodes' MTUs differ: "+values(d))
		c.add("mtu-differs", "the nodes' path MTUs differ", rare).supports(strong, values(d)).
			todo("rdmactl env consensus NODE1 NODE2 …: path MTU per rail", "one MTU on all ports and switches").
			from("NVIDIA/nccl#1524")
	}
	atOnce, known := early(list)
	m.opposesIf(known && !atOnce, hint, "it worked for minutes before").
		todo("rdmactl doctor --probe PEER (check path-mtu)", "the same MTU on ports, switches and routers")
}

func timeoutInfiniBand(f *facts.Facts, c *candidates, s scope) {
	sm := c.add("subnet-manager", "routes of the subnet manager: stale LIDs, credit loops, a failed re-route", usual)
	if e := firstOf(f, evidence.OpenSMError, ""); e != nil {
		sm.supports(strong+hint, e.Text, e.Place)
	}
	sm.
		supportsIf(s.everywhere(), hint, "several nodes and peers are affected").
		todo("rdmactl fabric trace NODE1 NODE2, rdmactl fabric sm", "one working subnet manager; let it sweep again").
		from("linux-rdma/opensm#38")
	c.add("partition", "the two ports have no partition (P_Key) in common", rare).
		todo("rdmactl fabric sa paths LID, and the pkeys folders of both ports",
			"a common partition with full membership")
}

// timeoutCommon are causes on InfiniBand and RoCE.
func timeoutCommon(f *facts.Facts, c *candidates, list []*facts.Failure, s scope) {
	atOnce, known := early(list)
	later := known && !atOnce
	flap := c.add("link-flap", "a link went down and came back", usual)
	if e := portError(f); e != nil {
		flap.supports(decisive, fmt.Sprintf("%s: %s", e.Place, e.Text), e.Place)
	}
	flap.supportsIf(later, hint, "it worked before").
		opposesIf(known && atOnce, hint, "it happened from the first message on").
		todo("rdmactl doctor on the node; dmesg -T; the switch port's log",
			"repair or replace the link; a longer NCCL_IB_TIMEOUT only rides over short interruptions").
		from("NVIDIA/nccl#905")
	recordedPortDown(c, list)
	nic := c.add("bad-nic", "one card or its link", rare)
	if name, ok := s.oneDevice(list); ok {
		nic.supports(
			decisive,
			fmt.Sprintf("all %d failures are of %s, with %d different peers", s.pairs, name, len(s.peers)),
			places(list[:min(len(list), 3)])...)
		nic.Title = "the card " + name + " or its link"
	}
	if name, ok := oneEnd(list); ok && len(nic.For) == 0 {
		nic.supports(decisive, fmt.Sprintf(
			"all %d failures have %s at one end, and different nodes at the other",
			len(list), name), places(list[:min(len(list), 3)])...)
		nic.Title = "the card " + name + " or its link"
	}
	nic.todo("rdmactl doctor on that node; rdmactl cluster verify names a slow or lossy card",
		"take the card out of NCCL_IB_HCA, check cable and firmware").from("sgl-project/sglang#29127")
	deadPeer(f, c, list, s)
	c.add("cable", "a bad cable or transceiver", rare).supportsIf(later, hint, "it worked before").
		todo("rdmactl fabric errors --ber, rdmactl fabric cables, rdmactl doctor --interval 10s: symbol errors",
			"clean or replace it")
	rails := c.add("rails-not-connected", "the two ports are on networks that are not connected", rare)
	for _, x := range list {
		if a, b, other := otherSubnets(x); other {
			rails.supports(strong, fmt.Sprintf("%s and %s are in different networks", a, b), x.Event.Place)
			break
		}
	}
	for _, x := range list {
		if peer := peerDevice(x); peer != "" && x.Device != "" && peer != x.Device {
			rails.supports(usual+hint, fmt.Sprintf("%s was paired with %s of the peer: another rail", x.Device, peer),
				x.Event.Place)
			break
		}
	}
	rails.supportsIf(link(list[0]) == facts.LinkInfiniBand && !later, hint,
		"the ports are of InfiniBand: no address is in the way, so the two have no path").
		todo("rdmactl cluster verify --hosts NODE1,NODE2: which cards reach each other",
			"NCCL_CROSS_NIC=0 on rail-only fabrics; NCCL_IB_HCA with the ports that are connected").
		from("NVIDIA/nccl#2013")
}

// deadPeer is about a peer that was gone before.
func deadPeer(f *facts.Facts, c *candidates, list []*facts.Failure, s scope) {
	peer := c.add("dead-peer", "the peer's process or node was gone already", usual)
	if name, ok := s.onePeer(list); ok {
		peer.supports(strong, fmt.Sprintf("all failures on %d nodes name %s", len(s.nodes), name))
		peer.Title = "the process or node " + name + " was gone already"
	}
	for _, silent := range f.Silent {
		if len(list) > 0 && silent.Node == list[0].Peer {
			peer.supports(hint, silent.Node.Name+": "+silent.Why, silent.Places...)
			break
		}
	}
	for _, kind := range [...]evidence.Kind{evidence.ProgramKilled, evidence.KernelOOM, evidence.KernelGPU} {
		if e := firstOf(f, kind, ""); e != nil && !f.OtherTime(e) {
			peer.supports(strong, fmt.Sprintf("%s: %s", e.Place, e.Text), e.Place)
		}
	}
	peer.todo("the log of the peer's rank and dmesg of its node", "find why it ended; this node only noticed")
}

// portError returns an event that says that a link went down.
func portError(f *facts.Facts) *evidence.Event {
	for _, kind := range [...]evidence.Kind{evidence.NCCLAsync, evidence.VerbsAsync} {
		if e := firstOf(f, kind, "event", "port error"); e != nil {
			return e
		}
	}
	for e := range f.Store.Of(evidence.KernelLink) {
		if s := e.Fields["state"]; (s == "down" || s == "flap") && f.Near(e) {
			return e
		}
	}
	return nil
}
