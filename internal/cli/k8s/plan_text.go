package k8s

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/k8s/plan"
)

// k8sPlanDiffSchema is the schema of k8s plan --diff -o json.
const k8sPlanDiffSchema = "rdmakit.k8splandiff/v1"

// k8sPlanDiff is the output of k8s plan --diff.
type k8sPlanDiff struct {
	Schema      string            `json:"schema"`
	Folder      string            `json:"folder"`
	Differences []plan.Difference `json:"differences"`
}

// k8sPlanBlocks summarizes a written plan: the rails, and the number of files.
func k8sPlanBlocks(p plan.Plan, dir string, written []string) []output.Block {
	t := output.Table{Columns: []output.Column{
		{Name: "RAIL"},
		{Name: "RESOURCE"},
		{Name: "LINK", Priority: 2},
		{Name: "FABRIC", Priority: 3},
		{Name: "NODES", Align: output.AlignRight},
		{Name: "VFS", Align: output.AlignRight, Priority: 1},
		{Name: "SUBNET"},
	}}
	for _, r := range p.Rails {
		t.Rows = append(t.Rows, []output.Cell{
			output.Plain(r.Name), output.Plain(p.ResourcePrefix + "/" + r.Resource), output.Plain(r.LinkType),
			output.Plain(r.Fabric), output.Plain(fmt.Sprint(len(r.Members))), output.Plain(fmt.Sprint(r.VFs)),
			output.Plain(r.Subnet.String()),
		})
	}
	line := fmt.Sprintf("%s: %s, %d of them written now", dir, english.Count(len(p.Files), "file"), len(written))
	return []output.Block{t, output.Line(output.Plain(line))}
}

// k8sPlanDiffBlocks lists the differences by object and field.
func k8sPlanDiffBlocks(d k8sPlanDiff) []output.Block {
	if len(d.Differences) == 0 {
		return []output.Block{output.Line(output.Good("no differences"), output.Plain(" from "+d.Folder))}
	}
	var lines [][]output.Cell
	for _, x := range d.Differences {
		cell := output.Warn(fmt.Sprintf("%-7s", x.Change))
		lines = append(lines, []output.Cell{
			cell, output.Plain("  "), output.Bold(x.Object), output.Dim(strings.TrimRight("  "+x.File, " ")),
		})
		for _, f := range x.Fields {
			lines = append(lines, []output.Cell{
				output.Plain("         "),
				output.Plain(fmt.Sprintf("%s: %s -> %s", f.Path, valueText(f.Old), valueText(f.New))).Flow(0).Hang(2),
			})
		}
	}
	sum := output.Line(output.Bold(english.Count(len(d.Differences), "difference")), output.Plain(" from "+d.Folder))
	return []output.Block{output.Text{Lines: lines}, sum}
}

// valueText shortens a value to one line.
func valueText(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "(none)"
	}
	if r := []rune(s); len(r) > cli.TextWidth {
		return string(r[:cli.TextWidth-1]) + "…"
	}
	return s
}
