package explainscore_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain/symptoms"
	"github.com/rdmakit/rdmakit/integration/explainscore"
	"github.com/rdmakit/rdmakit/internal/testkit/docpage"
	"github.com/rdmakit/rdmakit/internal/testkit/logcases"
)

var update = flag.Bool("update", false, "write the figures to docs/explain.md")

func run(t *testing.T) logcases.Report {
	t.Helper()
	cases, err := logcases.Load()
	if err != nil {
		t.Fatal(err)
	}
	return logcases.Run(cases, explainscore.Explain)
}

func confirmed(c *logcases.Case) bool {
	return len(c.Causes) > 0 && !slices.Contains(c.By, logcases.ByVector)
}

// The targets: the cause first in 80 % of the cases, within the first three in 92 %, a trap above
// it in at most 5 %, and nothing claimed as proven or for a healthy job.
func TestTargets(t *testing.T) {
	report := run(t)
	sum := report.Sum(confirmed)
	if sum.Cases() < 80 {
		t.Fatalf("%d cases with a cause, want at least 80", sum.Cases())
	}
	if first, three, traps := sum.Percents(); first < 80 || three < 92 || traps > 5 {
		t.Errorf("cause first in %d %%, within three in %d %%, a trap above in %d %%; want 80, 92, at most 5",
			first, three, traps)
	}
	for _, o := range report.Outcomes {
		if confirmed(o.Case) && o.Rank != 1 {
			t.Logf("%s: rank %d of %v, want %v", o.Case.ID, o.Rank, o.Result.Causes, o.Case.Causes)
		}
	}
	if ids := report.FalseCertainties(); len(ids) > 0 {
		t.Errorf("proven without confirmation: %v", ids)
	}
	if ids := report.FalseAlarms(); len(ids) > 0 {
		t.Errorf("a fault for a healthy job: %v", ids)
	}
	list := docpage.List{
		Page: "../../docs/explain.md", Name: "score", Command: "go test ./integration/explainscore -update",
	}
	docpage.Check(t, list, "\n"+strings.TrimSpace(report.Markdown())+"\n\n", *update)
}

// unusedSlugs are causes that programs may give, and that neither a case nor a symptom has.
var unusedSlugs = []string{"rnr-timer", "memory-freed", "memory-range"}

// The causes of symptoms are known to the cases, and each known one is in use.
func TestSlugs(t *testing.T) {
	cases, err := logcases.Load()
	if err != nil {
		t.Fatal(err)
	}
	used, known := map[string]bool{}, map[string]bool{}
	for i := range cases {
		c := &cases[i]
		for _, slug := range slices.Concat(c.Causes, c.Traps, c.Candidates, c.Allowed) {
			used[slug] = true
		}
	}
	for _, s := range logcases.Slugs() {
		known[s.Name] = true
	}
	for _, s := range symptoms.All() {
		for _, c := range s.Causes {
			used[c.Slug] = true
			if !known[c.Slug] && c.Slug != "elsewhere" {
				t.Errorf("%s: the cause %s is not among the slugs of logcases", s.ID, c.Slug)
			}
		}
	}
	for _, s := range logcases.Slugs() {
		if !used[s.Name] && !slices.Contains(unusedSlugs, s.Name) {
			t.Errorf("slug %s is used by no case and no symptom", s.Name)
		}
	}
}
