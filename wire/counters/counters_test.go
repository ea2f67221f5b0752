package counters_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/wire/counters"
)

func TestSaturated(t *testing.T) {
	for _, tt := range []struct {
		value uint64
		bits  int
		want  bool
	}{
		{15, 4, true},
		{14, 4, false},
		{0, 4, false},
		{255, 8, true},
		{255, 16, false},
		{65535, 16, true},
		{1<<32 - 1, 32, true},
		{1<<32 - 2, 32, false},
		{1 << 32, 32, false},
		{1<<33 - 1, 32, false},
		{1<<32 - 1, counters.Endless, false},
		{math.MaxUint64, counters.Endless, false},
	} {
		if got := (counters.Reading{Value: tt.value, Bits: tt.bits}).Saturated(); got != tt.want {
			t.Errorf("Saturated of %d in %d bits = %t, want %t", tt.value, tt.bits, got, tt.want)
		}
	}
}

func TestCompare(t *testing.T) {
	const wide, ones = counters.Endless, math.MaxUint64
	known := func(delta uint64) counters.Change {
		return counters.Change{Delta: &delta, PerSecond: new(float64(delta) / 10)}
	}
	atLeast := func(delta uint64) counters.Change {
		c := known(delta)
		c.AtLeast = true
		return c
	}
	reset := func(delta uint64) counters.Change {
		c := atLeast(delta)
		c.Reset = true
		return c
	}
	for _, tt := range []struct {
		name          string
		before, after counters.Reading
		want          counters.Change
	}{
		{"grows", counters.Reading{5, 16}, counters.Reading{9, 16}, known(4)},
		{"stands", counters.Reading{5, 16}, counters.Reading{5, 16}, known(0)},
		{"stays at 0", counters.Reading{0, 8}, counters.Reading{0, 8}, known(0)},
		{"increases, not saturated", counters.Reading{0, 8}, counters.Reading{254, 8}, known(254)},
		{"becomes saturated", counters.Reading{250, 8}, counters.Reading{255, 8}, atLeast(5)},
		{"stays saturated", counters.Reading{255, 8}, counters.Reading{255, 8}, counters.Change{}},
		{"reset", counters.Reading{5, 16}, counters.Reading{2, 16}, reset(2)},
		{"reset to 0", counters.Reading{5, 16}, counters.Reading{0, 16}, counters.Change{Reset: true}},
		{"reset when saturated", counters.Reading{255, 8}, counters.Reading{254, 8}, reset(254)},
		{"reset when saturated to 0", counters.Reading{15, 4}, counters.Reading{0, 4}, counters.Change{Reset: true}},
		{"64 bits exceed 32", counters.Reading{1<<32 - 1, wide}, counters.Reading{1<<32 + 5, wide}, known(6)},
		{"wider than it should be", counters.Reading{1<<32 - 1, 32}, counters.Reading{1<<32 + 5, 32}, known(6)},
		{"64 bits stay at 32 ones", counters.Reading{1<<32 - 1, wide}, counters.Reading{1<<32 - 1, wide}, known(0)},
		{"64 bits reach all ones", counters.Reading{7, wide}, counters.Reading{ones, wide}, known(ones - 7)},
		{"64 bits stay at all ones", counters.Reading{ones, wide}, counters.Reading{ones, wide}, known(0)},
		{"64 bits reset", counters.Reading{ones, wide}, counters.Reading{3, wide}, reset(3)},
		{"another width", counters.Reading{3, 32}, counters.Reading{9, wide}, counters.Change{}},
		{"another width, smaller", counters.Reading{9, wide}, counters.Reading{3, 32}, counters.Change{}},
	} {
		if diff := cmp.Diff(tt.want, counters.Compare(tt.before, tt.after, 10*time.Second)); diff != "" {
			t.Errorf("%s: Compare(%v, %v) (-want +got):\n%s", tt.name, tt.before, tt.after, diff)
		}
		for _, elapsed := range []time.Duration{0, -time.Second} {
			want := tt.want
			want.PerSecond = nil
			if diff := cmp.Diff(want, counters.Compare(tt.before, tt.after, elapsed)); diff != "" {
				t.Errorf("%s: Compare(%v, %v) over %v (-want +got):\n%s", tt.name, tt.before, tt.after, elapsed, diff)
			}
		}
	}
}

// TestCompareIsTrue counts random events on a counter that behaves as in the specification, resets
// it sometimes, and checks the results of Compare against the events.
func TestCompareIsTrue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same in each run
	for _, bits := range []int{4, 8, 16, 32} {
		end := uint64(1)<<bits - 1
		value := uint64(0)
		for range 20000 {
			before := counters.Reading{Value: value, Bits: bits}
			events, wasReset := random.Uint64N(end/2), random.IntN(4) == 0
			happened := events
			value += min(events, end-value)
			if wasReset {
				more := random.Uint64N(end + 5)
				happened += more
				value = min(more, end)
			}
			c := counters.Compare(before, counters.Reading{Value: value, Bits: bits}, time.Second)
			said := fmt.Sprintf("%v, then %d: %s", before, value, text(c))
			switch {
			case c.Delta != nil && *c.Delta > happened:
				t.Fatalf("%s, but %d were counted", said, happened)
			case c.Delta != nil && !c.AtLeast && !wasReset && *c.Delta != happened:
				t.Fatalf("%s, and %d were counted", said, happened)
			case c.Reset && !wasReset:
				t.Fatalf("%s, but it was not reset", said)
			case c.AtLeast && (c.Delta == nil || *c.Delta == 0):
				t.Fatalf("%s, which has no meaning", said)
			}
		}
	}
}

func text(c counters.Change) string {
	delta := "no delta"
	if c.Delta != nil {
		delta = fmt.Sprint(*c.Delta)
	}
	return fmt.Sprintf("%s, at least %t, reset %t", delta, c.AtLeast, c.Reset)
}

func TestPortCounters(t *testing.T) {
	names, files := map[string]bool{}, map[string]bool{}
	for _, c := range counters.PortCounters() {
		if c.Name == "" || names[c.Name] || c.File != "" && files[c.File] {
			t.Errorf("%+v: empty or duplicate name", c)
		}
		names[c.Name], files[c.File] = true, true
		if got, ok := counters.ByName(c.Name); !ok || got != c {
			t.Errorf("ByName(%s) = %+v, %t, want %+v", c.Name, got, ok, c)
		}
		if got, ok := counters.ByFile(c.File); ok != (c.File != "") || ok && got != c {
			t.Errorf("ByFile(%s) = %+v, %t, want %+v", c.File, got, ok, c)
		}
	}
	for _, name := range []string{"", "symbol_error", "PortRcvSwitchErrors"} {
		if got, ok := counters.ByName(name); ok {
			t.Errorf("ByName(%q) = %+v, want none", name, got)
		}
	}
}
