package cluster

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestFair uses the example of Bertsekas and Gallager, Data Networks, figure 6.11: five sessions on
// four links of capacity 1, with rates 2/3, 1/3, 1/3, 1/3 and 1.
func TestFair(t *testing.T) {
	var routes []route
	for _, hops := range [][]int32{{1}, {0, 1}, {0}, {0, 2}, {3}} {
		var r route
		for _, h := range hops {
			r.add(h)
		}
		routes = append(routes, r)
	}
	rates, _ := fair(routes, []float64{1, 1, 1, 1})
	for i, want := range []float64{2. / 3, 1. / 3, 1. / 3, 1. / 3, 1} {
		if math.Abs(rates[i]-want) > 1e-9 {
			t.Errorf("session %d: %v, want %v", i, rates[i], want)
		}
	}
}

// TestFairProperty checks the definition on random networks: no hop carries more than its capacity,
// and each flow has a hop that is full, on which no flow is faster.
func TestFairProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		capacity := make([]float64, 1+rng.IntN(20))
		for i := range capacity {
			capacity[i] = 1 + 99*rng.Float64()
		}
		routes := make([]route, rng.IntN(60))
		for i := range routes {
			for _, h := range rng.Perm(len(capacity))[:1+rng.IntN(min(maxHops, len(capacity)))] {
				routes[i].add(int32(h))
			}
		}
		rates, limit := fair(routes, capacity)
		used, most := make([]float64, len(capacity)), make([]float64, len(capacity))
		for i := range routes {
			for _, h := range routes[i].list() {
				used[h] += rates[i]
				most[h] = max(most[h], rates[i])
			}
		}
		for h := range capacity {
			if used[h] > capacity[h]+1e-6 {
				t.Fatalf("hop %d carries %v of %v", h, used[h], capacity[h])
			}
		}
		for i, h := range limit {
			if math.Abs(used[h]-capacity[h]) > 1e-6 || rates[i] < most[h]-1e-6 {
				t.Fatalf("flow %d: its limit %d carries %v of %v; %v of at most %v",
					i, h, used[h], capacity[h], rates[i], most[h])
			}
		}
	}
}

// TestGoBackN compares with the statements of the literature.
func TestGoBackN(t *testing.T) {
	const mtu, rtt = 4096, 12e-6
	if got := goBackN(392, 0, mtu, rtt, 1); got.gbps != 392 || got.lost != 0 {
		t.Errorf("without loss: %+v", got)
	}
	if got := goBackN(392, 1e-4, mtu, rtt, 1).gbps / 392; got < 0.95 || got > 0.995 {
		t.Errorf("a loss of 1e-4 leaves %v, want the cost of a window for each loss", got)
	}
	if got := goBackN(39, 1e-2, 1024, 20e-6, 1).gbps / 39; got > 0.1 {
		t.Errorf("a loss of 1%% at 40 Gb/s leaves %v, want nearly nothing", got)
	}
	last := 1.0
	for p := 1e-6; p < 0.5; p *= 2 {
		got := goBackN(392, p, mtu, rtt, 1)
		if got.gbps/392 >= last || got.gbps < 0 {
			t.Errorf("a loss of %v leaves %v, more than a smaller loss", p, got.gbps)
		}
		last = got.gbps / 392
	}
}
