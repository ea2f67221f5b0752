package plan

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// nodes returns a cluster of n nodes with as many rails, in leaves of perLeaf nodes; 0 for unknown
// leaves.
func nodes(n, rails, perLeaf int) Cluster {
	var c Cluster
	for i := range n {
		node := Node{Name: fmt.Sprintf("gpu%04d", i)}
		if perLeaf > 0 {
			node.Leaf = fmt.Sprintf("leaf%d", i/perLeaf)
		}
		for r := range rails {
			node.Rails = append(node.Rails, Card{Rail: r, Device: fmt.Sprintf("mlx5_%d:1", r), Gbps: 400})
		}
		c.Nodes = append(c.Nodes, node)
	}
	return c
}

func mustPlan(t testing.TB, c Cluster, o Options) *Plan {
	t.Helper()
	p, err := New(c, o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return p
}

func stage(t testing.TB, p *Plan, name Name) *Stage {
	t.Helper()
	for s := range p.Stages {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no stage %s", name)
	return nil
}

// sizes are numbers of nodes: small, odd, around the limit of all pairs, and large.
func sizes() []int { return []int{2, 3, 4, 5, 7, 8, 16, 31, 64, 127, 128, 129, 255, 1000, 4097, 10000} }

// TestCircle checks the circle method against its definition: disjoint rounds, every pair once.
func TestCircle(t *testing.T) {
	for n := 2; n <= 130; n++ {
		seen := map[Pair]int{}
		rounds := 0
		for pairs := range circle(n) {
			rounds++
			if len(pairs) != n/2 {
				t.Fatalf("n=%d: a round has %d pairs, want %d", n, len(pairs), n/2)
			}
			busy := map[int32]bool{}
			for _, p := range pairs {
				if p.A >= p.B || p.A < 0 || int(p.B) >= n || busy[p.A] || busy[p.B] {
					t.Fatalf("n=%d: pair %v is not one of disjoint pairs", n, p)
				}
				busy[p.A], busy[p.B] = true, true
				seen[p]++
			}
		}
		if want := n - 1 + n%2; rounds != want {
			t.Errorf("n=%d: %d rounds, want %d", n, rounds, want)
		}
		if want := n * (n - 1) / 2; len(seen) != want {
			t.Errorf("n=%d: %d different pairs, want %d", n, len(seen), want)
		}
		for p, times := range seen {
			if times != 1 {
				t.Errorf("n=%d: pair %v occurs %d times", n, p, times)
			}
		}
	}
}

// TestMatchings checks that random rounds are disjoint, leave out one node of an odd number, and
// hardly ever repeat a pair.
func TestMatchings(t *testing.T) {
	for _, n := range []int{129, 130, 1000, 1001, 10000} {
		rounds := pairRounds(n, defaultAllPairs)
		seen := map[Pair]bool{}
		resting := map[int32]int{}
		repeated, total := 0, 0
		for pairs := range matchings(n, rounds, rand.New(rand.NewPCG(1, uint64(n)))) {
			busy := make([]bool, n)
			for _, p := range pairs {
				if p.A >= p.B || busy[p.A] || busy[p.B] {
					t.Fatalf("n=%d: pair %v is not one of disjoint pairs", n, p)
				}
				busy[p.A], busy[p.B] = true, true
				if seen[p] {
					repeated++
				}
				seen[p] = true
				total++
			}
			for i, b := range busy {
				if !b {
					resting[int32(i)]++
				}
			}
			if len(pairs) != n/2 {
				t.Fatalf("n=%d: %d pairs in a round", n, len(pairs))
			}
		}
		if repeated > 0 {
			t.Errorf("n=%d: %d of %d pairs are repeated", n, repeated, total)
		}
		for node, times := range resting {
			if times > 1+rounds/n {
				t.Errorf("n=%d: node %d rests %d times in %d rounds", n, node, times, rounds)
			}
		}
	}
}

// TestRoundsAreDisjoint checks every round of every stage: a card sends to at most one card and
// receives from at most one; only incast has several senders to one receiver.
func TestRoundsAreDisjoint(t *testing.T) {
	for _, n := range sizes() {
		for _, perLeaf := range []int{0, 4, n} {
			p := mustPlan(t, nodes(n, 2, perLeaf), Options{Seed: uint64(n)})
			for s := range p.Stages {
				rounds := 0
				for r := range s.Rounds() {
					rounds++
					checkRound(t, n, s, r)
				}
				if rounds != s.Count {
					t.Errorf("n=%d %s: %d rounds, the plan says %d", n, s.Name, rounds, s.Count)
				}
			}
		}
	}
}

func checkRound(t *testing.T, n int, s *Stage, r Round) {
	t.Helper()
	sends, receives := make([]int, n), make([]int, n)
	for _, f := range r.Flows {
		if (f.From == f.To) != (s.Name == StageLoopback) {
			t.Fatalf("n=%d %s: flow %v", n, s.Name, f)
		}
		sends[f.From]++
		receives[f.To]++
		if f.Both {
			sends[f.To]++
			receives[f.From]++
		}
	}
	most := 1
	switch s.Name {
	case StageIncast:
		most = 8
	case StageCollective:
		most = 3 // a node of the tree has a parent and two children
	}
	for i := range n {
		if sends[i] > max(1, most) && s.Name != StageIncast || sends[i] > 1 && s.Name == StageIncast ||
			receives[i] > most {
			t.Fatalf("n=%d %s: node %d sends to %d and receives from %d", n, s.Name, i, sends[i], receives[i])
		}
		if s.Name == StageIncast && sends[i] > 0 && receives[i] > 0 {
			t.Fatalf("n=%d incast: node %d sends and receives", n, i)
		}
	}
	if s.Name == StagePermutation || s.Name == StageLoopback {
		for i := range n {
			if sends[i] != 1 || receives[i] != 1 {
				t.Fatalf("n=%d %s: node %d sends to %d and receives from %d, want 1 each", n, s.Name, i, sends[i],
					receives[i])
			}
		}
	}
}

// TestPermutationCrossesLeaves checks that permutations of equal leaves load the uplinks only.
func TestPermutationCrossesLeaves(t *testing.T) {
	for _, n := range []int{8, 64, 512} {
		c := nodes(n, 1, 4)
		for r := range stage(t, mustPlan(t, c, Options{}), StagePermutation).Rounds() {
			for _, f := range r.Flows {
				if c.Nodes[f.From].Leaf == c.Nodes[f.To].Leaf {
					t.Fatalf("n=%d: %s to %s stays below %s", n, c.Nodes[f.From].Name, c.Nodes[f.To].Name,
						c.Nodes[f.To].Leaf)
				}
			}
		}
	}
}

// TestPermutationOfUnknownLeaves keeps nodes of no known leaf apart from those of a leaf.
func TestPermutationOfUnknownLeaves(t *testing.T) {
	for seed := range uint64(20) {
		c := nodes(8, 1, 4)
		for i := 4; i < 8; i++ {
			c.Nodes[i].Leaf = ""
		}
		for r := range stage(t, mustPlan(t, c, Options{Seed: seed}), StagePermutation).Rounds() {
			for _, f := range r.Flows {
				if c.Nodes[f.From].Leaf == c.Nodes[f.To].Leaf {
					t.Fatalf("seed %d: %s to %s does not cross leaves", seed, c.Nodes[f.From].Name, c.Nodes[f.To].Name)
				}
			}
		}
	}
}

// TestCollective checks that the ring is one cycle and the tree reaches every node.
func TestCollective(t *testing.T) {
	for _, n := range sizes() {
		var rounds []Round
		for r := range stage(t, mustPlan(t, nodes(n, 1, 4), Options{}), StageCollective).Rounds() {
			rounds = append(rounds, r)
		}
		next := map[int32]int32{}
		for _, f := range rounds[0].Flows {
			next[f.From] = f.To
		}
		at, steps := int32(0), 0
		for {
			at = next[at]
			steps++
			if at == 0 || steps > n {
				break
			}
		}
		if want := min(n, MaxRanks); steps != want {
			t.Errorf("n=%d: the ring comes back after %d steps", n, steps)
		}
		if len(rounds[1].Flows) != min(n, MaxRanks)-1 {
			t.Errorf("n=%d: the tree has %d edges", n, len(rounds[1].Flows))
		}
	}
}

// TestPartners checks how many partners a node has beyond the limit of all pairs: enough to tell it
// from them.
func TestPartners(t *testing.T) {
	for _, n := range []int{129, 1000, 10000} {
		partners := make([]map[int32]bool, n)
		for i := range partners {
			partners[i] = map[int32]bool{}
		}
		for r := range stage(t, mustPlan(t, nodes(n, 1, 0), Options{}), StagePairs).Rounds() {
			for _, f := range r.Flows {
				partners[f.From][f.To] = true
				partners[f.To][f.From] = true
			}
		}
		least := n
		for _, p := range partners {
			least = min(least, len(p))
		}
		if want := 3 * int(math.Ceil(math.Log2(float64(n)))); least < want {
			t.Errorf("n=%d: a node has %d partners, want at least 3·log2(n) = %d", n, least, want)
		}
	}
}

// TestCost works out a small plan by hand.
func TestCost(t *testing.T) {
	c := nodes(4, 2, 0)
	p := mustPlan(t, c, Options{Stages: []Name{StagePairs}, Step: 2 * time.Second})
	got := p.Cost()
	// Three rounds of 2 s and its preparation; in each every card sends at 400 Gb/s for 2 s.
	wantTime := 3 * (2*time.Second + SetUp)
	wantCard := 3 * 2 * 400e9 / 8
	if got.Time != wantTime || got.Rounds != 3 || got.MostPerCard != wantCard || got.Bytes != 8*wantCard {
		t.Errorf("Cost = %+v, want %v, 3 rounds, %g bytes a card and %g in all", got, wantTime, wantCard, 8*wantCard)
	}
	loop := mustPlan(t, c, Options{Stages: []Name{StageLoopback}}).Cost()
	if want := 2 * 400e9 / 8; loop.MostPerCard != want {
		t.Errorf("loopback: %g bytes a card, want %g", loop.MostPerCard, want)
	}
	c.Nodes[1].Rails[0].Gbps = 0
	if got := mustPlan(t, c, Options{Stages: []Name{StagePairs}}).Cost(); got.Bytes != 7*3*400e9/8 {
		t.Errorf("a card of unknown rate: %g bytes", got.Bytes)
	}
}

// TestGentleCost is the price of a tenth of the rate, and refuses what is no share.
func TestGentleCost(t *testing.T) {
	c := nodes(4, 2, 0)
	full, tenth := mustPlan(t, c, Options{Stages: []Name{StagePairs}}), mustPlan(t, c,
		Options{Stages: []Name{StagePairs, StageCollective}, Gentle: 10})
	if got, want := tenth.Cost().Bytes, full.Cost().Bytes/10; math.Abs(got-want) > 1e-6*want {
		t.Errorf("bytes at a tenth of the rate = %g, want %g", got, want)
	}
	for _, o := range []Options{
		{Gentle: -1}, {Gentle: 101}, {Gentle: math.NaN()}, {Gentle: 10, Stages: []Name{StageCollective}},
	} {
		if _, err := New(c, o); !errors.Is(err, ErrOptions) {
			t.Errorf("New(%+v) = %v, want %v", o, err, ErrOptions)
		}
	}
}

// TestSamples counts the measurements of four nodes with two rails: both directions of a pair are
// two.
func TestSamples(t *testing.T) {
	for name, want := range map[Name]int{
		StageReach: 3 * 2 * 2, StagePairs: 3 * 2 * 2 * 2, StageLoopback: 2 * 4 * 2, StagePermutation: 4 * 4 * 2,
	} {
		if got := mustPlan(t, nodes(4, 2, 0), Options{Stages: []Name{name}}).Samples(); got != want {
			t.Errorf("samples of stage %s = %d, want %d", name, got, want)
		}
	}
}

// TestRest is the price of what is left after some rounds.
func TestRest(t *testing.T) {
	p := mustPlan(t, nodes(4, 2, 0), Options{Stages: []Name{StageReach, StagePairs}})
	whole := p.Cost()
	if got := p.Rest([]int{0, 0}); got.Time != whole.Time || got.Bytes != whole.Bytes {
		t.Errorf("Rest of nothing = %+v, want %+v", got, whole)
	}
	got := p.Rest([]int{3, 1}) // of 3 and 3 rounds
	const perCard = 2 * 400e9 / 8
	if got.Rounds != 2 || got.Time != 2*(time.Second+SetUp) || got.MostPerCard != perCard || got.Bytes != 8*perCard {
		t.Errorf("Rest after 3 and 1 rounds = %+v, want 2 rounds, 2.5 s, %g bytes a card", got, perCard)
	}
	s := got.Stages
	if len(s) != 2 || s[0].Rounds != 0 || s[0].Full != 3 || s[1].Rounds != 2 || s[1].Bytes != got.Bytes {
		t.Errorf("stages of the rest = %+v", s)
	}
	if got := p.Rest([]int{9, 9}); got.Rounds != 0 || got.Time != 0 || got.Bytes != 0 {
		t.Errorf("Rest after more rounds than there are = %+v", got)
	}
}

// TestCostOfALargeCluster is the arithmetic of a real run: 64 nodes with eight rails.
func TestCostOfALargeCluster(t *testing.T) {
	got := mustPlan(t, nodes(64, 8, 16), Options{Stages: []Name{StagePairs}}).Cost()
	if got.Rounds != 63 || got.Time > 80*time.Second {
		t.Errorf("64 nodes: %d rounds in %v, want 63 in at most 80 s", got.Rounds, got.Time)
	}
}

func TestBudget(t *testing.T) {
	c := nodes(64, 8, 16)
	full := mustPlan(t, c, Options{}).Cost()
	for _, budget := range []time.Duration{time.Second, 20 * time.Second, time.Minute, full.Time, time.Hour} {
		p := mustPlan(t, c, Options{Budget: budget})
		got := p.Cost()
		least := time.Duration(0)
		for s := range p.Stages {
			if s.Count < 1 {
				t.Errorf("budget %v: stage %s has no round left", budget, s.Name)
			}
			least += s.Length + SetUp
		}
		if got.Time > max(budget, least) {
			t.Errorf("budget %v: the plan takes %v", budget, got.Time)
		}
		if budget >= full.Time && (len(got.Trimmed) > 0 || got.Time != full.Time) {
			t.Errorf("budget %v: trimmed %v, though the whole takes %v", budget, got.Trimmed, full.Time)
		}
		if budget < full.Time && len(got.Trimmed) == 0 {
			t.Errorf("budget %v: nothing is said to be trimmed of %v", budget, full.Time)
		}
	}
}

// TestDeterministic checks that a plan depends on its input only, and on the seed.
func TestDeterministic(t *testing.T) {
	c := nodes(200, 1, 0)
	list := func(o Options) []Flow {
		var out []Flow
		for s := range mustPlan(t, c, o).Stages {
			for r := range s.Rounds() {
				out = append(out, r.Flows...)
			}
		}
		return out
	}
	a, b := list(Options{Seed: 7}), list(Options{Seed: 7})
	if !slices.Equal(a, b) {
		t.Error("the same seed gives another plan")
	}
	if slices.Equal(a, list(Options{Seed: 8})) {
		t.Error("another seed gives the same plan")
	}
	only := list(Options{Seed: 7, Stages: []Name{StageCollective}})
	if !slices.Equal(only, a[len(a)-len(only):]) {
		t.Error("a stage depends on which others run")
	}
}

func TestRefuses(t *testing.T) {
	twice := nodes(2, 1, 0)
	twice.Nodes[1].Name = twice.Nodes[0].Name
	noRail := nodes(2, 1, 0)
	noRail.Nodes[0].Rails = nil
	odd := nodes(2, 1, 0)
	odd.Nodes[0].Rails[0].Gbps = math.NaN()
	sameRail := nodes(2, 2, 0)
	sameRail.Nodes[0].Rails[1].Rail = 0
	apart := nodes(2, 1, 0)
	apart.Nodes[1].Rails[0].Rail = 5
	far := nodes(2, 1, 0)
	far.Nodes[1].Rails[0].Rail = maxRails
	unnamed := nodes(2, 1, 0)
	unnamed.Nodes[1].Name = ""
	tests := []struct {
		name string
		c    Cluster
		o    Options
		want error // nil: any
	}{
		{"no node", Cluster{}, Options{}, ErrTooFew},
		{"one node", nodes(1, 1, 0), Options{}, ErrTooFew},
		{"too many", Cluster{Nodes: make([]Node, maxNodes+1)}, Options{}, ErrTooMany},
		{"two of a name", twice, Options{}, nil},
		{"no name", unnamed, Options{}, nil},
		{"no rail", noRail, Options{}, nil},
		{"a rate that is no number", odd, Options{}, nil},
		{"two cards of a rail", sameRail, Options{}, nil},
		{"no common rail", apart, Options{}, nil},
		{"a rail beyond the limit", far, Options{}, nil},
		{"unknown stage", nodes(2, 1, 0), Options{Stages: []Name{"bisect"}}, ErrOptions},
		{"negative budget", nodes(2, 1, 0), Options{Budget: -1}, ErrOptions},
		{"negative step", nodes(2, 1, 0), Options{Step: -1}, ErrOptions},
	}
	for _, tt := range tests {
		_, err := New(tt.c, tt.o)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestRetests checks that suspects meet new, good partners in disjoint rounds.
func TestRetests(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 4 + rng.IntN(60)
		order := rng.Perm(n)
		k := 1 + rng.IntN(n/2)
		var suspects, good []int32
		for i, v := range order {
			if i < k {
				suspects = append(suspects, int32(v))
			} else {
				good = append(good, int32(v))
			}
		}
		met := map[Pair]bool{}
		for range rng.IntN(3 * n) {
			met[ordered(int32(rng.IntN(n)), int32(rng.IntN(n)))] = true
		}
		repeats := 1 + rng.IntN(3)
		rounds, without := Retests(suspects, good, met, repeats, 5)
		partners := map[int32]int{}
		seen := map[Pair]bool{}
		for _, round := range rounds {
			busy := map[int32]bool{}
			for _, p := range round {
				s, g := p.A, p.B
				if slices.Contains(good, s) {
					s, g = g, s
				}
				if !slices.Contains(suspects, s) || !slices.Contains(good, g) || met[p] || seen[p] || busy[s] ||
					busy[g] {
					t.Fatalf("n=%d: pair %v is not one of a suspect and a new good partner", n, p)
				}
				busy[s], busy[g], seen[p] = true, true, true
				partners[s]++
			}
		}
		for _, s := range suspects {
			if partners[s] < repeats && !slices.Contains(without, s) {
				t.Errorf("n=%d: suspect %d has %d partners of %d and is not listed", n, s, partners[s], repeats)
			}
			left := 0
			for _, g := range good {
				if !met[ordered(s, g)] {
					left++
				}
			}
			if left >= repeats*len(suspects) && partners[s] < repeats {
				t.Errorf("n=%d: suspect %d has %d partners though %d are left", n, s, partners[s], left)
			}
		}
	}
}

// BenchmarkNew plans for 10,000 nodes and walks through all rounds.
func BenchmarkNew(b *testing.B) {
	c := nodes(10000, 8, 32)
	for b.Loop() {
		n := 0
		for s := range mustPlan(b, c, Options{}).Stages {
			for r := range s.Rounds() {
				n += len(r.Flows)
			}
		}
		if n == 0 {
			b.Fatal("no flow")
		}
	}
}
