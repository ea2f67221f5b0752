package facts_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

func values(list []inventory.Counter) []string {
	var out []string
	for _, c := range list {
		out = append(out, fmt.Sprintf("%s %s %d", c.Group, c.Path, *c.Value))
	}
	return out
}

// The first text is the sample of the kernel's documentation.
func TestParseAER(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string // nil for an error
	}{
		{
			"Receiver Error 2\nBad TLP 0\nBad DLLP 0\nRELAY_NUM Rollover 0\nReplay Timer Timeout 0\n" +
				"Advisory Non-Fatal 0\nCorrected Internal Error 0\nHeader Log Overflow 0\nTOTAL_ERR_COR 2\n",
			[]string{"aer /d/f:Receiver Error 2", "aer /d/f:TOTAL_ERR_COR 2"},
		},
		{"TOTAL_ERR_FATAL 0", []string{"aer /d/f:TOTAL_ERR_FATAL 0"}},
		{"", nil},
		{"Bad TLP", nil},
		{"Bad TLP -1\nTOTAL_ERR_COR 2", nil},
		{"7", nil},
		{"Bad TLP 0\n", nil}, // no total
	} {
		got, err := facts.ParseAER("/d", "f", tt.text)
		if (err != nil) != (tt.want == nil) {
			t.Errorf("ParseAER(%q): error %v", tt.text, err)
		}
		if diff := cmp.Diff(tt.want, values(got)); tt.want != nil && diff != "" {
			t.Errorf("ParseAER(%q) (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestEthtoolCounters(t *testing.T) {
	const spaced = "tx_pause_storm_warning_events " // as old versions of mlx5_core call it
	got := values(facts.EthtoolCounters(facts.Ethtool{
		Netdev: "eth0", Stats: map[string]uint64{
			spaced: 3, "rx_discards_phy": 1<<64 - 1, "rx0_packets": 5, "ch12_poll": 6, "[0]: rx_bytes": 7,
		},
	}))
	want := []string{
		"ethtool ethtool:eth0:rx_discards_phy 18446744073709551615",
		"ethtool ethtool:eth0:tx_pause_storm_warning_events 3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("EthtoolCounters (-want +got):\n%s", diff)
	}
}

func TestReadingsOf(t *testing.T) {
	r := facts.Rates{
		Ports: []facts.Readings{{Object: "mlx5_0:1"}}, Netdevs: []facts.Readings{{Object: "eth0"}},
		PCI: []facts.Readings{{Object: "0000:3b:00.0"}},
	}
	for _, name := range []string{"mlx5_0:1", "eth0", "0000:3b:00.0"} {
		if got := r.Of(name); got == nil || got.Object != name {
			t.Errorf("Of(%s) = %v", name, got)
		}
	}
	if got := r.Of("eth1"); got != nil {
		t.Errorf("Of(eth1) = %v, want nil", got)
	}
}
