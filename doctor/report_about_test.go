package doctor_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/testkit/ciforms"
	"github.com/rdmakit/rdmakit/inventory"
)

func TestRecorded(t *testing.T) {
	now := time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)
	const at = "recorded "
	for _, tt := range []struct {
		age  time.Duration
		want string
	}{
		{0, at + "2027-01-31 12:00:00 UTC, less than a minute ago"},
		{time.Minute, at + "2027-01-31 11:59:00 UTC, 1 minute ago"},
		{119 * time.Minute, at + "2027-01-31 10:01:00 UTC, 119 minutes ago"},
		{2 * time.Hour, at + "2027-01-31 10:00:00 UTC, 2 hours ago"},
		{47 * time.Hour, at + "2027-01-29 13:00:00 UTC, 47 hours ago"},
		{71 * time.Hour, at + "2027-01-28 13:00:00 UTC, 2 days ago"},
		{-time.Hour, at + "2027-01-31 13:00:00 UTC"}, // of a clock that is ahead
	} {
		rec := &doctor.Recording{Source: "x", Taken: now.Add(-tt.age).In(time.FixedZone("", 3600))}
		if got := (doctor.Report{Time: now, Recording: rec}).Recorded(); got != tt.want {
			t.Errorf("Recorded %v before the run = %q, want %q", tt.age, got, tt.want)
		}
	}
	if got := (doctor.Report{Recording: &doctor.Recording{}}).Recorded(); got != "recorded at an unknown time" {
		t.Errorf("Recorded without a time = %q", got)
	}
	if got := (doctor.Report{}).Recorded(); got != "" {
		t.Errorf("Recorded of a running node = %q", got)
	}
}

// bare is the report of a recorded node without RDMA devices on which a check of any node warns.
func bare(t *testing.T) doctor.Report {
	t.Helper()
	in := doctor.Input{Snapshot: &inventory.Snapshot{Host: inventory.Host{Name: "n1"}}}
	rdma := giving("port-active", doctor.Passed("", "never run"))
	rdma.Needs = doctor.NeedDevices
	r := run(t, in, doctor.Options{
		Now: formTime, Version: "v1.2.3",
		Recording: &doctor.Recording{Source: "n1.tar.gz", Taken: formTime.Add(-72 * time.Hour)},
	}, rdma, giving("clock", found(doctor.OutcomeWarn, "node")))
	r.ExitCode = new(3)
	return r
}

// TestNoDevice reads in each form first that RDMA can't be used, and the age of the recording.
func TestNoDevice(t *testing.T) {
	r := bare(t)
	const why, age = "no RDMA device on this node", "recorded 2027-01-28 12:00:00 UTC, 3 days ago"
	if !strings.HasPrefix(r.NoDevice, why) || r.Verdict != doctor.OutcomeWarn {
		t.Errorf("no device %q, verdict %s", r.NoDevice, r.Verdict)
	}
	if n := run(t, node(), doctor.Options{}, giving("a", doctor.Passed("", ""))).NoDevice; n != "" {
		t.Errorf("a node with a device: %q", n)
	}
	denied := inventory.Snapshot{Problems: []inventory.Problem{{Path: "/sys/class/infiniband", Error: "denied"}}}
	if n := run(t, doctor.Input{Snapshot: &denied}, doctor.Options{}, giving("a")).NoDevice; n != "" {
		t.Errorf("a node whose devices can't be read: %q", n)
	}

	line, code := r.Nagios()
	if code != doctor.NagiosUnknown || !strings.HasPrefix(line, "RDMA UNKNOWN - "+why) || !strings.Contains(line, age) {
		t.Errorf("Nagios = %q, %d", line, code)
	}
	failed := run(t, doctor.Input{Snapshot: &inventory.Snapshot{}}, doctor.Options{},
		giving("card-driver", found(doctor.OutcomeFail, "x")))
	line, code = failed.Nagios()
	if code != doctor.NagiosCritical || !strings.HasPrefix(line, "RDMA CRITICAL - 1 check") {
		t.Errorf("Nagios of a failed check = %q, %d", line, code)
	}
	page, err := r.HTML(doctor.PageInput{})
	if err != nil {
		t.Fatal(err)
	}
	banner := strings.Index(string(page), "RDMA can't be used: "+why)
	if banner < 0 || banner > strings.Index(string(page), "<main>") || strings.Contains(string(page), "Jobs run") ||
		!strings.Contains(string(page), `class="verdict unknown"`) {
		t.Errorf("HTML: reason at %d in\n%s", banner, page)
	}
	for _, want := range []string{age, "n1.tar.gz", "run 2027-01-31 12:00:00 UTC", "rdmactl v1.2.3"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("HTML has no %q", want)
		}
	}
	data, err := r.JUnit(false)
	if err == nil {
		err = ciforms.JUnit(data)
	}
	for _, want := range []string{
		`errors="1"`, `<testcase name="rdma-device node" classname="doctor.n1.RDMA devices">`,
		`timestamp="2027-01-31T12:00:00"`, `<property name="version" value="v1.2.3">`,
		`<property name="recorded" value="2027-01-28 12:00:00 UTC, 3 days ago">`,
		`<property name="recording" value="n1.tar.gz">`,
	} {
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("JUnit = %v, no %s in\n%s", err, want, data)
		}
	}
	families := parse(t, r.Prometheus())
	for name, want := range map[string]float64{
		"rdma_devices": 0, "exit_code": 3, "verdict": 1, "recorded_timestamp_seconds": 1801137600.5,
	} {
		f := families["rdmactl_doctor_"+name]
		if len(f.GetMetric()) != 1 || f.GetMetric()[0].GetGauge().GetValue() != want {
			t.Errorf("%s = %v, want %v", name, f, want)
		}
	}
	if got := families["rdmactl_doctor_verdict"].GetMetric()[0].GetLabel()[0].GetValue(); got != "warn" {
		t.Errorf("verdict = %s, want warn", got)
	}
}

// TestSARIFInvocation has the notifications about a whole run.
func TestSARIFInvocation(t *testing.T) {
	r := bare(t)
	r.Limits = []doctor.ChangedLimit{{Name: "use-warn", Value: 90, Default: 80, Unit: "%"}}
	data, err := r.SARIF("v1", []doctor.Check{giving("port-active"), giving("clock")})
	if err == nil {
		err = ciforms.SARIF(ciforms.SARIFSchema(t), data)
	}
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Runs []struct {
			Invocations []struct {
				ExecutionSuccessful        bool
				ExitCode                   int
				StartTimeUtc               time.Time
				ToolExecutionNotifications []struct {
					Level   string
					Message struct{ Text string }
				}
			}
		}
	}
	if err := json.Unmarshal(data, &log); err != nil {
		t.Fatal(err)
	}
	got := log.Runs[0].Invocations[0]
	var lines []string
	for _, n := range got.ToolExecutionNotifications {
		lines = append(lines, n.Level+": "+n.Message.Text)
	}
	want := "error: no RDMA device on this node: the PCI bus isn't visible, so RDMA cards can't be detected\n" +
		"note: recorded 2027-01-28 12:00:00 UTC, 3 days ago: n1.tar.gz\n" +
		"note: changed limit: use-warn 90 % (default 80 %)"
	if strings.Join(lines, "\n") != want || !got.ExecutionSuccessful || got.ExitCode != 3 ||
		!got.StartTimeUtc.Equal(formTime) {
		t.Errorf("invocation %+v, want the notifications\n%s", got, want)
	}
}
