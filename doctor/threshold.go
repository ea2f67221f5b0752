package doctor

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
)

// Threshold is a limit of a rule that a site can change.
type Threshold struct {
	// Name is kebab-case and unique among all checks: "symbol-errors-fail".
	Name  string  `json:"name"`
	Value float64 `json:"value"` // the default
	Unit  string  `json:"unit"`  // "1/h", "%", "bytes", "°C"; "" for a plain number
	What  string  `json:"what"`  // what is compared with it
	// Source is where the default comes from; "to be calibrated" for one that nobody has measured.
	Source string `json:"source"`
}

// ErrUnknownThreshold is matched by errors about a name that no check declares.
var ErrUnknownThreshold = errors.New("no such threshold")

// Thresholds returns those of all checks, by name.
func Thresholds(checks []Check) []Threshold {
	var all []Threshold
	for _, c := range checks {
		for _, t := range c.Thresholds {
			if !slices.ContainsFunc(all, func(o Threshold) bool { return o.Name == t.Name }) {
				all = append(all, t)
			}
		}
	}
	slices.SortFunc(all, func(a, b Threshold) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// ChangedLimit is a limit of a rule that the run changed.
type ChangedLimit struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Default float64 `json:"default"`
	Unit    string  `json:"unit,omitempty"` // of both
}

// String returns "clock-offset-warn 5 ms (default 1 ms)".
func (l ChangedLimit) String() string {
	return fmt.Sprintf("%s %s (default %s)", l.Name, quantity(l.Value, l.Unit), quantity(l.Default, l.Unit))
}

// Default returns the default with its unit, for people: "8 MiB", "120 per hour", "25 %".
func (t Threshold) Default() string { return quantity(t.Value, t.Unit) }

// quantity returns a value with its unit, for people.
func quantity(v float64, unit string) string {
	value := strconv.FormatFloat(v, 'f', -1, 64)
	if v != 0 && v < 1e-3 {
		value = strconv.FormatFloat(v, 'g', -1, 64)
	}
	if unit == "bytes" && v == math.Trunc(v) && v < math.MaxInt64 {
		return english.Bytes(int64(v))
	}
	if per, ok := map[string]string{"1/s": "second", "1/min": "minute", "1/h": "hour"}[unit]; ok {
		return value + " per " + per
	}
	return strings.TrimSpace(value + " " + unit)
}

// changedLimits returns the limits of the checks that differ from their defaults, by name.
func changedLimits(checks []Check, values map[string]float64) []ChangedLimit {
	var changed []ChangedLimit
	for _, t := range Thresholds(checks) {
		if v, ok := values[t.Name]; ok && v != t.Value {
			changed = append(changed, ChangedLimit{t.Name, v, t.Value, t.Unit})
		}
	}
	return changed
}

// ThresholdError is the error of a limit that can't be that of its rule.
type ThresholdError struct {
	Name string // of the threshold
	Err  error
}

// Error implements error.
func (e *ThresholdError) Error() string { return "threshold " + e.Name + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ThresholdError) Unwrap() error { return e.Err }

// ValidateThresholds reports names that are not among the known thresholds (the error matches
// [ErrUnknownThreshold]), values that no rule can compare with, and limits of one rule in the wrong
// order: a warning above the failure. Each is a [ThresholdError].
func ValidateThresholds(known []Threshold, values map[string]float64) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		bad := func(err error) { errs = append(errs, &ThresholdError{name, err}) }
		v := values[name]
		i := slices.IndexFunc(known, func(t Threshold) bool { return t.Name == name })
		switch {
		case i < 0:
			bad(ErrUnknownThreshold)
			continue
		case math.IsNaN(v) || math.IsInf(v, 0) || v < 0:
			bad(fmt.Errorf("%v is not a number from 0", v))
		case known[i].Unit == "%" && v > 100:
			bad(fmt.Errorf("%s is more than 100 %%", quantity(v, "%")))
		default:
			errs = append(errs, known[i].misordered(known, values)...)
		}
	}
	return errors.Join(errs...)
}

// levels are the last words of the names of a rule's limits.
var levels = [...]string{"note", "info", "warn", "fail"}

// misordered reports the other limits of the rule, of the same unit, that are on the other side of
// the limit than their defaults are. If both are among the values, it is reported once.
func (t Threshold) misordered(known []Threshold, values map[string]float64) []error {
	rule, level, ok := cutLast(t.Name, "-")
	if !ok || !slices.Contains(levels[:], level) {
		return nil
	}
	var errs []error
	for _, o := range known {
		other, is, _ := cutLast(o.Name, "-")
		ofRule := other == rule && slices.Contains(levels[:], is) && o.Name != t.Name
		if !ofRule || o.Unit != t.Unit || o.Value == t.Value {
			continue
		}
		limit := o.Value
		if v, given := values[o.Name]; given {
			if o.Name > t.Name { // reported with that one
				continue
			}
			limit = v
		}
		v, where := values[t.Name], "above"
		if t.Value > o.Value {
			where = "below"
		}
		if v == limit || (v > limit) != (where == "above") {
			continue
		}
		errs = append(errs, &ThresholdError{t.Name, fmt.Errorf("%s is %s %s, %s",
			quantity(v, t.Unit), where, o.Name, quantity(limit, o.Unit))})
	}
	return errs
}

// Threshold returns the limit of that name of the running check: the site's value or the default. A
// name that the check does not declare is a mistake of the check, and Threshold panics.
func (in *Input) Threshold(name string) float64 {
	v, ok := in.limits[name]
	if !ok {
		panic(fmt.Sprintf("the check declares no threshold %s", name))
	}
	return v
}

// forCheck returns the input of one check: with its thresholds.
func (in *Input) forCheck(c Check, site map[string]float64) *Input {
	own := *in
	own.limits = map[string]float64{}
	for _, t := range c.Thresholds {
		own.limits[t.Name] = t.Value
		if v, ok := site[t.Name]; ok {
			own.limits[t.Name] = v
		}
	}
	return &own
}
