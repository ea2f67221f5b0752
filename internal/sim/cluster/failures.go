package cluster

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// obstacles sets the failure of each edge between which nothing can be measured. What ends a
// measurement early is not among them.
func (r *round) obstacles() {
	for i := range r.edges {
		e := &r.edges[i]
		e.failure = r.unusable(e.from)
		if e.failure != nil {
			e.failure.At = result.AtFrom
		}
		f := r.unusable(e.to)
		if f != nil && (e.failure == nil || stepNumber(f.Step) < stepNumber(e.failure.Step)) {
			f.At = result.AtTo
			e.failure = f
		}
		if e.failure == nil && r.blocked(e) {
			e.failure = noAnswer(result.AtFrom)
		}
	}
}

func stepNumber(s result.FailureStep) int {
	steps := []result.FailureStep{result.StepOpen, result.StepPrepare, result.StepConnect, result.StepData}
	return slices.Index(steps, s)
}

// unusable returns why a card can't be used, or nil.
func (r *round) unusable(end plan.End) *result.Failure {
	m, c := r.m, r.m.cardOf(end)
	outage, flapping := r.flap[end]
	switch {
	case m.node[end.Node].absent, m.lost[end.Node]:
		return &result.Failure{Step: result.StepOpen, Code: "lost", Text: "the node has vanished"}
	case r.dying[end.Node]:
		return &result.Failure{Step: result.StepData, Code: "lost", Text: "the node has vanished"}
	case c.down:
		return portDown(end.Rail, result.StepOpen)
	case flapping && outage.open:
		return portDown(end.Rail, result.StepPrepare)
	case c.noGID:
		return &result.Failure{
			Step: result.StepPrepare, Code: "no-gid",
			Text: fmt.Sprintf("mlx5_%d:1: the port has no usable GID at index 3", end.Rail),
		}
	}
	return nil
}

func portDown(rail int16, step result.FailureStep) *result.Failure {
	text := fmt.Sprintf("mlx5_%d:1: the port is not active: DOWN", rail)
	return &result.Failure{Step: step, Code: "port-down", Text: text}
}

// blocked reports whether the packets of an edge don't arrive, or are not accepted.
func (r *round) blocked(e *edge) bool {
	if e.from == e.to {
		return false
	}
	a, b := r.m.cardOf(e.from), r.m.cardOf(e.to)
	large := r.t.Kind == plan.KindBandwidth || r.t.Kind == plan.KindCollective
	return a.dead || b.dead || a.otherPKey != b.otherPKey || a.otherGID != b.otherGID ||
		large && (a.blackHole || b.blackHole)
}

func noAnswer(at result.Side) *result.Failure {
	return &result.Failure{
		Step: result.StepData, Code: "retry-exceeded", Text: "transport retry counter exceeded", At: at,
	}
}

// counts are the counters of cards in a round, by number of the card and index of counterNames.
type counts [][countersOfCard]uint64

// Indices of counterNames.
const (
	cnpReceived = iota
	cnpSent
	ecnMarked
	fecUncorrected
	linkDowned
	outOfSequence
	pauseReceived
	pauseSent
	retransmits
	symbolErrors
	timeouts
	countersOfCard
)

// counterNames are sorted.
func counterNames() [countersOfCard]string {
	return [...]string{
		result.CounterCNPReceived, result.CounterCNPSent, result.CounterECN, result.CounterFEC, result.CounterDowned,
		result.CounterOutOfSeq, result.CounterPauseRcvd, result.CounterPauseSent, result.CounterRetransmits,
		result.CounterSymbol, result.CounterTimeouts,
	}
}

// counters returns those of both ends of a sample.
func (r *round) counters(s *result.Sample) (out []result.Counter) {
	for side, end := range []plan.End{s.From, s.To} {
		for i, n := range r.count[r.m.number(end)] {
			if n > 0 {
				at := []result.Side{result.AtFrom, result.AtTo}[side]
				out = append(out, result.Counter{At: at, Name: counterNames()[i], Delta: n})
			}
		}
	}
	return out
}

func (r *round) add(end plan.End, counter int, n uint64) { r.count[r.m.number(end)][counter] += n }

// finish adds a sample with the counters of its ends and its failure.
func (r *round) finish(s result.Sample, d result.Detail) {
	d.Counters = r.counters(&s)
	if d.Failure != nil || d.Latency != nil || d.Flows != nil || d.Counters != nil {
		s.Detail = &d
	}
	r.out.Samples = append(r.out.Samples, s)
}
