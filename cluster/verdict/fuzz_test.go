package verdict

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// hostile returns a run of arbitrary values.
func hostile(seed uint64) *result.Run {
	r := rand.New(rand.NewPCG(seed, 3))
	number := func() float64 {
		odd := []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e308, 5e-324, 400, 50_000, 1}
		if r.IntN(3) == 0 {
			return odd[r.IntN(len(odd))]
		}
		return r.Float64() * 400
	}
	pick := func(x ...string) string { return x[r.IntN(len(x))] }
	run := &result.Run{}
	if r.IntN(4) == 0 {
		run.Scale = &result.Scale{Label: pick("EMULATED", "SOFTWARE", ""), Rate: number(), Time: number()}
	}
	nodes := r.IntN(6)
	for range nodes {
		n := plan.Node{Name: pick("a", "b", "", "x y'z"), Leaf: pick("", "l1", "l2")}
		for range r.IntN(4) {
			n.Rails = append(n.Rails, plan.Card{
				Rail: r.IntN(70) - 3, Device: pick("mlx5_0:1", "", ":"),
				Gbps: number(),
			})
		}
		run.Cluster.Nodes = append(run.Cluster.Nodes, n)
	}
	for range r.IntN(8) {
		n := result.Node{
			State: result.NodeState(pick("ready", "absent", "lost", "?")), LostStage: r.IntN(20) - 5,
			Clock: time.Duration(number()), Uncertainty: time.Duration(number()),
		}
		for range r.IntN(4) {
			c := result.Card{}
			if r.IntN(3) > 0 {
				c.Facts = map[string]string{
					result.FactRate: pick("400", "NaN", "-1", ""),
					result.FactMTU:  pick("0", "4096", "x", "Inf"),
					result.FactPCIe: pick("", "32.0 GT/s x16", "-1 GT/s x-1", "32.0 GT/s x8"),
					result.FactGID:  pick("", "g"), result.FactPKey: pick("0xffff", "z"),
					result.FactState: pick("ACTIVE", "DOWN", ""), result.FactSubnet: pick("a", "b", ""),
				}
			}
			if r.IntN(6) == 0 {
				c.Failure = &result.Failure{Code: pick("no-gid", "")}
			}
			n.Cards = append(n.Cards, c)
		}
		run.Nodes = append(run.Nodes, n)
	}
	names := append(plan.Names(), "?")
	for range r.IntN(9) {
		run.Stages = append(run.Stages, result.Stage{
			Name: names[r.IntN(len(names))], Planned: r.IntN(9) - 2,
			Done:   r.IntN(9) - 2,
			Length: time.Duration(number() * 1e9),
		})
	}
	anyEnd := func() plan.End { return plan.End{Node: int32(r.IntN(nodes+4) - 2), Rail: int16(r.IntN(6) - 2)} }
	for range r.IntN(200) {
		s := result.Sample{
			Stage: uint8(r.IntN(10)), Attempt: uint8(r.IntN(3)), Round: uint16(r.IntN(9)),
			From: anyEnd(), To: anyEnd(),
			Load: r.IntN(2) == 0, Gbps: float32(number()),
		}
		if r.IntN(2) == 0 {
			s.Detail = &result.Detail{Flows: []float32{float32(number()), float32(number()), 1, 2, 3}[:r.IntN(6)]}
			if r.IntN(3) == 0 {
				s.Detail.Failure = &result.Failure{Code: pick("port-down", "lost", "")}
			}
			if r.IntN(2) == 0 {
				s.Detail.Latency = &result.Latency{
					Count: r.IntN(9) - 3, P50: number(), P99: number(),
					P999: number(), Max: number(),
				}
			}
			for range r.IntN(4) {
				s.Detail.Counters = append(s.Detail.Counters, result.Counter{
					At: result.Side(pick("from", "to", "?")),
					Name: pick(result.CounterRetransmits, result.CounterICRC, result.CounterSymbol,
						result.CounterDowned), Delta: r.Uint64(),
				})
			}
		}
		run.Samples = append(run.Samples, s)
	}
	for range r.IntN(3) {
		run.Collectives = append(run.Collectives, result.Collective{
			Rail: int16(r.IntN(80) - 9), BusBW: number(),
			Slowest: []result.Slowest{{End: anyEnd()}},
		})
		run.Barriers = append(run.Barriers, result.Barrier{Rail: -1, Slowest: []result.Slowest{{End: anyEnd()}}})
	}
	return run
}

func checkHostile(t *testing.T, seed uint64) {
	t.Helper()
	run := hostile(seed)
	r := Find(run, Options{Baseline: hostile(seed + 1)})
	for _, v := range r.Verdicts {
		if !(v.Severity >= 0 && v.Severity <= 1) || !(v.Confidence > 0 && v.Confidence < 1) || v.Next == "" ||
			v.Where.Name == "" {
			t.Errorf("seed %d: invalid verdict %+v", seed, v)
		}
		for _, e := range v.Evidence {
			if slices.ContainsFunc(e.Samples, func(i int) bool { return i < 0 || i >= len(run.Samples) }) {
				t.Errorf("seed %d: evidence %+v of %d samples", seed, e, len(run.Samples))
			}
		}
	}
	a, err := json.Marshal(r)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if b, err := json.Marshal(Find(run, Options{Baseline: hostile(seed + 1)})); err != nil || string(a) != string(b) {
		t.Errorf("seed %d: two reports of one run differ:\n%s\n%s", seed, a, b)
	}
	Suspects(run, Options{})
	for _, g := range Good(run) {
		if int(g) >= len(run.Cluster.Nodes) {
			t.Errorf("seed %d: good node %d of %d", seed, g, len(run.Cluster.Nodes))
		}
	}
}

func TestHostile(t *testing.T) {
	for seed := range uint64(3000) {
		checkHostile(t, seed)
	}
}

// FuzzFind makes runs of arbitrary values: no panic, no value that JSON can't have, and the same
// report each time.
func FuzzFind(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(checkHostile)
}

// FuzzFindJSON reads runs as JSON.
func FuzzFindJSON(f *testing.F) {
	for seed := range uint64(4) {
		w := newWorld(seed, 3, 2, 1)
		w.tx[end(1, 0)], w.lossTx[end(0, 1)], w.badUplink["leaf-1"] = 0.5, 1e-3, 4
		b, err := json.Marshal(w.run(f))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var run result.Run
		if json.Unmarshal(b, &run) != nil {
			return
		}
		if _, err := json.Marshal(Find(&run, Options{})); err != nil {
			t.Fatal(err)
		}
	})
}
