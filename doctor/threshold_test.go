package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
)

// limited returns a check that reports the value of its only threshold.
func limited(got *float64) doctor.Check {
	c := check("a", func(_ context.Context, in *doctor.Input) []doctor.Finding {
		*got = in.Threshold("a-warn")
		return []doctor.Finding{doctor.Passed("", "")}
	})
	c.Thresholds = []doctor.Threshold{{Name: "a-warn", Value: 5, What: "x", Source: "test"}}
	return c
}

func TestThresholds(t *testing.T) {
	for _, tt := range []struct {
		values map[string]float64
		want   float64
	}{
		{nil, 5},
		{map[string]float64{"a-warn": 2}, 2},
		{map[string]float64{"a-warn": 0}, 0},
	} {
		var got float64
		run(t, node(), doctor.Options{Thresholds: tt.values}, limited(&got))
		if got != tt.want {
			t.Errorf("thresholds %v: the check compares with %v, want %v", tt.values, got, tt.want)
		}
	}
	r := run(t, node(), doctor.Options{Thresholds: map[string]float64{"a-warn": 5}}, limited(new(float64)))
	if len(r.Limits) > 0 {
		t.Errorf("changed limits %v of a run with the defaults", r.Limits)
	}
	r = run(t, node(), doctor.Options{Thresholds: map[string]float64{"a-warn": 1 << 30}}, limited(new(float64)))
	if want := "[a-warn 1073741824 (default 5)]"; fmt.Sprint(r.Limits) != want {
		t.Errorf("changed limits %v, want %s", r.Limits, want)
	}
	r = run(t, node(), doctor.Options{Thresholds: map[string]float64{"a-warn": 1}, Skip: []string{"a"}},
		limited(new(float64)), giving("b", doctor.Passed("", "")))
	if len(r.Limits) > 0 {
		t.Errorf("changed limits %v of a check that was not run", r.Limits)
	}
	for name, v := range map[string]float64{"a-warn": -0.5, "b-warn": 1} {
		_, err := doctor.Run(t.Context(), []doctor.Check{limited(new(float64))}, node(),
			doctor.Options{Thresholds: map[string]float64{name: v}})
		if err == nil || errors.Is(err, doctor.ErrUnknownThreshold) != (name == "b-warn") {
			t.Errorf("threshold %s of %v: %v", name, v, err)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		opts := doctor.Options{Thresholds: map[string]float64{"a-warn": v}}
		if err := opts.Validate([]doctor.Check{limited(new(float64))}); err == nil {
			t.Errorf("threshold of %v: no error", v)
		}
	}
}

// TestValidateThresholds has limits of one rule that contradict each other.
func TestValidateThresholds(t *testing.T) {
	known := []doctor.Threshold{
		{Name: "use-fail", Value: 10, Unit: "%"},
		{Name: "use-warn", Value: 1, Unit: "%"},
		{Name: "request-note", Value: 4096, Unit: "B"}, // a smaller one is a fault
		{Name: "request-warn", Value: 512, Unit: "B"},
		{Name: "errors-fail", Value: 120, Unit: "1/h"},
		{Name: "errors-warn", Value: 10, Unit: "1/s"},
		{Name: "offset-warn", Value: 1, Unit: "ms"},
		{Name: "offset-least", Value: 2, Unit: "ms"}, // no level of the rule
	}
	for _, tt := range []struct {
		values map[string]float64
		want   string
	}{
		{map[string]float64{"use-warn": 10}, ""},
		{map[string]float64{"use-warn": 11}, "threshold use-warn: 11 % is above use-fail, 10 %"},
		{map[string]float64{"use-fail": 0.5}, "threshold use-fail: 0.5 % is below use-warn, 1 %"},
		{map[string]float64{"use-warn": 20, "use-fail": 30}, ""},
		{map[string]float64{"use-warn": 30, "use-fail": 20}, "threshold use-warn: 30 % is above use-fail, 20 %"},
		{map[string]float64{"use-fail": 100}, ""},
		{map[string]float64{"use-fail": 500}, "threshold use-fail: 500 % is more than 100 %"},
		{map[string]float64{"request-warn": 5000}, "threshold request-warn: 5000 B is above request-note, 4096 B"},
		{map[string]float64{"request-note": 128}, "threshold request-note: 128 B is below request-warn, 512 B"},
		{map[string]float64{"request-note": 512}, ""},
		{map[string]float64{"errors-warn": 1000}, ""}, // other units
		{map[string]float64{"offset-warn": 3}, ""},
	} {
		err := doctor.ValidateThresholds(known, tt.values)
		if got := errorText(err); got != tt.want {
			t.Errorf("ValidateThresholds(%v) = %q, want %q", tt.values, got, tt.want)
		}
		if at, ok := errors.AsType[*doctor.ThresholdError](err); ok != (tt.want != "") ||
			ok && tt.values[at.Name] == 0 {
			t.Errorf("ValidateThresholds(%v) = %#v, want a ThresholdError about one of them", tt.values, err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
