package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// sample is the cost of one run.
type sample struct {
	Seconds   float64 // from start to end
	Processor float64 // seconds of user and system time
	Memory    int64   // resident at most, bytes
	Floor     int64   // the launcher's memory, below which Memory is not meaningful
	Exit      int
	MADs      int `json:"-"` // MADs that it sent, counted by the relay
}

// row is a line of the result: a program on a net under a condition.
type row struct {
	net, condition, view, program string
	nodes                         int
	ours                          bool
	target                        float64 // target of our speed relative to this program; 0: none
	counted                       int     // MADs of a run that was not measured
	samples                       []sample
}

// total returns the total time of all runs.
func (r *row) total() time.Duration {
	sum := 0.0
	for _, s := range r.samples {
		sum += s.Seconds
	}
	return time.Duration(sum * float64(time.Second))
}

func seconds(s sample) float64   { return s.Seconds }
func processor(s sample) float64 { return s.Processor }
func memory(s sample) float64    { return float64(s.Memory) / (1 << 20) }
func floor(s sample) float64     { return float64(s.Floor) / (1 << 20) }
func mads(s sample) float64      { return float64(s.MADs) }

// median returns the median of a value, the mean of the two middle ones for an even number.
func (r *row) median(figure func(sample) float64) float64 {
	values := make([]float64, len(r.samples))
	for i, s := range r.samples {
		values[i] = figure(s)
	}
	slices.Sort(values)
	n := len(values)
	if n == 0 {
		return 0
	}
	return (values[(n-1)/2] + values[n/2]) / 2
}

// memory formats the peak, or the lower limit of what can be measured.
func (r *row) memory() string {
	peak, floor := r.median(memory), r.median(floor)
	if peak <= floor {
		return fmt.Sprintf("< %.3g MiB", peak)
	}
	return fmt.Sprintf("%.3g MiB", peak)
}

// span returns the fastest and the slowest run.
func (r *row) span() (lowest, highest float64) {
	by := func(a, b sample) int { return cmp.Compare(a.Seconds, b.Seconds) }
	return slices.MinFunc(r.samples, by).Seconds, slices.MaxFunc(r.samples, by).Seconds
}

// opponent returns our row of the same net, condition and view; nil without one.
func opponent(rows []row, r *row) *row {
	for i := range rows {
		o := &rows[i]
		if o.ours && o.net == r.net && o.condition == r.condition && o.view == r.view {
			return o
		}
	}
	return nil
}

// ratio returns how many times faster ours is than a C tool; 0 if that is not meaningful.
func ratio(rows []row, r *row) float64 {
	o := opponent(rows, r)
	if r.ours || o == nil || o.median(seconds) == 0 {
		return 0
	}
	return r.median(seconds) / o.median(seconds)
}

// verdict reports whether a target was met; "" without a target.
func verdict(rows []row, r *row) string {
	switch {
	case r.target == 0:
		return ""
	case ratio(rows, r) >= r.target:
		return fmt.Sprintf("≥ %g×: met", r.target)
	}
	return fmt.Sprintf("≥ %g×: missed", r.target)
}

// report returns the table.
func report(machine string, rows []row) string {
	var w strings.Builder
	fmt.Fprintf(&w,
		"Whole processes, medians of interleaved runs (fastest to slowest, number of runs), results equal.\n%s.\n\n",
		machine)
	w.WriteString("| nodes | path | program | time (runs) | CPU time | MADs | peak memory | rdmactl is faster " +
		"| target |\n|---|---|---|---|---|---|---|---|---|\n")
	for i := range rows {
		r := &rows[i]
		if len(r.samples) == 0 {
			continue
		}
		lowest, highest := r.span()
		faster := ""
		if x := ratio(rows, r); x > 0 {
			faster = fmt.Sprintf("%.3g×", x)
		}
		fmt.Fprintf(&w, "| %s | %s | `%s` | %s (%s to %s, %d) | %s | %s | %s | %s | %s |\n",
			thousands(r.nodes), r.condition, r.program, short(r.median(seconds)), short(lowest), short(highest), len(
				r.samples,
			), short(r.median(processor)), thousands(int(r.median(mads))), r.memory(), faster, verdict(rows, r))
	}
	return w.String()
}

// missed returns an error for each missed target.
func missed(rows []row) error {
	var errs []error
	for i := range rows {
		if v := verdict(rows, &rows[i]); strings.HasSuffix(v, "missed") {
			r := &rows[i]
			errs = append(errs, fmt.Errorf("%d nodes, %s: %.3g times faster than %s: target %s",
				r.nodes, r.condition, ratio(rows, r), r.program, v))
		}
	}
	return errors.Join(errs...)
}

// short prints seconds with three digits.
func short(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.3g ms", s*1000)
	}
	return fmt.Sprintf("%.3g s", s)
}

// thousands formats a count with thousands separators.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// machine describes the machine.
func machine() string {
	kernel, load := "unknown kernel", "unknown"
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel = strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(b), " ")
	}
	return fmt.Sprintf("%d cores, Linux %s, %s, load %s at the end", runtime.NumCPU(), kernel, runtime.Version(), load)
}
