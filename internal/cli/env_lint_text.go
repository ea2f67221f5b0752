package cli

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/launch/lint"
)

// lintBlocks shows a report to people: the findings by environment, the worst first, each with its line, its
// evidence and what to write instead; the sum last.
func lintBlocks(r lint.Report, wide bool) []output.Block {
	var blocks []output.Block
	for _, env := range r.Environments {
		var lines [][]output.Cell
		for _, f := range r.Findings {
			if f.Environment == env.Name {
				lines = append(lines, lintFindingLines(f, wide)...)
			}
		}
		if len(env.Unjudged) > 0 {
			lines = append(lines, []output.Cell{output.Dim("skip   "), output.Plain(strings.Join(env.Unjudged, ", ") + ": the value isn't known here")})
		}
		if len(lines) > 0 {
			title := ""
			if len(r.Environments) > 1 {
				title = env.Name
			}
			blocks = append(blocks, output.Text{Title: title, Lines: lines})
		}
	}
	return append(blocks, output.Text{Lines: [][]output.Cell{lintSum(r)}})
}

func lintFindingLines(f lint.Finding, wide bool) [][]output.Cell {
	assignment := f.Variable
	if f.Value != "" || f.Line > 0 {
		assignment += "=" + f.Value
	}
	lines := [][]output.Cell{
		{lintSeverityCell(f.Severity, fmt.Sprintf("%-5s", strings.ToUpper(string(f.Severity)))), output.Plain("  "), output.Bold(assignment), output.Dim(lintPlace(f) + "  " + f.Rule)},
		{output.Plain("       " + f.Summary)},
	}
	var evidence []string
	for _, e := range f.Evidence {
		evidence = append(evidence, e.Path+" = "+e.Value)
	}
	lines = append(lines, lintEvidence(evidence, wide)...)
	lines = append(lines, []output.Cell{output.Bold("  fix  "), output.Plain(f.Remedy)})
	for _, fix := range f.Fixes {
		lines = append(lines, []output.Cell{output.Plain("       " + fixText(fix))})
	}
	return append(lines, lintSources(f.Sources, wide)...)
}

// lintEvidence shows what a finding rests on, the first few lines unless wide.
func lintEvidence(evidence []string, wide bool) [][]output.Cell {
	if most := evidenceShown; len(evidence) > most+1 && !wide {
		evidence = append(evidence[:most:most], fmt.Sprintf("and %d more (-o wide)", len(evidence)-most))
	}
	var lines [][]output.Cell
	for _, text := range evidence {
		lines = append(lines, []output.Cell{output.Plain("       "), output.Dim(text)})
	}
	return lines
}

// lintSources names where a rule comes from, when wide.
func lintSources(sources []string, wide bool) [][]output.Cell {
	if !wide || len(sources) == 0 {
		return nil
	}
	return [][]output.Cell{{output.Bold("  see  "), output.Plain(strings.Join(sources, ", "))}}
}

// lintPlace is where a finding stands: "  job.env:3".
func lintPlace(f lint.Finding) string {
	switch {
	case f.File == "":
		return ""
	case f.Line == 0:
		return "  " + f.File
	}
	return fmt.Sprintf("  %s:%d", f.File, f.Line)
}

// fixText writes a change as a shell takes it.
func fixText(f lint.Fix) string {
	if f.Unset {
		return "unset " + f.Name
	}
	return f.Name + "='" + strings.ReplaceAll(f.Value, "'", `'\''`) + "'"
}

func lintSeverityCell(s lint.Severity, text string) output.Cell {
	switch s {
	case lint.SeverityError:
		return output.Bad(text)
	case lint.SeverityWarn:
		return output.Warn(text)
	}
	return output.Plain(text)
}

// lintSum is "12 variables: 1 error, 2 warnings".
func lintSum(r lint.Report) []output.Cell {
	return append([]output.Cell{output.Bold(english.Count(r.Variables(), "variable") + ":")}, lintCounts(r.Counts)...)
}

// lintCounts is " 1 error, 2 warnings", or " nothing wrong".
func lintCounts(c lint.Counts) []output.Cell {
	var line []output.Cell
	sep := " "
	add := func(n int, s lint.Severity, noun string) {
		if n > 0 {
			line = append(line, output.Plain(sep), lintSeverityCell(s, english.Count(n, noun)))
			sep = ", "
		}
	}
	add(c.Error, lint.SeverityError, "error")
	add(c.Warn, lint.SeverityWarn, "warning")
	add(c.Note, lint.SeverityNote, "note")
	if sep == " " {
		line = append(line, output.Good(" nothing wrong"))
	}
	return line
}

func lintRuleTable(rules []lint.Rule) output.Table {
	t := output.Table{Columns: []output.Column{{Name: "rule"}, {Name: "at worst"}, {Name: "finds"}, {Name: "variables", Wide: true}}}
	for _, r := range rules {
		t.Rows = append(t.Rows, []output.Cell{
			output.Plain(r.ID), lintSeverityCell(r.Severity, string(r.Severity)), output.Plain(r.Title), output.Plain(strings.Join(r.Variables, " ")),
		})
	}
	return t
}

func lintRuleBlocks(r lint.Rule) []output.Block {
	list := output.List{Items: []output.Item{
		{Key: "at worst", Value: lintSeverityCell(r.Severity, string(r.Severity))},
		{Key: "variables", Value: output.Plain(strings.Join(r.Variables, " "))},
	}}
	add := func(key string, values []string) {
		for i, v := range values {
			list.Items = append(list.Items, output.Item{Key: firstOnly(i, key), Value: output.Plain(v)})
		}
	}
	add("wrong", r.Wrong)
	add("right", r.Right)
	add("report", r.Reports)
	add("source", r.Sources)
	return append(lintRuleHead(r.ID, r.Title, r.Explanation, r.Remedy), list)
}

// lintRuleHead is what rules of all kinds have in common.
func lintRuleHead(id, title, explanation, remedy string) []output.Block {
	return []output.Block{
		output.Text{Lines: [][]output.Cell{{output.Bold(id), output.Plain(": " + title)}}},
		output.Paragraph(wrapWords(explanation, textWidth)),
		output.Paragraph(wrapWords("What to do: "+remedy+".", textWidth)),
	}
}
