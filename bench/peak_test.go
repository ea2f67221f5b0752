package bench

import (
	"math"
	"math/rand/v2"
	"testing"
)

// slowShortest is perftest's algorithm: it compares every pair.
func slowShortest(posted, completed []int64) float64 {
	best := 0.0
	for i := range posted {
		for j := i; j < len(posted); j++ {
			if completed[j] == 0 {
				continue
			}
			if s := float64(completed[j]-posted[i]) / float64(j-i+1); s > 0 && (best == 0 || s < best) {
				best = s
			}
		}
	}
	return best
}

func TestShortestInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := 1 + r.IntN(60)
		posted, completed := make([]int64, n), make([]int64, n)
		at := int64(1)
		for i := range n {
			at += r.Int64N(100)
			posted[i] = at
			if r.IntN(3) > 0 {
				completed[i] = at + 1 + r.Int64N(1000)
			}
		}
		if got, want := shortestInterval(posted,
			completed), slowShortest(posted, completed); math.Abs(got-want) > 1e-9 {
			t.Fatalf("shortestInterval(%v, %v) = %v, want %v", posted, completed, got, want)
		}
	}
	if got := shortestInterval(nil, nil); got != 0 {
		t.Errorf("shortestInterval of nothing = %v, want 0", got)
	}
}
