package rules

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

func findConnect(f *facts.Facts) []Finding {
	list := of(f, evidence.NCCLConnect, evidence.TorchStore, evidence.PerftestConnect)
	fault := with(of(f, evidence.NCCLFault), "what", "socket-creation", "no-ip")
	var none []*evidence.Event
	for e := range f.Store.Of(evidence.NCCLBootstrap) {
		if e.Fields["interface"] == "" {
			none = append(none, e)
		}
	}
	retry := oddRetry(f)
	if len(list)+len(fault)+len(none) == 0 && retry == nil {
		return nil
	}
	all := slices.Concat(fault, list)
	if len(fault)+len(none) == 0 && retry == nil {
		if c := connectOf(f, list); c != nil {
			return []Finding{{What: connectText(list[0]), Failure: list[0], Events: events(list), Causes: c.causes()}}
		}
	}
	c := &candidates{}
	ifname, p, set := variable(f, "NCCL_SOCKET_IFNAME")
	iface := c.add("interface-choice", "the interface for TCP is the wrong one, or has no address", common)
	iface.supportsIf(len(none) > 0, decisive, "no interface was found", linePlaces(none)...).
		supportsIf(set, hint, "NCCL_SOCKET_IFNAME="+ifname+" chooses it", p...).
		supportsIf(len(fault) > 0, strong, "no socket could be made", places(fault)...)
	for _, x := range list {
		if why := unreachable(f, x.Event.Fields["address"]); why != "" {
			iface.supports(strong, x.Event.Fields["address"]+" is "+why, x.Event.Place)
			break
		}
	}
	if retry != nil {
		address := retry.Fields["address"]
		iface.supports(strong, address+" is "+unreachable(f, address), retry.Place)
	}
	if name, places := bridges(f); name != "" {
		iface.supports(hint, "among the interfaces for TCP is "+name, places...)
	}
	iface.supportsIf(len(with(list, "errno", "113", "101")) > 0, hint, "no route leads to that address")
	iface.todo("ip -br address on all nodes, against the address in the line",
		"NCCL_SOCKET_IFNAME (GLOO_SOCKET_IFNAME for Gloo) with the interface on the nodes' common network").
		from("NVIDIA/nccl-tests#162", "ROCm/rccl#328")
	refused := len(with(list, "errno", "111")) > 0
	c.add("dead-peer", "the peer's process ended before, or hasn't begun to listen", usual).
		supportsIf(refused, strong,
			"the connection was refused: the node is there, nobody listens", places(with(list, "errno", "111"))...).
		opposesIf(len(list) == 0, common, "no connection was tried").
		todo("the peer's log", "what ended it")
	c.add("firewall", "a firewall or security group drops the ports", usual).
		supportsIf(len(with(list, "errno", "110", "113")) > 0, hint, "no answer, or no route").
		opposesIf(len(list) == 0, common, "no connection was tried").
		todo("nc -vz ADDRESS PORT", "open the ports between the nodes")
	if retry != nil {
		none = append(none, retry)
	}
	finding := Finding{Events: append(none, events(all)...), Causes: c.causes()}
	switch {
	case len(list) > 0:
		finding.Failure = list[0]
		finding.What = connectText(list[0])
	case len(fault) > 0:
		finding.Failure, finding.What = fault[0], where(fault[0])+" could not make a TCP socket"
	case retry != nil:
		finding.What = "NCCL tries to connect to " + retry.Fields["address"] + " in vain"
	default:
		finding.What = "no interface for TCP was found"
	}
	return []Finding{finding}
}

func linePlaces(list []*evidence.Event) []evidence.Place {
	var out []evidence.Place
	for _, e := range list {
		out = append(out, e.Place)
	}
	return out
}

// oddRetry returns a connection that NCCL tries again and again to an address that other nodes
// can't reach, nil if there is none.
func oddRetry(f *facts.Facts) *evidence.Event {
	for e := range f.Store.Of(evidence.NCCLConnectRetry) {
		if why := unreachable(f, e.Fields["address"]); why != "" && why != loopback {
			return e
		}
	}
	return nil
}

// loopback is what [oddAddress] says of addresses that work on one node.
const loopback = "a loopback address"

// oddAddress says why other nodes can't reach an address, "" if they may.
func oddAddress(s string) string {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return ""
	}
	switch a = a.Unmap(); {
	case a.IsLoopback():
		return loopback
	case a.IsLinkLocalUnicast():
		return "a link-local address"
	case netip.MustParsePrefix("172.17.0.0/16").Contains(a):
		return "in the range of Docker's bridge"
	}
	return ""
}

// unreachable returns why nodes can't reach an address that another one gave them, "" if they may.
func unreachable(f *facts.Facts, address string) string {
	if why := oddAddress(address); why != "" {
		return why
	}
	if name := bridgeAt(f, address); name != "" && !oneNode(f) {
		return "the address of " + name
	}
	return ""
}

func findGloo(f *facts.Facts) []Finding {
	list := of(f, evidence.GlooConnect)
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	loop := c.add("loopback-address", "the host's name resolves to a loopback address", usual)
	peer := ""
	for _, x := range list {
		remote := x.Event.Fields["remote"]
		if peer = cmp.Or(peer, remote); oddAddress(remote) == loopback {
			loop.supports(decisive, remote+" is a loopback address", x.Event.Place)
			peer = remote
			break
		}
	}
	if e := symptom(f, "gloo-local-fallback"); e != nil {
		loop.supports(strong, e.Text, e.Place)
	}
	loop.todo("getent hosts $(hostname) on each node", "GLOO_SOCKET_IFNAME, or a correct /etc/hosts").
		from("aws-samples/aws-do-eks#69")
	c.add("interface-choice", "Gloo uses the wrong interface", usual).
		todo("ip -br address", "GLOO_SOCKET_IFNAME with the interface of the nodes' network")
	c.add("dead-peer", "the peer's process ended before", rare).todo("the peer's log", "what ended it")
	return []Finding{{
		What: "Gloo could not connect to " + cmp.Or(peer, "its peer"), Failure: x, Events: events(list),
		Causes: c.causes(),
	}}
}
