package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
	"github.com/rdmakit/rdmakit/explain/rules"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// labelWidth aligns what follows the labels.
const labelWidth = 16

// line returns a line "label: text" of running text.
func line(label string, cells ...output.Cell) []output.Cell {
	return append([]output.Cell{output.Dim(fmt.Sprintf("  %-*s", labelWidth-2, label))}, cells...)
}

// blocks returns the text form of a report: what happened, causes, what to do, then the facts.
func blocks(r *explain.Report) []output.Block {
	out := []output.Block{headline(r)}
	for i := range r.Findings {
		if !r.Findings[i].Harmless {
			out = append(out, finding(i, &r.Findings[i]))
		}
	}
	if b := failures(r); len(b.Lines) > 0 {
		out = append(out, b)
	}
	if b := harmless(r); len(b.Lines) > 0 {
		out = append(out, b)
	}
	if len(r.Facts.Nodes) > 0 || len(r.Facts.Libraries) > 0 {
		out = append(out, factLines(r.Facts))
	}
	return append(out, inputs(r))
}

func headline(r *explain.Report) output.Block {
	switch r.Verdict() {
	case explain.VerdictFault:
		for _, f := range r.Findings {
			if len(f.Causes) == 0 {
				continue
			}
			c := f.Causes[0]
			return output.Text{Lines: [][]output.Cell{
				{output.Bold(f.What)},
				{output.Bad(c.Title), output.Plain(fmt.Sprintf(" (%s)", c.Confidence))},
			}}
		}
	case explain.VerdictUnknown:
		return output.Line(output.Warn("something failed; no rule knows why"))
	case explain.VerdictNothing:
		return output.Line(output.Warn("no line of a known program"))
	}
	return output.Line(output.Good("nothing wrong seen"))
}

// finding returns a finding with its causes.
func finding(i int, f *rules.Finding) output.Block {
	head := []output.Cell{output.Bold(fmt.Sprintf("%d. %s", i+1, f.What)), output.Dim("  " + f.Rule.ID)}
	t := output.Text{Lines: [][]output.Cell{head}}
	for _, e := range f.Events[:min(len(f.Events), 3)] {
		text := fmt.Sprintf("%s: %s", e.Place, e.Text)
		if e.Count > 1 {
			text += fmt.Sprintf(" (%d times)", e.Count)
		}
		t.Lines = append(t.Lines, line("line", output.Plain(text).Flow(0)))
	}
	for j := range f.Causes {
		t.Lines = append(t.Lines, cause(j, &f.Causes[j])...)
	}
	return t
}

// cause returns the lines of a cause.
func cause(i int, c *rules.Cause) [][]output.Cell {
	var lines [][]output.Cell
	add := func(label, text string) { lines = append(lines, line(label, output.Plain(text).Flow(0))) }
	add(fmt.Sprintf("cause %d", i+1), fmt.Sprintf("%s: %s", c.Confidence, c.Title))
	for _, e := range c.For {
		add("  for", e.Text+placesOf(e.Places))
	}
	for _, e := range c.Against {
		add("  against", e.Text+placesOf(e.Places))
	}
	if c.Decide != "" {
		add("  decide", c.Decide)
	}
	if c.Remedy != "" {
		add("  remedy", c.Remedy)
	}
	return lines
}

func placesOf(list []evidence.Place) string {
	if len(list) == 0 {
		return ""
	}
	var names []string
	for _, p := range list[:min(len(list), 2)] {
		names = append(names, p.String())
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// failures lists failures that no finding explains.
func failures(r *explain.Report) output.Text {
	var t output.Text
	explained := map[*facts.Failure]bool{}
	for _, f := range r.Findings {
		explained[f.Failure] = true
	}
	for _, f := range r.Facts.Failures {
		if explained[f] || len(t.Lines) >= 5 {
			continue
		}
		text := fmt.Sprintf("%s: %s", f.Event.Place, f.Event.Text)
		t.Lines = append(t.Lines, line("not explained", output.Plain(text).Flow(0)))
	}
	return t
}

func harmless(r *explain.Report) output.Text {
	var t output.Text
	for _, f := range r.Findings {
		if f.Harmless {
			t.Lines = append(t.Lines, line("harmless", output.Plain(f.What).Flow(0)))
		}
	}
	return t
}

// factLines lists what the inputs say.
func factLines(f *facts.Facts) output.Block {
	t := output.Text{Lines: [][]output.Cell{{output.Bold("facts")}}}
	for _, l := range f.Libraries {
		text := l.Name + " " + strings.Join(valueTexts(l.Versions), ", ")
		if len(l.Versions) == 0 {
			text = l.Name + ", version not printed; by the forms of its lines " + between(l.Since, l.Until)
		}
		if l.Contradiction != "" {
			text += ": " + l.Contradiction
		}
		t.Lines = append(t.Lines, line("library", output.Plain(text).Flow(0)))
	}
	const most = 8
	for _, n := range f.Nodes[:min(len(f.Nodes), most)] {
		t.Lines = append(t.Lines, line("node", output.Plain(nodeText(n)).Flow(0)))
	}
	if len(f.Nodes) > most {
		more := fmt.Sprintf("and %d more: -o json has all", len(f.Nodes)-most)
		t.Lines = append(t.Lines, line("", output.Plain(more)))
	}
	for _, d := range f.Differences {
		t.Lines = append(t.Lines, line("differs", output.Plain(differenceText(d)).Flow(0)))
	}
	for _, s := range f.Silent {
		name := s.Node.Name
		if s.Rank != evidence.NoRank {
			name = fmt.Sprintf("rank %d on %s", s.Rank, name)
		}
		t.Lines = append(t.Lines, line("silent", output.Plain(name+": "+s.Why).Flow(0)))
	}
	for _, h := range f.Hidden {
		t.Lines = append(t.Lines, line("not visible", output.Plain(h).Flow(0)))
	}
	return t
}

func between(since, until string) string {
	switch {
	case since != "" && until != "":
		return since + " to " + until
	case since != "":
		return since + " or later"
	case until != "":
		return until + " or earlier"
	}
	return "any"
}

func nodeText(n *facts.Node) string {
	parts := []string{n.Name}
	if len(n.Ranks) > 0 {
		parts = append(parts, english.Count(len(n.Ranks), "rank"))
	}
	if len(n.Networks) > 0 {
		parts = append(parts, "network "+strings.Join(valueTexts(n.Networks), " and "))
	}
	var devices []string
	for _, d := range n.Devices {
		text := d.Name
		if d.Link != facts.LinkUnknown {
			text += " " + string(d.Link)
		}
		if len(d.GIDs) > 0 {
			text += " GID " + d.GIDs[0].GID.Addr().String()
		}
		devices = append(devices, text)
	}
	if len(devices) > 0 {
		parts = append(parts, strings.Join(devices, ", "))
	}
	return strings.Join(parts, "; ")
}

func differenceText(d facts.Difference) string {
	var parts []string
	for _, v := range d.Values {
		var names []string
		for _, n := range v.Nodes {
			names = append(names, n.Name)
		}
		parts = append(parts, fmt.Sprintf("%s on %s", v.Text, strings.Join(names, ", ")))
	}
	return d.What + ": " + strings.Join(parts, "; ")
}

func valueTexts(list []facts.Value) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.Text)
	}
	return out
}

// inputs lists what was read.
func inputs(r *explain.Report) output.Block {
	t := output.Text{Lines: [][]output.Cell{{output.Bold("read")}}}
	for _, in := range r.Inputs {
		var text string
		switch {
		case in.Name == "":
			text = in.Err.Error()
		case in.Binary:
			text = in.Name + ": binary data of no known form"
		default:
			lines := english.Count(in.Lines, "line")
			text = fmt.Sprintf("%s: %s, of which %s", in.Name, lines, recognized(in.Recognized))
		}
		if in.Err != nil && in.Name != "" {
			text += "; then " + in.Err.Error()
		}
		t.Lines = append(t.Lines, line("input", output.Plain(text).Flow(0)))
	}
	return t
}

func recognized(counts map[string]int) string {
	if len(counts) == 0 {
		return "none of a known program"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d of %s", counts[name], name))
	}
	return strings.Join(parts, ", ")
}
