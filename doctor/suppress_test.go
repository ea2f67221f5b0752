package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/inventory"
)

func TestParseSuppression(t *testing.T) {
	tests := []struct {
		in   string
		want doctor.Suppression
		err  string
	}{
		{"mtu", doctor.Suppression{CheckID: "mtu"}, ""},
		{"mtu@mlx5_0:1", doctor.Suppression{CheckID: "mtu", Object: "mlx5_0:1"}, ""},
		{"mtu@mlx5_0:1:2027-01-31", doctor.Suppression{CheckID: "mtu", Object: "mlx5_0:1", Until: "2027-01-31"}, ""},
		{"port-active:2027-01-31", doctor.Suppression{CheckID: "port-active", Until: "2027-01-31"}, ""},
		{"mtu@a@b", doctor.Suppression{CheckID: "mtu", Object: "a@b"}, ""},
		{"mtu@mlx5_0:2027", doctor.Suppression{CheckID: "mtu", Object: "mlx5_0:2027"}, ""},
		{"", doctor.Suppression{}, "not a check ID"},
		{"MTU", doctor.Suppression{}, "not a check ID"},
		{"mtu@", doctor.Suppression{}, "no object"},
		{"mtu:soon", doctor.Suppression{}, "not a check ID"},
		{"mtu:2027-02-31", doctor.Suppression{}, "not a date"},
		{"mtu@mlx5_0:1:2027-13-01", doctor.Suppression{}, "not a date"},
	}
	for _, tt := range tests {
		got, err := doctor.ParseSuppression(tt.in)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("ParseSuppression(%q) = %+v, %v, want %+v, %q", tt.in, got, err, tt.want, tt.err)
		}
	}
}

func FuzzParseSuppression(f *testing.F) {
	f.Add("mtu@mlx5_0:1:2027-01-31")
	f.Add("port-active:2027-02-31")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := doctor.ParseSuppression(s)
		if err != nil {
			return
		}
		if err := got.Validate(); err != nil {
			t.Errorf("ParseSuppression(%q) = %+v, which is not valid: %v", s, got, err)
		}
		back := got.CheckID
		if got.Object != "" {
			back += "@" + got.Object
		}
		if got.Until != "" {
			back += ":" + got.Until
		}
		if back != s {
			t.Errorf("ParseSuppression(%q) = %+v, which reads %q", s, got, back)
		}
	})
}

func TestSuppress(t *testing.T) {
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateTime, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	checks := []doctor.Check{
		giving("a", found(doctor.OutcomeFail, "mlx5_1:1"), found(doctor.OutcomeFail, "mlx5_10:1"),
			found(doctor.OutcomePass, "")),
		giving("b", found(doctor.OutcomeWarn, "mlx5_1:1")),
	}
	now := day("2026-11-21 23:59:59")
	tests := []struct {
		name    string
		sup     doctor.Suppression
		want    []string
		verdict doctor.Outcome
		expired int
	}{
		{
			"one object",
			doctor.Suppression{CheckID: "a", Object: "mlx5_1:1"},
			[]string{"a mlx5_1:1 fail suppressed", "a mlx5_10:1 fail", "a node pass", "b mlx5_1:1 warn"},
			doctor.OutcomeFail, 0,
		},
		{
			"a device is not a prefix of names",
			doctor.Suppression{CheckID: "a", Object: "mlx5_1"},
			[]string{"a mlx5_1:1 fail suppressed", "a mlx5_10:1 fail", "a node pass", "b mlx5_1:1 warn"},
			doctor.OutcomeFail, 0,
		},
		{
			"every object, but no pass, through its last day",
			doctor.Suppression{CheckID: "a", Until: "2026-11-21"},
			[]string{"a mlx5_1:1 fail suppressed", "a mlx5_10:1 fail suppressed", "a node pass", "b mlx5_1:1 warn"},
			doctor.OutcomeWarn, 0,
		},
		{
			"over",
			doctor.Suppression{CheckID: "a", Until: "2026-11-20"},
			[]string{
				"a mlx5_1:1 fail", "a mlx5_10:1 fail", "a node pass", "b mlx5_1:1 warn", "suppressions a warn",
			},
			doctor.OutcomeFail, 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, node(), doctor.Options{Suppressions: []doctor.Suppression{tt.sup}, Now: now}, checks...)
			if diff := cmp.Diff(tt.want, outcomes(r)); diff != "" {
				t.Errorf("Run (-want +got):\n%s", diff)
			}
			if r.Verdict != tt.verdict || len(r.Expired) != tt.expired {
				t.Errorf("Run = verdict %s, %d expired, want %s, %d", r.Verdict, len(r.Expired), tt.verdict, tt.expired)
			}
			if c := r.CheckCounts; c.Fail+c.Unknown+c.Warn+c.Info+c.Pass+c.NotApplicable+c.Suppressed != len(r.Checks) {
				t.Errorf("Run: counts of checks = %+v, want each of %d once", c, len(r.Checks))
			}
			if got := strings.Count(strings.Join(outcomes(r), "\n"), "suppressed"); r.Counts.Suppressed != got {
				t.Errorf("Run: counts.suppressed = %d, want %d", r.Counts.Suppressed, got)
			}
		})
	}
}

// If all findings of a check are suppressed, its outcome is pass, not not-applicable.
func TestSuppressAll(t *testing.T) {
	sup := doctor.Suppression{CheckID: "a", Reason: "spare part is ordered"}
	r := run(t, node(), doctor.Options{Suppressions: []doctor.Suppression{sup}},
		giving("a", found(doctor.OutcomeFail, "x")))
	if r.Verdict != doctor.OutcomePass || r.Checks[0].Outcome != doctor.OutcomePass {
		t.Errorf("Run = verdict %s, check %s, want pass", r.Verdict, r.Checks[0].Outcome)
	}
	if !r.Checks[0].Suppressed || r.CheckCounts.Suppressed != 1 {
		t.Errorf("Run = %+v, want the check suppressed", r.Checks[0])
	}
	two := run(t, node(), doctor.Options{Suppressions: []doctor.Suppression{{CheckID: "a", Object: "x"}}},
		giving("a", found(doctor.OutcomeFail, "x"), found(doctor.OutcomeWarn, "y")))
	if two.Checks[0].Suppressed || two.CheckCounts.Warn != 1 || two.CheckCounts.Suppressed != 0 {
		t.Errorf("Run = %+v, want a warning, because one of two findings is suppressed", two.Checks[0])
	}
	if diff := cmp.Diff(&sup, r.Findings[0].Suppressed); diff != "" {
		t.Errorf("Run: suppressed (-want +got):\n%s", diff)
	}
}

// TestSuppressNothing shows what is reported of a suppression that ended or whose object does not
// exist, and that it makes no check applicable.
func TestSuppressNothing(t *testing.T) {
	checks := []doctor.Check{
		giving("a", found(doctor.OutcomeFail, "ib_core"), found(doctor.OutcomePass, "")),
		giving("b", doctor.NotApplicable("", "no port")),
	}
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		sup  doctor.Suppression
		opts doctor.Options
		want string // summary; "" for no finding
	}{
		{sup: doctor.Suppression{CheckID: "a"}},
		{sup: doctor.Suppression{CheckID: "b"}},                     // nothing to suppress now
		{sup: doctor.Suppression{CheckID: "b", Object: "mlx5_0"}},   // a device of the node
		{sup: doctor.Suppression{CheckID: "b", Object: "mlx5_0:1"}}, // a port
		{sup: doctor.Suppression{CheckID: "b", Object: "ens0"}},     // a network device
		{sup: doctor.Suppression{CheckID: "b", Object: "node"}},     // always there
		{sup: doctor.Suppression{CheckID: "a", Object: "ib_core"}},  // of a finding
		{sup: doctor.Suppression{CheckID: "b", Object: "mlx5_0:100"}, // no such port
			want: "matches nothing: the node has no such object, and no finding is about it"},
		{sup: doctor.Suppression{CheckID: "b", Object: "ib_core"}, // of another check
			want: "matches nothing: the node has no such object, and no finding is about it"},
		{sup: doctor.Suppression{CheckID: "b", Object: "mlx5_9"}, opts: doctor.Options{Only: []string{"a"}}},
		{sup: doctor.Suppression{CheckID: "b", Object: "mlx5_9"}, opts: doctor.Options{SharedSuppressions: true}},
		{
			sup:  doctor.Suppression{CheckID: "b", Object: "mlx5_9", Until: "2026-11-20"},
			want: "ended on 2026-11-20: its findings count",
		},
	}
	in := node()
	in.Snapshot.Devices[0].Ports = []inventory.Port{{Number: 1}}
	in.Snapshot.Netdevs = []inventory.Netdev{{Name: "ens0"}}
	for _, tt := range tests {
		tt.opts.Suppressions, tt.opts.Now = []doctor.Suppression{tt.sup}, now
		r := run(t, in, tt.opts, checks...)
		got := ""
		for _, f := range r.Findings {
			if f.CheckID == doctor.SuppressionsID && f.Outcome == doctor.OutcomeWarn {
				got += f.Summary
			}
		}
		if got != tt.want {
			t.Errorf("suppress %+v: %q, want %q", tt.sup, got, tt.want)
		}
	}
	opts := doctor.Options{
		Only: []string{"b"}, Now: now,
		Suppressions: []doctor.Suppression{{CheckID: "b", Until: "2020-01-01"}},
	}
	r := run(t, in, opts, checks...)
	if r.Verdict != doctor.OutcomeNotApplicable || r.Counts.Warn != 1 {
		t.Errorf("verdict %s with %d warnings, want not-applicable with 1", r.Verdict, r.Counts.Warn)
	}
	opts.Only = nil
	root := run(t, in, opts, giving("b", doctor.NeedsPrivilege("", "the kernel's log")))
	if root.Verdict != doctor.OutcomePrivilege {
		t.Errorf("verdict %s, want needs-privilege", root.Verdict)
	}
	data, err := r.SARIF("v1", checks)
	if err != nil || !strings.Contains(string(data), "docs/doctor.md#accepted-findings") {
		t.Errorf("SARIF = %v, no rule of the suppressions in\n%s", err, data)
	}
}

// TestSuppressEnded has suppressions that ended beside others of the same check: one that is
// replaced is no fault.
func TestSuppressEnded(t *testing.T) {
	const past = "2026-01-31"
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name string
		sups []doctor.Suppression
		want int // warnings about suppressions
	}{
		{"renewed", []doctor.Suppression{{CheckID: "a", Until: past}, {CheckID: "a"}}, 0},
		{"renewed above", []doctor.Suppression{{CheckID: "a", Until: "2027-01-31"}, {CheckID: "a", Until: past}}, 0},
		{"for every object", []doctor.Suppression{{CheckID: "a", Object: "x:1", Until: past}, {CheckID: "a"}}, 0},
		{"for the device", []doctor.Suppression{
			{CheckID: "a", Object: "x:1", Until: past}, {CheckID: "a", Object: "x"},
		}, 0},
		{"each object apart", []doctor.Suppression{
			{CheckID: "a", Until: past}, {CheckID: "a", Object: "x:1"}, {CheckID: "a", Object: "y"},
		}, 0},
		{"one object is left", []doctor.Suppression{{CheckID: "a", Until: past}, {CheckID: "a", Object: "x"}}, 1},
		{"of another check", []doctor.Suppression{{CheckID: "a", Until: past}, {CheckID: "b"}}, 1},
		{"ended too", []doctor.Suppression{{CheckID: "a", Until: past}, {CheckID: "a", Until: "2026-11-20"}}, 2},
		{"without findings", []doctor.Suppression{{CheckID: "b", Until: past}}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, node(), doctor.Options{Suppressions: tt.sups, Now: now},
				giving("a", found(doctor.OutcomeFail, "x:1"), found(doctor.OutcomeFail, "y")),
				giving("b", doctor.Passed("", "")))
			got := 0
			for _, f := range r.Findings {
				if f.CheckID == doctor.SuppressionsID {
					got++
				}
			}
			if got != tt.want {
				t.Errorf("%d warnings, want %d", got, tt.want)
			}
		})
	}
}

// TestSuppressShared has suppressions of a list for several nodes: that the node lacks the object
// is information, and one that has ended a warning.
func TestSuppressShared(t *testing.T) {
	r := run(t, node(), doctor.Options{
		Now: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
		Suppressions: []doctor.Suppression{
			{CheckID: "a", Object: "mlx5_8", Shared: true},
			{CheckID: "a", Object: "mlx5_9"},
			{CheckID: "a", Until: "2026-01-31", Shared: true},
		},
	}, giving("a", doctor.Passed("", "")))
	want := []string{"a node pass", "suppressions a@mlx5_8 info", "suppressions a@mlx5_9 warn", "suppressions a warn"}
	if diff := cmp.Diff(want, outcomes(r)); diff != "" {
		t.Errorf("Run (-want +got):\n%s", diff)
	}
	if why := r.Findings[1].Explanation; !strings.Contains(why, "another node's") {
		t.Errorf("explanation %q doesn't name other nodes", why)
	}
}

func TestOutcomes(t *testing.T) {
	all := doctor.Outcomes()
	if all[0] != doctor.OutcomeFail || len(all) != 7 {
		t.Errorf("Outcomes = %v, want seven, fail first", all)
	}
	if doctor.OutcomeUnknown.Compare(doctor.OutcomeWarn) <= 0 {
		t.Error("Compare: unknown is not worse than warn, though a fault may hide behind it")
	}
	var o doctor.Outcome
	if err := o.UnmarshalText([]byte("warn")); err != nil || o != doctor.OutcomeWarn {
		t.Errorf("UnmarshalText(warn) = %v, %v", o, err)
	}
	if err := o.UnmarshalText([]byte("splendid")); err == nil {
		t.Error("UnmarshalText(splendid): no error")
	}
}
