package node

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/launch/lint"
)

// lintBlocks formats a report as text: the findings of each environment, the worst first, each with
// its line, its evidence and the correct value; then the summary line.
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
			lines = append(lines, []output.Cell{
				output.Dim("skip   "),
				output.Plain(strings.Join(env.Unjudged, ", ") + ": not checked, value unknown").Flow(0),
			})
		}
		skipped := ""
		switch {
		case env.Elsewhere:
			skipped = "names of devices, GIDs, traffic classes: this machine has no RDMA device, so the pod runs " +
				"on another (--from checks against a recorded node)"
		case env.PodNetwork:
			skipped = "names and addresses of network devices: those of the pod are not known"
		}
		if skipped != "" {
			lines = append(lines, []output.Cell{output.Dim("skip   "), output.Plain(skipped).Flow(0)})
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
		{
			cli.LintSeverityCell(f.Severity, fmt.Sprintf("%-5s", strings.ToUpper(string(f.Severity)))),
			output.Plain("  "), output.Bold(assignment), output.Dim(lintPlace(f) + "  " + f.Rule),
		},
		{output.Plain("       "), output.Plain(f.Summary).Flow(0)},
	}
	var evidence []string
	for _, e := range f.Evidence {
		evidence = append(evidence, e.Path+" = "+e.Value)
	}
	lines = append(lines, cli.LintEvidence(evidence, wide)...)
	lines = append(lines, cli.LabelledText("fix", f.Remedy, 0))
	for _, fix := range f.Fixes {
		lines = append(lines, []output.Cell{output.Plain("       " + fixText(fix))})
	}
	return append(lines, cli.LintSources(f.Sources, wide)...)
}

// lintPlace returns the place of a finding: " job.env:3".
func lintPlace(f lint.Finding) string {
	switch {
	case f.File == "":
		return ""
	case f.Line == 0:
		return "  " + f.File
	}
	return fmt.Sprintf("  %s:%d", f.File, f.Line)
}

// fixText formats a fix as a shell command.
func fixText(f lint.Fix) string {
	if f.Unset {
		return "unset " + f.Name
	}
	return f.Name + "='" + strings.ReplaceAll(f.Value, "'", `'\''`) + "'"
}

// lintSum returns the summary: "12 variables: 1 error, 2 warnings".
func lintSum(r lint.Report) []output.Cell {
	return append([]output.Cell{output.Bold(english.Count(r.Variables(), "variable") + ":")},
		cli.LintCounts(r.Counts)...)
}

func lintRuleTable(rules []lint.Rule) output.Table {
	t := output.Table{Columns: []output.Column{
		{Name: "rule"}, {Name: "at worst"}, {Name: "finds", Wrap: true}, {Name: "variables", Wide: true},
	}}
	for _, r := range rules {
		t.Rows = append(t.Rows, []output.Cell{
			output.Plain(r.ID), cli.LintSeverityCell(r.Severity, string(r.Severity)), output.Plain(r.Title),
			output.Plain(strings.Join(r.Variables, " ")),
		})
	}
	return t
}

func lintRuleBlocks(r lint.Rule) []output.Block {
	list := output.List{Items: []output.Item{
		{Key: "at worst", Value: cli.LintSeverityCell(r.Severity, string(r.Severity))},
		{Key: "variables", Value: output.Plain(strings.Join(r.Variables, " ")).Flow(0)},
	}}
	add := func(key string, values []string) {
		for i, v := range values {
			list.Items = append(list.Items, output.Item{Key: cli.FirstOnly(i, key), Value: output.Plain(v)})
		}
	}
	add("wrong", r.Wrong)
	add("right", r.Right)
	texts := len(list.Items)
	add("report", r.Reports)
	add("source", r.Sources)
	for i := range list.Items[texts:] {
		list.Items[texts+i].Value = list.Items[texts+i].Value.Flow(0)
	}
	return append(cli.LintRuleHead(r.ID, r.Title, r.Explanation, r.Remedy), list)
}
