package consensus

import (
	"slices"
	"strings"
)

// Value is something of a node beside its rails' own attributes that [Compare] compares with the
// same of other nodes: a version, a setting, the part number of a cable.
type Value struct {
	Check string // ID of a check of Options.Values
	// Port is "device:port" for the value of a rail; "" for one of the whole node. Ports that are
	// not selected are left out of the comparison.
	Port string
	// Of names what has the value, if only equal things are comparable: firmware of one board with
	// that of the same board. "" for values that are all comparable.
	Of    string
	Value string // "" is unknown and differs from nothing
	Path  string // where it was read
	Text  string // as it was read; "" if it is the value
}

// Add attaches values to a node. They are kept as they are, so that the memory of a node grows with
// them.
func (n *Node) Add(values ...Value) { n.values = append(n.values, values...) }

// compareValues compares the values that were attached to nodes, in the order of Options.Values.
func (c *comparison) compareValues() {
	for _, check := range c.opts.Values {
		c.compareNodeValues(check)
		c.compareRailValues(check)
	}
}

// compareNodeValues compares values of whole nodes, those of equal things with each other.
func (c *comparison) compareNodeValues(check Check) {
	cells := map[string][]cell{}
	var order []string
	for _, m := range c.all {
		for _, v := range m.values {
			if v.Check != check.ID || v.Port != "" {
				continue
			}
			if _, ok := cells[v.Of]; !ok {
				order = append(order, v.Of)
			}
			cells[v.Of] = append(cells[v.Of], v.cell(m))
		}
	}
	slices.Sort(order)
	for _, of := range order {
		groups := groupCells(cells[of])
		for i := range groups { // a node may have several things of the kind
			groups[i].Nodes = slices.Compact(groups[i].Nodes)
		}
		if len(groups) < 2 {
			continue
		}
		text := describeGroups(groups)
		if of != "" {
			text = of + ": " + text
		}
		c.add(check, Difference{Text: text, Tie: isTie(groups), Groups: groups})
	}
}

// compareRailValues compares values of rails, and joins rails with the same finding.
func (c *comparison) compareRailValues(check Check) {
	byPort := map[*member]map[string]Value{}
	for _, m := range c.members {
		byPort[m] = map[string]Value{}
		for _, v := range m.values {
			if v.Check == check.ID && v.Port != "" {
				byPort[m][v.Port] = v
			}
		}
	}
	var found []railGroups
	for _, number := range c.numbers {
		var cells []cell
		for _, m := range c.members {
			if r := m.rail(number); r != nil {
				cells = append(cells, byPort[m][r.name()].cell(m))
			}
		}
		if groups := groupCells(cells); len(groups) > 1 {
			found = append(found, railGroups{number, groups})
		}
	}
	c.addRails(check, found)
}

// cell returns the value as that of a node; the zero Value is unknown.
func (v Value) cell(m *member) cell {
	text := v.Text
	if text == "" {
		text = v.Value
	}
	return cell{m, strings.TrimSpace(v.Value), []Evidence{{Node: m.name, Path: v.Path, Value: text}}}
}
