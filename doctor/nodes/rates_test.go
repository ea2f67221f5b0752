package nodes_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/doctor/nodes"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch/consensus"
)

// counted gives both rails of a node an increase of a counter in ten seconds.
func counted(group, name string, rails ...uint64) change {
	return change{facts: func(f *facts.Facts) {
		var r facts.Rates
		for i, n := range rails {
			object := []string{"rail1", "rail2"}[i]
			if group == "hw_counters" {
				object = []string{"mlx5_0:1", "mlx5_1:1"}[i]
			}
			counter := func(v uint64) []inventory.Counter {
				return []inventory.Counter{{Group: group, Name: name, Path: "/" + object + "/" + name, Value: &v}}
			}
			readings := facts.Readings{
				Object: object, Elapsed: 10 * time.Second, Before: counter(1000), After: counter(1000 + n),
			}
			if group == "hw_counters" {
				r.Ports = append(r.Ports, readings)
			} else {
				r.Netdevs = append(r.Netdevs, readings)
			}
		}
		f.Rates = &facts.Datum[facts.Rates]{Value: r}
	}}
}

// TestRateComparisons has six rails of three nodes. The links run at 400 Gb/s: 4e12 bits in ten
// seconds, so that 4e6 corrected bits are a ratio of 1e-6.
func TestRateComparisons(t *testing.T) {
	const bits, cnp = "rx_corrected_bits_phy", "rp_cnp_handled"
	errors := func(rails ...uint64) change { return counted(facts.CountersEthtool, bits, rails...) }
	handled := func(rails ...uint64) change { return counted("hw_counters", cnp, rails...) }
	for _, tt := range []struct {
		name, id string
		nodes    []change
		want     string // in the text of the odd one; "" for no difference
		none     bool   // not compared
	}{
		{"one bad link", "bit-errors", []change{errors(4e4, 5e4), errors(4e4, 8e7), errors(5e4, 4e4)}, "2e-05", false},
		{"noise", "bit-errors", []change{errors(0, 0), errors(0, 1e6), errors(0, 0)}, "", false},
		{"all bad", "bit-errors", []change{errors(8e7, 7e7), errors(6e7, 8e7), errors(8e7, 9e7)}, "", false},
		{"one good link", "bit-errors", []change{errors(8e7, 7e7), errors(6e7, 0), errors(8e7, 9e7)}, "", false},
		{"four links", "bit-errors", []change{errors(0, 0), errors(0, 8e7), {}}, "", true},
		{
			"one with congestion", "cnp-handled",
			[]change{handled(100, 120), handled(90, 90_000), handled(80, 100)},
			"9e+03", false,
		},
		{
			"even congestion", "cnp-handled",
			[]change{handled(9e4, 8e4), handled(7e4, 9e4), handled(8e4, 1e5)},
			"", false,
		},
		{"a few notifications", "cnp-handled", []change{handled(0, 0), handled(0, 400), handled(0, 0)}, "", false},
	} {
		list := cluster(t, tt.nodes...)
		for _, n := range list {
			for i := range n.Snapshot.Netdevs {
				n.Snapshot.Netdevs[i].SpeedMbps = new(400_000)
			}
		}
		r := run(t, list)
		d := difference(r, tt.id)
		switch {
		case (d != nil) != (tt.want != ""):
			t.Errorf("%s: difference %+v, want %q", tt.name, d, tt.want)
		case d != nil && (len(d.Groups) != 2 || len(d.Groups[0].Nodes) != 2 || len(d.Groups[1].Nodes) != 1 ||
			!strings.Contains(d.Groups[1].Value, tt.want)):
			t.Errorf("%s: groups %+v, want two nodes against one with %q", tt.name, d.Groups, tt.want)
		}
		none := false
		for _, id := range r.NotCompared {
			none = none || id == tt.id
		}
		if none != tt.none {
			t.Errorf("%s: not compared %t, want %t", tt.name, none, tt.none)
		}
	}
}

// TestRatesAreOfTheCatalogue has the numbers that compare rates across nodes.
func TestRatesAreOfTheCatalogue(t *testing.T) {
	want := map[int]consensus.Severity{29: consensus.SeveritySlows, 46: consensus.SeverityNote}
	for _, c := range nodes.Comparisons() {
		for _, n := range c.Numbers {
			if severity, ok := want[n]; ok && c.Severity == severity {
				delete(want, n)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not compared: %v", want)
	}
}
