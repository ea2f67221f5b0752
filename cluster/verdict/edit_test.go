package verdict

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// each calls f with the samples of a stage between nodes.
func each(run *result.Run, stage plan.Name, f func(s *result.Sample)) {
	for i := range run.Samples {
		s := &run.Samples[i]
		if run.Stages[s.Stage].Name == stage && s.From.Node != s.To.Node {
			f(s)
		}
	}
}

// count adds a counter to a sample.
func count(s *result.Sample, at result.Side, name string, delta float64) {
	if s.Detail == nil {
		s.Detail = &result.Detail{}
	}
	s.Detail.Counters = append(s.Detail.Counters, result.Counter{At: at, Name: name, Delta: uint64(delta)})
}

// lostPackets is how many packets a lossy step loses: one of some ten thousand.
const lostPackets = 500

// lose adds the counters of lost packets: go-back-N sends several for each that was lost.
func lose(s *result.Sample) {
	count(s, result.AtFrom, result.CounterRetransmits, 10*lostPackets)
	count(s, result.AtTo, result.CounterOutOfSeq, lostPackets)
}

// noResends removes what senders count, as of drivers that don't.
func noResends(run *result.Run) {
	for i := range run.Samples {
		d := run.Samples[i].Detail
		if d == nil {
			continue
		}
		var left []result.Counter
		for _, c := range d.Counters {
			if c.Name != result.CounterRetransmits && c.Name != result.CounterTimeouts {
				left = append(left, c)
			}
		}
		d.Counters = left
	}
}

// senders returns how many cards of a rail send to the receiver of a sample of incast.
func senders(run *result.Run) func(s *result.Sample) int {
	type key struct {
		round uint16
		to    plan.End
	}
	n := map[key]int{}
	each(run, plan.StageIncast, func(s *result.Sample) { n[key{s.Round, s.To}]++ })
	return func(s *result.Sample) int { return n[key{s.Round, s.To}] }
}

// crosses reports whether a sample is one between leaves.
func (w *world) crosses(s *result.Sample) bool { return w.leaf(s.From.Node) != w.leaf(s.To.Node) }

// says fails the test unless a part of the evidence of a report's verdicts contains a text.
func says(t *testing.T, r Report, text string) {
	t.Helper()
	for _, v := range r.Verdicts {
		for _, e := range v.Evidence {
			if strings.Contains(e.Text, text) {
				return
			}
		}
	}
	t.Errorf("no evidence says %q\n%s", text, dump(r))
}

// notJudged fails the test unless the report says that something was not judged.
func notJudged(t *testing.T, r Report, what, why string) {
	t.Helper()
	for _, g := range r.NotJudged {
		if g.What == what && strings.Contains(g.Why, why) {
			return
		}
	}
	t.Errorf("the report does not say of %s: %q\n%s", what, why, dump(r))
}

func contains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q does not contain %q", text, part)
	}
}
