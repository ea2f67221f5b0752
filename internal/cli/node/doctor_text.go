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

// ReportBlocks shows a report to people: what is wrong first, by check, each with
// its evidence, reason and remedy; then what is well or does not apply, in a line
// a check; the sum last, where the eye ends.
func ReportBlocks(r doctor.Report, wide bool) []output.Block {
	var blocks []output.Block
	var quiet [][]output.Cell
	for _, o := range doctor.Outcomes() {
		for _, group := range findingGroups(r.Findings, o) {
			switch o {
			case doctor.OutcomePass:
				quiet = append(quiet, passLines(group, wide)...)
			case doctor.OutcomeNotApplicable: // below, by reason
			default:
				blocks = append(blocks, findingBlock(r, o, group, wide))
			}
		}
	}
	quiet = append(quiet, notApplicableLines(r.Findings)...)
	for _, f := range r.Findings {
		if f.Suppressed != nil {
			quiet = append(quiet, suppressedLine(f))
		}
	}
	if len(quiet) > 0 {
		blocks = append(blocks, output.Text{Lines: quiet})
	}
	return append(blocks, output.Text{Lines: [][]output.Cell{sumLine(r)}})
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

// findingBlock shows the findings that share a check and an explanation.
func findingBlock(r doctor.Report, o doctor.Outcome, group []doctor.Finding, wide bool) output.Block {
	id := group[0].CheckID
	head := []output.Cell{outcomeCell(o, strings.ToUpper(string(o))), output.Plain("  "), output.Bold(id)}
	if o != doctor.OutcomeUnknown { // nobody knows whether the title is true
		head = append(head, output.Plain(": "+titleOf(r, id)))
	}
	t := output.Text{Lines: [][]output.Cell{head}}
	width := 0
	for _, f := range group {
		width = max(width, ansi.StringWidth(output.Clean(f.Object)))
	}
	for _, f := range group {
		object := output.Clean(f.Object)
		fill := strings.Repeat(" ", width-ansi.StringWidth(object))
		t.Lines = append(t.Lines,
			[]output.Cell{output.Plain("  "), output.Bold(object), output.Plain(fill + "  " + f.Summary)})
		if o != doctor.OutcomeUnknown { // its summary is the path and the error
			t.Lines = append(t.Lines, evidenceLines(f.Evidence, strings.Repeat(" ", width+4), wide)...)
		}
	}
	if why := group[0].Explanation; why != "" {
		t.Lines = append(t.Lines, cli.LabelledLines("why", strings.Split(cli.WrapWords(why, cli.TextWidth-7), "\n"))...)
	}
	return output.Text{Lines: append(t.Lines, cli.LabelledLines("fix", remedies(group))...)}
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

// remedies joins the commands of findings; a line that several have stands once,
// which keeps their order because each begins with the more general lines.
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

// passLines shows what is well: a line a finding, its evidence with -o wide.
func passLines(group []doctor.Finding, wide bool) [][]output.Cell {
	var lines [][]output.Cell
	for _, f := range group {
		lines = append(lines, []output.Cell{output.Good("pass"), output.Plain("  " + f.CheckID + ": " + f.Summary)})
		if wide {
			lines = append(lines, evidenceLines(f.Evidence, "      ", wide)...)
		}
	}
	return lines
}

// notApplicableLines shows each reason once, with all checks that give it.
func notApplicableLines(findings []doctor.Finding) [][]output.Cell {
	var reasons []string
	ids := map[string][]string{}
	for _, f := range findings {
		if f.Outcome != doctor.OutcomeNotApplicable {
			continue
		}
		if ids[f.Summary] == nil {
			reasons = append(reasons, f.Summary)
		}
		ids[f.Summary] = append(ids[f.Summary], f.CheckID)
	}
	var lines [][]output.Cell
	for _, why := range reasons {
		lines = append(lines,
			[]output.Cell{output.Dim("n/a "), output.Plain("  " + strings.Join(ids[why], ", ") + ": " + why)})
	}
	return lines
}

func suppressedLine(f doctor.Finding) []output.Cell {
	until := ""
	if f.Suppressed.Until != "" {
		until = " until " + f.Suppressed.Until
	}
	return []output.Cell{
		output.Dim("mute"),
		output.Plain(fmt.Sprintf("  %s: %s: %s (%s, suppressed%s)", f.CheckID, f.Object, f.Summary, f.Outcome, until)),
	}
}

// sumLine is the verdict in one line: "8 checks: 2 faults, 1 warning, 5 passed".
func sumLine(r doctor.Report) []output.Cell {
	line := []output.Cell{output.Bold(english.Count(len(r.Checks), "check") + ":")}
	sep := " "
	add := func(n int, o doctor.Outcome, text string) {
		if n > 0 {
			line = append(line, output.Plain(sep), outcomeCell(o, text))
			sep = ", "
		}
	}
	c := r.Counts
	add(c.Fail, doctor.OutcomeFail, english.Count(c.Fail, "fault"))
	add(c.Unknown, doctor.OutcomeUnknown, fmt.Sprintf("%d unknown", c.Unknown))
	add(c.Warn, doctor.OutcomeWarn, english.Count(c.Warn, "warning"))
	add(c.Info, doctor.OutcomeInfo, english.Count(c.Info, "remark"))
	add(c.Pass, doctor.OutcomePass, fmt.Sprintf("%d passed", c.Pass))
	add(c.NotApplicable, doctor.OutcomeNotApplicable, fmt.Sprintf("%d not applicable", c.NotApplicable))
	add(c.Suppressed, doctor.OutcomeNotApplicable, fmt.Sprintf("%d suppressed", c.Suppressed))
	if sep == " " {
		line = append(line, output.Plain(" nothing to judge"))
	}
	return line
}

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
