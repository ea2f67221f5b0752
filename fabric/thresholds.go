package fabric

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ThresholdNever is the value with which [Thresholds.Set] removes the threshold of a counter.
const ThresholdNever = "never"

// UnknownCounterError reports that no counter has the name; see [CounterNames].
type UnknownCounterError struct{ Name string }

// Error implements error.
func (e *UnknownCounterError) Error() string { return fmt.Sprintf("no counter is named %q", e.Name) }

// Set parses the threshold of a counter in the format of threshold files: a number, or
// [ThresholdNever] in upper or lower case. The error is an *[UnknownCounterError], or describes the
// invalid value.
func (t Thresholds) Set(name, value string) error {
	if !slices.Contains(CounterNames(), name) {
		return &UnknownCounterError{name}
	}
	if strings.EqualFold(value, ThresholdNever) {
		delete(t, name)
		return nil
	}
	v, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %q is neither a number nor %q", name, value, ThresholdNever)
	}
	t[name] = v
	return nil
}
