package result

import (
	"errors"
	"fmt"
	"math"

	"github.com/rdmakit/rdmakit/cluster/plan"
)

// ErrSchema is the error for a run of another version.
var ErrSchema = errors.New("not a run of schema " + Schema)

// Check returns an error for a run whose parts don't fit together: an index out of range, a number
// that can't be. Functions that get a checked run can rely on them.
func (r *Run) Check() error {
	if r.Schema != Schema {
		return fmt.Errorf("%w: %q", ErrSchema, r.Schema)
	}
	if len(r.Nodes) != len(r.Cluster.Nodes) {
		return fmt.Errorf("%d nodes reported of %d", len(r.Nodes), len(r.Cluster.Nodes))
	}
	if s := r.Scale; s != nil && (!finite(s.Rate) || !finite(s.Time) || s.Rate == 0 || s.Time == 0) {
		return fmt.Errorf("a scale of %g for rates and %g for times", s.Rate, s.Time)
	}
	for i, n := range r.Nodes {
		if err := r.checkNode(n, len(r.Cluster.Nodes[i].Rails)); err != nil {
			return fmt.Errorf("node %s: %w", r.Cluster.Nodes[i].Name, err)
		}
	}
	for i, s := range r.Stages {
		if s.Planned < 0 || s.Done < 0 || s.Retests < 0 || s.Length < 0 {
			return fmt.Errorf("stage %d: a negative number", i)
		}
	}
	for i := range r.Samples {
		if err := r.checkSample(&r.Samples[i]); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
	}
	return r.checkGroups()
}

func (r *Run) checkNode(n Node, cards int) error {
	switch n.State {
	case NodeReady, NodeAbsent:
	case NodeLost:
		if n.LostRound < 0 || n.LostStage < 0 || n.LostStage >= len(r.Stages) {
			return fmt.Errorf("lost in round %d of stage %d of %d", n.LostRound, n.LostStage, len(r.Stages))
		}
	default:
		return fmt.Errorf("no state %q", n.State)
	}
	if len(n.Cards) != cards {
		return fmt.Errorf("%d cards reported of %d", len(n.Cards), cards)
	}
	return nil
}

func (r *Run) checkSample(s *Sample) error {
	if err := r.checkStage(s.Stage); err != nil {
		return err
	}
	if err := errors.Join(r.checkEnd(s.From), r.checkEnd(s.To)); err != nil {
		return err
	}
	if !finite(float64(s.Gbps)) {
		return fmt.Errorf("a rate of %g Gb/s", s.Gbps)
	}
	if s.Detail == nil {
		return nil
	}
	for _, f := range s.Detail.Flows {
		if !finite(float64(f)) {
			return fmt.Errorf("a flow of %g Gb/s", f)
		}
	}
	return s.Detail.Latency.check()
}

// check accepts nil.
func (l *Latency) check() error {
	if l == nil {
		return nil
	}
	for _, v := range []float64{l.Min, l.P50, l.P99, l.P999, l.Max} {
		if !finite(v) {
			return fmt.Errorf("a latency of %g µs", v)
		}
	}
	if l.Count < 0 {
		return fmt.Errorf("%d round trips", l.Count)
	}
	return nil
}

func (r *Run) checkGroups() error {
	for i, c := range r.Collectives {
		err := errors.Join(r.checkStage(c.Stage), r.checkSlowest(c.Slowest))
		if err == nil && (!finite(c.Seconds) || !finite(c.AlgBW) || !finite(c.BusBW) || c.Bytes < 0) {
			err = fmt.Errorf("a figure that can't be: %g s, %g GB/s, %d bytes", c.Seconds, c.AlgBW, c.Bytes)
		}
		if err != nil {
			return fmt.Errorf("collective %d: %w", i, err)
		}
	}
	for i := range r.Barriers {
		b := &r.Barriers[i]
		if err := errors.Join(r.checkStage(b.Stage), r.checkSlowest(b.Slowest), b.Latency.check()); err != nil {
			return fmt.Errorf("barrier %d: %w", i, err)
		}
	}
	return nil
}

func (r *Run) checkStage(i uint8) error {
	if int(i) >= len(r.Stages) {
		return fmt.Errorf("stage %d of %d", i, len(r.Stages))
	}
	return nil
}

func (r *Run) checkSlowest(list []Slowest) error {
	for _, s := range list {
		if err := r.checkEnd(s.End); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) checkEnd(e plan.End) error {
	if e.Node < 0 || int(e.Node) >= len(r.Cluster.Nodes) {
		return fmt.Errorf("node %d of %d", e.Node, len(r.Cluster.Nodes))
	}
	for _, c := range r.Cluster.Nodes[e.Node].Rails {
		if c.Rail == int(e.Rail) {
			return nil
		}
	}
	return fmt.Errorf("node %s has no card of rail %d", r.Cluster.Nodes[e.Node].Name, e.Rail)
}

// finite reports whether v is a number of at least 0.
func finite(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }
