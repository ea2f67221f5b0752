package fabric

import (
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// IsActive reports whether the port forwards packets: its link is up, and a subnet manager has made
// it active.
func (p *Port) IsActive() bool {
	return p.IsLinkUp() && p.Info.PortState == mad.PortStateActive
}

// PortsUp returns how many ports of a node have a link that is up, and how many of those are
// active, port 0 excluded.
func (n *Node) PortsUp() (up, active int) {
	for number := 1; number < len(n.Ports); number++ {
		p := &n.Ports[number]
		if p.IsLinkUp() {
			up++
		}
		if p.IsActive() {
			active++
		}
	}
	return up, active
}

// IsFaulty reports whether a link is down-trained, or not active at an end that is known.
func (t *Topology) IsFaulty(l Link) bool {
	known := 0
	for _, id := range [...]PortID{l.A, l.B} {
		p := t.Port(id)
		if p == nil || !p.Known {
			continue
		}
		known++
		if !p.IsActive() {
			return true
		}
	}
	return known == 0 || t.IsDowntrained(l)
}

// IsOneSided reports whether a cable with an end at the node is up at one end only.
func (t *Topology) IsOneSided(n *Node) bool {
	return slices.ContainsFunc(t.Anomalies, func(a Anomaly) bool {
		if a.Kind != AnomalyOneSided {
			return false
		}
		p := t.Port(a.At)
		return n.GUID() == a.At.Node || p != nil && p.HasPeer() && n.GUID() == p.Peer.Node
	})
}

// IsContradictory reports whether an anomaly was seen at the port.
func (t *Topology) IsContradictory(id PortID) bool {
	return slices.ContainsFunc(t.Anomalies, func(a Anomaly) bool { return a.At == id })
}

// DownPort is a port without a link.
type DownPort struct {
	Port PortID
	// Was is the other end in an earlier sweep; zero if there was none or it is unknown.
	Was PortID
}

// DownPorts returns the ports that have no link, in the order of the nodes. If an earlier sweep is
// given, not nil, it provides the other ends that the ports have lost.
func (t *Topology) DownPorts(earlier *Topology) []DownPort {
	var list []DownPort
	for _, n := range t.Nodes {
		for number := 1; number < len(n.Ports); number++ {
			p := &n.Ports[number]
			if !p.Known || p.IsLinkUp() {
				continue
			}
			down := DownPort{Port: PortID{n.GUID(), uint8(number)}}
			if earlier != nil {
				if was := earlier.Port(down.Port); was != nil {
					down.Was = was.Peer
				}
			}
			list = append(list, down)
		}
	}
	return list
}

// HasCounters reports whether the counters of a port have been read: Options.Counters asked for
// them.
func (t *Topology) HasCounters() bool {
	return slices.ContainsFunc(t.Nodes, func(n *Node) bool {
		return slices.ContainsFunc(n.Ports, func(p Port) bool { return p.hasCounters() })
	})
}

func (p *Port) hasCounters() bool { return p.Counters != nil || p.Extended != nil }

// CountersRead returns when the counters of a port were read; the start of the sweep for a file of
// an older version. The time is zero if none was read.
func (t *Topology) CountersRead(id PortID) time.Time {
	p := t.Port(id)
	if p == nil || !p.hasCounters() {
		return time.Time{}
	}
	return t.Started.Add(p.CountersAfter)
}

// HasRoutes reports whether the forwarding table of a switch has been read: Options.Routes asked
// for them.
func (t *Topology) HasRoutes() bool {
	return slices.ContainsFunc(t.Nodes, func(n *Node) bool { return n.Routes != nil })
}

// CountedEnds returns the cable ends with counters: both ends of each link, in the order of
// [Topology.Ordered], and the ports with counters whose other end is unknown.
func (t *Topology) CountedEnds() [][]PortID {
	var list [][]PortID
	for _, l := range t.Links() {
		l = t.Ordered(l)
		list = append(list, []PortID{l.A, l.B})
	}
	for _, n := range t.Nodes {
		for number := range n.Ports {
			if p := &n.Ports[number]; !p.HasPeer() && p.hasCounters() {
				list = append(list, []PortID{{n.GUID(), uint8(number)}})
			}
		}
	}
	return list
}
