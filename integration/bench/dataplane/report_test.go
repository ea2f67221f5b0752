package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	figures := map[string][]float64{
		write64K4096: {10, 20, 30}, iperf64K: {10, 10, 10}, ucx64K: {10, 20, 15}, write1M4096: {9, 9, 9},
		ucx1M: {3, 3, 3}, write64K1024: {6, 6, 7}, latEvent: {8, 9, 7}, latHybrid: {9, 9, 9}, latBusy: {4, 4, 4},
		latOne: {9, 8, 10}, udpEvent: {10, 10, 10}, udpBusy: {3, 3, 4},
	}
	text, err := report(figures, 3)
	for _, want := range []string{
		"| write-bw 64 KiB, MTU 4096 | 20 Gbit/s (10 to 30) |",
		"| write-bw 64 KiB, MTU 4096 ≥ 1.1 × iperf3 TCP 64 KiB | 2.00× | met |",
		"| write-bw 64 KiB, MTU 4096 ≥ 2 × UCX tcp put_bw 64 KiB | 1.00× | missed |",
		"| write-bw 1 MiB, MTU 4096 ≥ 1.1 × iperf3 TCP 64 KiB | 0.90× | missed |",
		"| write-bw 64 KiB, MTU 1024 ≥ 0.65 × iperf3 TCP 64 KiB | 0.60× | missed |",
		"| write-lat 64 B, busy ≤ 1.25 × bare UDP ping-pong 64 B, busy | 1.33× | missed |",
		"| send-lat 64 B, event ≤ 1.3 × bare UDP ping-pong 64 B, Go | 0.80× | met |",
		"| ping-pong 64 B in one process, event ≤ 12 µs | 9 µs | met |",
		"| write-lat 64 B, hybrid ≤ 8 µs | 9 µs | missed |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report has no %q:\n%s", want, text)
		}
	}
	if err == nil || strings.Count(err.Error(), "missed") != 5 {
		t.Errorf("missed targets: %v, want five", err)
	}
	if _, err := report(map[string][]float64{}, 1); err == nil {
		t.Error("a report without figures meets its targets")
	}
}
