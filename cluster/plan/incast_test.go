package plan

import (
	"maps"
	"slices"
	"testing"
)

// receivers returns how many groups of incast each node receives in, and the number of groups. It
// fails the test unless a round's groups are disjoint and as large as one of the planned sizes.
func receivers(t *testing.T, p *Plan) (count []int, groups int) {
	t.Helper()
	count = make([]int, len(p.Cluster.Nodes))
	for r := range stage(t, p, StageIncast).Rounds() {
		busy, senders := map[int32]bool{}, map[int32]int{}
		for _, f := range r.Flows {
			if busy[f.From] || senders[f.From] > 0 {
				t.Fatalf("node %d sends and is part of another group, too", f.From)
			}
			busy[f.From] = true
			senders[f.To]++
		}
		size := 0
		for to, n := range senders {
			if busy[to] || !slices.Contains(incastSizes(), n) || size > 0 && n != size {
				t.Fatalf("node %d receives from %d, and sends: %v", to, n, busy[to])
			}
			size = n
			count[to]++
			groups++
		}
		if want := len(count) / (size + 1); len(senders) != want {
			t.Fatalf("%d groups of %d senders, want %d", len(senders), size, want)
		}
	}
	return count, groups
}

// TestIncastOfLeaves checks that the receivers of incast are spread over the leaves: none of two
// nodes and more is left out, and leaves of one size receive about equally often.
func TestIncastOfLeaves(t *testing.T) {
	// The nodes of each leaf; one of a single node may be left out of groups altogether.
	for name, sizes := range map[string][]int{
		"equal":      {16, 16, 16, 16},
		"two":        {8, 8},
		"small ones": {2, 2, 2, 2, 2, 2, 2, 2},
		"one small":  {2, 30, 32},
		"many small": {40, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
		"single":     {1, 15, 16},
		"large":      {32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32},
	} {
		for seed := range uint64(50) {
			c := nodes(total(sizes), 1, 0)
			i := 0
			for leaf, n := range sizes {
				for range n {
					c.Nodes[i].Leaf = string(rune('a' + leaf))
					i++
				}
			}
			count, groups := receivers(t, mustPlan(t, c, Options{Seed: seed}))
			if groups < 2*len(sizes) {
				t.Fatalf("%s: %d groups are too few for a test of %d leaves", name, groups, len(sizes))
			}
			leaves := map[string]int{}
			for i, n := range count {
				leaves[c.Nodes[i].Leaf] += n
			}
			for leaf, n := range sizes {
				if n >= 2 && leaves[string(rune('a'+leaf))] == 0 {
					t.Errorf("%s, seed %d: no node of leaf %c receives: %v", name, seed, 'a'+leaf, leaves)
				}
			}
			times := slices.Sorted(maps.Values(leaves))
			least, most := times[0], times[len(times)-1]
			if slices.Min(sizes) == slices.Max(sizes) && most-least > 2 {
				t.Errorf("%s, seed %d: leaves of one size receive %d to %d times", name, seed, least, most)
			}
		}
	}
}

func total(list []int) (sum int) {
	for _, n := range list {
		sum += n
	}
	return sum
}

// TestIncastOfUnknownLeaves checks that no node receives often while others never do if no leaf is
// known, and that nodes of no known leaf don't keep leaves from receiving.
func TestIncastOfUnknownLeaves(t *testing.T) {
	for seed := range uint64(50) {
		count, groups := receivers(t, mustPlan(t, nodes(64, 1, 0), Options{Seed: seed}))
		// 80 groups for 64 nodes; those of the end may hold none that has received less.
		if most := slices.Max(count); groups != 80 || most > 3 {
			t.Errorf("seed %d: a node receives %d times in %d groups", seed, most, groups)
		}
		never := 0
		for _, n := range count {
			if n == 0 {
				never++
			}
		}
		if never > 6 {
			t.Errorf("seed %d: %d of 64 nodes never receive: %v", seed, never, count)
		}

		c := nodes(64, 1, 16)
		for i := 32; i < 64; i++ {
			c.Nodes[i].Leaf = ""
		}
		count, groups = receivers(t, mustPlan(t, c, Options{Seed: seed}))
		for leaf := range 2 {
			if n := total(count[16*leaf : 16*leaf+16]); 4*n < groups {
				t.Errorf("seed %d: leaf %d receives in %d of %d groups", seed, leaf, n, groups)
			}
		}
	}
}

// TestIncastRepeats checks that walking through the rounds again gives the same ones: what a leaf
// has received is counted anew.
func TestIncastRepeats(t *testing.T) {
	s := stage(t, mustPlan(t, nodes(43, 1, 8), Options{Seed: 3}), StageIncast) // a leaf of 3
	var lists [2][]Flow
	for i := range lists {
		for r := range s.Rounds() {
			lists[i] = append(lists[i], r.Flows...)
		}
	}
	if !slices.Equal(lists[0], lists[1]) {
		t.Error("a second walk gives other rounds")
	}
}
