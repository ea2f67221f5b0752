package verdict_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
)

// trips makes runs with latencies of the stage reach.
type trips struct {
	nodes, rails int
	leaf         func(i int) int
	pod          func(i int) int          // of leaves; nil: one
	host         func(i, r int) float64   // what a host adds, in µs; nil: nothing
	missing      func(i, j, r int) bool   // nil: none
	noise        func(*rand.Rand) float64 // nil: a normal distribution of 0.05 µs
	hop          float64                  // 0: 0.5 µs
	seed         uint64
}

func (x trips) run() *result.Run {
	rng := rand.New(rand.NewPCG(x.seed, 7))
	run := &result.Run{
		Schema:  result.Schema,
		Stages:  []result.Stage{{Name: plan.StageLoopback}, {Name: plan.StageReach, Kind: plan.KindConnect}},
		Options: plan.Options{AllPairs: 128},
	}
	for i := range x.nodes {
		n := plan.Node{Name: fmt.Sprintf("n%d", i)}
		for r := range x.rails {
			n.Rails = append(n.Rails, plan.Card{Rail: r, Device: fmt.Sprintf("mlx5_%d:1", r)})
		}
		run.Cluster.Nodes = append(run.Cluster.Nodes, n)
		run.Nodes = append(run.Nodes, result.Node{State: result.NodeReady, Cards: make([]result.Card, x.rails)})
	}
	if x.hop == 0 {
		x.hop = 0.5
	}
	for i := range x.nodes {
		for j := range i {
			for r := range x.rails {
				us := 2.0
				if x.leaf(i) != x.leaf(j) {
					us += x.hop
				}
				if x.pod != nil && x.pod(i) != x.pod(j) {
					us += x.hop
				}
				if x.host != nil {
					us += x.host(i, r) + x.host(j, r)
				}
				if x.noise != nil {
					us += x.noise(rng)
				} else {
					us += 0.05 * rng.NormFloat64()
				}
				s := result.Sample{
					Stage: 1,
					From:  plan.End{Node: int32(i), Rail: int16(r)}, To: plan.End{Node: int32(j), Rail: int16(r)},
					Detail: &result.Detail{Latency: &result.Latency{
						Count: 33, Min: us, P50: us + 0.1, P99: us + 30, P999: us + 30, Max: us + 30,
					}},
				}
				if x.missing != nil && x.missing(i, j, r) {
					s.Detail = &result.Detail{Failure: &result.Failure{Step: result.StepConnect, Code: "timeout"}}
				}
				run.Samples = append(run.Samples, s)
			}
		}
	}
	return run
}

// by returns groups of k nodes one after the other.
func by(k int) func(int) int { return func(i int) int { return i / k } }

// fast returns what hosts add of which every other one is slower.
func fast(us float64) func(int, int) float64 {
	return func(i, _ int) float64 { return us * float64(i%2) }
}

// wanted returns the leaves that nodes should have; nodes of leaf -1 have none.
func wanted(nodes int, leaf func(int) int) []string {
	members := map[int][]int{}
	for i := range nodes {
		members[leaf(i)] = append(members[leaf(i)], i)
	}
	out := make([]string, nodes)
	for i := range nodes {
		m := members[leaf(i)]
		switch name := fmt.Sprintf("of n%d", m[0]); {
		case leaf(i) < 0:
		case len(m) == 1:
			out[i] = name
		case len(m) == 2:
			out[i] = name + " and another node"
		default:
			out[i] = fmt.Sprintf("%s and %d other nodes", name, len(m)-1)
		}
	}
	return out
}

// TestInferLeaves tells the leaves of nodes, whatever hosts add to their latencies.
func TestInferLeaves(t *testing.T) {
	dead := func(i, j, r int) bool { return r == 1 && (i == 5 || j == 5) || r == 0 && (i == 2 || j == 2) }
	for _, tt := range []struct {
		name string
		x    trips
		want func(int) int // nil: x.leaf
	}{
		{"leaves of four", trips{nodes: 16, rails: 1, leaf: by(4)}, nil},
		{"two leaves", trips{nodes: 8, rails: 2, leaf: by(4)}, nil},
		{"leaves of different sizes", trips{nodes: 24, rails: 2, leaf: func(i int) int { return min(i/2, 4) }}, nil},
		{
			"a node alone", trips{nodes: 13, rails: 2, leaf: by(4)}, nil,
		},
		{"leaves spread over the nodes", trips{nodes: 128, rails: 1, leaf: func(i int) int { return i % 9 }}, nil},
		{"hosts that differ by little", trips{nodes: 32, rails: 2, leaf: by(8), host: fast(0.15)}, nil},
		{"hosts that differ by much", trips{nodes: 32, rails: 2, leaf: by(8), host: fast(3)}, nil},
		{
			"each card differs", trips{nodes: 32, rails: 2, leaf: by(8), host: func(i, r int) float64 {
				return float64((i*7+r*5)%11) / 3
			}}, nil,
		},
		{"a slow host", trips{nodes: 16, rails: 1, leaf: by(4), host: func(i, _ int) float64 {
			return float64(max(0, i-14)) * 5
		}}, nil},
		{"dead cards", trips{nodes: 16, rails: 2, leaf: by(4), missing: dead}, nil},
		{
			"a dead node",
			trips{nodes: 16, rails: 2, leaf: by(4), missing: func(i, j, _ int) bool { return i == 6 || j == 6 }},
			func(i int) int {
				if i == 6 {
					return -1
				}
				return i / 4
			},
		},
		{"pods of leaves", trips{nodes: 96, rails: 1, leaf: by(8), pod: by(32)}, nil},
	} {
		for seed := range uint64(5) {
			tt.x.seed = seed
			got := verdict.InferLeaves(tt.x.run())
			want := tt.want
			if want == nil {
				want = tt.x.leaf
			}
			if diff := cmp.Diff(wanted(tt.x.nodes, want), got.Leaves); diff != "" || got.Why != "" {
				t.Errorf("%s, seed %d: %s (hop %.2f µs, noise %.3f µs) (-want +got):\n%s", tt.name, seed, got.Why,
					got.Hop, got.Noise, diff)
			}
		}
	}
}

// TestInferNone infers nothing where latencies don't tell leaves, and says why.
func TestInferNone(t *testing.T) {
	one := func(int) int { return 0 }
	for _, tt := range []struct {
		name   string
		x      trips
		change func(*result.Run)
		want   string // a part
	}{
		{"one leaf", trips{nodes: 16, rails: 2, leaf: one}, nil, "latencies show no"},
		{"a leaf for each node", trips{nodes: 16, rails: 2, leaf: by(1)}, nil, "latencies show no"},
		{"one leaf, two generations", trips{nodes: 16, rails: 2, leaf: one, host: fast(1)}, nil, "latencies show"},
		{
			"one leaf, slow hosts", trips{nodes: 16, rails: 2, leaf: one, host: func(i, _ int) float64 {
				return 5 * float64(max(0, i-13))
			}}, nil, "latencies show no",
		},
		{"much noise", trips{nodes: 32, rails: 1, leaf: by(8), noise: func(r *rand.Rand) float64 {
			return r.ExpFloat64()
		}}, nil, "latencies show no"},
		{"a small hop", trips{nodes: 32, rails: 1, leaf: by(8), hop: 0.02}, nil, "latencies show no"},
		{"rails with other leaves", trips{nodes: 16, rails: 1, leaf: by(4)}, func(r *result.Run) {
			other := trips{nodes: 16, rails: 1, leaf: func(i int) int { return i % 4 }}.run()
			for i := range other.Samples {
				s := other.Samples[i]
				s.From.Rail, s.To.Rail = 1, 1
				r.Samples = append(r.Samples, s)
			}
		}, "latencies show no clear groups of nodes: "},
		{"too few", trips{nodes: 7, rails: 2, leaf: by(2)}, nil, "7 nodes are too few"},
		{
			"too many",
			trips{nodes: 16, rails: 1, leaf: by(4)},
			func(r *result.Run) { r.Options.AllPairs = 12 },
			"beyond 12 nodes not all pairs are measured",
		},
		{
			"in software", trips{nodes: 16, rails: 1, leaf: by(4)}, func(r *result.Run) {
				r.Scale = &result.Scale{Label: "SOFTWARE", Rate: 1, Time: 1}
			}, "in software",
		},
		{
			"without reach",
			trips{nodes: 16, rails: 1, leaf: by(4)},
			func(r *result.Run) { r.Stages[1].Name = "other" },
			"stage reach, which has the latencies, was not part of the run",
		},
		{
			"one message", trips{nodes: 16, rails: 1, leaf: by(4)}, func(r *result.Run) {
				for i := range r.Samples {
					r.Samples[i].Detail.Latency.Count = 1
				}
			}, "no rail has latencies of nearly all pairs",
		},
		{
			"missing pairs",
			trips{nodes: 16, rails: 2, leaf: by(4), missing: func(i, j, _ int) bool { return (i+j)%8 == 0 }},
			nil, "no rail has latencies of nearly all pairs",
		},
	} {
		for seed := range uint64(5) {
			tt.x.seed = seed
			run := tt.x.run()
			if tt.change != nil {
				tt.change(run)
			}
			got := verdict.InferLeaves(run)
			if got.Leaves != nil || !strings.Contains(got.Why, tt.want) {
				t.Errorf("%s, seed %d: %q, %q (hop %.2f µs, noise %.3f µs), want %q", tt.name, seed, got.Leaves,
					got.Why, got.Hop, got.Noise, tt.want)
			}
		}
	}
}

// TestInferFromNoise infers nothing from noise of any kind on a flat network of few nodes, where
// chance has the best chances.
func TestInferFromNoise(t *testing.T) {
	kinds := map[string]func(*rand.Rand) float64{
		"normal":      func(r *rand.Rand) float64 { return 0.3 * r.NormFloat64() },
		"exponential": func(r *rand.Rand) float64 { return r.ExpFloat64() },
		"two values": func(r *rand.Rand) float64 { // a timer's tick
			return float64(r.IntN(2))
		},
		"rare": func(r *rand.Rand) float64 {
			if r.IntN(10) == 0 {
				return 1
			}
			return 0.02 * r.NormFloat64()
		},
	}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for k := range kinds {
			if !yield(k) {
				return
			}
		}
	}) {
		wrong := 0
		const runs = 300
		for seed := range uint64(runs) {
			x := trips{
				nodes: 8 + int(seed%9), rails: 1 + int(seed%2), leaf: func(int) int { return 0 }, noise: kinds[name],
				seed: seed,
			}
			if got := verdict.InferLeaves(x.run()); got.Leaves != nil {
				wrong++
				t.Logf("%s: %d nodes, seed %d: %q, hop %.2f µs, noise %.3f µs", name, x.nodes, seed, got.Leaves,
					got.Hop, got.Noise)
			}
		}
		if wrong > 0 {
			t.Errorf("%s: leaves were inferred in %d of %d runs", name, wrong, runs)
		}
	}
}

func BenchmarkInferLeaves(b *testing.B) {
	run := trips{nodes: 128, rails: 8, leaf: by(16), pod: by(64)}.run()
	for b.Loop() {
		if verdict.InferLeaves(run).Leaves == nil {
			b.Fatal("no leaves")
		}
	}
}
