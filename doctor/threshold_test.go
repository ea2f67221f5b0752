package doctor_test

import (
	"context"
	"errors"
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

// TestThresholdDefault checks that a default is printed in a form for people.
func TestThresholdDefault(t *testing.T) {
	for _, c := range []struct {
		value float64
		unit  string
		want  string
	}{
		{1 << 30, "bytes", "1 GiB"},
		{1536, "bytes", "1536 bytes"},
		{0.5, "bytes", "0.5 bytes"},
		{120, "1/h", "120 per hour"},
		{10, "1/min", "10 per minute"},
		{10, "1/s", "10 per second"},
		{25, "%", "25 %"},
		{5, "s", "5 s"},
		{10000000, "", "10000000"},
		{0, "", "0"},
		{2.4e-5, "", "2.4e-05"},
		{2.4e-4, "", "0.00024"},
	} {
		if got := (doctor.Threshold{Value: c.value, Unit: c.unit}).Default(); got != c.want {
			t.Errorf("default %v of unit %q = %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}
