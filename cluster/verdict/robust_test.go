package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestQuantile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := 1; n < 60; n++ {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(rng.IntN(20))
		}
		sorted := slices.Clone(x)
		slices.Sort(sorted)
		for _, q := range []float64{0, 0.25, 0.5, 0.75, 0.95, 1} {
			at := q * float64(n-1)
			low := int(at)
			want := sorted[low] + (at-float64(low))*(sorted[min(low+1, n-1)]-sorted[low])
			if got := quantile(slices.Clone(x), q); math.Abs(got-want) > 1e-12 {
				t.Fatalf("quantile(%v, %v) = %v, want %v", x, q, got, want)
			}
		}
	}
	if !math.IsNaN(median([]float64(nil))) {
		t.Error("the median of nothing is not NaN")
	}
}

func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, 20_000)
	for i := range x {
		x[i] = 5 + 2*rng.NormFloat64()
		if i%10 == 0 {
			x[i] = 1e6 // a tenth of outliers
		}
	}
	if middle, sigma := spread(x); math.Abs(middle-5) > 0.5 || math.Abs(sigma-2) > 0.5 {
		t.Errorf("spread = %v, %v, want about 5, 2", middle, sigma)
	}
}

func TestTails(t *testing.T) {
	for _, c := range []struct{ got, want float64 }{
		{tail(1.959964), 0.025},
		{tail(0), 0.5},
		{binomialTail(10, 0, 0.1), 1},
		{binomialTail(10, 10, 0.1), 1e-10},
		{binomialTail(3, 4, 0.5), 0},
		{binomialTail(10, 5, 0.5), 0.623046875},
	} {
		if math.Abs(c.got-c.want) > 1e-6*math.Max(c.want, 1e-4) {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
}

// TestCut has the example of Benjamini and Hochberg (1995), section 4.1: of 15 hypotheses the four
// smallest p-values are rejected at 0.05.
func TestCut(t *testing.T) {
	p := []float64{
		0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
		0.7590, 1,
	}
	if got := cut(p, 15, 0.05); got != 0.0095 {
		t.Errorf("cut = %v, want 0.0095", got)
	}
	if got := cut(p[:2], 1000, 0.001); got != -1 {
		t.Errorf("cut of two among a thousand = %v, want -1", got)
	}
}
