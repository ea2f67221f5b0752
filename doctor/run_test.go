package doctor_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/inventory"
)

// check returns a sound check with the run function of a test.
func check(id string, run func(context.Context, *doctor.Input) []doctor.Finding) doctor.Check {
	return doctor.Check{
		ID: id, Title: "title of " + id, Severity: doctor.OutcomeFail, Explanation: "why", Remedy: "what",
		Sources: []string{"test"}, Timeout: 50 * time.Millisecond, Run: run,
	}
}

// giving returns a check that always gives these findings.
func giving(id string, findings ...doctor.Finding) doctor.Check {
	return check(id, func(context.Context, *doctor.Input) []doctor.Finding { return findings })
}

func found(o doctor.Outcome, object string) doctor.Finding {
	return doctor.Finding{Outcome: o, Object: object, Summary: "it is so"}
}

func node() doctor.Input {
	return doctor.Input{Snapshot: &inventory.Snapshot{
		Host:    inventory.Host{Name: "n1"},
		Devices: []inventory.Device{{Name: "mlx5_0"}},
	}}
}

func run(t *testing.T, in doctor.Input, opts doctor.Options, checks ...doctor.Check) doctor.Report {
	t.Helper()
	r, err := doctor.Run(t.Context(), checks, in, opts)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return r
}

// outcomes shortens a report to "id object outcome".
func outcomes(r doctor.Report) []string {
	var out []string
	for _, f := range r.Findings {
		line := f.CheckID + " " + f.Object + " " + string(f.Outcome)
		if f.Suppressed != nil {
			line += " suppressed"
		}
		out = append(out, line)
	}
	return out
}

func TestRunKeepsOrderAndCounts(t *testing.T) {
	r := run(t, node(), doctor.Options{},
		giving("b", found(doctor.OutcomeFail, "x:1"), found(doctor.OutcomeWarn, "x:2")),
		giving("a", found(doctor.OutcomePass, "")),
		giving("c", found(doctor.OutcomeInfo, "y"), found(doctor.OutcomePass, "")),
		giving("d", doctor.NotApplicable("", "no %s", "thing")),
	)
	want := []string{"b x:1 fail", "b x:2 warn", "a node pass", "c y info", "c node pass", "d node not-applicable"}
	if diff := cmp.Diff(want, outcomes(r)); diff != "" {
		t.Errorf("Run: findings (-want +got):\n%s", diff)
	}
	if want := (doctor.Counts{Fail: 1, Warn: 1, Info: 1, Pass: 2, NotApplicable: 1}); r.Counts != want {
		t.Errorf("Run: counts = %+v, want %+v", r.Counts, want)
	}
	if want := (doctor.Counts{Fail: 1, Info: 1, Pass: 1, NotApplicable: 1}); r.CheckCounts != want {
		t.Errorf("Run: counts of checks = %+v, want each once: %+v", r.CheckCounts, want)
	}
	if r.Verdict != doctor.OutcomeFail || r.Node != "n1" || r.Schema != "rdmakit.doctor/v1" {
		t.Errorf("Run = verdict %s, node %s, schema %s", r.Verdict, r.Node, r.Schema)
	}
	wantChecks := []doctor.CheckResult{
		{ID: "b", Title: "title of b", Outcome: doctor.OutcomeFail},
		{ID: "a", Title: "title of a", Outcome: doctor.OutcomePass},
		{ID: "c", Title: "title of c", Outcome: doctor.OutcomeInfo},
		{ID: "d", Title: "title of d", Outcome: doctor.OutcomeNotApplicable},
	}
	if diff := cmp.Diff(wantChecks, r.Checks); diff != "" {
		t.Errorf("Run: checks (-want +got):\n%s", diff)
	}
}

func TestRunFillsIn(t *testing.T) {
	own := found(doctor.OutcomeWarn, "x")
	own.Explanation = "its own"
	r := run(t, node(), doctor.Options{},
		giving("a", found(doctor.OutcomeFail, ""), own, found(doctor.OutcomePass, ""),
			doctor.Finding{Outcome: "splendid"}))
	var got []string
	for _, f := range r.Findings {
		got = append(got, f.Explanation)
	}
	if diff := cmp.Diff([]string{"why", "its own", "", ""}, got); diff != "" {
		t.Errorf("Run: explanations (-want +got):\n%s", diff)
	}
	if f := r.Findings[3]; f.Outcome != doctor.OutcomeUnknown || !strings.Contains(f.Summary, "splendid") {
		t.Errorf("Run: an outcome that does not exist became %+v, want unknown with the word", f)
	}
}

// One bad check must cost neither the others nor the process.
func TestRunContainsChecks(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	ill := map[string]struct {
		run  func(context.Context, *doctor.Input) []doctor.Finding
		want string
	}{
		"panics": {
			func(context.Context, *doctor.Input) []doctor.Finding { panic("boo") }, "the check panicked: boo",
		},
		"own-fault": {
			func(_ context.Context, in *doctor.Input) []doctor.Finding { _ = in.Snapshot.Devices[7]; return nil },
			"index out of range",
		},
		"exits": {
			func(context.Context, *doctor.Input) []doctor.Finding { runtime.Goexit(); return nil },
			"ended without a result",
		},
		"says-nil": {func(context.Context, *doctor.Input) []doctor.Finding { return nil }, "returned no finding"},
		"never-ends": {
			func(context.Context, *doctor.Input) []doctor.Finding { <-release; return nil }, "not finish within 50ms",
		},
	}
	for id, c := range ill {
		t.Run(id, func(t *testing.T) {
			r := run(t, node(), doctor.Options{}, check(id, c.run), giving("sound", found(doctor.OutcomePass, "")))
			if diff := cmp.Diff([]string{id + " node unknown", "sound node pass"}, outcomes(r)); diff != "" {
				t.Fatalf("Run (-want +got):\n%s", diff)
			}
			if got := r.Findings[0].Summary; !strings.Contains(got, c.want) {
				t.Errorf("Run: summary = %q, want %q in it", got, c.want)
			}
			if r.Verdict != doctor.OutcomeUnknown {
				t.Errorf("Run: verdict = %s, want unknown", r.Verdict)
			}
		})
	}
}

func TestRunStopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := check("stops", func(ctx context.Context, _ *doctor.Input) []doctor.Finding {
		cancel(errors.New("user went home"))
		<-ctx.Done()
		return []doctor.Finding{doctor.Unknown("", "%v", context.Cause(ctx))}
	})
	// Checks run side by side; this one gives nothing before the end.
	later := check("later", func(ctx context.Context, _ *doctor.Input) []doctor.Finding {
		<-ctx.Done()
		time.Sleep(time.Millisecond)
		return nil
	})
	later.Timeout = time.Minute
	stop.Timeout = time.Minute
	r, err := doctor.Run(ctx, []doctor.Check{stop, later}, node(), doctor.Options{})
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	if diff := cmp.Diff([]string{"stops node unknown", "later node unknown"}, outcomes(r)); diff != "" {
		t.Errorf("Run (-want +got):\n%s", diff)
	}
	for _, f := range r.Findings {
		if !strings.Contains(f.Summary, "user went home") {
			t.Errorf("Run: summary of %s = %q, want the cause in it", f.CheckID, f.Summary)
		}
	}
}

// TestRunStoppedWithoutFinding stops a check that answers nothing, at whatever time it does.
func TestRunStoppedWithoutFinding(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := check("stops", func(context.Context, *doctor.Input) []doctor.Finding {
		cancel(errors.New("user went home"))
		return nil
	})
	r, err := doctor.Run(ctx, []doctor.Check{stop}, node(), doctor.Options{})
	if err != nil || len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Summary, "user went home") {
		t.Errorf("Run = %+v, %v, want a finding with the cause", r.Findings, err)
	}
}

func TestRunChoosesChecks(t *testing.T) {
	checks := []doctor.Check{
		giving("a", found(doctor.OutcomePass, "")), giving("b", found(doctor.OutcomePass, "")),
		giving("c", found(doctor.OutcomePass, "")),
	}
	tests := []struct {
		opts doctor.Options
		want []string
	}{
		{doctor.Options{}, []string{"a node pass", "b node pass", "c node pass"}},
		{doctor.Options{Only: []string{"c", "a"}}, []string{"a node pass", "c node pass"}},
		{doctor.Options{Skip: []string{"b"}}, []string{"a node pass", "c node pass"}},
		{doctor.Options{Only: []string{"a"}, Skip: []string{"a"}}, nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, outcomes(run(t, node(), tt.opts, checks...))); diff != "" {
			t.Errorf("Run(%+v) (-want +got):\n%s", tt.opts, diff)
		}
	}
	wrong := []doctor.Options{
		{Only: []string{"z"}},
		{Skip: []string{"z"}},
		{Suppressions: []doctor.Suppression{{CheckID: "z"}}},
	}
	for _, opts := range wrong {
		if _, err := doctor.Run(t.Context(), checks, node(), opts); !errors.Is(err, doctor.ErrUnknownCheck) ||
			!strings.Contains(err.Error(), `"z"`) {
			t.Errorf("Run(%+v): error %v, want ErrUnknownCheck with the name", opts, err)
		}
	}
	bad := doctor.Options{Suppressions: []doctor.Suppression{{CheckID: "a", Until: "soon"}}}
	if _, err := doctor.Run(t.Context(), checks, node(), bad); err == nil {
		t.Error("Run with a suppression until \"soon\": no error")
	}
}

func TestNeeds(t *testing.T) {
	problem := func(path string) inventory.Snapshot {
		return inventory.Snapshot{Problems: []inventory.Problem{{Path: path, Error: "permission denied"}}}
	}
	ok := inventory.Snapshot{
		Devices: []inventory.Device{{Name: "x"}}, Host: inventory.Host{Memlock: &inventory.Memlock{}},
	}
	tests := []struct {
		name string
		snap *inventory.Snapshot
		need doctor.Need
		want doctor.Outcome
		why  string
	}{
		{"all met", &ok, doctor.NeedDevices | doctor.NeedLimits, doctor.OutcomePass, ""},
		{"no snapshot", nil, 0, doctor.OutcomeNotApplicable, "no snapshot"},
		{"no device", &inventory.Snapshot{}, doctor.NeedDevices, doctor.OutcomeNotApplicable, "no RDMA device"},
		{
			"class unreadable", new(problem("/sys/class/infiniband")), doctor.NeedDevices, doctor.OutcomeUnknown,
			"permission denied",
		},
		{
			"device unreadable", new(problem("/sys/class/infiniband/mlx5_0")), doctor.NeedDevices,
			doctor.OutcomeUnknown, "mlx5_0",
		},
		{
			"other problem", new(problem("/sys/class/infiniband_verbs/uverbs0")), doctor.NeedDevices,
			doctor.OutcomeNotApplicable, "no RDMA device",
		},
		{"no limits", &inventory.Snapshot{}, doctor.NeedLimits, doctor.OutcomeNotApplicable, "/proc/self/limits"},
		{
			"limits unreadable", new(problem("/proc/self/limits")), doctor.NeedLimits, doctor.OutcomeUnknown,
			"permission denied",
		},
	}
	for _, tt := range tests {
		c := giving("a", found(doctor.OutcomePass, ""))
		c.Needs = tt.need
		r := run(t, doctor.Input{Snapshot: tt.snap}, doctor.Options{}, c)
		if f := r.Findings[0]; f.Outcome != tt.want || !strings.Contains(f.Summary, tt.why) {
			t.Errorf("%s: %s %q, want %s with %q", tt.name, f.Outcome, f.Summary, tt.want, tt.why)
		}
	}
	got, want := doctor.NeedDevices|doctor.NeedLimits, "a node with RDMA devices and a known locked memory limit"
	if got.String() != want {
		t.Errorf("Need.String = %q, want %q", got, want)
	}
}

// A problem at a file that a check reads, or above it, must be reported, whatever the check
// returns.
func TestUnreadFilesBecomeUnknown(t *testing.T) {
	tests := []struct {
		path, object string
		concerned    bool
	}{
		{"/sys/class/infiniband/mlx5_0/ports/1/state", "mlx5_0:1", true},
		{"/sys/class/infiniband/mlx5_0/ports/1", "mlx5_0:1", true},
		{"/sys/class/infiniband/mlx5_0/ports", "mlx5_0", true},
		{"/sys/class/infiniband/mlx5_0", "mlx5_0", true},
		{"/sys/class/infiniband", "node", true},
		{"/sys", "node", true},
		{"/", "node", true},
		{"/sys/class/infiniband/mlx5_0/ports/1/rate", "", false},
		{"/sys/class/infiniband/mlx5_0/ports/1/state/x", "", false},
		{"/sys/class/net", "", false},
		{"/proc", "", false},
	}
	for _, tt := range tests {
		c := giving("a", found(doctor.OutcomePass, ""))
		c.Reads = []string{"/sys/class/infiniband/*/ports/*/state"}
		in := node()
		in.Snapshot.Problems = []inventory.Problem{{Path: tt.path, Error: "input/output error"}}
		want := []string{"a node pass"}
		if tt.concerned {
			want = append(want, "a "+tt.object+" unknown")
		}
		r := run(t, in, doctor.Options{}, c)
		if diff := cmp.Diff(want, outcomes(r)); diff != "" {
			t.Errorf("problem at %s (-want +got):\n%s", tt.path, diff)
		}
		if f := r.Findings[len(r.Findings)-1]; tt.concerned &&
			!cmp.Equal(f.Evidence, []doctor.Evidence{{Path: tt.path, Value: "input/output error"}}) {
			t.Errorf("problem at %s: evidence = %v", tt.path, f.Evidence)
		}
	}
}

func TestValidate(t *testing.T) {
	if err := giving("port-active").Validate(); err != nil {
		t.Errorf("Validate of a sound check: %v", err)
	}
	if err := (doctor.Check{ID: "Not Kebab", Timeout: -1}).Validate(); err == nil {
		t.Error("Validate of an empty check: no error")
	} else {
		for _, want := range []string{
			"kebab", "title", "explanation", "remedy", "severity", "sources", "time limit", "run",
		} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("Validate = %q, want %q in it", err, want)
			}
		}
	}
}

func BenchmarkRun(b *testing.B) {
	c := giving("a", found(doctor.OutcomePass, ""))
	for b.Loop() {
		if _, err := doctor.Run(b.Context(), []doctor.Check{c}, node(), doctor.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// A recording has more kinds than a run of some checks uses; the report names those that are used.
func TestRunNamesGathered(t *testing.T) {
	in := node()
	in.Facts = facts.New(nil)
	in.Facts.Clock = &facts.Datum[facts.ClockDiscipline]{Took: time.Second}
	in.Facts.Links = &facts.Datum[[]facts.Link]{Took: time.Second}
	c := giving("clock", found(doctor.OutcomePass, ""))
	c.Facts = []facts.Kind{facts.KindClock}
	r := run(t, in, doctor.Options{}, c)
	if len(r.Gathered) != 1 || r.Gathered[0].Kind != facts.KindClock {
		t.Errorf("Run: gathered %+v, want the clock only", r.Gathered)
	}
}

// TestRunJudgesFilesTogether runs a check that reads an unreadable file beside one that also
// depends on it and returns at once: both have no result, however they are scheduled.
func TestRunJudgesFilesTogether(t *testing.T) {
	tree := nodetree.New()
	if err := tree.SetError("sys/x", syscall.EIO); err != nil {
		t.Fatal(err)
	}
	slow := check("slow", func(_ context.Context, in *doctor.Input) []doctor.Finding {
		time.Sleep(time.Millisecond)
		_, _ = in.Facts.Files.Text("sys/x")
		return []doctor.Finding{doctor.Passed("", "well")}
	})
	quick := giving("quick", found(doctor.OutcomePass, ""))
	slow.Reads, quick.Reads, slow.Timeout = []string{"/sys/x"}, []string{"/sys/x"}, time.Minute
	in := node()
	in.Facts = facts.New(tree.FS())
	want := []string{"quick node pass", "quick node unknown", "slow node pass", "slow node unknown"}
	if diff := cmp.Diff(want, outcomes(run(t, in, doctor.Options{}, quick, slow))); diff != "" {
		t.Errorf("Run (-want +got):\n%s", diff)
	}
}

// TestBecause has data that is not there for each reason: no reason gives a pass.
func TestBecause(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want doctor.Outcome
	}{
		{facts.Absent("no such card"), doctor.OutcomeNotApplicable},
		{facts.ErrNotGathered, doctor.OutcomeNotApplicable},
		{facts.Denied("root would see it"), doctor.OutcomePrivilege},
		{syscall.EPERM, doctor.OutcomePrivilege},
		{syscall.EIO, doctor.OutcomeUnknown},
	} {
		f := doctor.Because("mlx5_0", tt.err)
		if f.Outcome != tt.want || f.Object != "mlx5_0" || f.Summary != tt.err.Error() {
			t.Errorf("Because(%v) = %+v, want %s", tt.err, f, tt.want)
		}
	}
}

// TestUnless checks that a check that does not apply asks for no data, such as what root can read.
func TestUnless(t *testing.T) {
	denied := facts.New(nil)
	denied.KernelLog = &facts.Datum[[]facts.KernelMessage]{Denied: "not permitted"}
	for _, tt := range []struct {
		name   string
		unless func(*doctor.Input) string
		want   doctor.Outcome
		says   string
	}{
		{"none", nil, doctor.OutcomePrivilege, "not permitted"},
		{"it applies", func(*doctor.Input) string { return "" }, doctor.OutcomePrivilege, "not permitted"},
		{"no", func(*doctor.Input) string { return "no 100% card" }, doctor.OutcomeNotApplicable, "no 100% card"},
		{"panic", func(*doctor.Input) string { panic("oops") }, doctor.OutcomeUnknown, "oops"},
	} {
		c := giving("a", found(doctor.OutcomePass, ""))
		c.Facts, c.Unless = []facts.Kind{facts.KindKernelLog}, tt.unless
		r := run(t, doctor.Input{Snapshot: &inventory.Snapshot{}, Facts: denied}, doctor.Options{}, c)
		if f := r.Findings[0]; f.Outcome != tt.want || !strings.Contains(f.Summary, tt.says) {
			t.Errorf("%s: %s %q, want %s with %q", tt.name, f.Outcome, f.Summary, tt.want, tt.says)
		}
	}
}
