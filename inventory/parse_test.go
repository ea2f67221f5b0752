package inventory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseRate(t *testing.T) {
	tests := map[string]Rate{
		"400 Gb/sec (4X NDR)":  {GbPerSecond: 400, Width: 4, Generation: "NDR"},
		"2.5 Gb/sec (1X SDR)":  {GbPerSecond: 2.5, Width: 1, Generation: "SDR"},
		"2.5 Gb/sec (1X)\n":    {GbPerSecond: 2.5, Width: 1, Generation: "SDR"},
		"40 Gb/sec (4X FDR10)": {GbPerSecond: 40, Width: 4, Generation: "FDR10"},
		"800 Gb/sec (4X XDR)":  {GbPerSecond: 800, Width: 4, Generation: "XDR"},
		"1600 Gb/sec (8X XDR)": {GbPerSecond: 1600, Width: 8, Generation: "XDR"},
		"25 Gb/sec":            {GbPerSecond: 25},
		"300 Gb/sec (12X EDR)": {GbPerSecond: 300, Width: 12, Generation: "EDR"},
	}
	for in, want := range tests {
		if got, err := ParseRate(in); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %+v, %v, want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", "fast", "NaN Gb/sec", "-1 Gb/sec (4X NDR)", "400 Gb/sec (X NDR)", "400 Gb/sec (99X NDR)", "400",
		"1e99 Gb/sec",
	} {
		if got, err := ParseRate(in); err == nil {
			t.Errorf("ParseRate(%q) = %+v, want an error", in, got)
		}
	}
}

func FuzzParseRate(f *testing.F) {
	f.Add("400 Gb/sec (4X NDR)")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRate(s)
		if err == nil && (r.GbPerSecond < 0 || r.Width < 0) {
			t.Errorf("ParseRate(%q) = %+v", s, r)
		}
	})
}

func TestParseIPoIBAddress(t *testing.T) {
	got, err := ParseIPoIBAddress("80:00:10:49:fe:80:00:00:00:00:00:00:b8:3f:d2:03:00:a5:10:07")
	if err != nil {
		t.Fatal(err)
	}
	if got.Flags != 0x80 || got.QPN != 0x1049 || got.SubnetPrefix.String() != "fe80:0000:0000:0000" ||
		got.PortGUID.String() != "b83f:d203:00a5:1007" {
		t.Errorf("ParseIPoIBAddress = %+v", got)
	}
	for _, in := range []string{"", "b8:3f:d2:a5:10:07", "zz"} {
		if _, err := ParseIPoIBAddress(in); err == nil {
			t.Errorf("ParseIPoIBAddress(%q): want an error", in)
		}
	}
}

func FuzzParseIPoIBAddress(f *testing.F) {
	f.Add("80:00:10:49:fe:80:00:00:00:00:00:00:b8:3f:d2:03:00:a5:10:07")
	f.Fuzz(func(_ *testing.T, s string) { _, _ = ParseIPoIBAddress(s) })
}

func TestDistance(t *testing.T) {
	numa := func(n int) *int { return &n }
	pci := func(n *int, chain ...string) *PCI { return &PCI{Chain: chain, NUMANode: n} }
	tests := []struct {
		name string
		a, b *PCI
		want PCIDistance
	}{
		{"one bridge", pci(nil, "pci0000:10", "0000:10:01.0"), pci(nil, "pci0000:10", "0000:10:01.0"), PCIDistancePIX},
		{
			"one switch", pci(nil, "pci0000:10", "0000:10:01.0", "0000:11:00.0", "0000:12:00.0"),
			pci(nil, "pci0000:10", "0000:10:01.0", "0000:11:00.0", "0000:12:01.0"), PCIDistancePIX,
		},
		{
			"two switches in a row", pci(nil, "pci0000:10", "0000:10:01.0", "0000:11:00.0", "0000:12:00.0"),
			pci(nil, "pci0000:10", "0000:10:01.0", "0000:11:00.0", "0000:12:01.0", "0000:14:00.0", "0000:15:00.0"),
			PCIDistancePXB,
		},
		{
			"one host bridge", pci(nil, "pci0000:10", "0000:10:01.0"), pci(nil, "pci0000:10", "0000:10:02.0"),
			PCIDistancePHB,
		},
		{
			"one numa node", pci(numa(0), "pci0000:10", "0000:10:01.0"), pci(numa(0), "pci0000:20", "0000:20:01.0"),
			PCIDistanceNODE,
		},
		{
			"two numa nodes", pci(numa(0), "pci0000:10", "0000:10:01.0"), pci(numa(1), "pci0000:20", "0000:20:01.0"),
			PCIDistanceSYS,
		},
		{"numa unknown to both", pci(nil, "pci0000:10"), pci(nil, "pci0000:20"), PCIDistanceNODE},
		{"numa unknown to one", pci(nil, "pci0000:10"), pci(numa(0), "pci0000:20"), PCIDistanceSYS},
		{"no topology", pci(nil), pci(nil, "pci0000:20"), PCIDistanceUnknown},
	}
	for _, tt := range tests {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: Distance = %s, want %s", tt.name, got, tt.want)
		}
		if got := Distance(tt.b, tt.a); got != tt.want {
			t.Errorf("%s, turned round: Distance = %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestGIDGaps(t *testing.T) {
	entries := func(index ...int) []GIDEntry {
		var out []GIDEntry
		for _, i := range index {
			out = append(out, GIDEntry{Index: i})
		}
		return out
	}
	tests := []struct {
		size  int
		slots []GIDEntry
		want  string
	}{
		{0, nil, ""},
		{4, nil, "0-3"},
		{4, entries(0, 1, 2, 3), ""},
		{16, entries(2, 3, 6), "0-1,4-5,7-15"},
		{3, entries(0, 2), "1"},
	}
	for _, tt := range tests {
		p := Port{GIDs: tt.slots, GIDTableSize: tt.size}
		if got := p.GIDGaps(); got != tt.want {
			t.Errorf("GIDGaps(%v of %d) = %q, want %q", tt.slots, tt.size, got, tt.want)
		}
	}
}

func TestChanges(t *testing.T) {
	value := func(v uint64) *uint64 { return &v }
	count := func(name string, v *uint64) Counter { return Counter{Name: name, Group: "counters", Value: v} }
	saturated := count("link_downed", value(255))
	saturated.Saturated = true
	errs := func(v uint64) Counter { return count("symbol_error", &v) }
	data := func(v uint64) Counter { return count("port_xmit_data", &v) }
	driver := func(name string, v uint64) Counter { return Counter{Name: name, Group: "hw_counters", Value: &v} }
	const end32 = 1<<32 - 1
	tests := []struct {
		name          string
		before, after Counter
		delta         *uint64
		atLeast       bool
		reset         bool
	}{
		{"grows", errs(5), errs(9), value(4), false, false},
		{"stands", errs(5), errs(5), value(0), false, false},
		{"reset", errs(5), errs(2), value(2), true, true},
		{"reset to 0", errs(5), errs(0), nil, false, true},
		{"becomes saturated", count("link_downed", value(250)), saturated, value(5), true, false},
		{"stays saturated", saturated, saturated, nil, false, false},
		{"reset when saturated", saturated, count("link_downed", value(0)), nil, false, true},
		{"no value before", count("symbol_error", nil), errs(7), nil, false, false},
		{"new counter", count("other", value(1)), errs(7), nil, false, false},
		{"32 bits become saturated", data(5), data(end32), value(end32 - 5), true, false},
		{"64 bits in the file of 32 bits", data(5), data(end32 + 6), value(end32 + 1), false, false},
		{"64 bits exceed 32 bits", data(end32), data(end32 + 6), value(6), false, false},
		{"64 bits reset", data(end32 + 6), data(9), value(9), true, true},
		{"a driver's", driver("link_downed", 5), driver("link_downed", 255), value(250), false, false},
		{"a driver's wraps around", driver("send_err", end32), driver("send_err", 3), value(3), true, true},
		{"another group", driver("symbol_error", 5), errs(9), nil, false, false},
	}
	for _, tt := range tests {
		got := Changes([]Counter{tt.before}, []Counter{tt.after}, 2*time.Second)[0]
		if diff := cmp.Diff(tt.delta, got.Delta); diff != "" || got.Reset != tt.reset {
			t.Errorf("%s: Changes = delta %v reset %v, want %v %v", tt.name, got.Delta, got.Reset, tt.delta, tt.reset)
		}
		if got.AtLeast != tt.atLeast {
			t.Errorf("%s: AtLeast = %v, want %v", tt.name, got.AtLeast, tt.atLeast)
		}
		if got.PerSecond != nil && *got.PerSecond < 0 {
			t.Errorf("%s: negative rate %v", tt.name, *got.PerSecond)
		}
	}
	if got := Changes([]Counter{tests[0].before}, []Counter{tests[0].after}, 2*time.Second)[0]; *got.PerSecond != 2 {
		t.Errorf("PerSecond = %v, want 2", *got.PerSecond)
	}
}

// Enumerations must survive encoding as text, since bundles contain it.
func TestEnumText(t *testing.T) {
	for v := range PortState(6) {
		b, _ := v.MarshalText()
		var back PortState
		if err := back.UnmarshalText(b); err != nil || back != v {
			t.Errorf("PortState %d → %q → %d", v, b, back)
		}
	}
	for v := range PhysState(8) {
		b, _ := v.MarshalText()
		var back PhysState
		if err := back.UnmarshalText(b); err != nil || back != v {
			t.Errorf("PhysState %d → %q → %d", v, b, back)
		}
	}
	for v := range NodeType(8) {
		b, _ := v.MarshalText()
		var back NodeType
		if err := back.UnmarshalText(b); err != nil || back != v {
			t.Errorf("NodeType %d → %q → %d", v, b, back)
		}
	}
	if got := PortState(9).String(); got != "unknown(9)" {
		t.Errorf("PortState(9) = %q", got)
	}
}
