package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	figures := map[string][]float64{
		write64K4096: {10, 20, 30}, iperf64K: {10, 10, 10}, ucx64K: {10, 20, 15}, write1M4096: {9, 9, 9},
		ucx1M: {3, 3, 3}, write64K1024: {6, 6, 7}, latEvent: {7, 9, 8}, latHybrid: {9, 9, 9}, latBusy: {4, 4, 4},
	}
	text, err := report(figures, 3)
	for _, want := range []string{
		"| write-bw 64 KiB, MTU 4096 | 20 Gbit/s (10 to 30) |",
		"| write-bw 64 KiB, MTU 4096 ≥ 1 × iperf3 TCP 64 KiB | 2.00× | met |",
		"| write-bw 64 KiB, MTU 4096 ≥ 1.5 × UCX tcp put_bw 64 KiB | 1.00× | missed |",
		"| write-bw 1 MiB, MTU 4096 ≥ 1 × iperf3 TCP 64 KiB | 0.90× | missed |",
		"| write-bw 64 KiB, MTU 1024 ≥ 0.6 × iperf3 TCP 64 KiB | 0.60× | met |",
		"| write-lat 64 B, event ≤ 8 µs | 8 µs | met |",
		"| write-lat 64 B, hybrid ≤ 8 µs | 9 µs | missed |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report has no %q:\n%s", want, text)
		}
	}
	if err == nil || strings.Count(err.Error(), "missed") != 3 {
		t.Errorf("missed targets: %v, want three", err)
	}
	if _, err := report(map[string][]float64{}, 1); err == nil {
		t.Error("a report without figures meets its targets")
	}
}
