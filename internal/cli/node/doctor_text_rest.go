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

// Measures of the short form of what was not checked.
const (
	shortReasons = 3 // reasons why checks don't apply
	shortItems   = 4 // items of a list
)

// uncheckedLines says what the report has no result for, and why: each kind on lines of its own
// that begin with its name.
func uncheckedLines(r doctor.Report, d Detail) [][]output.Cell {
	var lines [][]output.Cell
	lines = append(lines, notApplicableLines(r, d)...)
	lines = append(lines, privilegeLines(r, d)...)
	lines = append(lines, silencedLines(r, d)...)
	labelled := func(label, text string) {
		lines = append(lines,
			[]output.Cell{output.Dim(label + ":").Flow(cli.TextWidth), output.Plain(" " + text).Flow(0)})
	}
	if len(r.Limits) > 0 {
		var changed []string
		for _, l := range r.Limits {
			changed = append(changed, l.String())
		}
		labelled("changed limits", strings.Join(changed, ", "))
	}
	if len(r.Unseen) > 0 {
		labelled("not judged, because it could not be seen", strings.Join(r.Unseen, "; "))
	}
	if n := len(r.NotCovered); n > 0 {
		text := strings.Join(r.NotCovered, "; ")
		if d == DetailShort && n > shortItems+1 {
			text = strings.Join(r.NotCovered[n-shortItems:], "; ") + fmt.Sprintf("; and %d more (-v)", n-shortItems)
		}
		labelled("no check covers", text)
	}
	return lines
}

// reason is why checks have no result.
type reason struct {
	why  string
	text alike.Text // the same, with the names in all reasons that are alike
	ids  []string   // of the checks
}

// mergeReasons makes one of the reasons of the same checks that differ in names only.
func mergeReasons(all []reason, names map[string]bool) []reason {
	var merged []reason
	for _, x := range all {
		x.text = alike.Of(x.why, names)
		i := slices.IndexFunc(merged, func(m reason) bool {
			return m.text.Key == x.text.Key && slices.Equal(m.ids, x.ids)
		})
		if i < 0 {
			merged = append(merged, x)
		} else {
			merged[i].text.Add(x.text)
		}
	}
	return merged
}

// reasons collects the checks of an outcome by reason, the most frequent first. A check that has a
// result for other objects is not among them.
func reasons(r doctor.Report, o doctor.Outcome) (all []reason, checks int) {
	for _, c := range r.Checks {
		if c.Outcome != o || c.Shadow {
			continue
		}
		checks++
		for _, f := range r.Findings {
			if f.CheckID != c.ID || f.Outcome != o || !f.Counts() {
				continue
			}
			i := slices.IndexFunc(all, func(x reason) bool { return x.why == f.Summary })
			if i < 0 {
				i = len(all)
				all = append(all, reason{why: f.Summary})
			}
			if !slices.Contains(all[i].ids, c.ID) {
				all[i].ids = append(all[i].ids, c.ID)
			}
		}
	}
	all = mergeReasons(all, namesOf(r))
	slices.SortStableFunc(all, func(a, b reason) int { return len(b.ids) - len(a.ids) })
	return all, checks
}

// notApplicableLines lists the checks that don't apply with their reasons, in the short form only
// the most frequent ones.
func notApplicableLines(r doctor.Report, d Detail) [][]output.Cell {
	all, n := reasons(r, doctor.OutcomeNotApplicable)
	if n == 0 {
		return nil
	}
	label := output.Dim("not applicable:").Flow(cli.TextWidth)
	if d != DetailShort {
		lines := [][]output.Cell{{label, output.Plain(" " + english.Count(n, "check")).Flow(0)}}
		return append(lines, reasonLines(all)...)
	}
	var texts []string
	for i, x := range all {
		if i == shortReasons && len(all) > shortReasons+1 {
			texts = append(texts, fmt.Sprintf("%d other reasons (-v)", len(all)-i))
			break
		}
		text := output.Clean(textOf(x.text, d))
		if len(x.ids) > 1 {
			text = fmt.Sprintf("%s (%d)", text, len(x.ids))
		}
		texts = append(texts, text)
	}
	return [][]output.Cell{{
		label, output.Plain(" " + english.Count(n, "check") + ": " + strings.Join(texts, "; ")).Flow(0),
	}}
}

func reasonLines(all []reason) [][]output.Cell {
	var lines [][]output.Cell
	for _, x := range all {
		text := strings.Join(x.ids, ", ") + ": " + textOf(x.text, DetailVerbose)
		lines = append(lines, []output.Cell{output.Plain("  "), output.Plain(text).Flow(cli.TextWidth - len("  "))})
	}
	return lines
}

// privilegeLines says what doctor would check as root; that never counts against the node.
func privilegeLines(r doctor.Report, d Detail) [][]output.Cell {
	all, ids := privileged(r)
	if len(ids) == 0 {
		return nil
	}
	label := output.Dim("as root, doctor would also check:").Flow(cli.TextWidth)
	if d != DetailShort {
		return append([][]output.Cell{{label}}, reasonLines(all)...)
	}
	const most = 2 * shortItems
	text := strings.Join(ids, ", ")
	if len(ids) > most+1 {
		text = strings.Join(ids[:most], ", ") + fmt.Sprintf(" and %d more", len(ids)-most)
	}
	return [][]output.Cell{{label, output.Plain(" " + text + " (-v: what)").Flow(0)}}
}

// privileged returns what needs privilege, also of checks that have a result for other objects, and
// the IDs of those checks.
func privileged(r doctor.Report) (all []reason, ids []string) {
	for _, f := range r.Findings {
		if f.Outcome != doctor.OutcomePrivilege || !f.Counts() {
			continue
		}
		if !slices.Contains(ids, f.CheckID) {
			ids = append(ids, f.CheckID)
		}
		i := slices.IndexFunc(all, func(x reason) bool { return x.why == f.Summary })
		if i < 0 {
			i = len(all)
			all = append(all, reason{why: f.Summary})
		}
		if !slices.Contains(all[i].ids, f.CheckID) {
			all[i].ids = append(all[i].ids, f.CheckID)
		}
	}
	return mergeReasons(all, namesOf(r)), ids
}

// silencedLines lists the findings that don't count.
func silencedLines(r doctor.Report, d Detail) [][]output.Cell {
	var lines [][]output.Cell
	list := func(label string, of func(doctor.Finding) bool, why func(doctor.Finding) string) {
		var found []doctor.Finding
		for _, f := range r.Findings {
			if of(f) {
				found = append(found, f)
			}
		}
		merged := mergeAlike(found, namesOf(r), func(a, b doctor.Finding) bool {
			return a.CheckID == b.CheckID && a.Outcome == b.Outcome && why(a) == why(b)
		})
		left := len(found)
		for i, m := range merged {
			if i == shortItems && len(merged) > shortItems+1 && d == DetailShort {
				lines = append(lines, []output.Cell{output.Dim(fmt.Sprintf("  and %d more (-v)", left))})
				break
			}
			left -= len(m.findings)
			text := fmt.Sprintf(" %s %s: %s (%s%s)",
				m.findings[0].CheckID, m.objectsText(d), textOf(m.Text, d), m.findings[0].Outcome, why(m.findings[0]))
			lines = append(lines, []output.Cell{output.Dim(label).Flow(0), output.Plain(text).Flow(0)})
		}
	}
	list("suppressed:", func(f doctor.Finding) bool { return f.Suppressed != nil },
		func(f doctor.Finding) string { return ", " + f.Suppressed.String() })
	list("on trial, not counted:", func(f doctor.Finding) bool {
		return f.Shadow && f.Suppressed == nil && f.Outcome.Compare(doctor.OutcomePass) > 0
	}, func(doctor.Finding) string { return "" })
	return lines
}

// sinceBlocks shows what has changed since an earlier report.
func sinceBlocks(c *doctor.Changes) []output.Block {
	if c == nil {
		return nil
	}
	if len(c.New)+len(c.Gone)+len(c.Changed)+len(c.NotJudged)+len(c.Vanished) == 0 {
		text := "nothing changed since the earlier report"
		if len(c.NotCompared) > 0 {
			text += " in the checks of both"
		}
		return []output.Block{output.Text{
			Lines: append([][]output.Cell{{output.Plain(text)}}, notComparedLines(c)...),
		}}
	}
	t := output.Text{Lines: [][]output.Cell{{output.Bold("since the earlier report:")}}}
	t.Lines = append(t.Lines, vanishedLines(c)...)
	add := func(mark output.Cell, f doctor.Finding, more string) {
		fill := strings.Repeat(" ", len("not judged")-len(mark.Text)+2)
		text := fmt.Sprintf("%s %s: %s (%s%s)", f.CheckID, f.Object, f.Summary, f.Outcome, more)
		t.Lines = append(t.Lines,
			[]output.Cell{output.Plain("  "), mark, output.Plain(fill), output.Plain(text).Flow(0)})
	}
	for _, f := range c.New {
		add(outcomeCell(f.Outcome, "new"), f, "")
	}
	for _, ch := range c.Changed {
		was := ", was " + string(ch.Before.Outcome)
		if ch.Before.Outcome == ch.Now.Outcome {
			was = "; was: " + ch.Before.Summary
		}
		add(outcomeCell(ch.Now.Outcome, "changed"), ch.Now, was)
	}
	for _, f := range c.NotJudged {
		add(output.Plain("not judged"), f, "; now without a result")
	}
	for _, f := range c.Gone {
		add(output.Good("gone"), f, "")
	}
	t.Lines = append(t.Lines, notComparedLines(c)...)
	return []output.Block{t}
}

// vanishedLines shows the objects that a node no longer has: those with findings on lines of their
// own, the others together.
func vanishedLines(c *doctor.Changes) [][]output.Cell {
	var lines [][]output.Cell
	var names []string
	add := func(text string) {
		lines = append(lines,
			[]output.Cell{output.Plain("  "), output.Warn("vanished"), output.Plain("    " + text).Flow(0)})
	}
	for _, v := range c.Vanished {
		if len(v.Findings) == 0 {
			names = append(names, string(v.Kind)+" "+v.Name)
		}
		for _, f := range v.Findings {
			add(fmt.Sprintf("%s %s; it had %s: %s (%s)", v.Kind, v.Name, f.CheckID, f.Summary, f.Outcome))
		}
	}
	if len(names) > 0 {
		add(cli.SomeNames(names, false))
	}
	return lines
}

// notComparedLines names the checks that only one of the reports has.
func notComparedLines(c *doctor.Changes) [][]output.Cell {
	var before, now []string
	for _, n := range c.NotCompared {
		if n.New {
			now = append(now, n.CheckID)
		} else {
			before = append(before, n.CheckID)
		}
	}
	var lines [][]output.Cell
	add := func(label string, names []string) {
		if len(names) > 0 {
			lines = append(lines, []output.Cell{
				output.Dim(label).Flow(cli.TextWidth), output.Plain(" " + cli.SomeNames(names, false)).Flow(0),
			})
		}
	}
	add("not compared, only in the earlier report:", before)
	add("not compared, only in this report:", now)
	return lines
}
