package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// target is the target of a result: the least or greatest ratio to another result of the same
// round, or a limit in the result's unit.
type target struct {
	figure, against string
	atLeast, atMost float64
}

func targets() []target {
	return []target{
		{figure: write64K4096, against: iperf64K, atLeast: 1.1},
		{figure: write64K4096, against: ucx64K, atLeast: 2},
		{figure: write1M4096, against: iperf64K, atLeast: 1.1},
		{figure: write1M4096, against: ucx1M, atLeast: 2},
		{figure: write64K1024, against: iperf64K, atLeast: 0.65},
		{figure: latBusy, against: udpBusy, atMost: 1.25},
		{figure: latEvent, against: udpEvent, atMost: 1.3},
		{figure: latOne, atMost: 12},
		{figure: latHybrid, atMost: 8},
	}
}

// median returns the middle value, the mean of the two middle ones of an even number.
func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	if n == 0 {
		return 0
	}
	return (s[(n-1)/2] + s[n/2]) / 2
}

// ratios returns the ratio of each round.
func ratios(a, b []float64) []float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		if b[i] > 0 {
			out = append(out, a[i]/b[i])
		}
	}
	return out
}

// report returns the tables, and an error for the targets that were missed.
func report(figures map[string][]float64, rounds int) (string, error) {
	var w strings.Builder
	fmt.Fprintf(&w,
		"Loopback, %d cores, software, not line rate. Median of %d interleaved rounds (lowest to highest).\n\n",
		runtime.NumCPU(), rounds)
	w.WriteString("| what | figure |\n|---|---|\n")
	for _, p := range (&runner{}).programs() {
		v, unit := figures[p.name], "Gbit/s"
		if strings.Contains(p.name, "-lat ") || strings.Contains(p.name, "ping-pong") {
			unit = "µs"
		}
		if len(v) > 0 {
			fmt.Fprintf(&w, "| %s | %.3g %s (%.3g to %.3g) |\n", p.name, median(v), unit, slices.Min(v), slices.Max(v))
		}
	}
	w.WriteString("\n| target | measured | |\n|---|---|---|\n")
	var missed []error
	for _, t := range targets() {
		line, ok := t.row(figures)
		if !ok {
			missed = append(missed, errors.New(line))
		}
		w.WriteString(line + "\n")
	}
	return w.String(), errors.Join(missed...)
}

// row returns the line of a target in the table, and whether the target was met.
func (t target) row(figures map[string][]float64) (line string, ok bool) {
	want, got := fmt.Sprintf("%s ≤ %g µs", t.figure, t.atMost), median(figures[t.figure])
	measured := fmt.Sprintf("%.3g µs", got)
	ok = got > 0 && got <= t.atMost
	if t.against != "" {
		got = median(ratios(figures[t.figure], figures[t.against]))
		measured = fmt.Sprintf("%.2f×", got)
		if t.atLeast > 0 {
			want, ok = fmt.Sprintf("%s ≥ %g × %s", t.figure, t.atLeast, t.against), got >= t.atLeast
		} else {
			want, ok = fmt.Sprintf("%s ≤ %g × %s", t.figure, t.atMost, t.against), got > 0 && got <= t.atMost
		}
	}
	verdict := "met"
	if !ok {
		verdict = "missed"
	}
	return fmt.Sprintf("| %s | %s | %s |", want, measured, verdict), ok
}
