package doctor_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor"
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

func TestCompareOtherNode(t *testing.T) {
	r := run(t, node(), doctor.Options{}, giving("a", found(doctor.OutcomeFail, "x")))
	other := r
	other.Node = "n2"
	if err := r.Compare(other); !errors.Is(err, doctor.ErrOtherNode) || r.Since != nil {
		t.Errorf("Compare with another node = %v", err)
	}
}
