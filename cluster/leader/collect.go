package leader

import (
	"cmp"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// collect makes the samples of a round.
func (r *round) collect() {
	for _, w := range r.wires {
		if w.load || w.halves[0].role == protocol.RoleCollective {
			continue
		}
		r.out.Samples = append(r.out.Samples, r.sample(w, 0))
		if w.halves[0].role == protocol.RoleBoth {
			r.out.Samples = append(r.out.Samples, r.sample(w, 1))
		}
	}
	if r.t.Kind == plan.KindLatency {
		r.barriers()
	}
	r.collectives()
}

// sample returns the sample of a connection whose sender is the end with the given index.
func (r *round) sample(w *wire, sender int) result.Sample {
	from, to := &w.halves[sender], &w.halves[1-sender]
	s := result.Sample{
		Stage: uint8(r.t.Stage), Attempt: uint8(r.t.Attempt), Round: uint16(r.t.Round),
		From: from.end, To: to.end, Load: r.t.Load,
	}
	var d result.Detail
	if w.failure != nil {
		d.Failure = w.seen(sender)
	}
	if from.reply != nil {
		s.Gbps = float32(from.reply.Gbps)
		d.Flows, d.Latency = from.reply.Flows, from.reply.Latency
		d.Counters = append(d.Counters, at(from.reply.Counters, result.AtFrom)...)
		if d.Failure == nil && from.reply.Failure != nil {
			f := *from.reply.Failure
			f.At = result.AtFrom
			d.Failure = &f
		}
	}
	if to.reply != nil {
		d.Counters = append(d.Counters, at(to.reply.Counters, result.AtTo)...)
	}
	if d.Failure != nil || d.Latency != nil || d.Flows != nil || d.Counters != nil {
		s.Detail = &d
	}
	return s
}

// at returns the counters of a side.
func at(list []result.Counter, side result.Side) []result.Counter {
	out := slices.Clone(list)
	for i := range out {
		out[i].At = side
	}
	return out
}

// barriers makes the distribution of the slowest round trip of each step, by rail. A step counts as
// long as at least half of the pairs did it.
func (r *round) barriers() {
	byRail := map[int16][]*wire{}
	for _, w := range r.wires {
		if !w.load && w.halves[0].reply != nil && len(w.halves[0].reply.Steps) > 0 {
			rail := w.halves[0].end.Rail
			byRail[rail] = append(byRail[rail], w)
		}
	}
	for rail, wires := range byRail {
		b := result.Barrier{Stage: uint8(r.t.Stage), Round: uint16(r.t.Round), Rail: rail, Load: r.t.Load}
		lengths := make([]int, len(wires))
		for i, w := range wires {
			lengths[i] = len(w.halves[0].reply.Steps)
		}
		slices.Sort(lengths)
		slowest := map[plan.End]int{}
		worst := make([]float32, 0, lengths[len(lengths)/2])
		for step := range lengths[len(lengths)/2] {
			var most float32
			var who *wire
			for _, w := range wires {
				if steps := w.halves[0].reply.Steps; step < len(steps) && steps[step] > most {
					most, who = steps[step], w
				}
			}
			if who != nil {
				worst = append(worst, most)
				slowest[who.halves[0].end]++
				slowest[who.halves[1].end]++
			}
		}
		if l := result.Distribution(worst); l != nil {
			b.Latency, b.Slowest = *l, mostFrequent(slowest)
			r.out.Barriers = append(r.out.Barriers, b)
		}
	}
	slices.SortFunc(r.out.Barriers, func(a, b result.Barrier) int { return cmp.Compare(a.Rail, b.Rail) })
}

// mostFrequent returns the cards that were last most often, at most ten.
func mostFrequent(count map[plan.End]int) []result.Slowest {
	list := make([]result.Slowest, 0, len(count))
	for end, n := range count {
		list = append(list, result.Slowest{End: end, Count: n})
	}
	slices.SortFunc(list, func(a, b result.Slowest) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.End.Node, b.End.Node), cmp.Compare(a.End.Rail, b.End.Rail))
	})
	const most = 10
	return list[:min(len(list), most)]
}
