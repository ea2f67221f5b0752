package report

import (
	"fmt"
	"math"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// maxSide is the number of rows of a heat map for the terminal, which has fewer columns.
const maxSide = 512

// heat returns the bandwidth of a rail as a map: senders are rows, receivers columns.
func heat(run *result.Run, r Rail) output.Heat {
	n := len(run.Cluster.Nodes)
	h := output.Heat{
		Title: fmt.Sprintf("rail %d: bandwidth from row to column%s", r.Rail, scaleSuffix(run.Scale)),
		Items: "node", Per: (n + maxSide - 1) / maxSide, Failed: "failed", None: "not measured",
	}
	side := (n + h.Per - 1) / h.Per
	h.Values = make([][]float32, side)
	for y := range h.Values {
		h.Labels = append(h.Labels, run.Cluster.Nodes[y*h.Per].Name)
		h.Values[y] = make([]float32, side)
		for x := range h.Values[y] {
			h.Values[y][x] = float32(math.NaN())
		}
	}
	low, high := bounds(r.Bandwidth)
	rate := run.Scaled().Rate
	h.Best, h.Worst = gbps(high), gbps(low)
	for i := range run.Samples {
		s := &run.Samples[i]
		if int(s.From.Rail) != r.Rail || s.From.Rail != s.To.Rail || s.From.Node == s.To.Node ||
			run.Stages[s.Stage].Name != plan.StagePairs {
			continue
		}
		v := float32(math.Inf(1))
		if failureOf(s) == nil {
			if s.Gbps <= 0 {
				continue
			}
			v = float32((high - float64(s.Gbps)*rate) / (high - low))
		}
		cell := &h.Values[int(s.From.Node)/h.Per][int(s.To.Node)/h.Per]
		if !(v <= *cell) { // worse, or the first
			*cell = v
		}
	}
	return h
}

// bounds returns the rates at the ends of the scale of colours. It covers at least a quarter of the
// best rate, so that noise doesn't look like a fault.
func bounds(b *Bandwidth) (low, high float64) {
	if b == nil {
		return 0, 1
	}
	const least = 0.75
	return min(b.Worst, least*b.Best), b.Best
}

// gbps formats a rate.
func gbps(v float64) string { return number(v) + " Gb/s" }

// number formats a figure with three digits, or all of those before the point, and small ones with
// two.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a >= 100: //nolint:mnd // three digits
		return fmt.Sprintf("%.0f", v)
	case a >= 10: //nolint:mnd // three digits
		return fmt.Sprintf("%.1f", v)
	case a < 0.1: //nolint:mnd // two digits
		return fmt.Sprintf("%.2g", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// scaleSuffix returns " (EMULATED: …)" for a scaled run.
func scaleSuffix(s *result.Scale) string {
	if s == nil {
		return ""
	}
	return " (" + scaleText(s) + ")"
}
