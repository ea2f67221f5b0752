package result

import "slices"

// Distribution returns the percentiles of times in µs, nil if there are none. A
// percentile is the smallest value that at least this share of the values doesn't exceed.
func Distribution(steps []float32) *Latency {
	if len(steps) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(steps))
	at := func(share float64) float64 {
		i := int(share*float64(len(sorted)) + 0.999999)
		return float64(sorted[min(max(i, 1), len(sorted))-1])
	}
	return &Latency{
		Count: len(sorted), Min: float64(sorted[0]),
		P50: at(0.5), P99: at(0.99), P999: at(0.999), Max: at(1), //nolint:mnd // percentiles
	}
}
