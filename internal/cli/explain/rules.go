package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/explain/rules"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// ruleReport is the JSON form of a rule.
type ruleReport struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Explanation string `json:"explanation"`
	// Causes are those that it can have; without evidence they rank in this order. Rules that make
	// their causes from the lines have none here.
	Causes  []causeReport `json:"causes,omitempty"`
	Sources []string      `json:"sources"`
}

// causeReport is the JSON form of a cause that a rule knows.
type causeReport struct {
	Cause  string `json:"cause"`
	Title  string `json:"title"`
	Decide string `json:"decide,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

func ruleReports(list []rules.Rule) []ruleReport {
	var out []ruleReport
	for _, r := range list {
		report := ruleReport{
			ID: r.ID, Name: r.Name, Title: r.Title, Explanation: r.Explanation, Sources: r.Sources,
		}
		for i := range r.Causes {
			c := &r.Causes[i]
			report.Causes = append(report.Causes,
				causeReport{Cause: c.Slug, Title: c.Title, Decide: c.Decide, Remedy: c.Remedy})
		}
		out = append(out, report)
	}
	slices.SortFunc(out, func(a, b ruleReport) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// printRules lists the rules.
func printRules(app *cli.App, list []rules.Rule) error {
	reports := ruleReports(list)
	t := output.Table{Columns: []output.Column{{Name: "rule"}, {Name: "name"}, {Name: "title", Wrap: true}}}
	for _, r := range reports {
		t.Rows = append(t.Rows, cli.Cells(r.ID, r.Name, r.Title))
	}
	return app.Out.Print(reports, t)
}

// printRule describes a rule, given by its ID or name.
func printRule(app *cli.App, cmd *cobra.Command, id string) error {
	for _, r := range ruleReports(rules.All()) {
		if !strings.EqualFold(r.ID, id) && r.Name != id {
			continue
		}
		var t text
		t.head(output.Bold(r.ID + " " + r.Name))
		t.add("title", r.Title)
		t.add("explanation", r.Explanation)
		for i, c := range r.Causes {
			t.add(fmt.Sprintf("cause %d", i+1), c.Title)
			if c.Decide != "" {
				t.add("  decide", c.Decide)
			}
			if c.Remedy != "" {
				t.add("  remedy", c.Remedy)
			}
		}
		if len(r.Causes) == 0 {
			t.add("causes", "depend on the lines: a report lists them")
		}
		t.add("sources", strings.Join(r.Sources, "; "))
		return app.Out.Print(r, t.Text)
	}
	return cli.UsageError(cmd, fmt.Errorf("no rule %q: --list has all", id))
}
