package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// findingBlock shows the findings that share a check and an explanation, and the harmless rest of
// the check.
func findingBlock(r doctor.Report, o doctor.Outcome, group, rest []doctor.Finding, wide bool) output.Block {
	id := group[0].CheckID
	head := []output.Cell{outcomeCell(o, strings.ToUpper(string(o))), output.Plain("  "), output.Bold(id)}
	if o != doctor.OutcomeUnknown { // it is not known whether the fault in the title exists
		head = append(head, output.Plain(": "), output.Plain(titleOf(r, id)).Flow(0))
	}
	t := output.Text{Lines: [][]output.Cell{head}}
	merged := mergeEqual(group, namesOf(r))
	width := 0
	for _, m := range merged {
		if len(m.objects) == 1 {
			width = max(width, ansi.StringWidth(m.objects[0]))
		}
	}
	if len(rest) > 0 {
		width = max(width, len(doctor.OutcomePass))
	}
	indent := strings.Repeat(" ", width+4)
	for _, m := range merged {
		t.Lines = append(t.Lines, m.lines(width)...)
		if o != doctor.OutcomeUnknown { // its summary is the path and the error
			t.Lines = append(t.Lines, evidenceLines(m.evidence, indent, wide)...)
		}
	}
	for _, f := range rest {
		mark := output.Good("pass")
		if f.Outcome == doctor.OutcomeNotApplicable {
			mark = output.Dim("n/a ")
		}
		fill := strings.Repeat(" ", width-len(mark.Text)+2)
		t.Lines = append(t.Lines, []output.Cell{
			output.Plain("  "), mark, output.Plain(fill), output.Plain(f.Summary).Flow(0),
		})
		if wide {
			t.Lines = append(t.Lines, evidenceLines(f.Evidence, indent, wide)...)
		}
	}
	if why := group[0].Explanation; why != "" {
		t.Lines = append(t.Lines, cli.LabelledText("why", why, cli.IndentedWidth))
	}
	return output.Text{Lines: append(t.Lines, cli.LabelledLines("fix", remedies(group))...)}
}

// lines shows one object and what is wrong with it, beside objects of some width; several stand in
// a line of their own, all of them, for a fault that is everywhere has another cause than one that
// is not.
func (m *objectsFinding) lines(width int) [][]output.Cell {
	summary := output.Plain(textOf(m.text, DetailVerbose)).Flow(0)
	if len(m.objects) > 1 {
		return [][]output.Cell{
			{output.Plain("  "), output.Bold(strings.Join(m.objects, ", ")).Flow(cli.TextWidth - len("  "))},
			{output.Plain(strings.Repeat(" ", width+4)), summary},
		}
	}
	fill := strings.Repeat(" ", width-ansi.StringWidth(m.objects[0])+2)
	return [][]output.Cell{{output.Plain("  "), output.Bold(m.objects[0]), output.Plain(fill), summary}}
}

func titleOf(r doctor.Report, id string) string {
	i := slices.IndexFunc(r.Checks, func(c doctor.CheckResult) bool { return c.ID == id })
	if i < 0 {
		return ""
	}
	return r.Checks[i].Title
}

func evidenceLines(ev []doctor.Evidence, indent string, wide bool) [][]output.Cell {
	var lines [][]output.Cell
	for i, e := range ev {
		if i == cli.EvidenceShown && len(ev) > cli.EvidenceShown+1 && !wide {
			lines = append(lines,
				[]output.Cell{output.Plain(indent), output.Dim(fmt.Sprintf("and %d more (-o wide)", len(ev)-i))})
			break
		}
		lines = append(lines, []output.Cell{output.Plain(indent), output.Dim(e.String())})
	}
	return lines
}
