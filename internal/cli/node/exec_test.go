package node

import (
	"testing"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

func TestExecRefusal(t *testing.T) {
	none := launch.Plan{Outcome: launch.OutcomeNone, Warnings: []launch.Warning{
		{Rule: "other", Text: "x"},
		{Rule: "nothing-usable", Text: "no RDMA: no device"},
	}}
	partial := launch.Plan{Outcome: launch.OutcomeRDMA, Incomplete: []inventory.Problem{{Path: "/a", Error: "b"}}}
	both := partial
	both.Outcome = launch.OutcomeNone
	tests := []struct {
		plan  launch.Plan
		flags execFlags
		want  int
	}{
		{launch.Plan{Outcome: launch.OutcomeRDMA}, execFlags{}, cli.ExitOK},
		{launch.Plan{Outcome: launch.OutcomeLibfabric}, execFlags{}, cli.ExitOK},
		{launch.Plan{Outcome: launch.OutcomeOff}, execFlags{}, cli.ExitOK},
		{none, execFlags{}, cli.ExitNotFound},
		{none, execFlags{allowPartial: true}, cli.ExitNotFound},
		{none, execFlags{allowNone: true}, cli.ExitOK},
		{none, execFlags{planFlags: planFlags{tcpFallback: true}}, cli.ExitOK},
		{partial, execFlags{}, cli.ExitPartial},
		{partial, execFlags{allowNone: true}, cli.ExitPartial},
		{partial, execFlags{allowPartial: true}, cli.ExitOK},
		{both, execFlags{}, cli.ExitPartial},
		{both, execFlags{allowPartial: true}, cli.ExitNotFound},
		{both, execFlags{allowPartial: true, allowNone: true}, cli.ExitOK},
	}
	for _, tt := range tests {
		if got := cli.ExitCode(execRefusal(tt.plan, tt.flags)); got != tt.want {
			t.Errorf("execRefusal(%s, %d incomplete, %+v) = %d, want %d",
				tt.plan.Outcome, len(tt.plan.Incomplete), tt.flags, got, tt.want)
		}
	}
}
