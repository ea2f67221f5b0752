package checks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// TestNoCheckPanicsOnGaps takes away from nodes what a document of another program may lack, one
// thing after the other.
func TestNoCheckPanicsOnGaps(t *testing.T) {
	gaps := map[string]func(p *inventory.Port){
		"GIDs":   func(p *inventory.Port) { p.GIDs = nil },
		"LID":    func(p *inventory.Port) { p.LID = nil },
		"SM LID": func(p *inventory.Port) { p.SMLID = nil },
		"rate":   func(p *inventory.Port) { p.Rate = nil },
		"netdev": func(p *inventory.Port) { p.Netdev = "" },
		"pkeys":  func(p *inventory.Port) { p.PKeys = nil },
		"number": func(p *inventory.Port) { p.GIDTableSize = 0 },
	}
	for _, name := range testtrees.Names() {
		tree := load(t, name, whole)
		for gap, take := range gaps {
			snap := scan(t, tree)
			for i := range snap.Devices {
				for j := range snap.Devices[i].Ports {
					// Two managers in one subnet, so that what differs is reported.
					if p := &snap.Devices[i].Ports[j]; p.SMLID != nil && i%2 == 1 {
						p.SMLID = new(*p.SMLID + 1)
					}
					take(&snap.Devices[i].Ports[j])
				}
			}
			noPanic(t, name+" without "+gap, doctor.Input{Snapshot: &snap, Facts: factsOf(t, tree)})
		}
	}
}

// TestNoCheckPanicsOnCountersWithoutValue has two readings in which no counter has a value, before,
// after, or both.
func TestNoCheckPanicsOnCountersWithoutValue(t *testing.T) {
	names := map[string][]string{}
	for _, c := range checks.All() {
		for _, th := range c.Thresholds {
			for name := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(th.What,
				"increase of "), "rate of "), ", ") {
				name, _, _ = strings.Cut(name, " ")
				names["hw_counters"] = append(names["hw_counters"], name)
				names["counters"] = append(names["counters"], name)
				names[facts.CountersEthtool] = append(names[facts.CountersEthtool], name)
			}
		}
	}
	names["counters"] = append(names["counters"], "link_downed", "symbol_error", "port_rcv_errors", "VL15_dropped")
	names["hw_counters"] = append(names["hw_counters"], "lifespan", "np_cnp_sent", "np_ecn_marked_roce_packets")
	names[facts.CountersEthtool] = append(names[facts.CountersEthtool], "rx_corrected_bits_phy", "rx_bits_phy",
		"rx_err_lane_0_phy", "rx_err_lane_1_phy", "rx_prio3_pause_duration", "outbound_pci_stalled_rd")
	for _, tree := range []string{"01_ib_8hca", "02_rocev2_8hca"} {
		snap := scan(t, load(t, tree, whole))
		for _, gap := range []string{"before", "after", "both"} {
			rates := facts.Rates{Interval: span}
			for _, p := range snap.Ports() {
				for _, object := range []string{"mlx5_0:1", p.Netdev} {
					var list []two
					for group, names := range names {
						for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
							list = append(list, two{group, name, 1, 2})
						}
					}
					one := readingsOf(object, span, list...)
					for i := range one.Before {
						one.Before[i].Saturated, one.After[i].Saturated = true, true
						if gap != "after" {
							one.Before[i].Value = nil
						}
						if gap != "before" {
							one.After[i].Value = nil
						}
					}
					rates = joined(rates, one)
				}
			}
			in := doctor.Input{Snapshot: &snap, Facts: factsOf(t, load(t, tree))}
			in.Facts.Rates = known(rates)
			noPanic(t, tree+" without values "+gap, in)
		}
	}
}

func joined(r facts.Rates, one facts.Readings) facts.Rates {
	if strings.Contains(one.Object, ":") {
		r.Ports = append(r.Ports, one)
	} else {
		r.Netdevs = append(r.Netdevs, one)
	}
	return r
}

func noPanic(t *testing.T, name string, in doctor.Input) {
	t.Helper()
	r, err := doctor.Run(t.Context(), checks.All(), in, doctor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if strings.Contains(f.Summary, "panicked") || strings.Contains(f.Summary, "no finding") {
			t.Errorf("%s: %s: %s", name, f.CheckID, f.Summary)
		}
	}
}
