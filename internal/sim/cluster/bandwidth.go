package cluster

import (
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// way is one direction of an edge: a sender, a receiver and its flows.
type way struct {
	from, to    plan.End
	edge        int
	first, n    int // flows of the round
	gbps        float64
	flows       []float32
	failure     *result.Failure
	interrupted float64 // share of the time in which it sends
}

// traffic are the flows of a round and their rates.
type traffic struct {
	ways               []way
	routes             []route
	rates              []float64
	limit              []int32
	sending, receiving []int32   // ways of each card
	offered            []float64 // of each hop: what its flows would send without it
}

func (r *round) bandwidth() {
	r.obstacles()
	t := r.lay(func(e *edge) int { return r.flowsOf(e) })
	r.share(&t)
	for i := range t.ways {
		r.rate(&t, &t.ways[i])
	}
	byEdge := make([][]*way, len(r.edges))
	for i := range t.ways {
		byEdge[t.ways[i].edge] = append(byEdge[t.ways[i].edge], &t.ways[i])
	}
	for i := range r.edges {
		e := &r.edges[i]
		if e.failure != nil {
			r.finish(r.sample(e), result.Detail{Failure: e.failure})
			if e.both {
				r.finish(r.sample(e.reversed()), result.Detail{Failure: opposite(e.failure)})
			}
			continue
		}
		for _, w := range byEdge[i] {
			s := r.sample(&edge{from: w.from, to: w.to})
			s.Gbps = float32(w.gbps)
			d := result.Detail{Failure: w.failure}
			if w.n > 1 {
				d.Flows = w.flows
			}
			r.finish(s, d)
		}
	}
}

func (e *edge) reversed() *edge { return &edge{from: e.to, to: e.from, failure: e.failure} }

// opposite returns a failure as it is seen from the other end.
func opposite(f *result.Failure) *result.Failure {
	g := *f
	g.At = map[result.Side]result.Side{result.AtFrom: result.AtTo, result.AtTo: result.AtFrom}[f.At]
	if f.Step == result.StepData && f.Code == "retry-exceeded" { // each sender notices by itself
		g.At = result.AtFrom
	}
	return &g
}

// flowsOf is the number of flows of an edge: as many as the leader uses.
func (r *round) flowsOf(e *edge) int {
	nodes := r.t.Plan.Cluster.Nodes
	a, b := nodes[e.from.Node].Leaf, nodes[e.to.Node].Leaf
	if e.from.Node == e.to.Node || a != "" && a == b {
		return 1
	}
	return max(1, r.t.Plan.Options.Flows)
}

// lay makes the flows of all edges that have not failed.
func (r *round) lay(flows func(*edge) int) traffic {
	t := traffic{sending: make([]int32, len(r.m.card)), receiving: make([]int32, len(r.m.card))}
	for i := range r.edges {
		e := &r.edges[i]
		if e.failure != nil {
			continue
		}
		n := flows(e)
		t.add(r, i, e.from, e.to, n)
		if e.both {
			t.add(r, i, e.to, e.from, n)
		}
	}
	return t
}

func (t *traffic) add(r *round, edge int, from, to plan.End, n int) {
	t.ways = append(t.ways, way{from: from, to: to, edge: edge, first: len(t.routes), n: n, interrupted: 1})
	t.sending[r.m.number(from)]++
	t.receiving[r.m.number(to)]++
	for range n {
		route := r.m.t.route(place(from), place(to), r.rng.Uint64())
		t.routes = append(t.routes, route)
	}
}

func place(e plan.End) [2]int { return [2]int{int(e.Node), int(e.Rail)} }

// share shares the network among the flows.
func (r *round) share(t *traffic) {
	hops := r.m.t
	t.rates, t.limit = fair(t.routes, hops.capacity)
	if !slices.Contains(hops.lossy, true) && !slices.ContainsFunc(r.m.card, func(c cardState) bool { return c.class }) {
		return
	}
	// What is offered to a hop is what its flows would send if only their own card limited them.
	t.offered = make([]float64, len(hops.capacity))
	for i := range t.ways {
		w := &t.ways[i]
		own := hops.capacity[hops.card(int(w.from.Node), int(w.from.Rail), hopSend)]
		each := own / float64(t.sending[r.m.number(w.from)]) / float64(w.n)
		for _, route := range t.routes[w.first : w.first+w.n] {
			for _, h := range route.list() {
				t.offered[h] += each
			}
		}
	}
}

// rate sets the rate of a way, and counts what its cards would have counted.
func (r *round) rate(t *traffic, w *way) {
	r.interrupt(w)
	a, b := r.m.cardOf(w.from), r.m.cardOf(w.to)
	mtu := min(a.mtu, b.mtu)
	noise := r.noise(w)
	length := r.t.Length.Seconds() * w.interrupted
	for i := w.first; i < w.first+w.n; i++ {
		route := &t.routes[i]
		p, damaged := r.lossOf(t, route, a.class)
		rtt := 2 * (r.latencyOf(w.from, w.to) + queueing*usualRate/r.m.s.Rate) * 1e-6
		flow := goBackN(t.rates[i]*payload(mtu)/payload(usualMTU), p+damaged, mtu, rtt, w.n)
		gbps := flow.gbps * noise * w.interrupted
		w.gbps += gbps
		w.flows = append(w.flows, float32(gbps*(1+r.m.noise()*r.rng.NormFloat64())))
		r.countLoss(w, flow, length)
		r.countDamage(route, flow, damaged/(p+damaged+residualLoss), length)
		r.countCongestion(t, w, i, length)
	}
	if w.interrupted < 1 {
		r.countOutage(w)
	}
}

const usualRate = 400

// noise returns the factor by which a rate differs from what the network would carry.
func (r *round) noise(w *way) float64 {
	m := r.m
	if m.s.Noise <= 0 {
		return 1
	}
	f := m.quirk[m.number(w.from)] * m.quirk[m.number(w.to)] *
		r.dip[w.from.Node] * r.dip[w.to.Node]
	if r.rng.Float64() < dipSample {
		f *= 1 - dipMost*r.rng.Float64()
	}
	const above = 1.005 // a measurement counts from the first completion, which may be late
	return f * math.Min(above, 1+m.noise()*(r.rng.NormFloat64()-1))
}

// interrupt sets for which part of the time a way sends, and whether it fails.
func (r *round) interrupt(w *way) {
	length := r.t.Length.Seconds()
	for _, at := range r.pauses[w.from.Node] { // its process posts nothing; being written to needs none
		w.interrupted -= max(0, min(length, at+pauseTime)-min(length, at)) / length
	}
	w.interrupted = max(0, w.interrupted)
	if w.from == w.to { // not over the link
		return
	}
	for _, end := range []plan.End{w.from, w.to} {
		f, ok := r.flap[end]
		if !ok {
			continue
		}
		w.interrupted = min(w.interrupted, f.begin)
		if length*(1-f.begin) > ackTimeout*(retries+1) {
			w.failure = noAnswer(result.AtFrom)
		}
	}
}

// lossOf returns the probability that a packet is lost on a route, and that it is damaged.
func (r *round) lossOf(t *traffic, route *route, class bool) (lost, damaged float64) {
	hops := r.m.t
	lost = residualLoss * float64(route.n)
	for _, h := range route.list() {
		lost += hops.loss[h]
		damaged += hops.damage[h]
		if t.offered != nil && (hops.lossy[h] || class && r.isEgress(h)) {
			lost += overload(t.offered[h], hops.capacity[h])
		}
	}
	return lost, damaged
}

// isEgress reports whether a hop is behind the queue of a switch.
func (r *round) isEgress(hop int32) bool {
	cards := int32(r.m.s.Nodes * r.m.s.Rails * hopsOfCard)
	if hop < cards {
		return hop%hopsOfCard == hopReceive
	}
	return hop >= cards+int32(2*r.m.s.Nodes)
}

// countLoss counts as mlx5 does: gaps that the responder reported and expired timers at the
// requester (packet_seq_err, local_ack_timeout_err), and at the responder all packets behind a gap
// (out_of_sequence).
func (r *round) countLoss(w *way, flow lossy, seconds float64) {
	r.add(w.from, retransmits, poisson(r.rng, flow.lost*seconds))
	r.add(w.from, timeouts, poisson(r.rng, flow.timeouts*seconds))
	r.add(w.to, outOfSequence, poisson(r.rng, flow.retransmitted*seconds))
}

// countDamage counts damaged packets where they are noticed: a card drops those that its own cable
// damages, as the leaf does with those that a card sends, which no node sees.
func (r *round) countDamage(route *route, flow lossy, share, seconds float64) {
	for _, h := range route.list() {
		if r.m.t.damage[h] == 0 || h >= int32(r.m.s.Nodes*r.m.s.Rails*hopsOfCard) || h%hopsOfCard != hopReceive {
			continue
		}
		total := 0.0
		for _, other := range route.list() {
			total += r.m.t.damage[other]
		}
		n := poisson(r.rng, flow.lost*share*r.m.t.damage[h]/total*seconds)
		end := r.m.end(int(h / hopsOfCard))
		r.add(end, symbolErrors, n)
		const words = 4 // a damaged code word of the FEC damages the frames that are in it
		r.add(end, fecUncorrected, (n+words-1)/words)
	}
}

// countCongestion counts what marks and pauses a limited flow causes. A receiver sends at most
// a notification in 50 µs for a flow; under steady congestion it is a small part of that (Zhu et
// al., SIGCOMM 2015, sections 3.2 and 5).
func (r *round) countCongestion(t *traffic, w *way, flow int, seconds float64) {
	const notifications, pauses = 400, 60 // in a second
	hop := t.limit[flow]
	cards := int32(r.m.s.Nodes * r.m.s.Rails * hopsOfCard)
	switch {
	case hop < cards && (hop%hopsOfCard == hopSend || hop%hopsOfCard == hopRead):
		return // its own card is the limit: no queue in the network
	case hop < cards && hop%hopsOfCard == hopWrite && w.from != w.to, hop == r.m.t.node(int(w.to.Node), Receive):
		n := poisson(r.rng, pauses*seconds)
		r.add(w.to, pauseSent, n)
		return
	case !r.isEgress(hop):
		return
	}
	if hop < cards && !r.contended(t, hop) {
		return
	}
	n := poisson(r.rng, notifications*seconds)
	r.add(w.to, ecnMarked, n*2)
	r.add(w.to, cnpSent, n)
	r.add(w.from, cnpReceived, n)
	if !r.m.t.lossy[hop] {
		r.add(w.from, pauseReceived, poisson(r.rng, pauses*seconds))
	}
}

// contended reports whether a card's port gets more than one card sends: it is slower, or it has
// several senders.
func (r *round) contended(t *traffic, hop int32) bool {
	if r.m.t.capacity[hop] < r.m.s.Rate*payload(usualMTU)*0.99 { //nolint:mnd // rounding
		return true
	}
	return t.receiving[hop/hopsOfCard] > 1
}

func (r *round) countOutage(w *way) {
	for _, end := range []plan.End{w.from, w.to} {
		if _, ok := r.flap[end]; ok && w.from != w.to && r.count[r.m.number(end)][linkDowned] == 0 {
			r.add(end, linkDowned, 1)
			r.add(w.from, timeouts, retries)
		}
	}
}
