package node

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/record/kernel"
	"github.com/rdmakit/rdmakit/internal/record/verbsports"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
)

// explainCheck describes one of the checks.
func explainCheck(app *cli.App, cmd *cobra.Command, all []doctor.Check, id string) error {
	i := slices.IndexFunc(all, func(c doctor.Check) bool { return c.ID == id })
	if i < 0 {
		return cli.UsageError(cmd, unknownCheck(id))
	}
	c := all[i]
	var list output.List
	add := func(key, text string) {
		list.Items = append(list.Items, output.Item{Key: key, Value: output.Plain(text).Flow(0)})
	}
	list.Items = append(list.Items,
		output.Item{Key: "at worst", Value: outcomeCell(c.Severity, string(c.Severity))})
	if c.Group != "" {
		add("part", string(c.Group))
	}
	add("needs", c.Needs.String())
	if c.Shadow {
		add("on trial", "its findings are listed and don't count")
	}
	for i, number := range c.Numbers {
		add(cli.FirstOnly(i, "covers"), fmt.Sprintf("%d %s", number, catalogueText(number)))
	}
	for i, pattern := range c.Reads {
		list.Items = append(list.Items, output.Item{Key: cli.FirstOnly(i, "reads"), Value: output.Plain(pattern)})
	}
	collectors := append(kernel.Collectors(time.Now), verbsports.Collector(time.Now, ibverbs.Describe))
	for i, k := range c.Facts {
		add(cli.FirstOnly(i, "asks for"), kindText(collectors, k))
	}
	for i, k := range c.Uses {
		add(cli.FirstOnly(i, "and, if known"), kindText(collectors, k))
	}
	for i, t := range c.Thresholds {
		add(cli.FirstOnly(i, "thresholds"), thresholdText(t))
	}
	for i, source := range c.Sources {
		add(cli.FirstOnly(i, "source"), source)
	}
	return app.Out.Print(c,
		output.Text{Lines: [][]output.Cell{{output.Bold(c.ID), output.Plain(": " + c.Title).Flow(0)}}},
		output.Line(output.Plain(c.Explanation).Flow(cli.TextWidth)),
		output.Line(output.Plain(c.Remedy).Flow(cli.TextWidth)),
		list)
}

func catalogueText(number int) string {
	for _, e := range checks.Catalogue() {
		if e.Number == number {
			return e.What
		}
	}
	return ""
}

// kindText describes a kind of data: what it is, where the kernel has it, and what it takes.
func kindText(collectors []facts.Collector, k facts.Kind) string {
	parts := []string{string(k) + ": " + k.What()}
	i := slices.IndexFunc(collectors, func(c facts.Collector) bool { return c.Kind == k })
	if i < 0 {
		return parts[0] + "; not read from this system"
	}
	c := collectors[i]
	if c.Source != "" {
		parts = append(parts, "from "+c.Source)
	}
	if c.Cost != "" {
		parts = append(parts, "cost: "+c.Cost)
	}
	if c.Privilege != "" {
		parts = append(parts, "needs "+c.Privilege)
	} else {
		parts = append(parts, "any user may read it")
	}
	if c.Live {
		parts = append(parts, "only if a flag asks for it")
	}
	return strings.Join(parts, "; ")
}

func thresholdText(t doctor.Threshold) string {
	return fmt.Sprintf("%s %s: %s (%s)", t.Name, t.Default(), t.What, t.Source)
}

// checkTables lists the checks by part of the node.
func checkTables(all []doctor.Check) []output.Block {
	var blocks []output.Block
	for _, g := range append(doctor.Groups(), "") {
		t := output.Table{Title: string(g), Columns: []output.Column{
			{Name: "check"},
			{Name: "at worst"},
			{Name: "finds", Wrap: true},
			{Name: "covers", Wide: true},
			{Name: "needs", Wide: true},
		}}
		if g == "" {
			t.Title = "other checks"
		}
		for _, c := range all {
			if c.Group != g {
				continue
			}
			var numbers []string
			for _, n := range c.Numbers {
				numbers = append(numbers, strconv.Itoa(n))
			}
			t.Rows = append(t.Rows, []output.Cell{
				output.Plain(c.ID), outcomeCell(c.Severity, string(c.Severity)), output.Plain(c.Title),
				output.Plain(strings.Join(numbers, ",")), output.Plain(c.Needs.String()),
			})
		}
		if len(t.Rows) > 0 {
			blocks = append(blocks, t)
		}
	}
	return blocks
}
