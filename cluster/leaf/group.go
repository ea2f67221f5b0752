package leaf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// group is a set of switches, and the nodes that are connected to exactly these.
type group struct {
	switches []string // IDs, sorted
	nodes    []int
	mixed    bool // it shares switches with a group of which it is no part: no leaf
}

// group makes leaves of nodes with the same switches. A node with a few other switches than one of
// these groups, such as one with a cable in the wrong place or a card of which nothing is known, is
// part of it; groups that share switches otherwise have no leaf, since traffic between them uses
// uplinks on some rails only.
func (l *Leaves) group(c plan.Cluster) {
	l.Nodes = make([]string, len(c.Nodes))
	names := l.switchNames()
	var accepted []*group
	for _, g := range l.sets() {
		best, shared := overlap(accepted, g)
		switch {
		case best == nil:
			accepted = append(accepted, g)
		case 2*shared > len(g.switches):
			l.join(best, g, c, names)
		default:
			g.mixed = true
			for _, other := range accepted {
				if count := common(other, g); count > 0 && 2*len(g.nodes) >= len(other.nodes) {
					other.mixed = true
				}
			}
			accepted = append(accepted, g)
		}
	}
	for _, g := range accepted {
		for _, i := range g.nodes {
			if !g.mixed {
				l.Nodes[i] = groupName(g.switches, names)
				continue
			}
			why := fmt.Sprintf("it has no leaf: other nodes share some of its switches, %s, and not others",
				strings.Join(sortedNames(g.switches, names), listSeparator))
			l.Mixed = append(l.Mixed, Remark{c.Nodes[i].Name, "", why})
		}
	}
	for _, list := range [][]Remark{l.Odd, l.Mixed} {
		slices.SortStableFunc(list, func(a, b Remark) int {
			return cmp.Or(sysfs.NaturalCompare(a.Node, b.Node), sysfs.NaturalCompare(a.Device, b.Device))
		})
	}
}

// join adds nodes to a group of which they share most of their switches.
func (l *Leaves) join(to, g *group, c plan.Cluster, names map[string]string) {
	to.nodes = append(to.nodes, g.nodes...)
	for _, i := range g.nodes {
		for j, ports := range l.Ports[i] {
			for _, p := range ports {
				if !slices.Contains(to.switches, p.Switch) {
					why := fmt.Sprintf("it is connected to %s, unlike the cards of other nodes of leaf %s",
						text([]Port{p}), groupName(to.switches, names))
					l.Odd = append(l.Odd, Remark{c.Nodes[i].Name, c.Nodes[i].Rails[j].Device, why})
				}
			}
		}
	}
}

// sets returns the sets of switches that nodes are connected to, that of most nodes first.
func (l *Leaves) sets() []*group {
	bySwitches := map[string]*group{}
	var out []*group
	for i, cards := range l.Ports {
		var ids []string
		for _, ports := range cards {
			for _, p := range ports {
				ids = append(ids, p.Switch)
			}
		}
		if len(ids) == 0 {
			continue
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		key := strings.Join(ids, "\n")
		if bySwitches[key] == nil {
			bySwitches[key] = &group{switches: ids}
			out = append(out, bySwitches[key])
		}
		bySwitches[key].nodes = append(bySwitches[key].nodes, i)
	}
	slices.SortFunc(out, func(a, b *group) int {
		return cmp.Or(len(b.nodes)-len(a.nodes), len(b.switches)-len(a.switches),
			slices.Compare(a.switches, b.switches))
	})
	return out
}

// overlap returns the group with which g shares most switches, and how many.
func overlap(groups []*group, g *group) (best *group, shared int) {
	for _, other := range groups {
		if n := common(other, g); n > shared {
			best, shared = other, n
		}
	}
	return best, shared
}

func common(a, b *group) (n int) {
	for _, s := range b.switches {
		if _, ok := slices.BinarySearch(a.switches, s); ok {
			n++
		}
	}
	return n
}

// switchNames returns the names of switches by ID. A name that several have is made unique.
func (l *Leaves) switchNames() map[string]string {
	names, ids := map[string]string{}, map[string][]string{}
	for _, cards := range l.Ports {
		for _, ports := range cards {
			for _, p := range ports {
				if _, ok := names[p.Switch]; !ok {
					names[p.Switch] = p.Name
					ids[p.Name] = append(ids[p.Name], p.Switch)
				}
			}
		}
	}
	for id, name := range names {
		if name == "" || len(ids[name]) > 1 {
			names[id] = strings.TrimSpace(name + " " + id)
		}
	}
	return names
}

// groupName names a leaf: leaf0, "leaf0 and leaf1", or "leaf0 to leaf7" for a leaf of each rail.
func groupName(switches []string, names map[string]string) string {
	list := sortedNames(switches, names)
	switch len(list) {
	case 1:
		return list[0]
	case 2: //nolint:mnd // both are named
		return list[0] + " and " + list[1]
	}
	return list[0] + " to " + list[len(list)-1]
}

func sortedNames(switches []string, names map[string]string) []string {
	var list []string
	for _, s := range switches {
		list = append(list, names[s])
	}
	slices.SortFunc(list, sysfs.NaturalCompare)
	return list
}

// Count returns the number of leaves, and how many nodes the smallest and the largest one have.
func (l *Leaves) Count() (leaves, least, most int) {
	count := map[string]int{}
	for _, name := range l.Nodes {
		if name != "" {
			count[name]++
		}
	}
	for _, n := range count {
		if least == 0 || n < least {
			least = n
		}
		most = max(most, n)
	}
	return len(count), least, most
}
