package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/alike"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// Detail is how much of a report is shown.
type Detail int

// The details.
const (
	DetailShort   Detail = iota // a line for each finding, with its fix
	DetailVerbose               // evidence, reasons and all commands as well
	DetailWide                  // every check that passed as well
)

// detailOf returns the detail that the flags of a run ask for.
func detailOf(app *cli.App) Detail {
	switch {
	case app.Out.Wide():
		return DetailWide
	case app.Verbose():
		return DetailVerbose
	}
	return DetailShort
}

// ReportBlocks formats a report as text: that the node has no RDMA device, and the age of the
// recording; the parts of the node with findings, the worst first; one
// line for each of the other parts, with the number of checks that passed; what was not checked,
// and why; and the summary line.
func ReportBlocks(r doctor.Report, d Detail) []output.Block {
	var blocks []output.Block
	var quiet [][]output.Cell
	parts := partsOf(r)
	if lines := headLines(r); len(lines) > 0 {
		blocks = append(blocks, output.Text{Lines: lines})
	}
	for _, p := range parts {
		switch {
		case len(p.faults()) > 0:
			blocks = append(blocks, p.blocks(d)...)
		case d == DetailWide:
			blocks = append(blocks, output.Text{Lines: append([][]output.Cell{p.heading()}, p.passedLines()...)})
		default:
			quiet = append(quiet, p.heading())
		}
	}
	if len(quiet) > 0 {
		blocks = append(blocks, output.Text{Lines: quiet})
	}
	if lines := uncheckedLines(r, d); len(lines) > 0 {
		blocks = append(blocks, output.Text{Lines: lines})
	}
	blocks = append(blocks, sinceBlocks(r.Since)...)
	return append(blocks, output.Text{Lines: [][]output.Cell{sumLine(r)}})
}

// headLines says what is to be known before the findings. A recording without a time, such as a
// tree as text, has no line.
func headLines(r doctor.Report) [][]output.Cell {
	var lines [][]output.Cell
	if rec := r.Recording; rec != nil && !rec.Taken.IsZero() {
		text := r.Recorded()
		if r.Node != "" {
			text = "node " + r.Node + ", " + text
		}
		lines = append(lines, []output.Cell{output.Bold(text).Flow(0)})
	}
	if r.NoDevice != "" {
		lines = append(lines, []output.Cell{output.Warn(r.NoDevice).Flow(0)})
	}
	return lines
}

// part is a part of the node with its checks.
type part struct {
	title    string
	report   doctor.Report
	checks   []doctor.CheckResult
	findings []doctor.Finding // that count
}

// partsOf returns the parts of a report, the one with the worst finding first.
func partsOf(r doctor.Report) []part {
	var parts []part
	for _, g := range append(doctor.Groups(), "") {
		p := part{title: string(g), report: r}
		if g == "" {
			p.title = "other checks"
		}
		for _, c := range r.Checks {
			if c.Group != g || c.Shadow {
				continue
			}
			p.checks = append(p.checks, c)
			for _, f := range r.Findings {
				if f.CheckID == c.ID && f.Counts() {
					p.findings = append(p.findings, f)
				}
			}
		}
		if len(p.checks) > 0 {
			parts = append(parts, p)
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return b.worst().Compare(a.worst()) })
	return parts
}

// worst returns the worst outcome that deserves a look, and pass if there is none.
func (p part) worst() doctor.Outcome {
	worst := doctor.OutcomePass
	for _, f := range p.findings {
		if f.Outcome.Compare(worst) > 0 {
			worst = f.Outcome
		}
	}
	return worst
}

// faults returns the findings that deserve a look by check and explanation, the worst first.
func (p part) faults() [][]doctor.Finding {
	var all [][]doctor.Finding
	for _, o := range doctor.Outcomes() {
		if o.Compare(doctor.OutcomePass) > 0 {
			all = append(all, findingGroups(p.findings, o)...)
		}
	}
	return all
}

// heading returns "link quality: 1 failed, 13 checks passed".
func (p part) heading() []output.Cell {
	line := []output.Cell{output.Bold(p.title + ":").Flow(0)}
	var c doctor.Counts
	for _, check := range p.checks {
		if check.Suppressed {
			c.Suppressed++
			continue
		}
		switch check.Outcome {
		case doctor.OutcomeFail:
			c.Fail++
		case doctor.OutcomeUnknown:
			c.Unknown++
		case doctor.OutcomeWarn:
			c.Warn++
		case doctor.OutcomeInfo:
			c.Info++
		case doctor.OutcomePass:
			c.Pass++
		case doctor.OutcomePrivilege:
			c.Privilege++
		default:
			c.NotApplicable++
		}
	}
	sep := " "
	add := func(n int, o doctor.Outcome, text string) {
		if n > 0 {
			line = append(line, output.Plain(sep).Flow(0), outcomeCell(o, text).Flow(0))
			sep = ", "
		}
	}
	add(c.Fail, doctor.OutcomeFail, fmt.Sprintf("%d failed", c.Fail))
	add(c.Unknown, doctor.OutcomeUnknown, fmt.Sprintf("%d unknown", c.Unknown))
	add(c.Warn, doctor.OutcomeWarn, english.Count(c.Warn, "warning"))
	add(c.Info, doctor.OutcomeInfo, fmt.Sprintf("%d info", c.Info))
	if sep == " " {
		add(c.Pass, doctor.OutcomePass, english.Count(c.Pass, "check")+" passed")
	} else {
		add(c.Pass, doctor.OutcomePass, fmt.Sprintf("%d passed", c.Pass))
	}
	add(c.NotApplicable, doctor.OutcomeNotApplicable, fmt.Sprintf("%d not applicable", c.NotApplicable))
	add(c.Privilege, doctor.OutcomePrivilege, privilegeText(c.Privilege))
	add(c.Suppressed, doctor.OutcomeNotApplicable, fmt.Sprintf("%d suppressed", c.Suppressed))
	return line
}

func privilegeText(n int) string {
	if n == 1 {
		return "1 needs root"
	}
	return fmt.Sprintf("%d need root", n)
}

// blocks shows a part with findings.
func (p part) blocks(d Detail) []output.Block {
	if d == DetailShort {
		t := output.Text{Lines: [][]output.Cell{p.heading()}}
		for _, o := range doctor.Outcomes() {
			t.Lines = append(t.Lines, p.shortLines(o)...)
		}
		return []output.Block{t}
	}
	blocks := []output.Block{output.Line(p.heading()...)}
	shown := map[string]bool{} // checks with a block
	for _, group := range p.faults() {
		id := group[0].CheckID
		var rest []doctor.Finding
		if !shown[id] {
			rest = harmless(p.findings, id)
		}
		shown[id] = true
		blocks = append(blocks, findingBlock(p.report, group[0].Outcome, group, rest, d == DetailWide))
	}
	if lines := p.passedLines(); d == DetailWide && len(lines) > 0 {
		blocks = append(blocks, output.Text{Lines: lines})
	}
	return blocks
}

// passedLines returns a line for each check that passed, with its evidence.
func (p part) passedLines() [][]output.Cell {
	var lines [][]output.Cell
	for _, c := range p.checks {
		if c.Outcome != doctor.OutcomePass {
			continue
		}
		for _, f := range p.findings {
			if f.CheckID != c.ID || f.Outcome != doctor.OutcomePass {
				continue
			}
			lines = append(lines, []output.Cell{
				output.Plain("  "), output.Good("pass"), output.Plain("  "),
				output.Plain(f.CheckID + ": " + f.Summary).Flow(0),
			})
			lines = append(lines, evidenceLines(f.Evidence, "        ", true)...)
		}
	}
	return lines
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
	text     alike.Text // the summary
	objects  []string
	evidence []doctor.Evidence // of all of them, each once
}

// mergeEqual makes one of the findings of a check, with one explanation, that say the same of
// several objects; of outcome unknown also those that differ in names only. Their commands may name
// the objects: those of all findings of a block stand below it.
func mergeEqual(group []doctor.Finding, names map[string]bool) []*objectsFinding {
	var merged []*objectsFinding
	for _, f := range group {
		if f.Outcome != doctor.OutcomeUnknown {
			names = nil // the evidence doesn't tell which name is whose
		}
		text := alike.Of(f.Summary, names)
		i := slices.IndexFunc(merged, func(m *objectsFinding) bool { return m.text.Key == text.Key })
		if i < 0 {
			i = len(merged)
			merged = append(merged, &objectsFinding{text: text})
		}
		m := merged[i]
		m.text.Add(text)
		m.objects = append(m.objects, output.Clean(f.Object))
		for _, e := range f.Evidence {
			if !slices.Contains(m.evidence, e) {
				m.evidence = append(m.evidence, e)
			}
		}
	}
	return merged
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
	add(c.Privilege, doctor.OutcomePrivilege, privilegeText(c.Privilege))
	add(c.Suppressed, doctor.OutcomeNotApplicable, fmt.Sprintf("%d suppressed", c.Suppressed))
	add(c.Shadow, doctor.OutcomeNotApplicable, fmt.Sprintf("%d on trial", c.Shadow))
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
	case doctor.OutcomeNotApplicable, doctor.OutcomePrivilege:
		return output.Dim(text)
	}
	return output.Plain(text)
}
