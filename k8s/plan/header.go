package plan

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
)

// header returns the comment before the first object, which describes the whole plan.
func (m *maker) header() []string {
	out := []string{
		fmt.Sprintf("SR-IOV networks for %s, written by rdmactl k8s plan.", english.Count(len(m.allNodes()), "node")),
		"",
		"Before you apply these objects, run rdmactl k8s lint and rdmactl k8s impact. Apply them in this order; pods " +
			"and Jobs wait for the VFs.",
		"",
		"Rails:",
	}
	for _, r := range m.plan.Rails {
		line := fmt.Sprintf("  %-10s %-3s %-22s %-18s %s on %s",
			r.Name, r.LinkType, r.Fabric, r.Subnet, english.Count(r.VFs, "VF"), english.Count(len(r.Members), "node"))
		out = append(out, strings.TrimRight(line, " "))
	}
	if len(m.plan.Groups) > 1 {
		out = append(out, "", "Nodes differ in their cards, addresses or VFs:")
		for _, g := range m.plan.Groups {
			out = append(out, fmt.Sprintf("  %-3s %s", g.Name, shortList(g.Nodes)))
		}
	}
	if len(m.plan.Notes) > 0 {
		out = append(out, "", "Notes:")
	}
	for _, n := range m.plan.Notes {
		out = append(out, "- "+n)
	}
	if passed := m.passedLines(); len(passed) > 0 {
		out = append(append(out, "", "Left out:"), passed...)
	}
	return append(out, "")
}

// passedLines lists the cards that are left out, one line for each card and reason.
func (m *maker) passedLines() []string {
	type line struct{ card, reason string }
	var lines []line
	nodes := map[line][]string{}
	for _, p := range m.plan.Passed {
		l := line{strings.TrimSpace(p.Address + " " + p.Netdev), p.Reason}
		if nodes[l] == nil {
			lines = append(lines, l)
		}
		nodes[l] = append(nodes[l], p.Node)
	}
	var out []string
	for _, l := range lines {
		out = append(out, fmt.Sprintf("- %s of %s: %s", l.card, shortList(nodes[l]), l.reason))
	}
	return out
}

// listed is the maximum number of names in a short list.
const listed = 8

func shortList(list []string) string { return english.List(list, listed) }

// allNodes returns the nodes that the plan is for.
func (m *maker) allNodes() []string {
	var out []string
	for _, g := range m.plan.Groups {
		out = append(out, g.Nodes...)
	}
	return out
}
