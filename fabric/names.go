package fabric

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// compareNames orders nodes by description, comparing numbers by value, and then by GUID.
func compareNames(nameA string, guidA ib.GUID, nameB string, guidB ib.GUID) int {
	return cmp.Or(sysfs.NaturalCompare(nameA, nameB), slices.Compare(guidA[:], guidB[:]))
}

// ComparePorts orders ports by node description, comparing numbers by value, then by GUID, then by
// port number.
func (t *Topology) ComparePorts(a, b PortID) int {
	names := compareNames(t.description(a.Node), a.Node, t.description(b.Node), b.Node)
	return cmp.Or(names, cmp.Compare(a.Port, b.Port))
}

// HostName returns the name of an adapter as its host knows it, "gpu-07 mlx5_3 rail 3"; "" if that
// isn't known. An adapter with several ports is named without rail.
func (t *Topology) HostName(n *Node) string {
	for number := range n.Ports {
		h, ok := t.Hosts[PortID{n.GUID(), uint8(number)}]
		switch {
		case !ok:
		case h.Rail != nil && n.Info.NumPorts == 1:
			return fmt.Sprintf("%s %s rail %d", h.Host, h.Device, *h.Rail)
		default:
			return h.Host + " " + h.Device
		}
	}
	return ""
}

// description returns the description of a node, empty if it is unknown.
func (t *Topology) description(guid ib.GUID) string {
	if n := t.Node(guid); n != nil {
		return n.Description.String()
	}
	return ""
}

// SortNodes sorts nodes by description, comparing numbers by value, and then by GUID: host2 comes
// before host10.
func SortNodes(list []*Node) {
	slices.SortStableFunc(list, compareNodes)
}

func compareNodes(a, b *Node) int {
	return compareNames(a.Description.String(), a.GUID(), b.Description.String(), b.GUID())
}

// NodesByName returns all nodes in the order of [SortNodes].
func (t *Topology) NodesByName() []*Node {
	list := slices.Clone(t.Nodes)
	SortNodes(list)
	return list
}

// Ordered returns a link with its ends in the order of the lists: A is the switch's end, or else
// the first by name.
func (t *Topology) Ordered(l Link) Link {
	a, b := t.isSwitch(l.A), t.isSwitch(l.B)
	if b && !a || a == b && t.ComparePorts(l.B, l.A) < 0 {
		l.A, l.B = l.B, l.A
	}
	return l
}

func (t *Topology) isSwitch(id PortID) bool {
	n := t.Node(id.Node)
	return n != nil && n.IsSwitch()
}

// LIDs returns the LIDs of the node's ports in this subnet as text: "7" for a switch, "7,-" for an
// adapter whose second port has none; empty if no port has one.
func (n *Node) LIDs() string {
	text := func(port int) string {
		if lid := n.LID(uint8(port)); lid != 0 {
			return strconv.Itoa(int(lid))
		}
		return ""
	}
	if n.IsSwitch() {
		return text(0)
	}
	var lids []string
	for number := range n.Ports {
		if n.Ports[number].Known {
			lids = append(lids, cmp.Or(text(number), "-"))
		}
	}
	if !slices.ContainsFunc(lids, func(lid string) bool { return lid != "-" }) {
		return ""
	}
	return strings.Join(lids, ",")
}
