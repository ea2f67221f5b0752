package doctor_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/inventory"
)

// saved returns a report as ParseReport reads it from its JSON.
func saved(t *testing.T, r doctor.Report) doctor.Report {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	back, err := doctor.ParseReport(data)
	if err != nil {
		t.Fatalf("ParseReport: %v", err)
	}
	return back
}

func TestCompare(t *testing.T) {
	say := func(o doctor.Outcome, object, summary string) doctor.Finding {
		return doctor.Finding{Outcome: o, Object: object, Summary: summary}
	}
	fail := say(doctor.OutcomeFail, "p1", "down")
	tests := []struct {
		name        string
		before, now []doctor.Finding // of check a
		opts        doctor.Options   // of now
		want        []string
		worse       int
	}{
		{"the same", []doctor.Finding{fail}, []doctor.Finding{fail}, doctor.Options{}, nil, 0},
		{
			"new",
			[]doctor.Finding{doctor.Passed("", "")},
			[]doctor.Finding{fail},
			doctor.Options{},
			[]string{"new p1 fail"},
			1,
		},
		{
			"gone",
			[]doctor.Finding{fail},
			[]doctor.Finding{doctor.Passed("", "")},
			doctor.Options{},
			[]string{"gone p1 fail"},
			0,
		},
		{
			"gone, one of two",
			[]doctor.Finding{fail, say(doctor.OutcomeWarn, "p2", "slow")},
			[]doctor.Finding{fail},
			doctor.Options{},
			[]string{"gone p2 warn"},
			0,
		},
		{
			"worse",
			[]doctor.Finding{say(doctor.OutcomeWarn, "p1", "slow")},
			[]doctor.Finding{fail},
			doctor.Options{},
			[]string{"changed p1 warn, fail"},
			1,
		},
		{
			"better",
			[]doctor.Finding{fail},
			[]doctor.Finding{say(doctor.OutcomeInfo, "p1", "up")},
			doctor.Options{},
			[]string{"changed p1 fail, info"},
			0,
		},
		{
			"another text is no worse",
			[]doctor.Finding{say(doctor.OutcomeWarn, "p1", "8 errors")},
			[]doctor.Finding{say(doctor.OutcomeWarn, "p1", "9 errors")},
			doctor.Options{},
			[]string{"changed p1 warn, warn"},
			0,
		},
		{
			"unknown instead of a warning is worse",
			[]doctor.Finding{say(doctor.OutcomeWarn, "p1", "slow")},
			[]doctor.Finding{doctor.Unknown("p1", "EIO")},
			doctor.Options{},
			[]string{"changed p1 warn, unknown"},
			1,
		},
		{"several of one object are paired by text", []doctor.Finding{
			say(doctor.OutcomeWarn, "p1", "a"), say(doctor.OutcomeWarn, "p1", "b"),
		}, []doctor.Finding{
			say(doctor.OutcomeWarn, "p1", "c"), say(doctor.OutcomeWarn, "p1", "a"),
		}, doctor.Options{}, []string{"changed p1 warn, warn"}, 0},
		{
			"what no longer applies is not gone",
			[]doctor.Finding{fail},
			[]doctor.Finding{doctor.NotApplicable("", "no ports")},
			doctor.Options{},
			[]string{"not judged p1 fail"},
			0,
		},
		{
			"what root would see is not gone",
			[]doctor.Finding{fail},
			[]doctor.Finding{doctor.NeedsPrivilege("", "as root")},
			doctor.Options{},
			[]string{"not judged p1 fail"},
			0,
		},
		{
			"a check without a result",
			[]doctor.Finding{fail},
			[]doctor.Finding{doctor.Unknown("", "timed out")},
			doctor.Options{},
			[]string{"new node unknown", "not judged p1 fail"},
			1,
		},
		{
			"suppressed meanwhile",
			[]doctor.Finding{fail},
			[]doctor.Finding{fail},
			doctor.Options{Suppressions: []doctor.Suppression{{CheckID: "a"}}},
			nil, 0,
		},
		{
			"on trial meanwhile",
			[]doctor.Finding{fail},
			[]doctor.Finding{fail},
			doctor.Options{Shadow: []string{"a"}},
			nil, 0,
		},
		{
			"a check that was left out",
			[]doctor.Finding{fail},
			[]doctor.Finding{fail},
			doctor.Options{Skip: []string{"a"}},
			nil, 0,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := saved(t, run(t, node(), doctor.Options{}, giving("a", tt.before...)))
			now := run(t, node(), tt.opts, giving("a", tt.now...))
			if err := now.Compare(before); err != nil {
				t.Fatal(err)
			}
			c := now.Since
			var got []string
			for _, f := range c.New {
				got = append(got, "new "+f.Object+" "+string(f.Outcome))
			}
			for _, ch := range c.Changed {
				got = append(got, "changed "+ch.Now.Object+" "+string(ch.Before.Outcome)+", "+string(ch.Now.Outcome))
			}
			for _, f := range c.Gone {
				got = append(got, "gone "+f.Object+" "+string(f.Outcome))
			}
			for _, f := range c.NotJudged {
				got = append(got, "not judged "+f.Object+" "+string(f.Outcome))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if n := len(c.Worse()); n != tt.worse {
				t.Errorf("%d findings are worse, want %d", n, tt.worse)
			}
		})
	}
}

func TestParseReportErrors(t *testing.T) {
	for in, want := range map[string]error{
		"":                                doctor.ErrNotReport,
		"schema: x":                       doctor.ErrNotReport,
		"{}":                              doctor.ErrNotReport,
		"[]":                              doctor.ErrNotReport,
		`{"schema": "rdmakit.status/v1"}`: doctor.ErrNotReport,
		`{"schema": "rdmakit.doctor/v0"}`: doctor.ErrVersion,
		`{"schema": "rdmakit.doctor/v2"}`: doctor.ErrVersion,
		`{"schema": "rdmakit.doctor/v1", "verdict": "fine"}`: doctor.ErrNotReport,
	} {
		if _, err := doctor.ParseReport([]byte(in)); !errors.Is(err, want) {
			t.Errorf("ParseReport(%s) = %v, want %v", in, err, want)
		}
	}
}

// TestCompareVanished removes objects between two reports.
func TestCompareVanished(t *testing.T) {
	snap := func(devices ...string) *inventory.Snapshot {
		s := inventory.Snapshot{Host: inventory.Host{Name: "n1"}}
		for _, d := range devices {
			s.Devices = append(s.Devices, inventory.Device{Name: d, Ports: []inventory.Port{{Number: 1}}})
		}
		return &s
	}
	bare := snap("mlx5_0")
	bare.Devices[0].Ports = nil
	host := snap("mlx5_0")
	host.Netdevs = []inventory.Netdev{{Name: "lo"}, {Name: "ens0"}, {Name: "veth1"}}
	host.Cards = []inventory.Card{
		{PCI: inventory.PCI{Address: "0000:18:00.0"}}, {PCI: inventory.PCI{Address: "0000:2a:00.0"}},
	}
	host.GPUs = []inventory.GPU{{PCI: inventory.PCI{Address: "0000:3b:00.0"}}}
	smaller := snap("mlx5_0")
	smaller.Netdevs, smaller.Cards = host.Netdevs[:1], host.Cards[:1]
	fail := func(objects ...string) []doctor.Finding {
		var list []doctor.Finding
		for _, o := range objects {
			list = append(list, found(doctor.OutcomeFail, o))
		}
		return list
	}
	ok := []doctor.Finding{doctor.Passed("", "")}
	tests := []struct {
		name                 string
		before, now          *inventory.Snapshot
		findings, findingsOf []doctor.Finding
		want                 []string // vanished objects with the number of their findings, and what is gone
	}{
		{"none", snap("mlx5_0"), snap("mlx5_0"), fail("mlx5_0:1"), ok, []string{"gone mlx5_0:1"}},
		{
			"a device with a finding about its port",
			snap("mlx5_0", "mlx5_1"), snap("mlx5_0"), fail("mlx5_0:1", "mlx5_1:1", "mlx5_1:1"), ok,
			[]string{"device mlx5_1 0", "port mlx5_1:1 2", "gone mlx5_0:1"},
		},
		{"devices without findings", snap("mlx5_0", "mlx5_1"), snap("mlx5_1"), ok, ok, []string{
			"device mlx5_0 0", "port mlx5_0:1 0",
		}},
		{"ports that can't be read", snap("mlx5_0"), bare, fail("mlx5_0:1"), []doctor.Finding{
			doctor.Unknown("mlx5_0", "EIO"),
		}, []string{"not judged mlx5_0:1"}},
		{
			"network devices only with findings, cards", host, smaller, fail("ens0"), ok,
			[]string{"pci 0000:2a:00.0 0", "netdev ens0 1"},
		},
		{
			"no network device and no PCI function was seen", host, snap("mlx5_0"), fail("ens0"), ok,
			[]string{"not judged ens0"},
		},
	}
	for _, tt := range tests {
		before := saved(t, run(t, doctor.Input{Snapshot: tt.before}, doctor.Options{}, giving("a", tt.findings...)))
		now := run(t, doctor.Input{Snapshot: tt.now}, doctor.Options{}, giving("a", tt.findingsOf...))
		if err := now.Compare(before); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range now.Since.Vanished {
			got = append(got, fmt.Sprintf("%s %s %d", v.Kind, v.Name, len(v.Findings)))
		}
		for _, f := range now.Since.Gone {
			got = append(got, "gone "+f.Object)
		}
		for _, f := range now.Since.NotJudged {
			got = append(got, "not judged "+f.Object)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	// a report of before there were objects
	in := doctor.Input{Snapshot: snap("mlx5_0", "mlx5_1")}
	before := run(t, in, doctor.Options{}, giving("a", fail("mlx5_1:1")...))
	before.Objects = nil
	now := run(t, doctor.Input{Snapshot: snap("mlx5_0")}, doctor.Options{}, giving("a", ok...))
	if err := now.Compare(saved(t, before)); err != nil || len(now.Since.Vanished) != 1 || len(now.Since.Gone) != 0 {
		t.Errorf("without objects: %v, %+v", err, now.Since)
	}
}

// TestCompareNamesChecks compares reports of different checks.
func TestCompareNamesChecks(t *testing.T) {
	pass := doctor.Passed("", "")
	old := doctor.Options{Suppressions: []doctor.Suppression{{CheckID: "b", Until: "2020-01-01"}}}
	before := saved(t, run(t, node(), old, giving("a", pass), giving("b", pass)))
	now := run(t, node(), doctor.Options{}, giving("b", pass), giving("c", found(doctor.OutcomeFail, "x")))
	if err := now.Compare(before); err != nil {
		t.Fatal(err)
	}
	want := []doctor.NotCompared{{CheckID: "a"}, {CheckID: "c", New: true}}
	if diff := cmp.Diff(want, now.Since.NotCompared); diff != "" {
		t.Errorf("not compared (-want +got):\n%s", diff)
	}
	if len(now.Since.New) > 0 || len(now.Since.Gone) != 1 || now.Since.Gone[0].CheckID != doctor.SuppressionsID {
		t.Errorf("changes: %+v, want only the suppression gone", now.Since)
	}
}

func TestCompareOtherNode(t *testing.T) {
	r := run(t, node(), doctor.Options{}, giving("a", found(doctor.OutcomeFail, "x")))
	nameless := r
	nameless.Node = ""
	for _, pair := range [][2]doctor.Report{{r, nameless}, {nameless, r}, {nameless, nameless}} {
		if err := pair[0].Compare(pair[1]); !errors.Is(err, doctor.ErrNoNode) || pair[0].Since != nil {
			t.Errorf("Compare %q with %q = %v, want %v", pair[0].Node, pair[1].Node, err, doctor.ErrNoNode)
		}
	}
	other := r
	other.Node = "n2"
	if err := r.Compare(other); !errors.Is(err, doctor.ErrOtherNode) || r.Since != nil {
		t.Errorf("Compare with another node = %v", err)
	}
}
