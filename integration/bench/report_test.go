package main

import (
	"strings"
	"testing"
	"time"
)

func sampleRows() []row {
	ms := func(list ...int) (out []time.Duration) {
		for _, v := range list {
			out = append(out, time.Duration(v)*time.Millisecond)
		}
		return out
	}
	return []row{
		{title: "a", program: "script", times: ms(500, 400, 900)},
		{title: "a", program: "fast", ratio: 10, limit: 100 * time.Millisecond, times: ms(20, 30, 10)},
		{title: "a", program: "slow", ratio: 10, limit: 100 * time.Millisecond, times: ms(90, 60)},
		{title: "b", program: "late", limit: 30 * time.Millisecond, times: ms(31)},
	}
}

func TestReport(t *testing.T) {
	out := report("a machine", 3, sampleRows())
	want := []string{
		"| a | `script` | 500 ms (400 ms to 900 ms) |  |  |",
		"| a | `fast` | 20 ms (10 ms to 30 ms) | 25× | ≤ 100ms, ≥ 10×: met |",
		"| a | `slow` | 75 ms (60 ms to 90 ms) | 6.67× | ≤ 100ms, ≥ 10×: missed |",
		"| b | `late` | 31 ms (31 ms to 31 ms) |  | ≤ 30ms: missed |",
	}
	for _, line := range want {
		if !strings.Contains(out, line+"\n") {
			t.Errorf("report = %s, want the line %s", out, line)
		}
	}
}

func TestMissed(t *testing.T) {
	err := missed(sampleRows())
	if err == nil || strings.Contains(err.Error(), "fast") || !strings.Contains(err.Error(), "slow") ||
		!strings.Contains(err.Error(), "late") {
		t.Errorf("missed = %v, want slow and late", err)
	}
	if err := missed(sampleRows()[:2]); err != nil {
		t.Errorf("missed = %v, want nil", err)
	}
}

func TestRunArguments(t *testing.T) {
	for _, args := range [][]string{{"-n", "0"}, {"-nonsense"}, {"-n", "x"}} {
		if err := run(args, &strings.Builder{}, &strings.Builder{}); err == nil {
			t.Errorf("run(%v) = no error", args)
		}
	}
}

func TestPairs(t *testing.T) {
	got := pairs("A==x=y\nB=\nnothing\n", "\n")
	if len(got) != 2 || got["A"] != "=x=y" || got["B"] != "" {
		t.Errorf("pairs = %v", got)
	}
}
