package rules

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// tableFault is what the recorded GID table of a node says of a GID that a connection used.
type tableFault struct {
	text   string
	places []evidence.Place
	// slug is the cause that it speaks for, and proof what decides it beside the table, "" for
	// nothing.
	slug, proof string
}

// usedGID is a GID of a connection at the node that has it.
type usedGID struct {
	node  *facts.Node
	port  *facts.RecordedPort
	addr  netip.Addr
	index int // -1: the log doesn't say
	place evidence.Place
}

// types returns the types that the used entry can have: RoCE has each address once for each
// version, so that without an index there can be two.
func (u *usedGID) types() map[string]bool {
	list := map[string]bool{}
	for _, g := range u.port.Of(u.addr) {
		if u.index < 0 || g.Index == u.index {
			list[g.Type] = true
		}
	}
	return list
}

// only reports whether the used entry has that type for sure.
func (u *usedGID) only(kind string) bool { t := u.types(); return len(t) == 1 && t[kind] }

// local returns the GID that this end of a failed connection used, nil if the node wasn't recorded.
func local(x *facts.Failure) *usedGID {
	if x.Node == nil || x.Node.Recorded == nil {
		return nil
	}
	u := &usedGID{node: x.Node, index: -1, place: x.Event.Place}
	u.addr, _ = netip.ParseAddr(x.Event.Fields["localGID"])
	if index, ok := x.Event.Fields.Int("gidIndex"); ok {
		u.index = index
	}
	for _, d := range x.Node.Devices {
		if x.Device != "" && d.Name != x.Device {
			continue
		}
		for _, g := range d.GIDs {
			if u.addr.IsValid() && g.GID.Addr() != u.addr.Unmap() {
				continue
			}
			if !u.addr.IsValid() {
				if several(x) {
					return nil // which one the connection used isn't known
				}
				u.addr, u.place = g.GID.Addr(), g.Place
			}
			if u.index < 0 {
				u.index = g.Index
			}
		}
	}
	u.addr = u.addr.Unmap()
	if u.port = x.Node.Recorded.Port(x.Device); u.port == nil {
		u.port = x.Node.Recorded.WithGID(u.addr)
	}
	if u.port == nil || u.port.Link != facts.LinkRoCE {
		return nil
	}
	return u
}

// several reports whether the node of a failure, or its device if that is known, used more than one
// GID.
func several(x *facts.Failure) bool {
	n := 0
	for _, d := range x.Node.Devices {
		if x.Device == "" || d.Name == x.Device {
			n += len(d.GIDs)
		}
	}
	return n > 1
}

// remote returns the GID of the peer, nil if the peer wasn't recorded.
func remote(x *facts.Failure) *usedGID {
	addr, err := netip.ParseAddr(x.Event.Fields["remoteGID"])
	if err != nil || x.Peer == nil {
		return nil
	}
	port := x.Peer.Recorded.WithGID(addr)
	if port == nil || port.Link != facts.LinkRoCE {
		return nil
	}
	return &usedGID{node: x.Peer, port: port, addr: addr.Unmap(), index: -1, place: x.Event.Place}
}

// tableFaults compares the GIDs of failed connections with the recorded tables. It returns also
// whether a table confirms that the GID is one of RoCE v2 that can be routed.
func tableFaults(list []*facts.Failure) (faults []tableFault, confirmed *tableFault) {
	seen := map[string]bool{}
	add := func(f *tableFault) {
		if f != nil && !seen[f.text] {
			seen[f.text] = true
			faults = append(faults, *f)
		}
	}
	for _, x := range list {
		l, r := local(x), remote(x)
		if l != nil {
			f, good := l.fault(x)
			add(f)
			if good != nil && confirmed == nil {
				confirmed = good
			}
			add(l.versions(r))
		}
		if r != nil {
			f, _ := r.fault(nil)
			add(f)
		}
	}
	return faults, confirmed
}

func (u *usedGID) where() string { return u.port.Device + " on " + u.node.Name }

func (u *usedGID) places() []evidence.Place { return []evidence.Place{u.place, u.port.Place} }

// fault returns what is wrong with the entry, or else that it is one of RoCE v2 that can be routed.
// With a failure, its other end may decide.
func (u *usedGID) fault(x *facts.Failure) (bad, good *tableFault) {
	entry, filled := u.port.At(u.index)
	best, hasBest := u.port.Routable()
	better := ""
	if hasBest {
		better = fmt.Sprintf("; index %d has a routable one of RoCE v2, %s", best.Index, best.GID.Addr())
	}
	switch {
	case u.index >= 0 && !filled && !u.node.Recorded.Partial:
		slug := "gid-empty"
		if hasBest {
			slug = "gid-moved"
		}
		return &tableFault{slug: slug, places: u.places(), text: fmt.Sprintf(
			"in the recorded table of %s index %d, which the connection uses, is empty%s", u.where(), u.index, better,
		)}, nil
	case u.index >= 0 && filled && u.addr.IsValid() && entry.GID.Addr() != u.addr:
		return &tableFault{slug: "gid-moved", places: u.places(), text: fmt.Sprintf(
			"the connection used %s at index %d of %s, where the recorded table has %s",
			u.addr, u.index, u.where(), entry.GID.Addr(),
		)}, nil
	}
	name := u.addr.String()
	if u.index >= 0 {
		name = fmt.Sprintf("GID index %d (%s)", u.index, u.addr)
	}
	switch {
	case u.only("v1"):
		return &tableFault{slug: "gid-index", places: u.places(), proof: u.unroutable(x), text: fmt.Sprintf(
			"%s of %s is one of RoCE v1 in the recorded table%s", name, u.where(), better,
		)}, nil
	case u.addr.IsLinkLocalUnicast() && len(u.types()) > 0 && hasBest:
		return &tableFault{slug: "gid-index", places: u.places(), text: fmt.Sprintf(
			"%s of %s is link-local%s", name, u.where(), better,
		)}, nil
	case u.only("v2") && !u.addr.IsLinkLocalUnicast():
		return nil, &tableFault{places: u.places(), text: fmt.Sprintf(
			"%s of %s is one of RoCE v2 in the recorded table", name, u.where(),
		)}
	}
	return nil, nil
}

// unroutable returns the proof that packets of RoCE v1, which have no IP header, can't reach the
// peer: it is in another subnet than this port.
func (u *usedGID) unroutable(x *facts.Failure) string {
	if x == nil {
		return ""
	}
	peer, err := netip.ParseAddr(x.Event.Fields["remoteGID"])
	peer = peer.Unmap()
	if err != nil || peer.IsLinkLocalUnicast() || peer.IsUnspecified() || peer == u.addr {
		return ""
	}
	var subnets []string
	for _, prefix := range u.port.Addresses {
		switch {
		case prefix.Addr().Is4() != peer.Is4() || prefix.Addr().IsLinkLocalUnicast() || prefix.IsSingleIP():
		case prefix.Contains(peer):
			return ""
		default:
			subnets = append(subnets, prefix.Masked().String())
		}
	}
	if len(subnets) == 0 {
		return ""
	}
	return fmt.Sprintf("RoCE v1 isn't routed, and the peer %s is outside of %s (%s)", peer, strings.Join(subnets, ", "),
		u.port.Netdev)
}

// versions returns the proof that the ends use different versions of RoCE.
func (u *usedGID) versions(r *usedGID) *tableFault {
	if r == nil || !(u.only("v1") && r.only("v2") || u.only("v2") && r.only("v1")) {
		return nil
	}
	text := fmt.Sprintf("by the recorded tables %s uses one version of RoCE, and %s the other", u.where(), r.where())
	return &tableFault{
		slug: "roce-version-differs", places: append(u.places(), r.port.Place), text: text, proof: text,
	}
}

// fromTables adds what recorded GID tables say to a cause: evidence for it, or a proof.
func (c *candidate) fromTables(list []*facts.Failure) *candidate {
	faults, confirmed := tableFaults(list)
	for _, t := range faults {
		switch {
		case t.slug != c.Slug:
		case t.proof != "":
			c.supports(decisive, t.text, t.places...)
			if t.proof != t.text {
				c.supports(0, t.proof)
			}
			c.proven = true
		default:
			c.supports(decisive, t.text, t.places...)
		}
	}
	if confirmed != nil && len(faults) == 0 && c.Slug == "gid-index" {
		c.opposes(usual, confirmed.text, confirmed.places...)
	}
	return c
}

// recordedPortDown adds the cause that a port of the connection is down in a recording.
func recordedPortDown(c *candidates, list []*facts.Failure) {
	for _, x := range list {
		var ports []*facts.RecordedPort
		var nodes []*facts.Node
		if x.Node != nil {
			ports, nodes = append(ports, x.Node.Recorded.Port(x.Device)), append(nodes, x.Node)
		}
		if r := remote(x); r != nil {
			ports, nodes = append(ports, r.port), append(nodes, r.node)
		}
		for i, p := range ports {
			if p == nil || p.State == "ACTIVE" || p.State == "" {
				continue
			}
			c.add("port-down", fmt.Sprintf("the port of %s on %s is down", p.Device, nodes[i].Name), rare).
				supports(decisive, fmt.Sprintf("it was %s when %s was recorded", p.State, nodes[i].Name), p.Place).
				todo("rdmactl doctor --only port-active on "+nodes[i].Name,
					"bring the port up: cable, switch port, driver")
			return
		}
	}
}

// concerns reports whether what a check found can be about a finding: on one of its nodes, and on
// its device if both are known.
func concerns(f *facts.Facts, x *Finding, e *evidence.Event) bool {
	node := f.NodeOf(e.Process)
	if node == nil || x.Failure == nil || x.Failure.Node == nil {
		return true
	}
	all := append([]*facts.Failure{x.Failure}, x.Failure.Same...)
	for _, y := range f.Failures {
		for _, shown := range x.Events {
			if y.Event == shown {
				all = append(append(all, y), y.Same...)
			}
		}
	}
	device, _, _ := strings.Cut(e.Fields["object"], ":")
	for _, y := range all {
		switch {
		case y.Peer == node:
			return true
		case y.Node != node:
		case y.Device == "" || node.Recorded.Port(device) == nil || y.Device == device:
			return true
		}
	}
	return false
}
