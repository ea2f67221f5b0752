package node

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/launch/consensus"
)

// consensusBlocks formats a comparison: the summary, the rails, the differences with their
// evidence, then the GID indices that can be pinned.
func consensusBlocks(r consensus.Report, wide bool) []output.Block {
	blocks := []output.Block{consensusSummary(r, wide)}
	if len(r.Rails) > 0 {
		blocks = append(blocks, consensusRails(r))
	}
	for _, d := range r.Differences {
		if d.Severity != consensus.SeverityNote {
			blocks = append(blocks, differenceBlock(d, wide))
		}
	}
	if notes := consensusNotes(r, wide); len(notes.Lines) > 0 {
		blocks = append(blocks, notes)
	}
	if r.Verdict != consensus.VerdictNone {
		blocks = append(blocks, consensusPins(r))
		blocks = append(blocks, consensusVariables(r, wide)...)
	}
	if wide || r.Verdict == consensus.VerdictNone {
		blocks = append(blocks, consensusNodes(r))
	}
	return blocks
}

func consensusSummary(r consensus.Report, wide bool) output.Block {
	l := output.List{Items: []output.Item{
		{Key: "verdict", Value: verdictCell(r).Flow(0)},
		{Key: "nodes", Value: output.Plain(nodesText(r, wide)).Flow(0)},
	}}
	if len(r.Rails) > 0 {
		l.Items = append(l.Items, output.Item{
			Key: "rails", Value: output.Plain(fmt.Sprintf("%d, paired by %s", len(r.Rails), r.Pairing.Method)),
		},
			output.Item{Key: "paired", Value: output.Plain(r.Pairing.Reason), Wide: true})
	}
	for _, text := range r.Pairing.Realigned {
		l.Items = append(l.Items, output.Item{Key: "but", Value: output.Warn(text).Flow(0)})
	}
	for _, u := range r.Unreadable {
		l.Items = append(l.Items, output.Item{Key: "not read", Value: output.Bad(u.Source + ": " + u.Error).Flow(0)})
	}
	return l
}

func verdictCell(r consensus.Report) output.Cell {
	breaks, slows, notes := r.Faults(consensus.SeverityBreaks), r.Faults(consensus.SeveritySlows),
		r.Faults(consensus.SeverityNote)
	var parts []string
	for _, p := range []struct {
		n    int
		text string
	}{{breaks, "that breaks jobs"}, {slows, "that slows jobs down"}} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 difference "+p.text)
		case p.n > 1:
			parts = append(parts, fmt.Sprintf("%d differences %s", p.n,
				strings.Replace(strings.Replace(p.text, "breaks", "break", 1), "slows", "slow", 1)))
		}
	}
	if notes > 0 {
		parts = append(parts, english.Count(notes, "note"))
	}
	more := ""
	if len(parts) > 0 {
		more = ": " + strings.Join(parts, ", ")
	}
	switch r.Verdict {
	case consensus.VerdictNone:
		return output.Bad("no node has RDMA that can be used" + more)
	case consensus.VerdictDiffer:
		return output.Bad("the nodes differ" + more)
	}
	return output.Good("the nodes agree" + more)
}

// nodesText lists the nodes; only some of them if there are many.
func nodesText(r consensus.Report, wide bool) string {
	names := make([]string, 0, len(r.Nodes))
	for _, n := range r.Nodes {
		names = append(names, n.Name)
	}
	return fmt.Sprintf("%d: %s", len(names), cli.SomeNames(names, wide))
}

// consensusRails shows the most frequent value of each rail's attributes, with the number of nodes
// if not all have it: "400 Gb/s (7 of 8)".
func consensusRails(r consensus.Report) output.Table {
	columns := []struct {
		name, check string
		wide        bool
		priority    int
	}{
		{"link layer", "link-layer", false, 4},
		{"rate", "rate", false, 0},
		{"mtu", "mtu", false, 2},
		{"subnet", "subnet", false, 3},
		{"fabric", "fabric", false, 3},
		{"pkey", "pkey", true, 0},
		{"gid", "gid-kind", true, 0},
		{"index", "gid-index", false, 1},
		{"device", "device-name", false, 0},
	}
	t := output.Table{
		Columns: []output.Column{{Name: "rail", Align: output.AlignRight}, {Name: "nodes", Align: output.AlignRight}},
	}
	for _, c := range columns {
		used := false
		for _, rail := range r.Rails {
			used = used || rail.Attribute(c.check).Of > 0
		}
		t.Columns = append(t.Columns, output.Column{Name: c.name, Wide: c.wide || !used, Priority: c.priority})
	}
	for _, rail := range r.Rails {
		row := []output.Cell{output.Plain(strconv.Itoa(rail.Rail)), output.Plain(strconv.Itoa(rail.Nodes))}
		for _, c := range columns {
			row = append(row, attributeCell(rail.Attribute(c.check)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func attributeCell(a consensus.Attribute) output.Cell {
	if a.Nodes == a.Of {
		return output.Plain(a.Value)
	}
	return output.Warn(fmt.Sprintf("%s (%d of %d)", a.Value, a.Nodes, a.Of))
}

// differenceBlock shows a difference: the nodes, the files, why it matters and how to fix it.
func differenceBlock(d consensus.Difference, wide bool) output.Block {
	severity := output.Bad(strings.ToUpper(string(d.Severity)))
	if d.Severity == consensus.SeveritySlows {
		severity = output.Warn(strings.ToUpper(string(d.Severity)))
	}
	t := output.Text{Lines: [][]output.Cell{
		{severity, output.Plain("  "), output.Bold(d.Check), output.Plain(": "), output.Plain(d.Text).Flow(0)},
	}}
	t.Lines = append(t.Lines, groupEvidence(d, wide)...)
	t.Lines = append(t.Lines, cli.LabelledText("why", d.Why, cli.IndentedWidth),
		cli.LabelledText("fix", d.Remedy, cli.IndentedWidth))
	return t
}

// groupEvidence shows the files with the values. For the most frequent value it shows one node
// only.
func groupEvidence(d consensus.Difference, wide bool) [][]output.Cell {
	const groupsShown = 4
	var lines [][]output.Cell
	for i, g := range d.Groups {
		if i == groupsShown && len(d.Groups) > groupsShown+1 && !wide {
			lines = append(lines,
				[]output.Cell{output.Dim(fmt.Sprintf("    and %d more values (-o wide)", len(d.Groups)-i))})
			break
		}
		for j, e := range g.Evidence {
			if j > 0 && i == 0 && len(d.Groups) > 1 && !d.Tie && !wide {
				break
			}
			text := output.Dim(e.Path + " = " + e.Value)
			if e.Path == "" {
				text = output.Dim(e.Value).Flow(0)
			}
			lines = append(lines, []output.Cell{output.Plain("    "), output.Bold(e.Node), output.Plain("  "), text})
		}
	}
	return lines
}

func consensusNotes(r consensus.Report, wide bool) output.Text {
	var t output.Text
	for _, d := range r.Differences {
		if d.Severity != consensus.SeverityNote {
			continue
		}
		t.Lines = append(t.Lines,
			[]output.Cell{output.Dim("note"), output.Plain("  "), output.Plain(d.Check + ": " + d.Text).Flow(0)})
		if wide {
			t.Lines = append(t.Lines, groupEvidence(d, wide)...)
			t.Lines = append(t.Lines,
				[]output.Cell{output.Plain("      "), output.Dim(d.Why + "; " + d.Remedy).Flow(0)})
		}
	}
	return t
}

// consensusPins shows which GID index can be pinned, which must not be pinned, and the settings to
// use instead.
func consensusPins(r consensus.Report) output.Block {
	g := r.GID
	l := output.List{Title: "GID index", Items: []output.Item{{Key: "advice", Value: output.Plain(g.Advice).Flow(0)}}}
	add := func(key string, value output.Cell) {
		if value.Text != "" {
			l.Items = append(l.Items, output.Item{Key: key, Value: value})
		}
	}
	add("kind", output.Plain(g.Kind))
	add("on every port", output.Plain(consensus.Ranges(g.Common)))
	var never []string
	for _, p := range g.Partial {
		never = append(never, fmt.Sprintf("%d (%d of %d ports, not %s)", p.Index, p.Ports, p.Of, p.Example[0]))
	}
	add("never pin", output.Warn(strings.Join(never, ", ")).Flow(0))
	add("pinned by", output.Plain(settingPairs(g.PinSettings)).Flow(0))
	for i, text := range settingLines(g.Instead) {
		add([]string{"without index", ""}[min(i, 1)], output.Plain(text).Flow(0))
	}
	for _, p := range g.Problems {
		add("but", output.Warn(p).Flow(0))
	}
	return l
}

// settingLines returns a line with the settings of each library.
func settingLines(list []consensus.Setting) []string {
	var out []string
	for start := 0; start < len(list); {
		end := start
		for end < len(list) && list[end].Library == list[start].Library {
			end++
		}
		out = append(out, settingPairs(list[start:end]))
		start = end
	}
	return out
}

func settingPairs(list []consensus.Setting) string {
	var out []string
	for _, s := range list {
		out = append(out, s.Name+"="+s.Value)
	}
	return strings.Join(out, " ")
}

// consensusVariables shows the variables that can be set for the whole job, and those that must be
// set on each node.
func consensusVariables(r consensus.Report, wide bool) []output.Block {
	var blocks []output.Block
	if len(r.Variables.Cluster) > 0 {
		t := output.Text{Title: "Equal on all nodes: can be set for the whole job"}
		for _, s := range r.Variables.Cluster {
			t.Lines = append(t.Lines, []output.Cell{output.Plain("  " + s.Name + "=" + s.Value)})
		}
		blocks = append(blocks, t)
	}
	if len(r.Variables.PerNode) == 0 {
		return blocks
	}
	t := output.Text{Title: "Different: set them on each node (rdmactl exec -- CMD)"}
	for _, v := range r.Variables.PerNode {
		line := "  " + v.Name
		if v.Cluster != "" {
			line += " (or for all: " + v.Cluster + ")"
		}
		t.Lines = append(t.Lines, []output.Cell{output.Plain(line)})
		t.Lines = append(t.Lines, variableLines(v, wide)...)
	}
	return append(blocks, t)
}

func variableLines(v consensus.NodeVariable, wide bool) [][]output.Cell {
	const groupsShown = 3
	var lines [][]output.Cell
	for i, g := range v.Groups {
		if i == groupsShown && len(v.Groups) > groupsShown+1 && !wide {
			lines = append(lines,
				[]output.Cell{output.Dim(fmt.Sprintf("    and %d more values (-o wide)", len(v.Groups)-i))})
			break
		}
		value := g.Value
		if value == "" {
			value = "(not set)"
		}
		lines = append(lines,
			[]output.Cell{
				output.Plain("    " + value), output.Plain("  "),
				output.Dim("on " + cli.SomeNames(g.Nodes, wide)).Flow(0),
			})
	}
	return lines
}

func consensusNodes(r consensus.Report) output.Table {
	t := output.Table{Title: "Nodes", Columns: []output.Column{
		{Name: "node"},
		{Name: "outcome"},
		{Name: "rails", Align: output.AlignRight, Priority: 1},
		{Name: "socket", Priority: 2},
		{Name: "source", Priority: 3},
		{Name: "reason", Wrap: true},
	}}
	for _, n := range r.Nodes {
		t.Rows = append(t.Rows,
			plainRow(n.Name, string(n.Outcome), strconv.Itoa(n.Rails), n.Socket, n.Source, n.Reason))
	}
	return t
}
