package cluster

import (
	"cmp"
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/worker"
)

// steps is the number of round trips of a measurement at most, as the leader asks for.
const steps = 2000

// latencyOf returns half of an unloaded round trip in µs.
func (r *round) latencyOf(from, to plan.End) float64 {
	t := r.m.t
	switch a, b := t.leaf[from.Node][from.Rail], t.leaf[to.Node][to.Rail]; {
	case from == to:
		return r.m.s.Latency / 2 //nolint:mnd // through one card instead of two and a switch
	case a == b:
		return r.m.s.Latency
	}
	return r.m.s.Latency + 2*r.m.s.HopLatency
}

// connects exchanges messages between each pair. The first one of a connection takes longer, by
// misses in all caches of the cards.
func (r *round) connects() {
	r.obstacles()
	for i := range r.edges {
		e := &r.edges[i]
		d := result.Detail{Failure: e.failure}
		if e.failure == nil {
			d.Failure = r.outage(e)
		}
		if d.Failure == nil {
			const cold = 20
			base := r.latencyOf(e.from, e.to)
			list := []float32{float32(base + cold*(1+r.rng.ExpFloat64()))}
			for range r.t.Plan.Probes() - 1 {
				list = append(list, float32(r.step(e, base)))
			}
			d.Latency = result.Distribution(list)
		}
		r.finish(r.sample(e), d)
	}
}

// outage returns the failure of an edge whose link goes down, or nil.
func (r *round) outage(e *edge) *result.Failure {
	for _, end := range []plan.End{e.from, e.to} {
		if _, ok := r.flap[end]; ok && e.from != e.to {
			r.add(end, linkDowned, 1)
			return noAnswer(result.AtFrom)
		}
	}
	return nil
}

// latencies measures round trips of each pair, and what all pairs of a rail together wait for.
func (r *round) latencies() {
	r.obstacles()
	byRail := map[int16][]trips{}
	for i := range r.edges {
		e := &r.edges[i]
		d := result.Detail{Failure: e.failure}
		if e.failure == nil {
			d.Failure = r.outage(e)
		}
		if e.failure == nil && d.Failure == nil {
			list := r.trips(e)
			d.Latency = result.Distribution(list)
			byRail[e.from.Rail] = append(byRail[e.from.Rail], trips{e, list})
		}
		r.finish(r.sample(e), d)
	}
	for _, rail := range r.t.Plan.Rails {
		r.barrier(int16(rail), byRail[int16(rail)])
	}
}

// trips are half round trips of a pair in µs, in their order.
type trips struct {
	e    *edge
	list []float32
}

// Times in µs of a healthy host. A message waits for an interrupt, a timer tick or a daemon now and
// then: short and frequent, longer and rare (Petrini et al., The Case of the Missing Supercomputer
// Performance, SC 2003; Hoefler et al., Characterizing the Influence of System Noise on Large-Scale
// Applications by Simulation, SC 2010, section 2).
const (
	spread              = 0.05 // of a step, by its logarithm
	shortShare, shortUs = 0.005, 1.5
	longShare, longUs   = 0.0002, 10
	jitterShare         = 0.03 // of the steps of a jittery host
)

// trips returns the round trips of an edge. It keeps the time: a measurement ends after its length,
// and a pause or a lost packet stops it.
func (r *round) trips(e *edge) []float32 {
	base := r.latencyOf(e.from, e.to)
	lost := 2 * (r.lossBetween(e.from, e.to) + r.lossBetween(e.to, e.from)) // two messages, two acknowledgements
	length := r.t.Length.Seconds()
	out := make([]float32, 0, steps)
	now := 0.0
	for len(out) < steps && (len(out) == 0 || now < length) {
		us := r.step(e, base)
		if r.t.Load {
			us += r.loadLatency()
		}
		if lost > 0 && r.rng.Float64() < lost {
			us += ackTimeout * 1e6 / 2
			r.add(e.from, timeouts, 1)
			r.add(e.from, retransmits, 1)
		}
		end := now + 2*us*1e-6
		for _, n := range []int32{e.from.Node, e.to.Node} {
			end += r.pausedFor(n, now, end)
		}
		out = append(out, float32((end-now)*1e6/2))
		now = end
		if burst := steps / worker.Bursts; len(out)%burst == 0 { // the next one begins at its time
			now = max(now, length*float64(len(out))/steps)
		}
	}
	return out
}

// step returns a half round trip in µs of a pair that takes base without noise.
func (r *round) step(e *edge, base float64) float64 {
	if r.m.s.Noise <= 0 {
		return base
	}
	return base*math.Exp(spread*r.rng.NormFloat64()) + r.hostNoise(e.from) + r.hostNoise(e.to)
}

// hostNoise returns what the host of a card adds to a step.
func (r *round) hostNoise(end plan.End) float64 {
	us := 0.0
	x := r.rng.Float64()
	switch {
	case x < longShare:
		us += longUs * r.rng.ExpFloat64()
	case x < shortShare:
		us += shortUs * r.rng.ExpFloat64()
	}
	if j := r.m.node[end.Node].jitter; j > 0 && r.rng.Float64() < jitterShare {
		us += j * r.rng.ExpFloat64()
	}
	return us
}

// loadLatency returns the wait in queues under load: a few frames above the threshold at which
// switches begin to mark, for which the recommended values are some µs of the link's rate (Zhu
// et al., SIGCOMM 2015, section 5.1).
func (r *round) loadLatency() float64 {
	const parts = 2
	return queueing * usualRate / r.m.s.Rate * (r.rng.ExpFloat64() + r.rng.ExpFloat64()) / parts
}

// pausedFor returns for how long a node is paused from now until it could have gone on at end, in
// seconds.
func (r *round) pausedFor(node int32, now, end float64) float64 {
	for _, at := range r.pauses[node] {
		if at < end && at+pauseTime > now {
			return at + pauseTime - max(now, at)
		}
	}
	return 0
}

// lossBetween returns the probability that a packet is lost between two cards, on a random way.
func (r *round) lossBetween(from, to plan.End) float64 {
	route := r.m.t.route(place(from), place(to), r.rng.Uint64())
	p := 0.0
	for _, h := range route.list() {
		p += r.m.t.loss[h] + r.m.t.damage[h]
	}
	return p
}

// barrier makes the distribution of the slowest pair of each step.
func (r *round) barrier(rail int16, pairs []trips) {
	if len(pairs) == 0 {
		return
	}
	lengths := make([]int, len(pairs))
	for i := range pairs {
		lengths[i] = len(pairs[i].list)
	}
	slices.Sort(lengths)
	slowest := map[plan.End]int{}
	worst := make([]float32, 0, steps)
	for step := range lengths[len(lengths)/2] {
		most, who := float32(-1), -1
		for i := range pairs {
			if step < len(pairs[i].list) && pairs[i].list[step] > most {
				most, who = pairs[i].list[step], i
			}
		}
		worst = append(worst, most)
		slowest[pairs[who].e.from]++
		slowest[pairs[who].e.to]++
	}
	b := result.Barrier{
		Stage: uint8(r.t.Stage), Round: uint16(r.t.Round), Rail: rail, Load: r.t.Load,
		Latency: *result.Distribution(worst),
	}
	for end, n := range slowest {
		b.Slowest = append(b.Slowest, result.Slowest{End: end, Count: n})
	}
	slices.SortFunc(b.Slowest, func(x, y result.Slowest) int {
		return cmp.Or(y.Count-x.Count, cmp.Compare(x.End.Node, y.End.Node))
	})
	const most = 10
	b.Slowest = b.Slowest[:min(len(b.Slowest), most)]
	r.out.Barriers = append(r.out.Barriers, b)
}
