package fabric

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ThresholdNever takes a counter out of the judgement, for [Thresholds.Set].
const ThresholdNever = "never"

// UnknownCounterError says that no counter has the name; [CounterNames] lists those that there are.
type UnknownCounterError struct{ Name string }

// Error implements error.
func (e *UnknownCounterError) Error() string { return fmt.Sprintf("no counter is named %q", e.Name) }

// Set reads the threshold of a counter, as files of thresholds have it: a number, or
// [ThresholdNever] in any case. The error is an *[UnknownCounterError], or says what is wrong with
// the value.
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
