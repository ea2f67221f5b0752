package rules

import (
	"net/netip"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// gidFault is what is wrong with a GID that a connection used.
type gidFault struct {
	text   string
	places []evidence.Place
	// linkLocal is set for link-local GIDs, which RoCE v2 can't route, and zero for an empty entry.
	linkLocal, zero bool
}

// gidFaults returns what is wrong with the GIDs of RoCE connections: those in the failure's event,
// and those that the node's queue pairs used.
func gidFaults(f *facts.Facts, list []*facts.Failure) []gidFault {
	var out []gidFault
	seen := map[string]bool{}
	add := func(text, of string, places []evidence.Place) {
		a, err := netip.ParseAddr(text)
		if err != nil || seen[text] {
			return
		}
		seen[text] = true
		switch {
		case a.IsUnspecified() || a.Unmap().IsUnspecified():
			out = append(
				out,
				gidFault{text: of + " is all zeros: an empty entry of the GID table", places: places, zero: true},
			)
		case a.IsLinkLocalUnicast():
			out = append(out, gidFault{
				text: of + " " + text + " is link-local: it doesn't cross routers, and on RoCE is often that " +
					"of version 1",
				places:    places,
				linkLocal: true,
			})
		}
	}
	for _, x := range list {
		if link(x) == facts.LinkInfiniBand {
			continue // a GID of InfiniBand begins with fe80
		}
		add(x.Event.Fields["localGID"], "the local GID", []evidence.Place{x.Event.Place})
		add(x.Event.Fields["remoteGID"], "the peer's GID", []evidence.Place{x.Event.Place})
		add(x.Event.Fields["gid"], "the GID", []evidence.Place{x.Event.Place})
	}
	for e := range f.Store.Of(evidence.UCXPath) {
		add(e.Fields["remoteGID"], "the peer's GID", []evidence.Place{e.Place})
	}
	if firstOf(f, evidence.PerftestPort, "link", "IB") == nil {
		for e := range f.Store.Of(evidence.PerftestAddress) {
			add(e.Fields["gid"], "a GID of perftest", []evidence.Place{e.Place})
		}
	}
	for _, n := range f.Nodes {
		for _, d := range n.Devices {
			if d.Link == facts.LinkInfiniBand {
				continue
			}
			for _, g := range d.GIDs {
				add(g.GID.Addr().String(), "the GID of "+d.Name+" on "+n.Name, []evidence.Place{g.Place})
			}
		}
	}
	return out
}

// otherSubnets reports whether the two GIDs of a failure are IPv4 addresses of different networks,
// as far as that can be told without masks: they differ in the first three bytes.
func otherSubnets(x *facts.Failure) (local, remote string, other bool) {
	a, err1 := netip.ParseAddr(x.Event.Fields["localGID"])
	b, err2 := netip.ParseAddr(x.Event.Fields["remoteGID"])
	if err1 != nil || err2 != nil {
		return "", "", false
	}
	a, b = a.Unmap(), b.Unmap()
	if !a.Is4() || !b.Is4() {
		return "", "", false
	}
	x4, y4 := a.As4(), b.As4()
	return a.String(), b.String(), [3]byte(x4[:3]) != [3]byte(y4[:3])
}
