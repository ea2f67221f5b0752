package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
)

// TestJUnitUnmeasured holds that a card passes only if the stage has a figure of it.
func TestJUnitUnmeasured(t *testing.T) {
	run := tiny(3, rate(0, 1, 1, 100), rate(2, 0, 4, 0), latency(rate(0, 1, 1, 0), 2, 3, false))
	run.Stages[0].Kind, run.Stages[1].Kind = plan.KindBandwidth, plan.KindLatency
	var b bytes.Buffer
	if err := JUnit(&b, run, verdict.Report{}, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<testcase name="a x1" classname="cluster.pairs"></testcase>`,
		`<testcase name="b x1" classname="cluster.jitter"></testcase>`,
		"<testcase name=\"c x4\" classname=\"cluster.pairs\">\n      <error message=\"the card was not measured\"",
		"<testcase name=\"c x1\" classname=\"cluster.pairs\">\n      <error message=\"the card was not measured\"",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}

// TestMeasuredInCollective checks that nodes beyond the limit of an all-reduce aren't taken for
// measured by it.
func TestMeasuredInCollective(t *testing.T) {
	run := &result.Run{Stages: make([]result.Stage, 1), Collectives: make([]result.Collective, 1)}
	for range plan.MaxRanks + 3 {
		run.Cluster.Nodes = append(run.Cluster.Nodes, plan.Node{Rails: make([]plan.Card, 1)})
		run.Nodes = append(run.Nodes, result.Node{State: result.NodeReady})
	}
	if got := len(measuredIn(run)[0]); got != plan.MaxRanks {
		t.Errorf("%d cards measured by an all-reduce, want %d", got, plan.MaxRanks)
	}
}
