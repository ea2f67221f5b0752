package consensus

import (
	"slices"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/launch"
)

// variables divides the variables that env sets into those that are equal on all nodes and the
// others.
func (c *comparison) variables() Variables {
	v := Variables{Cluster: []Setting{}, PerNode: []NodeVariable{}}
	var order []Setting // names in the order of plans
	seen := map[string]bool{}
	for _, m := range c.members {
		for _, s := range m.variables {
			if !seen[s.Name] {
				seen[s.Name] = true
				order = append(order, Setting{Name: s.Name, Library: s.Library})
			}
		}
	}
	rank := func(l launch.Library) int { return slices.Index(launch.Libraries(), l) }
	slices.SortStableFunc(order, func(a, b Setting) int {
		if d := rank(a.Library) - rank(b.Library); d != 0 {
			return d
		}
		return sysfs.NaturalCompare(a.Name, b.Name)
	})
	for _, s := range order {
		groups := c.valueGroups(s.Name)
		if len(groups) == 1 {
			v.Cluster = append(v.Cluster, Setting{s.Name, groups[0].Value, s.Library})
			continue
		}
		n := NodeVariable{Name: s.Name, Library: s.Library, Groups: groups}
		for _, instead := range c.report.GID.Instead {
			if instead.Name == s.Name {
				n.Cluster = instead.Value
			}
		}
		v.PerNode = append(v.PerNode, n)
	}
	return v
}

// valueGroups groups the nodes with RDMA by the value of a variable; "" is not set.
func (c *comparison) valueGroups(name string) []Group {
	const unset = "\x00" // groupCells drops empty values
	var cells []cell
	for _, m := range c.members {
		value := unset
		for _, s := range m.variables {
			if s.Name == name {
				value = s.Value
			}
		}
		cells = append(cells, cell{member: m, value: value})
	}
	groups := groupCells(cells)
	for i := range groups {
		if groups[i].Value == unset {
			groups[i].Value = ""
		}
	}
	return groups
}
