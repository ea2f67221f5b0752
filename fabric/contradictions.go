package fabric

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Contradictions returns what only a comparison of all ports shows, in the order of the kinds:
// LIDs that several ports have, subnet prefixes and subnet managers' LIDs that differ between
// ports, and more than one master subnet manager. A sweep has them in Anomalies too; a file of an
// older version doesn't.
func (t *Topology) Contradictions() []Anomaly {
	ports := t.lidPorts()
	list := sharedLIDs(t, ports)
	configured := slices.DeleteFunc(slices.Clone(ports), func(p lidPort) bool { return !p.configured })
	list = append(list, differing(AnomalySubnetPrefix, configured,
		func(p *mad.PortInfo) ib.SubnetPrefix { return p.GIDPrefix },
		func(n int, v ib.SubnetPrefix) string {
			return fmt.Sprintf("%s subnet prefix 0x%016x", doing(n, "has", "have"), uint64(v))
		})...)
	list = append(list, differing(AnomalyMasterLID, configured,
		func(p *mad.PortInfo) ib.LID { return p.MasterSMLID },
		func(n int, v ib.LID) string {
			return fmt.Sprintf("%s the subnet manager at LID %d", doing(n, "follows", "follow"), uint16(v))
		})...)
	return append(list, t.rivals()...)
}

// lidPort is a port that has a unicast LID: any port of an adapter or router, port 0 of a switch.
type lidPort struct {
	id   PortID
	info *mad.PortInfo
	// configured reports whether a subnet manager has configured the port; before that, its LID and
	// prefix may be those of an earlier manager.
	configured bool
}

func (t *Topology) lidPorts() []lidPort {
	var list []lidPort
	for _, n := range t.Nodes {
		for number := range n.Ports {
			p := &n.Ports[number]
			if n.IsSwitch() && number > 0 {
				break // all ports of a switch have the LID of port 0
			}
			if p.Known && p.Info.LID != 0 && p.Info.LID <= maxUnicastLID {
				configured := n.IsSwitch() || p.Info.PortState >= mad.PortStateArmed
				list = append(list, lidPort{PortID{n.GUID(), uint8(number)}, &p.Info, configured})
			}
		}
	}
	return list
}

// PortsWithLID returns the ports that have a LID, as their base LID or by their LMC: one, unless a
// subnet manager or an administrator has made a mistake.
func (t *Topology) PortsWithLID(lid ib.LID) []PortID {
	var list []PortID
	for _, p := range t.lidPorts() {
		if t.hasLID(p.id, lid) {
			list = append(list, p.id)
		}
	}
	return list
}

// sharedLIDs lists each port with a LID that a port before it has too.
func sharedLIDs(t *Topology, ports []lidPort) []Anomaly {
	byLID := slices.Clone(ports)
	slices.SortStableFunc(byLID, func(a, b lidPort) int { return int(a.info.LID) - int(b.info.LID) })
	var list []Anomaly
	var last *lidPort // that reaches furthest
	for i := range byLID {
		p := &byLID[i]
		if last != nil && p.info.LID <= last.lastLID() {
			list = append(list, Anomaly{
				AnomalyDuplicateLID, p.id,
				fmt.Sprintf("LID %d also belongs to %s", uint16(p.info.LID), t.portName(last.id)),
			})
		}
		if last == nil || p.lastLID() > last.lastLID() {
			last = p
		}
	}
	return list
}

func (p *lidPort) lastLID() ib.LID { return p.info.LID + 1<<p.info.LMC - 1 }

// portName returns "host0 mlx5_0[1]".
func (t *Topology) portName(id PortID) string {
	if n := t.Node(id.Node); n != nil {
		return fmt.Sprintf("%s[%d]", n.Name(), id.Port)
	}
	return id.String()
}

// differing lists each value that is not the most frequent one, at the first port that has it. Of
// equally frequent values, the first counts: that of the local node, which comes first.
func differing[V comparable](
	kind AnomalyKind, ports []lidPort, value func(*mad.PortInfo) V, text func(int, V) string,
) []Anomaly {
	counts, first := map[V]int{}, map[V]PortID{}
	var order []V
	for _, p := range ports {
		v := value(p.info)
		if counts[v]++; counts[v] == 1 {
			first[v], order = p.id, append(order, v)
		}
	}
	if len(order) < 2 {
		return nil
	}
	common := order[0]
	for _, v := range order[1:] {
		if counts[v] > counts[common] {
			common = v
		}
	}
	var list []Anomaly
	for _, v := range order {
		if v != common {
			list = append(list, Anomaly{
				kind, first[v],
				text(counts[v], v) + "; " + text(counts[common], common),
			})
		}
	}
	return list
}

func portCount(n int) string {
	if n == 1 {
		return "1 port"
	}
	return fmt.Sprintf("%d ports", n)
}

// doing returns "1 port has" or "2 ports have".
func doing(n int, one, several string) string {
	if n == 1 {
		return portCount(n) + " " + one
	}
	return portCount(n) + " " + several
}

// Masters returns the subnet managers in state master, one for each GUID. More than one is a
// subnet with a split brain.
func (t *Topology) Masters() []SubnetManager {
	var list []SubnetManager
	for _, m := range t.SubnetManagers {
		if m.Err == "" && m.Info.State == mad.SMStateMaster &&
			!slices.ContainsFunc(list, func(o SubnetManager) bool { return o.Info.GUID == m.Info.GUID }) {
			list = append(list, m)
		}
	}
	return list
}

// rivals lists each master subnet manager after the first.
func (t *Topology) rivals() []Anomaly {
	masters := t.Masters()
	var list []Anomaly
	for i := range masters {
		if i == 0 {
			continue
		}
		m, one := &masters[i], &masters[0]
		list = append(list, Anomaly{
			AnomalyMasters, m.Port,
			fmt.Sprintf("the subnet manager at LID %d (priority %d) is master, "+
				"and so is the one at %s, LID %d (priority %d)",
				uint16(m.LID), m.Info.Priority, t.portName(one.Port), uint16(one.LID), one.Info.Priority),
		})
	}
	return list
}
