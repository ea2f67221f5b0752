package checks_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
)

// outcomeOf returns the outcome of the first finding about an object whose summary has a text.
func outcomeOf(list []doctor.Finding, object, text string) doctor.Outcome {
	i := slices.IndexFunc(list, func(f doctor.Finding) bool {
		return f.Object == object && strings.Contains(f.Summary, text)
	})
	if i < 0 {
		return ""
	}
	return list[i].Outcome
}

// TestUnreadCountersAreNamed has readings of which one counter of a rule was read and another was
// not: the finding about the one doesn't hide the other.
func TestUnreadCountersAreNamed(t *testing.T) {
	const dir = "/sys/class/infiniband/mlx5_0/ports/1/"
	for _, tt := range []struct {
		id             string
		reading        facts.Readings
		errors, denied []string
		object         string
		want           doctor.Outcome // "" for no finding about it
	}{
		{
			"rcv-errors", portReadings(port0, two{"counters", "port_rcv_errors", 5, 5}),
			[]string{"read " + dir + "counters/port_rcv_errors: input/output error"},
			nil, port0,
			doctor.OutcomeUnknown,
		},
		{
			"symbol-errors", portReadings(port0, two{"counters", "symbol_error", 5, 5}), nil,
			[]string{"read " + dir + "counters/symbol_error: permission denied"},
			port0, doctor.OutcomePrivilege,
		},
		{
			"symbol-errors", portReadings(port0, two{"counters", "symbol_error", 5, 5}),
			[]string{"read " + dir + "counters/port_xmit_wait: input/output error"},
			nil, port0, "",
		},
		{
			"pause-storm", netReadings("ens0np0", two{facts.CountersEthtool, "tx_pause_storm_error_events", 1, 1}),
			[]string{"ethtool statistics of ens0np0: input/output error"},
			nil, "ens0np0", doctor.OutcomeUnknown,
		},
	} {
		r := tt.reading
		r.Errors, r.Denied = tt.errors, tt.denied
		tree := ibTree
		if tt.object != port0 {
			tree = roceTree
		}
		report := diagnose(t, load(t, tree, readings(r)), tt.id)
		if got := outcomeOf(report.Findings, tt.object, "not judged: "); got != tt.want {
			t.Errorf("%s with %v%v: %q about it, want %q:\n%s", tt.id, tt.errors, tt.denied, got, tt.want,
				allText(report.Findings))
		}
		if tt.want == "" && !slices.Contains(outcomesOf(report), doctor.OutcomePass) {
			t.Errorf("%s: an error of a counter of another rule changed the outcome:\n%s", tt.id,
				allText(report.Findings))
		}
	}
}

// TestEthtoolErrorsOfADevice has a device of which ethtool denied or failed to read a part, beside
// devices that have no such part.
func TestEthtoolErrorsOfADevice(t *testing.T) {
	for id, part := range map[string]string{
		"fec": facts.EthtoolFEC, "global-pause": facts.EthtoolPause, "link-width": facts.EthtoolLinkMode,
		"pause-storm": facts.EthtoolStatistics,
	} {
		object := "ens0np0"
		if id == "link-width" {
			object = port0
		}
		for want, e := range map[doctor.Outcome]facts.Ethtool{
			doctor.OutcomePrivilege: {Netdev: "ens0np0", Denied: []string{part + ": operation not permitted"}},
			doctor.OutcomeUnknown:   {Netdev: "ens0np0", Errors: []string{part + ": input/output error"}},
			"":                      {Netdev: "ens0np0", Errors: []string{"a part of no check: input/output error"}},
		} {
			f := facts.Facts{
				Ethtool: known([]facts.Ethtool{e, {Netdev: "ens1np0"}}),
				DCB:     known([]facts.DCB{{Netdev: "ens0np0", PFC: &facts.PFC{}}}),
			}
			report := diagnose(t, load(t, roceTree, recorded(f)), id)
			if got := outcomeOf(report.Findings, object, "ethtool "+part+" of ens0np0: "); got != want {
				t.Errorf("%s with %v%v: outcome %q, want %q:\n%s", id, e.Errors, e.Denied, got, want,
					allText(report.Findings))
			}
		}
	}
}

// TestDCBErrorsOfADevice has a device whose flow control this process may not read, and one of
// which reading failed, beside one that is known and one without DCB.
func TestDCBErrorsOfADevice(t *testing.T) {
	f := facts.Facts{DCB: known([]facts.DCB{
		{Netdev: "ens0np0", PFC: &facts.PFC{Enabled: 8, Capacity: 8}, ETS: &facts.ETS{}},
		{Netdev: "ens1np0", Denied: []string{"dcbnl IEEE get ens1np0: operation not permitted"}},
		{Netdev: "ens2np0", Errors: []string{"dcbnl IEEE get ens2np0: input/output error"}},
	})}
	report := diagnose(t, load(t, roceTree, recorded(f)), "pfc-priority")
	for object, want := range map[string]doctor.Outcome{
		"mlx5_1:1": doctor.OutcomePrivilege, "mlx5_2:1": doctor.OutcomeUnknown, "mlx5_0:1": "",
	} {
		if got := outcomeOf(report.Findings, object, "dcbnl IEEE get"); got != want {
			t.Errorf("%s: outcome %q, want %q:\n%s", object, got, want, allText(report.Findings))
		}
	}
	f.DCB.Value[0] = facts.DCB{Netdev: "ens0np0", Denied: []string{"dcbnl IEEE get ens0np0: operation not permitted"}}
	f.Ethtool = known([]facts.Ethtool{{Netdev: "ens0np0", Pause: &facts.Pause{RX: true}}})
	report = diagnose(t, load(t, roceTree, recorded(f)), "global-pause")
	if got := outcomeOf(report.Findings, "ens0np0", "whether PFC is too is unknown"); got != doctor.OutcomePrivilege {
		t.Errorf("global-pause beside denied PFC: %q, want %q", got, doctor.OutcomePrivilege)
	}
}

// TestHostNameOfOtherSources has a name about which a source that was not asked may decide: a fault
// is unknown then.
func TestHostNameOfOtherSources(t *testing.T) {
	for _, tt := range []struct {
		address string // "" for none
		unasked []string
		want    doctor.Outcome
	}{
		{"127.0.1.1", nil, doctor.OutcomeWarn},
		{"127.0.1.1", []string{"sss"}, doctor.OutcomeUnknown},
		{"", nil, doctor.OutcomeWarn},
		{"", []string{"sss", "myhostname"}, doctor.OutcomeUnknown},
		{"192.0.2.1", nil, doctor.OutcomeInfo},
		{"192.0.2.1", []string{"sss"}, doctor.OutcomeUnknown},
		{"10.0.0.10", []string{"sss"}, doctor.OutcomePass},
	} {
		r := facts.Resolver{Name: "gpu-01", Unasked: tt.unasked}
		if tt.address != "" {
			r.Addresses = []netip.Addr{netip.MustParseAddr(tt.address)}
		}
		f := diagnose(t, load(t, "49_bond", recorded(facts.Facts{Resolver: known(r)})), "host-name").Findings[0]
		if f.Outcome != tt.want || f.Outcome == doctor.OutcomeUnknown && !strings.Contains(f.Summary, tt.unasked[0]) {
			t.Errorf("%q, not asked %v: %s %s, want %s", tt.address, tt.unasked, f.Outcome, f.Summary, tt.want)
		}
	}
}
