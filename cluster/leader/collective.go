package leader

import (
	"fmt"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// collective is an all-reduce of a round: the places of the nodes in it, and what they reported.
type collective struct {
	algorithm protocol.Algorithm
	rail      int
	nodes     []int32 // by rank
	places    []protocol.Collective
	replies   []*protocol.PartOfCollect
	wires     []*wire
	bytes     int64
}

// maxCollective is the largest buffer of an all-reduce in bytes, and unknownRate the rate that is
// assumed for cards of unknown rate, in Gb/s.
const (
	maxCollective = 32 << 20
	unknownRate   = 10
)

// layCollective makes the connections of a ring or a tree for each rail. Nodes whose card can't be
// used are left out: the others close the gap.
func (r *round) layCollective() error {
	algorithm := protocol.AlgorithmRing
	if len(r.t.Flows) > 0 && r.t.Flows[0].Both {
		algorithm = protocol.AlgorithmTree
	}
	order := r.order(algorithm)
	for _, rail := range r.t.Plan.Rails {
		c := collective{algorithm: algorithm, rail: rail}
		slowest := 0.0
		for _, n := range order {
			card, end := r.card(n, rail), plan.End{Node: n, Rail: int16(rail)}
			if card == nil || r.unusable(end) != nil || slices.Contains(r.t.Dead, end) {
				continue
			}
			if card.Gbps > 0 && (slowest == 0 || card.Gbps < slowest) {
				slowest = card.Gbps
			}
			c.nodes = append(c.nodes, n)
		}
		if len(c.nodes) < 2 {
			continue
		}
		if slowest == 0 {
			slowest = unknownRate
		}
		c.bytes = sizeOf(slowest, r.t.Length, len(c.nodes))
		r.place(&c)
		r.parts = append(r.parts, c)
	}
	if len(order) == 0 {
		return fmt.Errorf("measure round %d of %s: no nodes", r.t.Round, r.t.Name)
	}
	return nil
}

// sizeOf returns the size of a buffer whose reduction takes about the given time: each node sends
// nearly twice the buffer. It is a multiple of 4 bytes for each node.
func sizeOf(gbps float64, length time.Duration, nodes int) int64 {
	const bits, twice, float = 8, 2, 4
	unit := int64(float * nodes)
	size := int64(gbps * 1e9 / bits / twice * length.Seconds())
	return max(unit, min(size, maxCollective)/unit*unit)
}

// order returns the nodes of a collective by rank.
func (r *round) order(algorithm protocol.Algorithm) []int32 {
	var order []int32
	if algorithm == protocol.AlgorithmRing {
		for _, f := range r.t.Flows {
			order = append(order, f.From)
		}
		return order
	}
	for i, f := range r.t.Flows { // the first edge of a tree goes to the root
		if i == 0 {
			order = append(order, f.To)
		}
		order = append(order, f.From)
	}
	return order
}

func (r *round) card(node int32, rail int) *plan.Card {
	list := r.f.cluster.Nodes[node].Rails
	i := slices.IndexFunc(list, func(c plan.Card) bool { return c.Rail == rail })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// place makes the connections of a collective.
func (r *round) place(c *collective) {
	n := len(c.nodes)
	c.places, c.replies = make([]protocol.Collective, n), make([]*protocol.PartOfCollect, n)
	for i := range c.places {
		c.places[i] = protocol.Collective{
			Algorithm: c.algorithm, Rail: c.rail, Rank: i, Nodes: n, Bytes: c.bytes, Next: -1, Previous: -1, Parent: -1,
		}
	}
	roles := [2]protocol.Role{protocol.RoleCollective, protocol.RoleCollective}
	join := func(a, b int, bytes int64) *wire {
		end := func(i int) plan.End { return plan.End{Node: c.nodes[i], Rail: int16(c.rail)} }
		w := r.add(&wire{flows: 1, bytes: bytes}, end(a), end(b), roles)
		c.wires = append(c.wires, w)
		return w
	}
	if c.algorithm == protocol.AlgorithmRing {
		for i := range n {
			next := (i + 1) % n
			w := join(i, next, c.bytes/int64(n))
			c.places[i].Next, c.places[next].Previous = w.halves[0].id, w.halves[1].id
		}
		return
	}
	for i := 1; i < n; i++ {
		parent := (i - 1) / 2 //nolint:mnd // of a binary tree
		w := join(i, parent, c.bytes)
		c.places[i].Parent = w.halves[0].id
		c.places[parent].Children = append(c.places[parent].Children, w.halves[1].id)
	}
}

// runCollective adds the collectives of the round to the commands of a run: those of which all
// connections exist.
func (r *round) runCollective(commands []protocol.Command) {
	for i := range r.parts {
		c := &r.parts[i]
		if c.failure() != nil {
			continue
		}
		for rank, node := range c.nodes {
			command := &commands[node]
			command.Limit = collectiveLimit
			command.Collectives = append(command.Collectives, c.places[rank])
		}
	}
}

// failure returns the first failure of the connections of a collective.
func (c *collective) failure() *result.Failure {
	for _, w := range c.wires {
		if w.failure != nil {
			return w.seen(0)
		}
	}
	return nil
}

// takeParts takes what a node reported of its collectives.
func (r *round) takeParts(node int32, list []protocol.PartOfCollect) {
	for i := range list {
		for k := range r.parts {
			c := &r.parts[k]
			rank := slices.Index(c.nodes, node)
			if c.algorithm == list[i].Algorithm && c.rail == list[i].Rail && rank >= 0 {
				c.replies[rank] = &list[i]
			}
		}
	}
}

// collectives makes the results of the collectives of a round.
func (r *round) collectives() {
	for i := range r.parts {
		c := &r.parts[i]
		out := result.Collective{
			Stage: uint8(r.t.Stage), Round: uint16(r.t.Round), Algorithm: string(c.algorithm), Rail: int16(c.rail),
			Nodes: len(c.nodes), Bytes: c.bytes, Failure: c.failure(),
		}
		for rank, reply := range c.replies {
			switch {
			case out.Failure != nil:
			case reply == nil:
				out.Failure = &result.Failure{
					Step: result.StepData, Code: "lost",
					Text: r.f.cluster.Nodes[c.nodes[rank]].Name + " did not report",
				}
			case reply.Failure != nil:
				f := *reply.Failure
				f.Text = r.f.cluster.Nodes[c.nodes[rank]].Name + ": " + f.Text
				out.Failure = &f
			}
			if reply != nil {
				out.Seconds = max(out.Seconds, reply.Seconds)
			}
		}
		if out.Failure == nil && out.Seconds > 0 {
			const giga = 1e9
			n := float64(out.Nodes)
			out.AlgBW = float64(c.bytes) / out.Seconds / giga
			out.BusBW = out.AlgBW * 2 * (n - 1) / n //nolint:mnd // nccl-tests, PERFORMANCE.md: all-reduce
			out.Slowest = c.slowest()
		}
		r.out.Collectives = append(r.out.Collectives, out)
	}
}

// slowest returns the node that waited least, if it waited less than half as long as the median:
// the others waited for it.
func (c *collective) slowest() []result.Slowest {
	waits := make([]float64, len(c.replies))
	for i, reply := range c.replies {
		waits[i] = reply.Waited
	}
	least := 0
	for i, w := range waits {
		if w < waits[least] {
			least = i
		}
	}
	who := c.nodes[least]
	low := waits[least]
	slices.Sort(waits)
	if low*2 > waits[len(waits)/2] {
		return nil
	}
	return []result.Slowest{{End: plan.End{Node: who, Rail: int16(c.rail)}, Count: 1}}
}
