package ibdiags

import (
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// Vendors whose system image GUIDs identify a chassis in a vendor-specific way.
const (
	vendorMellanox  = 0x2c9
	vendorVoltaire  = 0x8f1
	vendorCisco     = 0x5ad
	vendorInfiniCon = 0x66a
)

// deviceIS4 is InfiniScale IV, whose switch systems give the slot of each chip in the node
// description.
const deviceIS4 = 0xbd36

// slots of one chassis.
const (
	maxSpines = 18
	maxLines  = 36
)

// chassis is a group of nodes with one system image GUID.
type chassis struct {
	number int // 0: only one node has the GUID, so this is not a chassis
	guid   uint64
	count  int
	nodes  []*subnetNode // in reverse order of discovery
	spine  [maxSpines + 2]*subnetNode
	lines  [maxLines + 2]*subnetNode
}

// slot is the position of a chip in a chassis.
type slot struct {
	kind   byte // 'L' line, 'S' spine; 0 unknown
	number int
	chip   int
	system string // type of the system
}

// String returns "Line 3 Chip 1".
func (s slot) String() string {
	word := "Line"
	if s.kind == 'S' {
		word = "Spine"
	}
	return word + " " + strconv.Itoa(s.number) + " Chip " + strconv.Itoa(s.chip)
}

// group finds the chassis: nodes with a common system image GUID (C twin: group_nodes). The slots
// of Voltaire's switches, which C derives from the internal cabling, are not supported.
func (s *subnet) group() {
	for _, n := range s.ofType(mad.NodeTypeSwitch) {
		n.findSlot()
	}
	byGUID := map[uint64]*chassis{}
	grouped := func(yield func(n *subnetNode, guid uint64) bool) {
		for _, n := range s.nodes {
			if n.Info.VendorID != vendorVoltaire && !n.Info.SystemImageGUID.IsZero() && !yield(n, n.chassisGUID()) {
				return
			}
		}
	}
	for _, guid := range grouped {
		c := byGUID[guid]
		if c == nil {
			c = &chassis{guid: guid}
			byGUID[guid] = c
			s.chassis = append(s.chassis, c)
		}
		c.count++
	}
	count := 0
	for n, guid := range grouped {
		c := byGUID[guid]
		if c.count < 2 {
			continue
		}
		if c.number == 0 {
			count++
			c.number = count
		}
		c.insert(n)
	}
}

// insert puts a node into its slot, or before the other nodes.
func (c *chassis) insert(n *subnetNode) {
	place := (*subnetNode)(nil)
	switch {
	case n.slot.kind == 'L' && c.lines[n.slot.number] == nil:
		c.lines[n.slot.number] = n
	case n.slot.kind == 'S' && c.spine[n.slot.number] == nil:
		c.spine[n.slot.number] = n
	case n.slot.kind != 0:
		return // two chips in one slot
	default:
		place = n
	}
	n.chassis = c
	if place != nil {
		c.nodes = append([]*subnetNode{n}, c.nodes...)
	}
}

// chassisGUID returns the GUID that the nodes of a chassis have in common.
func (n *subnetNode) chassisGUID() uint64 {
	guid := guid64(n.Info.SystemImageGUID)
	if n.Info.VendorID == vendorCisco || n.Info.VendorID == vendorInfiniCon {
		return guid &^ 0xff000000 // remove the slot number
	}
	return guid
}

// findSlot reads the slot of a chip of an InfiniScale IV system: "MF0;system:type/L03/U1" (C twin:
// fill_mellanox_chassis_record).
func (n *subnetNode) findSlot() {
	if n.Info.VendorID != vendorMellanox || n.Info.DeviceID != deviceIS4 {
		return
	}
	text, ok := strings.CutPrefix(n.Description.String(), "MF0;")
	_, text, found := strings.Cut(text, ":")
	system, text, found2 := strings.Cut(text, "/")
	place, chip, found3 := strings.Cut(text, "/")
	place, _, _ = strings.Cut(place, ":")
	if !ok || !found || !found2 || !found3 || place == "" || !strings.HasPrefix(chip, "U") ||
		place[0] != 'L' && place[0] != 'S' {
		return
	}
	number := leadingInt(place[1:])
	if place[0] == 'L' && number > maxLines+1 || place[0] == 'S' && number > maxSpines+1 {
		return
	}
	n.slot = slot{kind: place[0], number: number, chip: leadingInt(chip[1:]), system: system[:min(len(system), 19)]}
	if n.slot.kind != 'L' {
		return
	}
	for _, p := range n.ports[:min(len(n.ports), 19)] {
		if p != nil {
			p.external = p.number
		}
	}
}

// leadingInt reads the digits that a text begins with.
func leadingInt(s string) int {
	v, err := strconv.ParseUint(s[:len(s)-len(strings.TrimLeft(s, "0123456789"))], 10, 8)
	if err != nil {
		return 0
	}
	return int(v)
}
