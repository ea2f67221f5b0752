package leaf

import (
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// sweep has what a saved sweep says about the ports of adapters.
type sweep struct {
	file string
	// byPort has them by their GUIDs, and byNode by the GUID of their adapter and their number.
	byPort map[ib.GUID]*sweptPort
	byNode map[fabric.PortID]*sweptPort
}

// sweptPort is a port of an adapter.
type sweptPort struct {
	to  Port
	why string // it has no switch: the reason
}

// newSweep indexes a topology.
func newSweep(file string, t *fabric.Topology) *sweep {
	s := &sweep{file: file, byPort: map[ib.GUID]*sweptPort{}, byNode: map[fabric.PortID]*sweptPort{}}
	for _, n := range t.Nodes {
		if n.IsSwitch() {
			continue
		}
		for number := 1; number < len(n.Ports); number++ {
			p := &n.Ports[number]
			if !p.Known && !p.HasPeer() {
				continue // it is not in this subnet
			}
			swept := sweptPortOf(t, p)
			s.byNode[fabric.PortID{Node: n.GUID(), Port: uint8(number)}] = swept
			if !p.GUID.IsZero() {
				s.byPort[p.GUID] = swept
			}
		}
	}
	return s
}

func sweptPortOf(t *fabric.Topology, p *fabric.Port) *sweptPort {
	if !p.HasPeer() {
		return &sweptPort{why: "its port has no link"}
	}
	peer := t.Node(p.Peer.Node)
	switch {
	case peer == nil:
		return &sweptPort{why: "its cable ends at an unknown node"}
	case !peer.IsSwitch():
		return &sweptPort{why: "it is connected to " + peer.Description.String() + ", which is no switch"}
	}
	id := guidText(peer.GUID())
	name := switchName(peer.Description.String())
	if name == "" {
		name = id
	}
	return &sweptPort{to: Port{Switch: id, Name: name, Port: strconv.Itoa(int(p.Peer.Port))}}
}

// guidText returns a GUID as tools of InfiniBand print it: 0x0002c90300000001.
func guidText(g ib.GUID) string { return "0x" + strings.ReplaceAll(g.String(), ":", "") }

// switchName returns the name of a switch without what its firmware adds: leaf0 for
// "MF0;leaf0:MQM9700/U1".
func switchName(description string) string {
	if rest, ok := strings.CutPrefix(description, "MF0;"); ok {
		if name, _, ok := strings.Cut(rest, ":"); ok && name != "" {
			return name
		}
	}
	return strings.TrimSpace(description)
}

// find returns the port of a card, nil if the sweep doesn't have it.
func (s *sweep) find(device string, facts map[string]string) *sweptPort {
	if guid, err := ib.ParseGUID(facts[result.FactPortGUID]); err == nil && !guid.IsZero() {
		if p := s.byPort[guid]; p != nil {
			return p
		}
	}
	guid, err := ib.ParseGUID(facts[result.FactNodeGUID])
	if err != nil || guid.IsZero() {
		return nil
	}
	return s.byNode[fabric.PortID{Node: guid, Port: portNumber(device)}]
}

// portNumber returns the number of the port in the name of a card, mlx5_0:1, or 1.
func portNumber(device string) uint8 {
	if _, number, ok := strings.Cut(device, ":"); ok {
		if n, err := strconv.ParseUint(number, 10, 8); err == nil {
			return uint8(n)
		}
	}
	return 1
}

// hasGUID reports whether a card has reported what a sweep knows it by.
func hasGUID(facts map[string]string) bool {
	return facts[result.FactPortGUID] != "" || facts[result.FactNodeGUID] != ""
}
