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

// Measures of the short form.
const (
	shortFindings = 3 // lines for the findings of one check
	shortUnknown  = 5 // lines for what has no result, of one part of the node
	shortFixes    = 2 // lines of a fix
	labelColumn   = "           "
)

// shortLines shows the part's findings of an outcome that deserves a look.
func (p part) shortLines(o doctor.Outcome) [][]output.Cell {
	switch {
	case o.Compare(doctor.OutcomePass) <= 0:
		return nil
	case o == doctor.OutcomeUnknown:
		return unknownLines(p.findings, namesOf(p.report))
	}
	var lines [][]output.Cell
	names := namesOf(p.report)
	for _, group := range findingGroups(p.findings, o) {
		lines = append(lines, groupLines(group, names)...)
	}
	return lines
}

// groupLines shows the findings that share a check and an explanation: a line for those that differ
// in names only, and below lines with the same fix its first lines.
func groupLines(group []doctor.Finding, names map[string]bool) [][]output.Cell {
	merged := mergeAlike(group, names, func(doctor.Finding, doctor.Finding) bool { return true })
	var lines [][]output.Cell
	var more []string
	var rest []*alikeFindings
	if len(merged) > shortFindings+1 {
		merged, rest = merged[:shortFindings], merged[shortFindings:]
	}
	var open []doctor.Finding // their fix follows
	for i, m := range merged {
		if i > 0 && !m.sameFix(merged[i-1], names) {
			lines, open = append(lines, fixLines(remedies(open))...), nil
		}
		lines = append(lines, shortLine(group[0].Outcome, group[0].CheckID, m.objects, textOf(m.Text, DetailShort)))
		open = append(open, m.findings...)
	}
	for _, m := range rest {
		more = append(more, m.objects...)
		if m.sameFix(merged[len(merged)-1], names) {
			open = append(open, m.findings...)
		}
	}
	if len(more) > 0 {
		text := fmt.Sprintf("and %d more of %s: %s (-v)", len(more), group[0].CheckID, cli.SomeNames(more, false))
		lines = append(lines, []output.Cell{output.Plain(labelColumn), output.Dim(text).Flow(0)})
	}
	return append(lines, fixLines(remedies(open))...)
}

// shortLine shows one finding of some objects: "  FAIL     port-active mlx5_0:1: port is down".
func shortLine(o doctor.Outcome, check string, objects []string, summary string) []output.Cell {
	label := strings.ToUpper(string(o))
	where := " " + countedNames(objects) + ": "
	if len(objects) == 1 && objects[0] == doctor.ObjectNode {
		where = ": "
	}
	return []output.Cell{
		output.Plain("  "), outcomeCell(o, label), output.Plain(labelColumn[:len(labelColumn)-2-len(label)]),
		output.Bold(check).Flow(0), output.Plain(where + summary).Flow(0),
	}
}

// countedNames lists names, the first and the last of many, and how many there are if they are not
// seen at a glance: "a, b", "a, b, c (3)".
func countedNames(names []string) string {
	const glance, shown = 2, 8
	n := len(names)
	switch {
	case n <= glance:
		return strings.Join(names, ", ")
	case n <= shown:
		return fmt.Sprintf("%s (%d)", strings.Join(names, ", "), n)
	}
	return fmt.Sprintf("%s, … %s (%d)", strings.Join(names[:shown-2], ", "), names[n-1], n)
}

// unknownCause is why checks have no result for objects.
type unknownCause struct {
	alike.Text

	summary         string
	checks, objects []string
	number          int // of findings
}

// unknownCauses collects findings of outcome unknown: first those of several checks that say the
// same of one object, then those of several objects. The causes of most checks are first.
func unknownCauses(findings []doctor.Finding, names map[string]bool) []*unknownCause {
	var byObject, causes []*unknownCause
	for _, f := range findings {
		object := output.Clean(f.Object)
		i := slices.IndexFunc(byObject, func(c *unknownCause) bool {
			return c.objects[0] == object && c.summary == f.Summary
		})
		if i < 0 {
			i = len(byObject)
			byObject = append(byObject, &unknownCause{
				Text: alike.Of(f.Summary, names), summary: f.Summary, objects: []string{object},
			})
		}
		c := byObject[i]
		c.number++
		if !slices.Contains(c.checks, f.CheckID) {
			c.checks = append(c.checks, f.CheckID)
		}
	}
	for _, c := range byObject {
		i := slices.IndexFunc(causes, func(o *unknownCause) bool {
			return o.Key == c.Key && slices.Equal(o.checks, c.checks)
		})
		if i < 0 {
			causes = append(causes, c)
			continue
		}
		causes[i].Add(c.Text)
		causes[i].objects = append(causes[i].objects, c.objects...)
		causes[i].number += c.number
	}
	slices.SortStableFunc(causes, func(a, b *unknownCause) int { return len(b.checks) - len(a.checks) })
	return causes
}

// unknownLines shows what has no result. One file that can't be read leaves many checks without a
// result: they are one line.
func unknownLines(all []doctor.Finding, names map[string]bool) [][]output.Cell {
	findings := slices.DeleteFunc(slices.Clone(all), func(f doctor.Finding) bool {
		return f.Outcome != doctor.OutcomeUnknown
	})
	causes := unknownCauses(findings, names)
	var lines [][]output.Cell
	left := len(findings)
	for i, c := range causes {
		if i == shortUnknown && len(causes) > shortUnknown+1 {
			text := fmt.Sprintf("and %d more without a result (-v)", left)
			lines = append(lines, []output.Cell{output.Plain(labelColumn), output.Dim(text)})
			break
		}
		left -= c.number
		check := c.checks[0]
		if n := len(c.checks) - 1; n > 0 {
			check += " and " + english.Count(n, "more check")
			if c.objects[0] != doctor.ObjectNode {
				check += " of"
			}
		}
		lines = append(lines, shortLine(doctor.OutcomeUnknown, check, c.objects, textOf(c.Text, DetailShort)))
	}
	return append(lines, fixLines(remedies(findings))...)
}

// fixLines shows the first lines of a fix.
func fixLines(fixes []string) [][]output.Cell {
	var lines [][]output.Cell
	for i, line := range fixes {
		if i == shortFixes || i == 1 && !strings.HasPrefix(fixes[0], "#") {
			text := "     and " + english.Count(len(fixes)-i, "more line") + " (-v)"
			return append(lines, []output.Cell{output.Plain(labelColumn), output.Dim(text)})
		}
		head, cell := output.Plain("     "), output.Plain(line)
		if i == 0 {
			head = output.Bold("fix  ")
		}
		if strings.HasPrefix(line, "#") {
			cell = output.Dim(line).Flow(0)
		}
		lines = append(lines, []output.Cell{output.Plain(labelColumn), head, cell})
	}
	return lines
}
