package k8s

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/k8s/lint"
)

// k8sLintBlocks returns a report as text: the findings by file and line, each with its evidence and
// remedy, and the totals last.
func k8sLintBlocks(r lint.Report, wide bool) []output.Block {
	var blocks []output.Block
	for _, f := range r.Findings {
		blocks = append(blocks, output.Text{Lines: k8sFindingLines(f, wide)})
	}
	return append(blocks, output.Text{Lines: [][]output.Cell{k8sLintSum(r)}})
}

func k8sFindingLines(f lint.Finding, wide bool) [][]output.Cell {
	lines := [][]output.Cell{{
		cli.LintSeverityCell(f.Severity, fmt.Sprintf("%-5s", strings.ToUpper(string(f.Severity)))), output.Plain("  "),
		output.Bold(f.Place()), output.Dim("  " + f.Rule),
	}}
	if f.Object != "" {
		where := "       " + f.Object
		if f.Path != "" {
			where += ", " + f.Path
		}
		lines = append(lines, []output.Cell{output.Dim(where)})
	}
	lines = append(lines, []output.Cell{output.Plain("       "), output.Plain(f.Summary).Flow(cli.TextWidth)})
	var evidence []string
	for _, e := range f.Evidence {
		evidence = append(evidence, e.Place+": "+e.Text)
	}
	lines = append(lines, cli.LintEvidence(evidence, wide)...)
	lines = append(lines, cli.LabelledText("fix", f.Remedy, cli.TextWidth))
	if f.Fix != "" {
		lines = append(lines, []output.Cell{output.Plain("       " + f.Fix)})
	}
	return append(lines, cli.LintSources(f.Sources, wide)...)
}

// k8sLintSum returns "3 objects against 2 nodes: 1 error, 2 warnings, 1 suppressed".
func k8sLintSum(r lint.Report) []output.Cell {
	head := english.Count(len(r.Objects), "object")
	if len(r.Nodes) > 0 {
		head += " against " + english.Count(len(r.Nodes), "node")
	}
	sum := append([]output.Cell{output.Bold(head + ":")}, cli.LintCounts(r.Counts)...)
	if n := len(r.Suppressed); n > 0 {
		sum = append(sum, output.Dim(fmt.Sprintf(", %d suppressed", n)))
	}
	if len(r.NotJudged) > 0 {
		var kinds []string
		for _, k := range r.NotJudged {
			kinds = append(kinds, fmt.Sprintf("%d %s", k.Count, k.Kind))
		}
		sum = append(sum, output.Plain("; not judged: "+english.List(kinds, 5)).Flow(cli.TextWidth))
	}
	return sum
}

func k8sRuleTable(rules []lint.Rule) output.Table {
	t := output.Table{Columns: []output.Column{
		{Name: "rule"},
		{Name: "severity"},
		{Name: "finds", Wrap: true},
		{Name: "group", Priority: 2},
		{Name: "nodes", Priority: 1},
		{Name: "applies to", Wide: true},
	}}
	for _, r := range rules {
		nodes := ""
		if r.Nodes {
			nodes = "needed"
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Plain(r.ID), cli.LintSeverityCell(r.Severity, string(r.Severity)), output.Plain(r.Title),
			output.Plain(r.Group), output.Plain(nodes),
			output.Plain(strings.Join(r.Kinds, " ")),
		})
	}
	return t
}

func k8sRuleBlocks(r lint.Rule) []output.Block {
	list := output.List{
		Items: []output.Item{{Key: "severity", Value: cli.LintSeverityCell(r.Severity, string(r.Severity))}},
	}
	add := func(key string, values []string) {
		for i, v := range values {
			list.Items = append(list.Items, output.Item{Key: cli.FirstOnly(i, key), Value: output.Plain(v).Flow(0)})
		}
	}
	add("applies to", r.Kinds)
	add("report", r.Reports)
	add("source", r.Sources)
	return append(cli.LintRuleHead(r.ID, r.Title, r.Explanation, r.Remedy), k8sExample("wrong", r.Wrong, output.Bad),
		k8sExample("right", r.Right, output.Good), list)
}

func k8sExample(title, text string, style func(string) output.Cell) output.Block {
	lines := [][]output.Cell{{style(title)}}
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, []output.Cell{output.Plain("  " + line)})
	}
	return output.Text{Lines: lines}
}
