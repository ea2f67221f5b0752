package checks_test

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
)

// TestRealNodes checks that machines that their sources call sound have no fault and no warning,
// and that the others have one.
func TestRealNodes(t *testing.T) {
	sound, faulty := 0, 0
	for _, name := range realnodes.Names() {
		t.Run(name, func(t *testing.T) {
			n, err := realnodes.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			snap := scan(t, n.Tree)
			r := diagnose(t, n.Tree)
			fails, warnings := bad(r, doctor.OutcomeFail), bad(r, doctor.OutcomeWarn)
			noFail := strings.HasPrefix(n.Right.Fail, "none")
			switch {
			case noFail && len(fails) > 0:
				t.Errorf("want no fault (%s), got\n%s", n.Right.Fail, strings.Join(fails, "\n"))
			case !noFail && len(fails) == 0 && len(snap.Devices) > 0: // without devices no check applies
				t.Errorf("no fault, want %s", n.Right.Fail)
			}
			noWarning := strings.HasPrefix(n.Right.Warn, "none") || strings.HasPrefix(n.Right.Warn, "at most")
			if noWarning && len(warnings) > 0 {
				t.Errorf("want no warning (%s), got\n%s", n.Right.Warn, strings.Join(warnings, "\n"))
			}
			if noFail {
				sound++
			} else {
				faulty++
			}
		})
	}
	t.Logf("%d sound machines, %d with faults", sound, faulty)
}

func bad(r doctor.Report, o doctor.Outcome) []string {
	var out []string
	for _, f := range r.Findings {
		if f.Outcome == o {
			out = append(out, f.CheckID+" "+f.Object+": "+f.Summary)
		}
	}
	return out
}
