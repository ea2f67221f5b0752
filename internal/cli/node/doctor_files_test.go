package node

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

func TestParseSuppressions(t *testing.T) {
	const file = "# accepted\n- check: mtu\n  object: mlx5_0:1\n  until: 2027-01-31\n  reason: stays\n  who: jd\n" +
		"- {check: memlock, reason: ' pods lift it '}\n"
	got, err := parseSuppressions("s.yaml", []byte(file))
	want := []doctor.Suppression{
		{CheckID: "mtu", Object: "mlx5_0:1", Until: "2027-01-31", Reason: "stays", Who: "jd"},
		{CheckID: "memlock", Reason: "pods lift it"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("parseSuppressions = %v, -want +got:\n%s", err, diff)
	}
	for in, want := range map[string]string{
		"":                           "",
		"# nothing\n":                "",
		"check: mtu":                 "s.yaml:1: not a list of suppressions",
		"- mtu":                      "s.yaml:1: not a suppression: it needs the fields check and reason",
		"- reason: x":                "s.yaml:1: suppression without check",
		"- check: mtu":               "s.yaml:1: suppression of mtu without a reason",
		"- check: mtu\n  reason: ''": "s.yaml:1: suppression of mtu without a reason",
		"- reason: x\n  check: mtoo": `s.yaml:2: no such check: "mtoo"`,
		"- {check: mtu, reason: x}\n- check: mtu\n  reason: x\n  until: 2027-02-31": `s.yaml:4: suppress mtu until ` +
			`"2027-02-31": not a date of the form YYYY-MM-DD`,
		"- check: mtu\n  resaon: x": `s.yaml:2: unknown field "resaon" ` +
			`(known: check, object, until, reason, who)`,
		"- check: mtu\n  reason: x\n  reason: y": "s.yaml:3: duplicate field reason (first at line 2)",
		"- check: [mtu]\n  reason: x":            "s.yaml:1: check is not a single value",
		"- check: mtu\n reason: x":               "s.yaml:2: did not find expected '-' indicator",
		"[]\n---\n[]":                            "s.yaml:2: more than one document",
		"[]\n---\n- \"x":                         "s.yaml:3: found unexpected end of stream",
		"a: [":                                   "s.yaml:1: did not find expected node content",
		"- \"x":                                  "s.yaml:1: found unexpected end of stream",
		"a: b: c":                                "s.yaml:1: mapping values are not allowed in this context",
		"# x\n- a: b\n- {\n- c":                  "s.yaml:4: did not find expected node content",
		"# x\n- \xff":                            "s.yaml:2: invalid leading UTF-8 octet",
		"# x\n- \x01":                            "s.yaml:2: control characters are not allowed",
		"# x\n- *y":                              "s.yaml:2: unknown anchor 'y' referenced",
		"- check: mtu\n  reason: \"x":            "s.yaml:2: found unexpected end of stream",
	} {
		_, err := parseSuppressions("s.yaml", []byte(in))
		if got := errorText(err); got != want {
			t.Errorf("parseSuppressions(%q) = %q, want %q", in, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestParseThresholds(t *testing.T) {
	known := []doctor.Threshold{
		{Name: "offset-warn", Value: 1, Unit: "ms"},
		{Name: "errors-fail", Value: 10},
		{Name: "errors-warn"},
		{Name: "use-warn", Value: 1, Unit: "%"},
	}
	got, err := parseThresholds("t.yaml",
		[]byte("offset-warn: {value: 2.5, unit: ms, what: x, source: y}\nerrors-fail: 0\n"), known)
	if want := map[string]float64{"offset-warn": 2.5, "errors-fail": 0}; !maps.Equal(got, want) || err != nil {
		t.Errorf("parseThresholds = %v, %v, want %v", got, err, want)
	}
	for in, want := range map[string]string{
		"":                                    "",
		"- a":                                 "t.yaml:1: not a mapping of thresholds",
		"errors-fail: 1\nofset-warn: 1":       `t.yaml:2: no such threshold: "ofset-warn"`,
		"errors-fail: many":                   `t.yaml:1: errors-fail: "many" is not a number`,
		"errors-fail: '1'":                    `t.yaml:1: errors-fail: "1" is not a number`,
		"errors-fail:":                        `t.yaml:1: errors-fail: "" is not a number`,
		"errors-fail: [1]":                    `t.yaml:1: errors-fail: "" is not a number`,
		"errors-fail: -1":                     `t.yaml:1: errors-fail: "-1" is not a number from 0`,
		"errors-fail: .inf":                   `t.yaml:1: errors-fail: ".inf" is not a number from 0`,
		"errors-fail: .nan":                   `t.yaml:1: errors-fail: ".nan" is not a number from 0`,
		"errors-fail: 1\nerrors-fail: 2":      "t.yaml:2: duplicate threshold errors-fail",
		"offset-warn:\n  unit: ms":            "t.yaml:2: offset-warn without a value",
		"offset-warn:\n  value: x":            `t.yaml:2: offset-warn: "x" is not a number`,
		"offset-warn:\n  value: 1\n  unit: s": `t.yaml:3: the unit of offset-warn is "ms", not "s"`,
		"errors-fail: 5\nerrors-warn: 6":      "t.yaml:2: threshold errors-warn: 6 is above errors-fail, 5",
		"use-warn: 500":                       "t.yaml:1: threshold use-warn: 500 % is more than 100 %",
		"offset-warn: {valu: 1}":              `t.yaml:1: unknown field "valu" (known: value, unit, what, source)`,
	} {
		_, err := parseThresholds("t.yaml", []byte(in), known)
		if got := errorText(err); got != want {
			t.Errorf("parseThresholds(%q) = %q, want %q", in, got, want)
		}
	}
	_, err = parseThresholds("t.yaml", []byte("ofset-warn: 1"), known)
	if hints := cli.Hints(err); !slices.Contains(hints, `did you mean "offset-warn"?`) {
		t.Errorf("hints of a misspelt name: %q", hints)
	}
}

// TestThresholdsReadBack passes what "doctor thresholds" prints to --thresholds.
func TestThresholdsReadBack(t *testing.T) {
	all := doctor.Thresholds(checks.All())
	if len(all) == 0 {
		t.Fatal("no check has a threshold")
	}
	for _, format := range []output.Format{output.FormatYAML, output.FormatJSON} {
		data, err := output.New(output.Options{Format: format}).Render(thresholdDocument(all))
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseThresholds("t", data, all)
		if err != nil || len(got) != len(all) {
			t.Fatalf("%s: %d of %d, %v", format, len(got), len(all), err)
		}
		for _, th := range all {
			if got[th.Name] != th.Value {
				t.Errorf("%s: %s = %v, want %v", format, th.Name, got[th.Name], th.Value)
			}
		}
		if !strings.Contains(string(data), all[0].Source[:5]) {
			t.Errorf("%s has no source of %s", format, all[0].Name)
		}
	}
}

func TestExitLevels(t *testing.T) {
	for _, tt := range []struct {
		flags doctorFlags
		want  doctor.Outcome
		some  bool
	}{
		{doctorFlags{}, doctor.OutcomeUnknown, true},
		{doctorFlags{strict: true}, doctor.OutcomeWarn, true},
		{doctorFlags{exitOn: "fail"}, doctor.OutcomeFail, true},
		{doctorFlags{exitOn: "never"}, "", false},
	} {
		if got, some := tt.flags.level(); got != tt.want || some != tt.some {
			t.Errorf("level of %+v = %q, %v, want %q, %v", tt.flags, got, some, tt.want, tt.some)
		}
	}
}
