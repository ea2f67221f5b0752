package consensus

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/inventory"
)

// place is the network that a rail should be in.
type place struct {
	network string
	layer   inventory.LinkLayer // of the network
	usual   bool                // it is the network on most nodes
}

// findSwapped finds rails that are in the network of another rail. A rail's network is the one that
// most nodes have; in a tie it is that of the first node. A rail whose network has another link
// layer is not swapped: the check of link layers reports it.
func (c *comparison) findSwapped() {
	places := c.places()
	where := map[string]int{}
	for number, p := range places {
		if _, twice := where[p.network]; twice {
			return // networks don't identify the rails
		}
		where[p.network] = number
	}
	var cells []cell
	tie := false
	for _, m := range c.members {
		v := cell{member: m}
		var moves []string
		for _, number := range c.numbers {
			r := m.rail(number)
			if r == nil || r.location() == "" {
				continue
			}
			other, known := where[r.location()]
			if !known || other == number || r.layer != places[number].layer {
				continue
			}
			moves = append(moves, fmt.Sprintf("rail %d in %s, the network of rail %d", number, r.location(), other))
			c.misplaced[railOf{m, number}] = true
			tie = tie || !places[number].usual
			file, text := networkEvidence(r)
			v.evidence = append(v.evidence, Evidence{Node: m.name, Path: file, Value: text})
		}
		v.value = strings.Join(moves, "; ")
		cells = append(cells, v)
	}
	c.reportSwapped(cells, tie)
}

func (c *comparison) reportSwapped(cells []cell, tie bool) {
	groups := groupCells(cells) // without the nodes in order
	if len(groups) == 0 {
		return
	}
	var inOrder []string
	for _, v := range cells {
		if v.value == "" {
			inOrder = append(inOrder, v.member.name)
		}
	}
	var parts []string
	for _, g := range groups {
		parts = append(parts, joinNames(g.Nodes)+": "+g.Value)
	}
	text := strings.Join(parts, "; ")
	if tie {
		text += ", compared with " + joinNames(inOrder)
	}
	rails := map[int]bool{}
	var numbers []int
	for k := range c.misplaced {
		if !rails[k.rail] {
			rails[k.rail] = true
			numbers = append(numbers, k.rail)
		}
	}
	slices.Sort(numbers)
	if len(inOrder) > 0 {
		groups = slices.Insert(groups, 0, Group{Value: "each rail in its network", Nodes: inOrder})
	}
	c.add(findCheck(nodeChecks, checkSwapped), Difference{Text: text, Tie: tie, Rails: numbers, Groups: groups})
}

// places returns the network of each rail, if any is known.
func (c *comparison) places() map[int]place {
	out := map[int]place{}
	for _, number := range c.numbers {
		var cells []cell
		for _, m := range c.members {
			if r := m.rail(number); r != nil {
				cells = append(cells, cell{member: m, value: r.location()})
			}
		}
		groups := groupCells(cells)
		switch {
		case len(groups) == 0:
		case isTie(groups): // groups of equal size are in the order of nodes
			out[number] = c.firstPlace(number, "")
		default:
			p := c.firstPlace(number, groups[0].Value)
			p.usual = true
			out[number] = p
		}
	}
	return out
}

// firstPlace returns the network of a rail on the first node on which it is known, or on which it
// is the given one.
func (c *comparison) firstPlace(number int, network string) place {
	for _, m := range c.members {
		r := m.rail(number)
		if r != nil && r.location() != "" && (network == "" || r.location() == network) {
			return place{network: r.location(), layer: r.layer}
		}
	}
	return place{}
}

// networkEvidence returns the file with the network of a rail.
func networkEvidence(r *rail) (file, text string) {
	if r.subnet.IsValid() || r.fabric == nil {
		return gidEvidence(r)
	}
	return portFile(r, "gids/0") + ", sm_lid", fmt.Sprintf("%s, %d", r.fabric.SubnetPrefix, r.fabric.SMLID)
}
