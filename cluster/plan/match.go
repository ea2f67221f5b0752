package plan

import (
	"iter"
	"math/rand/v2"
)

// Pair are two nodes by their index in the cluster.
type Pair struct {
	A, B int32
}

// circle yields rounds of disjoint pairs in which every pair of n nodes occurs exactly once: n-1
// rounds for even n, n for odd n, in each of which one node rests. It is the circle method: node
// n-1 stands still, the others move by one place from round to round.
func circle(n int) iter.Seq[[]Pair] {
	return func(yield func([]Pair) bool) {
		places := n + n%2 // an odd number gets a place for the one that rests
		moving := places - 1
		for round := range moving {
			pairs := make([]Pair, 0, places/2)
			add := func(a, b int) {
				if a < n && b < n {
					pairs = append(pairs, Pair{int32(min(a, b)), int32(max(a, b))})
				}
			}
			add(round, moving)
			for k := 1; k < places/2; k++ {
				add((round+k)%moving, (round-k+moving)%moving)
			}
			if !yield(pairs) {
				return
			}
		}
	}
}

// matchings yields rounds of disjoint pairs of n nodes at random. No pair occurs twice as long as
// that is possible by exchanging partners within a round; in each round of an odd number one node
// rests, another one each time as long as there are any.
func matchings(n, rounds int, rng *rand.Rand) iter.Seq[[]Pair] {
	return func(yield func([]Pair) bool) {
		met := make(map[Pair]bool, n/2*rounds)
		order := make([]int32, n)
		for i := range order {
			order[i] = int32(i)
		}
		var rested []bool
		if n%2 == 1 {
			rested = make([]bool, n)
		}
		for range rounds {
			rng.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
			if rested != nil {
				restOne(order, rested)
			}
			pairs := make([]Pair, 0, n/2)
			for i := 0; i+1 < n; i += 2 {
				pairs = append(pairs, ordered(order[i], order[i+1]))
			}
			avoid(pairs, met, rng)
			for _, p := range pairs {
				met[p] = true
			}
			if !yield(pairs) {
				return
			}
		}
	}
}

// restOne moves a node that has not rested yet to the end of an odd order, which is left out.
func restOne(order []int32, rested []bool) {
	last := len(order) - 1
	for i := last; i >= 0; i-- {
		if !rested[order[i]] {
			order[i], order[last] = order[last], order[i]
			rested[order[last]] = true
			return
		}
	}
	clear(rested)
	rested[order[last]] = true
}

// avoid exchanges partners between pairs until none has met before, or until it gives up.
func avoid(pairs []Pair, met map[Pair]bool, rng *rand.Rand) {
	if len(pairs) < 2 {
		return
	}
	for i, p := range pairs {
		for try := 0; met[p] && try < 64; try++ {
			j := rng.IntN(len(pairs))
			if j == i {
				continue
			}
			q := pairs[j]
			x, y := ordered(p.A, q.B), ordered(q.A, p.B)
			if met[x] || met[y] {
				continue
			}
			pairs[i], pairs[j] = x, y
			p = x
		}
	}
}

func ordered(a, b int32) Pair { return Pair{min(a, b), max(a, b)} }
