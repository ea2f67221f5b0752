package main

import (
	"strings"
	"testing"
)

func sampleRows() []row {
	samples := func(list ...float64) (out []sample) {
		for _, v := range list {
			out = append(out, sample{Seconds: v, Processor: v / 2, Memory: 5 << 20, MADs: 114184})
		}
		return out
	}
	rows := []row{
		{program: "ibnetdiscover", target: 3, samples: samples(9, 6, 7)},
		{program: "ibnetdiscover -o 64", target: 5, samples: samples(4, 6)},
		{program: "rdmactl ibnetdiscover", ours: true, samples: samples(1, 2, 3)},
	}
	for i := range rows {
		rows[i].net, rows[i].nodes, rows[i].condition, rows[i].view = "10k", 10212, "ibsim", "ibnetdiscover"
	}
	return append(rows, row{net: "1k", condition: "ibsim", view: "ibnetdiscover", program: "alone", samples: []sample{
		{Seconds: 0.0123, Memory: 5 << 20, Floor: 5 << 20},
	}})
}

func TestReport(t *testing.T) {
	out := report("a machine", sampleRows())
	for _, line := range []string{
		"| 10,212 | ibsim | `ibnetdiscover` | 7 s (6 s to 9 s, 3) | 3.5 s | 114,184 | 5 MiB | 3.5× | ≥ 3×: met |",
		"| 10,212 | ibsim | `ibnetdiscover -o 64` | 5 s (4 s to 6 s, 2) | 2.5 s | 114,184 | 5 " +
			"MiB | 2.5× | ≥ 5×: missed |",
		"| 10,212 | ibsim | `rdmactl ibnetdiscover` | 2 s (1 s to 3 s, 3) | 1 s | 114,184 | 5 MiB |  |  |",
		"| 0 | ibsim | `alone` | 12.3 ms (12.3 ms to 12.3 ms, 1) | 0 ms | 0 | < 5 MiB |  |  |",
	} {
		if !strings.Contains(out, line+"\n") {
			t.Errorf("report = %s, want the line %s", out, line)
		}
	}
}

func TestMissed(t *testing.T) {
	err := missed(sampleRows())
	if err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.Contains(err.Error(), "ibnetdiscover -o 64") {
		t.Errorf("missed = %v, want that of -o 64", err)
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 10212: "10,212", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestNetsAreWhatIsWrittenDown(t *testing.T) {
	for _, quick := range []bool{false, true} {
		if _, err := selectNets(quick, ""); err != nil {
			t.Errorf("selectNets(%v) = %v", quick, err)
		}
	}
	if _, err := selectNets(false, "2k"); err == nil {
		t.Error("selectNets(2k): no error")
	}
	specs, err := selectNets(true, "quick")
	if err != nil {
		t.Fatal(err)
	}
	wrong := specs[0]
	wrong.links--
	if err := wrong.check(); err == nil {
		t.Error("check of a net with another count of cables: no error")
	}
}
