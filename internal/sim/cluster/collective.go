package cluster

import (
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// maxCollective is the largest buffer of an all-reduce in bytes, as the leader has it.
const maxCollective = 32 << 20

// collectives runs an all-reduce on each rail. Nodes whose card can't be used are left out.
func (r *round) collectives() {
	tree := len(r.t.Flows) > 0 && r.t.Flows[0].Both
	for _, rail := range r.t.Plan.Rails {
		c := result.Collective{
			Stage: uint8(r.t.Stage), Round: uint16(r.t.Round), Algorithm: "ring", Rail: int16(rail),
		}
		if tree {
			c.Algorithm = "tree"
		}
		order := r.members(int16(rail), tree)
		if c.Nodes = len(order); c.Nodes < 2 {
			continue
		}
		unit := int64(4 * c.Nodes)
		most := int64(r.m.s.Rate * 1e9 / 16 * r.t.Length.Seconds())
		c.Bytes = max(unit, min(most, maxCollective)/unit*unit)
		r.joinMembers(order, tree)
		r.reduce(&c, tree)
		r.out.Collectives = append(r.out.Collectives, c)
	}
}

// members returns the cards of a rail that take part, by rank.
func (r *round) members(rail int16, tree bool) []plan.End {
	var order []plan.End
	for i, f := range r.t.Flows {
		if tree && i == 0 {
			order = append(order, plan.End{Node: f.To, Rail: rail})
		}
		order = append(order, plan.End{Node: f.From, Rail: rail})
	}
	return slices.DeleteFunc(order, func(e plan.End) bool {
		f := r.unusable(e)
		return f != nil && f.Step == result.StepOpen
	})
}

// joinMembers makes the edges of a ring, or of a binary tree.
func (r *round) joinMembers(order []plan.End, tree bool) {
	r.edges = r.edges[:0]
	for i, end := range order {
		switch {
		case !tree:
			r.edges = append(r.edges, edge{from: end, to: order[(i+1)%len(order)]})
		case i > 0:
			r.edges = append(r.edges, edge{from: end, to: order[(i-1)/2], both: true})
		}
	}
	r.obstacles()
}

// reduce computes the time of an all-reduce. In a ring, each node sends 2(n-1) pieces of an nth of
// the buffer, as fast as the slowest edge. In a tree, the buffer goes up and down once, level by
// level (Thakur et al., Optimization of Collective Communication Operations in MPICH, 2005,
// section 4.5).
func (r *round) reduce(c *result.Collective, tree bool) {
	for i := range r.edges {
		e := &r.edges[i]
		if e.failure == nil {
			e.failure = r.outage(e)
		}
		if e.failure != nil {
			c.Failure = e.failure
			return
		}
	}
	t := r.lay(func(*edge) int { return 1 })
	r.share(&t)
	slow, sum := 0, 0.0
	for i := range t.ways {
		r.rate(&t, &t.ways[i])
		if t.ways[i].gbps < t.ways[slow].gbps {
			slow = i
		}
		sum += t.ways[i].gbps
	}
	least := math.Max(t.ways[slow].gbps, 1e-6)
	n, bits := float64(c.Nodes), float64(c.Bytes)*8
	us := 2 * (n - 1)
	if tree {
		depth := math.Ceil(math.Log2(n + 1))
		c.Seconds = 2*(depth-1)*bits/sum*float64(len(t.ways))/1e9 + 2*bits/least/1e9
		us = 2 * depth
	} else {
		c.Seconds = 2 * (n - 1) / n * bits / least / 1e9
	}
	c.Seconds += us * r.m.s.Latency * 1e-6
	const giga = 1e9
	c.AlgBW = float64(c.Bytes) / c.Seconds / giga
	c.BusBW = c.AlgBW * 2 * (n - 1) / n
	if least*2 < sum/float64(len(t.ways)) { // the others waited for its sender
		c.Slowest = []result.Slowest{{End: t.ways[slow].from, Count: 1}}
	}
}
