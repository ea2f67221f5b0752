package cluster

import (
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/cli"
)

// TestOutcome gives a run the exit code 0 only if all of it was measured and nothing was found.
func TestOutcome(t *testing.T) {
	sample := result.Sample{From: plan.End{Node: 0}, To: plan.End{Node: 1}, Gbps: 1}
	failed := sample
	failed.Gbps, failed.Detail = 0, &result.Detail{Failure: &result.Failure{Code: "flushed"}}
	ended := time.Unix(1, 0)
	found := verdict.Report{Verdicts: []verdict.Verdict{{Cause: verdict.CauseSlow}}}
	for _, tt := range []struct {
		name  string
		run   result.Run
		found verdict.Report
		want  int
	}{
		{"healthy", result.Run{Ended: ended, Samples: []result.Sample{sample}}, verdict.Report{}, cli.ExitOK},
		{"once", result.Run{Ended: ended, Samples: []result.Sample{failed, sample}}, verdict.Report{}, cli.ExitOK},
		{"each time", result.Run{Ended: ended, Samples: []result.Sample{failed}}, verdict.Report{}, cli.ExitPartial},
		{"early end", result.Run{Samples: []result.Sample{sample}}, verdict.Report{}, cli.ExitPartial},
		{"fault", result.Run{Ended: ended, Samples: []result.Sample{failed}}, found, cli.ExitFault},
	} {
		if got := cli.ExitCode(outcome(&tt.run, tt.found)); got != tt.want {
			t.Errorf("%s: exit code %d, want %d", tt.name, got, tt.want)
		}
	}
}
