package ibsimd

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// FromTopology returns the net of a saved sweep, and its subnet managers. The nodes are in the
// state that the sweep has seen: LIDs, port states, forwarding tables and counters as far as it has
// them. A port whose other end didn't answer is up and leads to a dead node.
func FromTopology(t *fabric.Topology) (*Net, []Manager, error) {
	n := NewNet()
	names := nodeNames(t)
	byGUID := map[ib.GUID]*Node{}
	for i, from := range t.Nodes {
		ports := len(from.Ports) - 1
		if ports < 1 || ports > maxRadix {
			return nil, nil, fmt.Errorf("simulate saved topology: node %s has %d ports, not 1 to %d",
				from.GUID(), ports, maxRadix)
		}
		one, err := n.Add(names[i], from.Info.NodeType, uint8(ports), PortSettings{Width: 3, Speed: 7})
		if err != nil {
			return nil, nil, fmt.Errorf("simulate saved topology: %w", err)
		}
		one.take(from)
		byGUID[from.GUID()] = one
	}
	dead := 0
	for _, from := range t.Nodes {
		for number := range from.Ports {
			p := &from.Ports[number]
			one := byGUID[from.GUID()]
			if peer := byGUID[p.Peer.Node]; peer != nil && int(p.Peer.Port) < len(peer.Ports) {
				n.link(one, uint8(number), peer, p.Peer.Port)
				continue
			}
			if !p.IsLinkUp() || number == 0 {
				continue
			}
			silent, err := n.Add(fmt.Sprintf("unreached%d", dead), mad.NodeTypeCA, 1, PortSettings{Width: 3, Speed: 7})
			if err != nil {
				return nil, nil, fmt.Errorf("simulate saved topology: %w", err)
			}
			dead++
			silent.Dead = true
			info := p.Info
			silent.Settings[1].Info = &info
			n.link(one, uint8(number), silent, 1)
		}
	}
	return n, savedManagers(t, byGUID), nil
}

// link connects two ports and keeps what they have.
func (n *Net) link(a *Node, portA uint8, b *Node, portB uint8) {
	own, far := a.Ports[portA], b.Ports[portB]
	n.Subnet.Connect(a.Node, portA, b.Node, portB)
	a.Ports[portA].Counters, a.Ports[portA].Mellanox = own.Counters, own.Mellanox
	b.Ports[portB].Counters, b.Ports[portB].Mellanox = far.Counters, far.Mellanox
}

// take copies a node of a sweep.
func (n *Node) take(from *fabric.Node) {
	info := from.Info
	n.Info, n.GUID, n.SystemGUID = &info, info.NodeGUID, info.SystemImageGUID
	n.VendorID, n.DeviceID = info.VendorID, info.DeviceID
	n.Description, n.Switch, n.Performance = from.Description.String(), from.Switch, from.Performance
	n.Routes, n.Multicast = append([]uint8(nil), from.Routes...), from.Multicast
	if from.Switch != nil {
		n.EnhancedPort0 = from.Switch.EnhancedPort0
	}
	for i := range from.Ports {
		p := &from.Ports[i]
		if p.Known {
			port := p.Info
			n.Settings[i].Info = &port
			n.LIDs[i] = port.LID
		}
		n.Ports[i].Mellanox = p.Mellanox
		if p.Extended != nil {
			n.Ports[i].Counters = *p.Extended
		}
		if p.Counters != nil {
			n.Settings[i].Classic = p.Counters
			if p.Extended == nil {
				n.Ports[i].Counters = widen(p.Counters)
			}
		}
	}
}

// nodeNames returns a unique name for each node: a word of its description, the whole description,
// or the type and GUID as ibnetdiscover has them.
func nodeNames(t *fabric.Topology) []string {
	const forms = 2
	var counts [forms]map[string]int
	form := func(n *fabric.Node, i int) string {
		text := n.Description.String()
		if i == 0 {
			text, _, _ = strings.Cut(text, " ")
			if _, rest, managed := strings.Cut(text, ";"); managed { // the form of Mellanox: MF0;leaf0:MQM9700/U1
				text, _, _ = strings.Cut(rest, ":")
			}
		}
		const longest = 31 // what a client can request
		text = strings.Join(strings.Fields(text), "-")
		if len(text) > longest || strings.ContainsAny(text, `"#@;`) || strings.HasPrefix(text, "unreached") {
			return ""
		}
		return text
	}
	for i := range forms {
		counts[i] = map[string]int{}
		for _, n := range t.Nodes {
			counts[i][form(n, i)]++
		}
	}
	names := make([]string, len(t.Nodes))
	taken := map[string]bool{}
	for k, n := range t.Nodes {
		letter := map[mad.NodeType]string{mad.NodeTypeSwitch: "S", mad.NodeTypeRouter: "R"}[n.Info.NodeType]
		if letter == "" {
			letter = "H"
		}
		guid := n.GUID()
		names[k] = fmt.Sprintf("%s-%x", letter, guid[:])
		for i := range forms {
			if name := form(n, i); name != "" && counts[i][name] == 1 && !taken[name] {
				names[k] = name
				break
			}
		}
		taken[names[k]] = true
	}
	return names
}

// savedManagers returns the subnet managers that answered the sweep.
func savedManagers(t *fabric.Topology, nodes map[ib.GUID]*Node) (managers []Manager) {
	for i := range t.SubnetManagers {
		m := &t.SubnetManagers[i]
		if at := nodes[m.Port.Node]; at != nil && m.Err == "" {
			managers = append(managers, Manager{
				Node: at.Name, State: m.Info.State, Priority: m.Info.Priority, Key: m.Info.SMKey, Saved: true,
			})
		}
	}
	return managers
}
