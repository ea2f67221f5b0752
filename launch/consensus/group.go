package consensus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// evidenceKept is the number of nodes of a group with evidence.
const evidenceKept = 3

// cell is the value of one node.
type cell struct {
	member   *member
	value    string // "" unknown
	evidence []Evidence
}

// groupCells groups nodes by value, the most frequent first. Unknown values are left out: a value
// that could not be read is not a difference. Cells are in the order of nodes.
func groupCells(cells []cell) []Group {
	index := map[string]int{}
	var groups []Group
	evident := map[string]int{}
	for _, c := range cells {
		if c.value == "" {
			continue
		}
		i, ok := index[c.value]
		if !ok {
			i = len(groups)
			index[c.value] = i
			groups = append(groups, Group{Value: c.value})
		}
		groups[i].Nodes = append(groups[i].Nodes, c.member.name)
		if evident[c.value] < evidenceKept && len(c.evidence) > 0 {
			evident[c.value]++
			groups[i].Evidence = append(groups[i].Evidence, c.evidence...)
		}
	}
	// Equally frequent values are in the order of nodes, which is the same on all rails.
	slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(len(b.Nodes), len(a.Nodes)) })
	return groups
}

// countNodes returns the number of nodes in groups.
func countNodes(groups []Group) int {
	n := 0
	for _, g := range groups {
		n += len(g.Nodes)
	}
	return n
}

// isTie reports whether no group has more than half of the nodes.
func isTie(groups []Group) bool {
	return len(groups) > 0 && 2*len(groups[0].Nodes) <= countNodes(groups)
}

// valuesShown is the number of values in a sentence.
const valuesShown = 4

// describeGroups formats the values and their nodes: "4096 on 7 nodes, 1024 on gpu-03".
func describeGroups(groups []Group) string {
	var parts []string
	for i, g := range groups {
		if i == valuesShown && len(groups) > valuesShown+1 {
			parts = append(parts, fmt.Sprintf("%d more values on %d nodes", len(groups)-i, countNodes(groups[i:])))
			break
		}
		who := joinNames(g.Nodes)
		if i == 0 && !isTie(groups) && len(g.Nodes) > 1 {
			who = fmt.Sprintf("%d nodes", len(g.Nodes))
		}
		parts = append(parts, g.Value+" on "+who)
	}
	return strings.Join(parts, ", ")
}

// partition returns a key that is equal for groups with the same nodes in the same order.
func partition(groups []Group) string {
	var b strings.Builder
	for _, g := range groups {
		for _, n := range g.Nodes {
			b.WriteString(n)
			b.WriteByte(0)
		}
		b.WriteByte(1)
	}
	return b.String()
}

// joinValues joins values, abbreviated if there are many: "a, b, … (8)".
func joinValues(values []string) string {
	values = slices.Compact(slices.Clone(values))
	if len(values) <= valuesShown {
		return strings.Join(values, ", ")
	}
	return strings.Join(values[:2], ", ") + fmt.Sprintf(", … (%d)", len(values))
}
