package explainscore_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/integration/explainscore"
	"github.com/rdmakit/rdmakit/internal/testkit/logcases"
)

var update = flag.Bool("update", false, "write the figures to docs/explain.md")

// The marks around the figures in the page.
const (
	page  = "../../docs/explain.md"
	begin = "<!-- score: written by integration/explainscore, go test ./integration/explainscore -update -->\n"
	end   = "<!-- end of score -->\n"
)

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
	if ids := report.FalseCertainties(); len(ids) > 0 {
		t.Errorf("proven without confirmation: %v", ids)
	}
	if ids := report.FalseAlarms(); len(ids) > 0 {
		t.Errorf("a fault for a healthy job: %v", ids)
	}
	checkPage(t, report.Markdown())
}

// checkPage compares the figures with those in the page, or writes them.
func checkPage(t *testing.T, figures string) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(data), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no marks for the figures", page)
	}
	figures = "\n" + strings.TrimSpace(figures) + "\n\n"
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+figures+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != figures {
		t.Errorf("the figures in %s are old: go test ./integration/explainscore -update\n%s", page, figures)
	}
}
