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

// Default returns the default with its unit, for people: "8 MiB", "120 per hour", "25 %".
func (t Threshold) Default() string {
	value := strconv.FormatFloat(t.Value, 'f', -1, 64)
	if t.Value != 0 && t.Value < 1e-3 {
		value = strconv.FormatFloat(t.Value, 'g', -1, 64)
	}
	if t.Unit == "bytes" && t.Value == math.Trunc(t.Value) && t.Value < math.MaxInt64 {
		return english.Bytes(int64(t.Value))
	}
	if per, ok := map[string]string{"1/s": "second", "1/min": "minute", "1/h": "hour"}[t.Unit]; ok {
		return value + " per " + per
	}
	return strings.TrimSpace(value + " " + t.Unit)
}

// validThresholds reports names that no check declares and values that no rule can compare with.
func validThresholds(checks []Check, values map[string]float64) error {
	var errs []error
	known := Thresholds(checks)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		switch {
		case !slices.ContainsFunc(known, func(t Threshold) bool { return t.Name == name }):
			errs = append(errs, fmt.Errorf("threshold %q: %w", name, ErrUnknownThreshold))
		case math.IsNaN(v) || math.IsInf(v, 0) || v < 0:
			errs = append(errs, fmt.Errorf("threshold %s: %v is not a number from 0", name, v))
		}
	}
	return errors.Join(errs...)
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
