package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// ReportBlocks formats a report as text: first the faults by check, each with its evidence, reason
// and remedy; then one line for each check that passed or does not apply; then the summary line.
//
// Objects that passed a check, or that it does not apply to, are listed with the worst finding of
// that check: a separate line "pass" would say that the whole check passed.
func ReportBlocks(r doctor.Report, wide bool) []output.Block {
	var blocks []output.Block
	var quiet [][]output.Cell
	shown := map[string]bool{} // checks with a block
	for _, o := range doctor.Outcomes() {
		for _, group := range findingGroups(r.Findings, o) {
			id := group[0].CheckID
			switch {
			case o == doctor.OutcomeNotApplicable: // below, by reason
			case o == doctor.OutcomePass && !shown[id]:
				quiet = append(quiet, passLines(group, wide)...)
			case o == doctor.OutcomePass: // with the block
			default:
				var rest []doctor.Finding
				if !shown[id] {
					rest = harmless(r.Findings, id)
				}
				shown[id] = true
				blocks = append(blocks, findingBlock(r, o, group, rest, wide))
			}
		}
	}
	quiet = append(quiet, notApplicableLines(r.Findings, shown)...)
	for _, f := range r.Findings {
		if f.Suppressed != nil {
			quiet = append(quiet, suppressedLine(f))
		}
	}
	if len(quiet) > 0 {
		blocks = append(blocks, output.Text{Lines: quiet})
	}
	blocks = append(blocks, output.Text{Lines: [][]output.Cell{sumLine(r)}})
	blocks = append(blocks, unseenLine(r.Unseen)...)
	if len(r.NotCovered) == 0 {
		return blocks
	}
	return append(blocks, output.Line(
		output.Dim("no check covers: "+strings.Join(r.NotCovered, "; ")).Flow(cli.TextWidth)))
}

// findingGroups collects the findings of an outcome by check and explanation, in order.
func findingGroups(findings []doctor.Finding, o doctor.Outcome) [][]doctor.Finding {
	var groups [][]doctor.Finding
	for _, f := range findings {
		if f.Outcome != o || f.Suppressed != nil {
			continue
		}
		i := slices.IndexFunc(groups, func(g []doctor.Finding) bool {
			return g[0].CheckID == f.CheckID && g[0].Explanation == f.Explanation
		})
		if i < 0 {
			groups = append(groups, []doctor.Finding{f})
		} else {
			groups[i] = append(groups[i], f)
		}
	}
	return groups
}

// harmless returns what a check passed, or has nothing to say of.
func harmless(findings []doctor.Finding, id string) []doctor.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f doctor.Finding) bool {
		return f.CheckID != id || f.Outcome.Compare(doctor.OutcomePass) > 0 || f.Suppressed != nil
	})
}

// objectsFinding is what a check finds alike of one object or several.
type objectsFinding struct {
	doctor.Finding
	objects  []string
	evidence []doctor.Evidence // of all of them, each once
}

// mergeEqual makes one of the findings of a check that say the same of several objects. Their
// commands may name the objects: those of all findings of a block stand below it.
func mergeEqual(group []doctor.Finding) []*objectsFinding {
	var merged []*objectsFinding
	for _, f := range group {
		i := slices.IndexFunc(merged, func(m *objectsFinding) bool {
			return m.Summary == f.Summary && m.Explanation == f.Explanation
		})
		if i < 0 {
			i = len(merged)
			merged = append(merged, &objectsFinding{Finding: f})
		}
		m := merged[i]
		m.objects = append(m.objects, output.Clean(f.Object))
		for _, e := range f.Evidence {
			if !slices.Contains(m.evidence, e) {
				m.evidence = append(m.evidence, e)
			}
		}
	}
	return merged
}

// findingBlock shows the findings that share a check and an explanation, and the harmless rest of
// the check.
func findingBlock(r doctor.Report, o doctor.Outcome, group, rest []doctor.Finding, wide bool) output.Block {
	id := group[0].CheckID
	head := []output.Cell{outcomeCell(o, strings.ToUpper(string(o))), output.Plain("  "), output.Bold(id)}
	if o != doctor.OutcomeUnknown { // it is not known whether the fault in the title exists
		head = append(head, output.Plain(": "), output.Plain(titleOf(r, id)).Flow(0))
	}
	t := output.Text{Lines: [][]output.Cell{head}}
	merged := mergeEqual(group)
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
	summary := output.Plain(m.Summary).Flow(0)
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

// remedies joins the commands of findings without duplicate lines. That keeps their order, because
// each remedy begins with the more general lines.
func remedies(group []doctor.Finding) []string {
	var lines []string
	for _, f := range group {
		for _, line := range f.Remedy {
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// passLines returns a line for each finding of outcome pass; with -o wide also its evidence.
func passLines(group []doctor.Finding, wide bool) [][]output.Cell {
	var lines [][]output.Cell
	for _, f := range group {
		lines = append(lines, []output.Cell{
			output.Good("pass"), output.Plain("  "), output.Plain(f.CheckID + ": " + f.Summary).Flow(0),
		})
		if wide {
			lines = append(lines, evidenceLines(f.Evidence, "      ", wide)...)
		}
	}
	return lines
}

// notApplicableLines returns a line for each reason, with all checks that report it, except those
// that are shown already.
func notApplicableLines(findings []doctor.Finding, shown map[string]bool) [][]output.Cell {
	var reasons []string
	ids := map[string][]string{}
	for _, f := range findings {
		if f.Outcome != doctor.OutcomeNotApplicable || shown[f.CheckID] {
			continue
		}
		if ids[f.Summary] == nil {
			reasons = append(reasons, f.Summary)
		}
		ids[f.Summary] = append(ids[f.Summary], f.CheckID)
	}
	var lines [][]output.Cell
	for _, why := range reasons {
		lines = append(lines, []output.Cell{
			output.Dim("n/a "), output.Plain("  "), output.Plain(strings.Join(ids[why], ", ") + ": " + why).Flow(0),
		})
	}
	return lines
}

func suppressedLine(f doctor.Finding) []output.Cell {
	until := ""
	if f.Suppressed.Until != "" {
		until = " until " + f.Suppressed.Until
	}
	text := fmt.Sprintf("%s: %s: %s (%s, suppressed%s)", f.CheckID, f.Object, f.Summary, f.Outcome, until)
	return []output.Cell{output.Dim("mute"), output.Plain("  "), output.Plain(text).Flow(0)}
}

// sumLine returns the summary, "8 checks: 2 failed, 1 warning, 5 passed": each check once, by its
// worst outcome, and the number of findings if it is greater than that of the checks.
func sumLine(r doctor.Report) []output.Cell {
	line := []output.Cell{output.Bold(english.Count(len(r.Checks), "check") + ":").Flow(0)}
	sep := " "
	add := func(n int, o doctor.Outcome, text string) {
		if n > 0 {
			line = append(line, output.Plain(sep).Flow(0), outcomeCell(o, text).Flow(0))
			sep = ", "
		}
	}
	c := r.CheckCounts
	add(c.Fail, doctor.OutcomeFail, fmt.Sprintf("%d failed", c.Fail))
	add(c.Unknown, doctor.OutcomeUnknown, fmt.Sprintf("%d unknown", c.Unknown))
	add(c.Warn, doctor.OutcomeWarn, english.Count(c.Warn, "warning"))
	add(c.Info, doctor.OutcomeInfo, fmt.Sprintf("%d info", c.Info))
	add(c.Pass, doctor.OutcomePass, fmt.Sprintf("%d passed", c.Pass))
	add(c.NotApplicable, doctor.OutcomeNotApplicable, fmt.Sprintf("%d not applicable", c.NotApplicable))
	add(c.Suppressed, doctor.OutcomeNotApplicable, fmt.Sprintf("%d suppressed", c.Suppressed))
	if sep == " " {
		line = append(line, output.Plain(" nothing to check").Flow(0))
	}
	var findings []string
	if n := found(r.Counts); n > found(c) {
		findings = append(findings, english.Count(n, "finding"))
	}
	if n := r.Counts.Suppressed; n > c.Suppressed {
		findings = append(findings, english.Count(n, "finding")+" suppressed")
	}
	if len(findings) > 0 {
		line = append(line, output.Plain("; "+strings.Join(findings, ", ")).Flow(0))
	}
	return line
}

// found counts what deserves a look.
func found(c doctor.Counts) int { return c.Fail + c.Unknown + c.Warn + c.Info }

func outcomeCell(o doctor.Outcome, text string) output.Cell {
	switch o {
	case doctor.OutcomeFail:
		return output.Bad(text)
	case doctor.OutcomeUnknown, doctor.OutcomeWarn:
		return output.Warn(text)
	case doctor.OutcomePass:
		return output.Good(text)
	case doctor.OutcomeNotApplicable:
		return output.Dim(text)
	}
	return output.Plain(text)
}
