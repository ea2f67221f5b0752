package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// The limits of latency.
const (
	// pause is how long a host stands still at least, in µs. Healthy hosts with default kernels
	// stay below a few ms (a tick is 1 to 10 ms; cyclictest, OSADL's farm).
	pause = 5000
	// pauseFactor is by how much that exceeds the usual worst case.
	pauseFactor = 10
	// tick is the longest period of the kernel's timer, in µs, at HZ=100. What takes a hundredth of
	// all steps longer than that is no noise.
	tick = 10_000
	// apart is by how much the longest round trip of a pause exceeds the 99th percentile, if that
	// is unusual itself: otherwise it is the end of a long tail.
	apart = 300
	// jitterMargin is by how much a tail is longer, in µs, than that of the peers at least,
	// whatever the factor: timestamps and interrupts cost that much.
	jitterMargin = 2
)

// meeting is what a pair of nodes measured in a round, over its rails.
type meeting struct {
	sample, n     int
	a, b          int32
	jittery       int // rails with a long tail
	paused        int
	worst, excess float64
	retest, load  bool
}

type meetingKey struct {
	stage, attempt uint8
	round          uint16
	a, b           int32
}

// latency returns the distribution of a sample if it is one.
func (v *view) latency(s *result.Sample) *result.Latency {
	if s.Detail == nil || s.Detail.Latency == nil || v.stage(s) != plan.StageJitter {
		return nil
	}
	l := s.Detail.Latency
	for _, x := range [...]float64{l.P50, l.P99, l.Max} {
		if !(x > 0) || math.IsInf(x, 0) {
			return nil
		}
	}
	if l.P99 < l.P50 || l.Max < l.P99 {
		return nil
	}
	return l
}

// tailRef is what the tails of the plan's samples have in common; repeats are those of suspects.
type tailRef struct {
	p99, sigma, p999, sigma999, max float64
	n                               int
}

func (v *view) tailRef(load bool) tailRef {
	var p99, p999, longest []float64
	nodes := map[int32]bool{}
	for i := range v.run.Samples {
		s := &v.run.Samples[i]
		if l := v.latency(s); l != nil && s.Attempt == 0 && s.Load == load {
			p99 = append(p99, tail50(l, l.P99))
			p999 = append(p999, tail50(l, p999Of(l)))
			longest = append(longest, l.Max)
			nodes[s.From.Node], nodes[s.To.Node] = true, true
		}
	}
	t := tailRef{n: len(p99)}
	if t.n == 0 {
		return t
	}
	t.p99, t.sigma = spread(p99)
	t.p999, t.sigma999 = spread(p999)
	if len(nodes) < 8 { // one node is part of many pairs: the better ones are the reference
		t.p99, t.p999 = quantile(p99, 0.25), quantile(p999, 0.25)
		t.sigma, t.sigma999 = min(t.sigma, mostSpread), min(t.sigma999, mostSpread)
	}
	t.max = quantile(longest, 0.25)
	return t
}

// mostSpread bounds the deviation of the logarithm of a percentile between healthy pairs of few
// nodes, of which that of all says little.
const mostSpread = 0.12

// tail50 returns the logarithm of a percentile by the median: the way makes both longer alike.
func tail50(l *result.Latency, percentile float64) float64 { return math.Log(percentile / l.P50) }

// p999Of returns the 99.9th percentile, or what bounds it.
func p999Of(l *result.Latency) float64 {
	if l.P999 >= l.P99 && l.P999 <= l.Max {
		return l.P999
	}
	return l.P99
}

// jitter finds nodes whose latency varies, and nodes that stand still now and then.
func (v *view) jitter() {
	refs := map[bool]tailRef{false: v.tailRef(false), true: v.tailRef(true)}
	if refs[false].n+refs[true].n == 0 {
		if v.stageIndex(plan.StageJitter) >= 0 {
			v.gap("jitter", "no latency was measured")
		}
		return
	}
	meetings := map[meetingKey]*meeting{}
	var order []*meeting
	for i := range v.run.Samples {
		s := &v.run.Samples[i]
		l := v.latency(s)
		f, t := v.find(s.From), v.find(s.To)
		if l == nil || f < 0 || t < 0 || s.From.Node == s.To.Node || v.faulty[f] || v.faulty[t] ||
			refs[s.Load].n < fewPeers {
			continue
		}
		k := meetingKey{s.Stage, s.Attempt, s.Round, s.From.Node, s.To.Node}
		m := meetings[k]
		if m == nil {
			m = &meeting{sample: i, a: s.From.Node, b: s.To.Node, retest: s.Attempt > 0, load: s.Load}
			meetings[k] = m
			order = append(order, m)
		}
		m.add(v, i, l, refs[s.Load])
	}
	v.judgeMeetings(order)
}

func (m *meeting) add(v *view, i int, l *result.Latency, ref tailRef) {
	m.n++
	excess := tail50(l, l.P99) - ref.p99
	// A lost packet costs a timeout: that is a fault of the way, and no pause of the host.
	lost := lostEither(v.run.Samples[i].Detail)
	steps := float64(max(l.Count, 1))
	long := 100*lost < steps && excess > max(math.Log(v.o.Latency), 6*ref.sigma)
	excess999 := tail50(l, p999Of(l)) - ref.p999
	// The last thousandth varies more between healthy hosts.
	long999 := 1000*lost < steps && excess999 > max(math.Log(2*v.o.Latency), 6*ref.sigma999)
	distinct := !long && !long999 || l.Max > apart*l.P99 || l.P99*v.scale.Time > tick
	if lost == 0 && distinct && l.Max*v.scale.Time > v.o.pause && l.Max > pauseFactor*ref.max {
		m.paused++
		if l.Max > m.worst {
			m.worst, m.sample = l.Max, i
		}
	}
	margin := v.o.margin
	if m.load {
		margin *= v.o.loaded
	}
	if (long || long999) && p999Of(l)*(1-math.Exp(-max(excess, excess999)))*v.scale.Time > margin {
		m.jittery++
		m.excess = max(m.excess, math.Exp(max(excess, excess999)))
		if m.paused == 0 {
			m.sample = i
		}
	}
}

// judgeMeetings blames nodes: places of the events are nodes instead of cards. Jitter is judged
// idle first, then under load: queues hide there what a host adds, and a host may vary only there.
func (v *view) judgeMeetings(list []*meeting) {
	n := len(v.run.Cluster.Nodes)
	idle, load, paused := newEvents(n, 0.01), newEvents(n, 0.01), newEvents(n, 1e-4)
	idle.both, load.both, paused.both = true, true, true
	for _, m := range list {
		jittery := idle
		if m.load {
			jittery = load
		}
		for _, e := range []*events{jittery, paused} {
			e.n[e.place(m.a, tx)]++
			e.n[e.place(m.b, rx)]++
			if m.retest {
				e.again[e.place(m.a, tx)]++
				e.again[e.place(m.b, rx)]++
			}
		}
		if 2*m.jittery >= m.n { // a node's jitter is on all of its rails
			jittery.list = append(jittery.list, event{int32(m.sample), m.a, m.b, m.excess, m.retest})
		}
		if m.paused > 0 {
			paused.list = append(paused.list, event{int32(m.sample), m.a, m.b, m.worst, m.retest})
		}
	}
	v.tests += 3 * n
	bad := map[int32]bool{}
	for _, b := range paused.blames(0.05) {
		if v.pauseVerdict(b) {
			bad[b.card] = true
		}
	}
	v.jitterVerdicts(idle, bad, "idle")
	v.jitterVerdicts(load, bad, "under load")
}

// jitterVerdicts accuses nodes of jitter, except those that have a verdict already.
func (v *view) jitterVerdicts(e *events, bad map[int32]bool, when string) {
	e.list = slices.DeleteFunc(e.list, func(x event) bool { return bad[x.from] || bad[x.to] })
	for _, b := range e.blames(0.6) {
		if b.again > 0 && b.confirmed == 0 && !v.o.loose {
			v.gap(v.nodeName(b.card), "its latency varied in the rounds of the plan, not when it was repeated")
			continue
		}
		bad[b.card] = true
		x := v.nodeBlame(b, Verdict{
			Cause: CauseJitter, Severity: min(max(0, 1-1/b.weight), 1),
			Words: fmt.Sprintf("the tail of its latency is %.1f times that of its peers", b.weight),
		})
		x.Evidence = append([]Evidence{{fmt.Sprintf("%s, in %d of %d rounds, with %s, the 99th or 99.9th "+
			"percentile was up to %.1f times the usual one",
			when, b.k, b.n, plural(float64(b.partners), "partner"), b.weight), b.refs}}, x.Evidence...)
		v.hostVerdict(b.card, x)
	}
}

// little is the share of its rate that a node loses by its jitter or its pauses themselves: a pause
// of 50 ms in a step of 1 s is a twentieth.
const little = 0.2

// much is the share that it loses at most, on all of its cards alike, if what is lost meanwhile is
// sent again after a timeout.
const much = 0.5

// hostVerdict adds a verdict about a node's host. It explains cards that are a little slow.
func (v *view) hostVerdict(node int32, x Verdict) {
	v.addHost(node, &x)
	v.verdicts = slices.DeleteFunc(v.verdicts, func(y Verdict) bool {
		slow := repeatable(y.Cause) == plan.StagePairs && strings.HasPrefix(string(y.Cause), string(CauseSlow)) &&
			(y.Severity < little || y.Severity < much && v.ofWholeNode(&y, x.Cause)) && len(y.Where.Or) == 0 &&
			len(y.Where.Ends) > 0 && y.Where.Ends[0].Node == node
		if slow {
			x.Evidence = append(x.Evidence, y.Evidence...)
		}
		return slow
	})
	v.verdicts = append(v.verdicts, x)
}

// ofWholeNode reports whether a slow card or node is slow in the way of a whole node that varies:
// on all of its cards, or half of them. One that stands still sends nothing meanwhile, but can be
// written to.
func (v *view) ofWholeNode(x *Verdict, cause Cause) bool {
	if cause != CausePauses || x.Cause != CauseSlowSend {
		return x.Cause == CauseSlowNode
	}
	from, to := v.nodeCards(x.Where.Ends[0].Node)
	slow := int32(0)
	for c := from; c < to; c++ {
		if v.rate.slow[tx][c] && v.rate.deficit[tx][c] > v.rate.deficit[rx][c] {
			slow++
		}
	}
	return 2*slow >= to-from
}

// pauseVerdict accuses a node of standing still, unless one meeting alone says so.
func (v *view) pauseVerdict(b blame) bool {
	name := v.nodeName(b.card)
	if b.partners < 2 && b.or < 0 && v.mostOftenLast(b.card) == 0 && !v.o.loose {
		v.gap(name, "a pause of %s with one partner only: it or the partner", seconds(b.weight*v.scale.Time/1e6))
		return false
	}
	x := v.nodeBlame(b, Verdict{
		Cause: CausePauses, Severity: min(float64(b.k)/float64(max(b.n, 1)), 1),
		Words: "it stands still for up to " + seconds(b.weight*v.scale.Time/1e6),
	})
	x.Evidence = []Evidence{{fmt.Sprintf("in %d of %d rounds, with %s, a round trip took %s",
		b.k, b.n, plural(float64(b.partners), "partner"), seconds(b.weight*v.scale.Time/1e6)), b.refs}}
	v.hostVerdict(b.card, x)
	return true
}

// nodeBlame fills in what a blame says of a node.
func (v *view) nodeBlame(b blame, x Verdict) Verdict {
	x.p, x.Confidence = b.p, blameConfidence(b)
	x.Where = Where{Scope: ScopeNode, Nodes: []string{v.nodeName(b.card)}}
	if b.or >= 0 {
		x.p, x.Confidence = 0, 0.45
		x.Where.Nodes = append(x.Where.Nodes, v.nodeName(b.or))
		x.Evidence = append(x.Evidence, Evidence{Text: "one of the two: neither has met another partner"})
	}
	return x
}

// addHost adds what else speaks of a node's processor and software.
func (v *view) addHost(node int32, x *Verdict) {
	if n := v.mostOftenLast(node); n > 0 {
		x.Evidence = append(x.Evidence, Evidence{Text: fmt.Sprintf("it was the last of most steps in %s of "+
			"barriers and collectives", plural(float64(n), "round"))})
	}
	if int(node) >= len(v.run.Nodes) {
		return
	}
	for _, f := range v.run.Nodes[node].Findings {
		if f.Check == "host-jitter" {
			x.Evidence = append(x.Evidence, Evidence{Text: fmt.Sprintf("rdmactl doctor, %s: %s", f.Check, f.Summary)})
		}
	}
}

// mostOftenLast returns in how many barriers and collectives a node was the last most often.
func (v *view) mostOftenLast(node int32) (n int) {
	for i := range v.run.Barriers {
		if s := v.run.Barriers[i].Slowest; len(s) > 0 && s[0].End.Node == node {
			n++
		}
	}
	for i := range v.run.Collectives {
		if s := v.run.Collectives[i].Slowest; len(s) > 0 && s[0].End.Node == node {
			n++
		}
	}
	return n
}

// detours finds two cards of a node with a longer way to the cards of their rails: exchanged cables
// in a fabric that connects the rails by its spines.
func (v *view) detours() {
	ref := [2][]float64{}
	for pass := range 2 {
		e := newEvents(len(v.cards), 0.01)
		e.both = true
		var middle, sigma [2]float64
		if pass == 1 {
			for k := range ref {
				middle[k], sigma[k] = spread(ref[k])
			}
		}
		for i := range v.run.Samples {
			s := &v.run.Samples[i]
			l := v.latency(s)
			f, t := v.find(s.From), v.find(s.To)
			if l == nil || s.Load || f < 0 || t < 0 || s.From.Node == s.To.Node || v.cards[f].known[tx] ||
				v.cards[t].known[rx] {
				continue
			}
			k := 0
			if v.crosses(s.From.Node, s.To.Node) {
				k = 1
			}
			y := math.Log(l.P50)
			if pass == 0 {
				ref[k] = append(ref[k], y)
				continue
			}
			v.countSample(e, f, t, s.Attempt > 0)
			// A switch takes 0.2 µs at least and a way over the spines has two more, of 1 to 2 µs.
			if len(ref[k]) >= 8 && y-middle[k] > max(math.Log(1.15), 5*sigma[k]) {
				e.list = append(e.list, event{int32(i), f, t, y - middle[k], s.Attempt > 0})
			}
		}
		if pass == 1 {
			v.tests += len(v.cards)
			v.detourVerdicts(e.blames(0.8))
		}
	}
}

func (v *view) detourVerdicts(list []blame) {
	byNode := map[int32][]blame{}
	for _, b := range list {
		if b.n >= 2 {
			byNode[v.cards[b.card].end.Node] = append(byNode[v.cards[b.card].end.Node], b)
		}
	}
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		from, to := v.nodeCards(node)
		if b := byNode[node]; len(b) == 2 && to-from > 2 {
			v.exchanged(min(b[0].card, b[1].card), max(b[0].card, b[1].card), 0.7,
				fmt.Sprintf("two of its cards have %.0f %% more latency than others on every way: they are "+
					"cabled to other switches",
					100*(math.Exp(min(b[0].weight, b[1].weight))-1)), b[0].refs)
			v.verdicts[len(v.verdicts)-1].Severity = 0.1
		}
	}
}
