package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// row is a line of the result: a program in a situation.
type row struct {
	title, program string
	ratio          float64       // target against the first row of the same title; 0 for none
	limit          time.Duration // target; 0 for none
	times          []time.Duration
}

// median returns the median time, the mean of the two middle ones for an even number.
func (r row) median() time.Duration {
	times := slices.Sorted(slices.Values(r.times))
	n := len(times)
	if n == 0 {
		return 0
	}
	return (times[(n-1)/2] + times[n/2]) / 2
}

// speedUp returns how many times faster than base the row is.
func (r row) speedUp(base row) float64 {
	if r.median() == 0 {
		return 0
	}
	return float64(base.median()) / float64(r.median())
}

// verdict reports whether the targets were met, "" for a row without targets.
func (r row) verdict(base row) string {
	var targets []string
	ok := true
	if r.limit > 0 {
		targets = append(targets, fmt.Sprintf("≤ %s", r.limit))
		ok = ok && r.median() <= r.limit
	}
	if r.ratio > 0 {
		targets = append(targets, fmt.Sprintf("≥ %g×", r.ratio))
		ok = ok && r.speedUp(base) >= r.ratio
	}
	switch {
	case len(targets) == 0:
		return ""
	case ok:
		return strings.Join(targets, ", ") + ": met"
	}
	return strings.Join(targets, ", ") + ": missed"
}

// baseOf returns the row to compare with: the first of the same title.
func baseOf(rows []row, r row) row {
	return rows[slices.IndexFunc(rows, func(other row) bool { return other.title == r.title })]
}

// report returns the table.
func report(machine string, repetitions int, rows []row) string {
	var w strings.Builder
	fmt.Fprintf(&w, "Whole processes, median of %d interleaved runs (fastest to slowest).\n%s.\n\n",
		repetitions, machine)
	w.WriteString("| node | program | time | against the shell | target |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		base := baseOf(rows, r)
		against := ""
		if base.program != r.program {
			against = fmt.Sprintf("%.3g×", r.speedUp(base))
		}
		fmt.Fprintf(&w, "| %s | `%s` | %s (%s to %s) | %s | %s |\n", r.title, r.program,
			short(r.median()), short(slices.Min(r.times)), short(slices.Max(r.times)), against, r.verdict(base))
	}
	return w.String()
}

// short prints a time with three digits.
func short(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.3g s", d.Seconds())
}

// missed returns an error for each missed target.
func missed(rows []row) error {
	var errs []error
	for _, r := range rows {
		base := baseOf(rows, r)
		if v := r.verdict(base); strings.HasSuffix(v, "missed") {
			errs = append(errs,
				fmt.Errorf("%s, %s: %s, %.3g×: target %s", r.title, r.program, short(r.median()), r.speedUp(base), v))
		}
	}
	return errors.Join(errs...)
}
