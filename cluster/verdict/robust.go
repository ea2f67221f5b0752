package verdict

import (
	"math"
	"slices"
)

// median returns the middle of x, which it reorders; NaN for none.
func median[F float32 | float64](x []F) F { return quantile(x, 0.5) }

// quantile returns the value below which a share q of x lies, interpolated; NaN for none. It
// reorders x and takes linear time.
func quantile[F float32 | float64](x []F, q float64) F {
	if len(x) == 0 {
		return F(math.NaN())
	}
	at := q * float64(len(x)-1)
	low := min(max(int(at), 0), len(x)-1)
	a := nth(x, low)
	if share := F(at - float64(low)); share > 0 && low+1 < len(x) {
		return a + share*(slices.Min(x[low+1:])-a)
	}
	return a
}

// nth returns the kth smallest value of x (Hoare's selection). What is larger is to its right
// afterwards. It expects no NaN.
func nth[F float32 | float64](x []F, k int) F {
	for lo, hi := 0, len(x)-1; lo < hi; {
		pivot := x[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return x[k]
		}
	}
	return x[k]
}

// spread returns the median of x and the standard deviation that its median absolute deviation
// stands for if the bulk of x is normally distributed (1.4826·MAD: Rousseeuw and Croux 1993).
func spread(x []float64) (middle, sigma float64) {
	y := slices.Clone(x)
	middle = median(y)
	for i := range y {
		y[i] = math.Abs(y[i] - middle)
	}
	return middle, 1.4826 * median(y)
}

// tail returns the probability that a standard normal variable exceeds z.
func tail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// binomialTail returns the probability of at least k successes in n trials of probability p.
func binomialTail(n, k int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	sum := 0.0
	for i := k; i <= n; i++ {
		term := math.Exp(lg(n) - lg(i) - lg(n-i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
		sum += term
		if term < sum*1e-12 {
			break
		}
	}
	return min(sum, 1)
}

// cut returns the largest p-value that the procedure of Benjamini and Hochberg (1995) rejects at
// the false discovery rate q among tests, of which p has the small ones; -1 for none.
func cut(p []float64, tests int, q float64) float64 {
	p = slices.Clone(p)
	slices.Sort(p)
	limit := -1.0
	for i, v := range p {
		if v <= q*float64(i+1)/float64(max(tests, len(p))) {
			limit = v
		}
	}
	return limit
}
