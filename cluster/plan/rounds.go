package plan

import (
	"iter"
	"math/rand/v2"
	"slices"
)

// pairs yields rounds of disjoint pairs.
func (p *Plan) pairs(name Name) iter.Seq[Round] {
	n := len(p.Cluster.Nodes)
	return func(yield func(Round) bool) {
		list := circle(n)
		if n > p.Options.AllPairs {
			list = matchings(n, pairRounds(n, p.Options.AllPairs), p.rng(name))
		}
		for pairs := range list {
			if !yield(Round{Flows: flows(pairs)}) {
				return
			}
		}
	}
}

// Probes returns how many messages a pair exchanges in the stage reach: one shows whether there is
// a way. If the leaves of nodes are unknown, and all pairs are measured, further ones show
// latencies, by which leaves can be inferred: a new connection has its caches filled after the
// first.
func (p *Plan) Probes() int {
	const more = 32
	if len(p.Cluster.Nodes) > p.Options.AllPairs || p.largestLeaf() > 0 {
		return 1
	}
	return 1 + more
}

func flows(pairs []Pair) []Flow {
	out := make([]Flow, len(pairs))
	for i, p := range pairs {
		out[i] = Flow{From: p.A, To: p.B, Both: true}
	}
	return out
}

// loopback yields two rounds: each card to itself, and to its neighbour in the node.
func (p *Plan) loopback() iter.Seq[Round] {
	return func(yield func(Round) bool) {
		for _, neighbour := range []bool{false, true} {
			r := Round{Flows: make([]Flow, len(p.Cluster.Nodes))}
			for i := range r.Flows {
				r.Flows[i] = Flow{From: int32(i), To: int32(i), Neighbour: neighbour}
			}
			if !yield(r) {
				return
			}
		}
	}
}

// incastSizes are the numbers of senders to one receiver.
func incastSizes() []int { return []int{2, 4, 8} }

// incastRounds returns the number of rounds of incast: one for each size that the cluster has the
// nodes for, and each again with other receivers.
func (p *Plan) incastRounds() int {
	n := 0
	for _, k := range incastSizes() {
		if k+1 <= len(p.Cluster.Nodes) {
			n += 2
		}
	}
	return n
}

// incast yields rounds in which groups of k+1 nodes send to one of their members; groups are
// disjoint. The receiver is a member of the leaf that has received least so far: an incast is
// attributed to the leaf of its receiver, and a random choice alone would miss small leaves.
func (p *Plan) incast() iter.Seq[Round] {
	n := len(p.Cluster.Nodes)
	return func(yield func(Round) bool) {
		rng, place := p.rng(StageIncast), p.places()
		received := make([]int, n) // groups, by place
		for _, k := range incastSizes() {
			for range 2 {
				if k+1 > n {
					continue
				}
				order := rng.Perm(n)
				var r Round
				for group := range slices.Chunk(order, k+1) {
					if len(group) <= k {
						break
					}
					to := slices.MinFunc(group, func(a, b int) int {
						return received[place[a]] - received[place[b]]
					})
					received[place[to]]++
					for _, sender := range group {
						if sender != to {
							r.Flows = append(r.Flows, Flow{From: int32(sender), To: int32(to)})
						}
					}
				}
				if !yield(r) {
					return
				}
			}
		}
	}
}

// places returns the first node of each node's leaf, or the node itself if no leaf is known. Nodes
// without a known leaf share one place, so that they don't keep leaves from receiving.
func (p *Plan) places() []int {
	first, out := map[string]int{}, make([]int, len(p.Cluster.Nodes))
	known := p.largestLeaf() > 0
	for i, n := range p.Cluster.Nodes {
		f, ok := first[n.Leaf]
		if !ok || !known {
			f = i
			first[n.Leaf] = i
		}
		out[i] = f
	}
	return out
}

// permutation yields rounds in which every node sends to exactly one other and receives from
// exactly one, across leaves where they are known: this loads the uplinks.
func (p *Plan) permutation() iter.Seq[Round] {
	n := len(p.Cluster.Nodes)
	return func(yield func(Round) bool) {
		rng := p.rng(StagePermutation)
		for range 4 {
			order := p.byLeaf(rng)
			shift := max(1, p.largestLeaf())
			if shift >= n {
				shift = 1 + rng.IntN(n-1)
			}
			r := Round{Flows: make([]Flow, n)}
			for i, from := range order {
				r.Flows[i] = Flow{From: int32(from), To: int32(order[(i+shift)%n])}
			}
			if !yield(r) {
				return
			}
		}
	}
}

// byLeaf returns the nodes grouped by leaf, in random order within a leaf and of the leaves.
func (p *Plan) byLeaf(rng *rand.Rand) []int {
	order := rng.Perm(len(p.Cluster.Nodes))
	rank := map[string]int{}
	for _, i := range order { // nodes of no known leaf are a group, too
		leaf := p.Cluster.Nodes[i].Leaf
		if _, ok := rank[leaf]; !ok {
			rank[leaf] = len(rank)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return rank[p.Cluster.Nodes[a].Leaf] - rank[p.Cluster.Nodes[b].Leaf]
	})
	return order
}

// largestLeaf returns the number of nodes of the largest leaf, 0 if no leaf is known.
func (p *Plan) largestLeaf() int {
	count := map[string]int{}
	most := 0
	for _, n := range p.Cluster.Nodes {
		if n.Leaf != "" {
			count[n.Leaf]++
			most = max(most, count[n.Leaf])
		}
	}
	return most
}

// jitterRounds is how many different partners the latency of a card is measured with.
func (p *Plan) jitterRounds() int { return 4 }

// jitter yields pairs for latency, each idle and under load.
func (p *Plan) jitter() iter.Seq[Round] {
	n := len(p.Cluster.Nodes)
	return func(yield func(Round) bool) {
		rounds := min(p.jitterRounds(), pairRounds(n, p.Options.AllPairs))
		for pairs := range matchings(n, rounds, p.rng(StageJitter)) {
			for _, load := range []bool{false, true} {
				if !yield(Round{Flows: flows(pairs), Load: load}) {
					return
				}
			}
		}
	}
}

// MaxRanks is the largest number of nodes of an all-reduce. Of a larger cluster, the first nodes
// take part. Workers check sums of float32, which are exact below 2^24: the numbers are at most
// MaxRanks + 6.
const MaxRanks = 5000

// collective yields the order of nodes of a ring, then the edges of a binary tree.
func (p *Plan) collective() iter.Seq[Round] {
	n := min(len(p.Cluster.Nodes), MaxRanks)
	return func(yield func(Round) bool) {
		order := slices.DeleteFunc(p.byLeaf(p.rng(StageCollective)), func(node int) bool { return node >= n })
		ring := Round{Flows: make([]Flow, 0, n)}
		for i, from := range order {
			ring.Flows = append(ring.Flows, Flow{From: int32(from), To: int32(order[(i+1)%n])})
		}
		tree := Round{Flows: make([]Flow, 0, n-1)}
		for i := 1; i < n; i++ {
			tree.Flows = append(tree.Flows, Flow{From: int32(order[i]), To: int32(order[(i-1)/2]), Both: true})
		}
		_ = yield(ring) && yield(tree)
	}
}
