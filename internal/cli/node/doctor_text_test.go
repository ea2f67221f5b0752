package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// reportOf runs one check for each list of findings: a, b, c.
func reportOf(t *testing.T, lists ...[]doctor.Finding) doctor.Report {
	t.Helper()
	var r doctor.Report
	count := func(c *doctor.Counts, o doctor.Outcome) {
		*map[doctor.Outcome]*int{
			doctor.OutcomeFail: &c.Fail, doctor.OutcomeUnknown: &c.Unknown, doctor.OutcomeWarn: &c.Warn,
			doctor.OutcomeInfo: &c.Info, doctor.OutcomePass: &c.Pass, doctor.OutcomeNotApplicable: &c.NotApplicable,
		}[o]++
	}
	for i, findings := range lists {
		id, worst := string(rune('a'+i)), doctor.OutcomeNotApplicable
		for _, f := range findings {
			f.CheckID = id
			r.Findings = append(r.Findings, f)
			count(&r.Counts, f.Outcome)
			if f.Outcome.Compare(worst) > 0 {
				worst = f.Outcome
			}
		}
		r.Checks = append(r.Checks, doctor.CheckResult{ID: id, Title: "title of " + id, Outcome: worst})
		count(&r.CheckCounts, worst)
	}
	return r
}

func finding(o doctor.Outcome, object, summary string, evidence ...string) doctor.Finding {
	f := doctor.Finding{Outcome: o, Object: object, Summary: summary}
	for _, path := range evidence {
		f.Evidence = append(f.Evidence, doctor.Evidence{Path: path, Value: "1"})
	}
	return f
}

func TestReportBlocks(t *testing.T) {
	down := finding(doctor.OutcomeFail, "mlx5_3:1", "port is down", "/sys/3")
	down.Remedy = []string{"ip link set dev ens3 up"}
	tests := []struct {
		name string
		r    doctor.Report
		want string
	}{
		{"equal findings are one, and a check counts once", reportOf(t, []doctor.Finding{
			finding(doctor.OutcomeFail, "mlx5_0:1", "no routable GID", "/sys/0"),
			finding(doctor.OutcomeFail, "mlx5_1:1", "no routable GID", "/sys/1"),
			down,
			finding(doctor.OutcomePass, "node", "5 of 8 ports"),
		}, []doctor.Finding{finding(doctor.OutcomePass, "node", "all well")}), `FAIL  a: title of a
  mlx5_0:1, mlx5_1:1
            no routable GID
            /sys/0 = 1
            /sys/1 = 1
  mlx5_3:1  port is down
            /sys/3 = 1
  pass      5 of 8 ports
  fix  ip link set dev ens3 up

pass  b: all well

2 checks: 1 failed, 1 passed; 3 findings
`},
		{"unknown and pass are one", reportOf(t, []doctor.Finding{
			finding(doctor.OutcomeUnknown, "mlx5_1", "could not read /sys/1: denied"),
			finding(doctor.OutcomePass, "node", "1 of 2 devices"),
		}), `UNKNOWN  a
  mlx5_1  could not read /sys/1: denied
  pass    1 of 2 devices

1 check: 1 unknown
`},
		{"what does not apply stands with the rest of its check", reportOf(t,
			[]doctor.Finding{
				finding(doctor.OutcomeWarn, "x", "slow"),
				finding(doctor.OutcomeNotApplicable, "node", "no second rail"),
			},
			[]doctor.Finding{finding(doctor.OutcomeNotApplicable, "node", "no second rail")},
		), `WARN  a: title of a
  x     slow
  n/a   no second rail

n/a   b: no second rail

2 checks: 1 warning, 1 not applicable
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := output.New(output.Options{}).Render(nil, ReportBlocks(tt.r, false)...)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil {
				t.Errorf("ReportBlocks = %v, -want +got:\n%s", err, diff)
			}
		})
	}
}
