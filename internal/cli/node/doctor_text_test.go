package node

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
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
			doctor.OutcomePrivilege: &c.Privilege,
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
	faulty := reportOf(t, []doctor.Finding{
		finding(doctor.OutcomeFail, "mlx5_0:1", "no routable GID", "/sys/0"),
		finding(doctor.OutcomeFail, "mlx5_1:1", "no routable GID", "/sys/1"),
		down,
		finding(doctor.OutcomePass, "node", "5 of 8 ports"),
	}, []doctor.Finding{finding(doctor.OutcomePass, "node", "all well", "/sys/4")})
	harmless := reportOf(t,
		[]doctor.Finding{
			finding(doctor.OutcomeWarn, "x", "slow"),
			finding(doctor.OutcomeNotApplicable, "node", "no second rail"),
		},
		[]doctor.Finding{finding(doctor.OutcomeNotApplicable, "node", "no second rail")},
		[]doctor.Finding{finding(doctor.OutcomeNotApplicable, "node", "no second rail")},
		[]doctor.Finding{finding(doctor.OutcomePrivilege, "node", "the kernel's log")},
	)
	tests := []struct {
		name   string
		r      doctor.Report
		detail Detail
		want   string
	}{
		{"a line for each finding, equal ones together", faulty, DetailShort, `other checks: 1 failed, 1 passed
  FAIL     a mlx5_0:1, mlx5_1:1: no routable GID
  FAIL     a mlx5_3:1: port is down
           fix  ip link set dev ens3 up

2 checks: 1 failed, 1 passed; 3 findings
`},
		{"verbose has evidence and reasons", faulty, DetailVerbose, `other checks: 1 failed, 1 passed

FAIL  a: title of a
  mlx5_0:1, mlx5_1:1
            no routable GID
            /sys/0 = 1
            /sys/1 = 1
  mlx5_3:1  port is down
            /sys/3 = 1
  pass      5 of 8 ports
  fix  ip link set dev ens3 up

2 checks: 1 failed, 1 passed; 3 findings
`},
		{"wide has what passed", faulty, DetailWide, `other checks: 1 failed, 1 passed

FAIL  a: title of a
  mlx5_0:1, mlx5_1:1
            no routable GID
            /sys/0 = 1
            /sys/1 = 1
  mlx5_3:1  port is down
            /sys/3 = 1
  pass      5 of 8 ports
  fix  ip link set dev ens3 up

  pass  b: all well
        /sys/4 = 1

2 checks: 1 failed, 1 passed; 3 findings
`},
		{"unknown is no pass and needs no fix", reportOf(t, []doctor.Finding{
			finding(doctor.OutcomeUnknown, "node", "could not read /sys/1: denied"),
			finding(doctor.OutcomePass, "node", "1 of 2 devices"),
		}), DetailShort, `other checks: 1 unknown
  UNKNOWN  a: could not read /sys/1: denied

1 check: 1 unknown
`},
		{
			"what does not apply or needs root has its own lines", harmless, DetailShort,
			`other checks: 1 warning, 2 not applicable, 1 needs root
  WARN     a x: slow

not applicable: 2 checks: no second rail (2)
as root, doctor would also check: d (-v: what)

4 checks: 1 warning, 2 not applicable, 1 needs root
`,
		},
		{
			"verbose lists the checks of each reason", harmless, DetailVerbose,
			`other checks: 1 warning, 2 not applicable, 1 needs root

WARN  a: title of a
  x     slow
  n/a   no second rail

not applicable: 2 checks
  b, c: no second rail
as root, doctor would also check:
  d: the kernel's log

4 checks: 1 warning, 2 not applicable, 1 needs root
`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := output.New(output.Options{}).Render(nil, ReportBlocks(tt.r, tt.detail)...)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil {
				t.Errorf("ReportBlocks = %v, -want +got:\n%s", err, diff)
			}
		})
	}
}

// TestShortFormIsShort shows that many findings of one check, and many commands, are cut, and that
// the report says so.
func TestShortFormIsShort(t *testing.T) {
	var findings []doctor.Finding
	for i := range 9 {
		f := finding(doctor.OutcomeWarn, fmt.Sprintf("eth%d", i), fmt.Sprintf("MTU %d", 1500+i))
		f.Remedy = []string{"# first the switch", fmt.Sprintf("ip link set eth%d mtu 9000", i)}
		findings = append(findings, f)
	}
	got, err := output.New(output.Options{}).Render(nil, ReportBlocks(reportOf(t, findings), DetailShort)...)
	want := `other checks: 1 warning
  WARN     a eth0: MTU 1500
  WARN     a eth1: MTU 1501
  WARN     a eth2: MTU 1502
           and 6 more of a: eth3, eth4, eth5, eth6, eth7, eth8 (-v)
           fix  # first the switch
                ip link set eth0 mtu 9000
                and 8 more lines (-v)

1 check: 1 warning; 9 findings
`
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("ReportBlocks = %v, -want +got:\n%s", err, diff)
	}
}

// TestAlikeIsOneLine shows findings of several devices that differ in names only.
func TestAlikeIsOneLine(t *testing.T) {
	var mtu, files []doctor.Finding
	var objects []doctor.Object
	for i := range 10 {
		netdev, device := fmt.Sprintf("eth%d", i), fmt.Sprintf("mlx5_%d", i)
		objects = append(objects, doctor.Object{Name: device}, doctor.Object{Name: device + ":1"},
			doctor.Object{Name: netdev})
		if i < 4 {
			mtu = append(mtu, finding(doctor.OutcomeWarn, device+":1", netdev+" has MTU 1500: too small"))
		}
		files = append(files, finding(doctor.OutcomeUnknown, device, "no value in /sys/"+device+"/ports: EIO"))
	}
	mtu = append(mtu, finding(doctor.OutcomeWarn, "mlx5_4:1", "eth4 has MTU 576: too small"),
		finding(doctor.OutcomeWarn, "mlx5_5:1", "eth55 has MTU 1500: too small")) // not a name of the node
	r := reportOf(t, mtu, files)
	r.Objects = objects
	got, err := output.New(output.Options{}).Render(nil, ReportBlocks(r, DetailShort)...)
	want := `other checks: 1 unknown, 1 warning
  UNKNOWN  b mlx5_0, mlx5_1, mlx5_2, mlx5_3, mlx5_4, mlx5_5, … mlx5_9 (10): no value in /sys/*/ports: EIO
  WARN     a mlx5_0:1, mlx5_1:1, mlx5_2:1, mlx5_3:1 (4): eth0, eth1, eth2, eth3 has MTU 1500: too small
  WARN     a mlx5_4:1: eth4 has MTU 576: too small
  WARN     a mlx5_5:1: eth55 has MTU 1500: too small

2 checks: 1 unknown, 1 warning; 16 findings
`
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("ReportBlocks = %v, -want +got:\n%s", err, diff)
	}
}

// TestUnknownIsShort shows files that leave many checks without a result.
func TestUnknownIsShort(t *testing.T) {
	var lists [][]doctor.Finding
	for i := range 4 {
		list := []doctor.Finding{
			finding(doctor.OutcomeUnknown, "mlx5_0", "dangling link"),
			finding(doctor.OutcomeUnknown, "mlx5_1:1", "input/output error"),
			finding(doctor.OutcomeUnknown, "mlx5_2:1", "input/output error"),
		}
		if i == 1 {
			for j := range 5 {
				list = append(list, finding(doctor.OutcomeUnknown, fmt.Sprintf("eth%d", j), fmt.Sprintf("error %d", j)))
			}
		}
		lists = append(lists, list)
	}
	got, err := output.New(output.Options{}).Render(nil, ReportBlocks(reportOf(t, lists...), DetailShort)...)
	want := `other checks: 4 unknown
  UNKNOWN  a and 3 more checks of mlx5_0: dangling link
  UNKNOWN  a and 3 more checks of mlx5_1:1, mlx5_2:1: input/output error
  UNKNOWN  b eth0: error 0
  UNKNOWN  b eth1: error 1
  UNKNOWN  b eth2: error 2
           and 2 more without a result (-v)

4 checks: 4 unknown; 17 findings
`
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("ReportBlocks = %v, -want +got:\n%s", err, diff)
	}
}

// TestReasonsAreWhole shows that the reasons in the footer are not cut.
func TestReasonsAreWhole(t *testing.T) {
	why := []string{
		"the configuration space of the cards and of the bridges above them was not recorded on this node",
		"no port of this node uses RoCE, so that flow control and priorities don't matter for any job of it",
	}
	var lists [][]doctor.Finding
	for _, w := range why {
		lists = append(lists, []doctor.Finding{finding(doctor.OutcomeNotApplicable, "node", w)})
	}
	got, err := output.New(output.Options{}).Render(nil, ReportBlocks(reportOf(t, lists...), DetailShort)...)
	want := "not applicable: 2 checks: " + why[0] + "; " + why[1]
	if text := strings.Join(strings.Fields(string(got)), " "); !strings.Contains(text, want) || err != nil {
		t.Errorf("ReportBlocks = %v\n%s\nwant the reasons\n%s", err, got, want)
	}
}

// TestSilenced tells suppressed findings and rules on trial apart.
func TestSilenced(t *testing.T) {
	suppressed := finding(doctor.OutcomeFail, "x", "broken")
	suppressed.Suppressed = &doctor.Suppression{CheckID: "a", Until: "2027-01-31", Reason: "known", Who: "jd"}
	trial := finding(doctor.OutcomeWarn, "y", "slow")
	trial.Shadow = true
	r := reportOf(t, []doctor.Finding{suppressed, trial})
	got, err := output.New(output.Options{}).Render(nil, output.Text{Lines: silencedLines(r, DetailShort)})
	want := "suppressed: a x: broken (fail, suppressed until 2027-01-31: known (jd))\n" +
		"on trial, not counted: a y: slow (warn)\n"
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("silencedLines = %v, -want +got:\n%s", err, diff)
	}
	good := []doctor.Finding{finding(doctor.OutcomePass, "z", "good")}
	r = reportOf(t, []doctor.Finding{suppressed}, good)
	r.Checks[0].Outcome, r.Checks[0].Suppressed = doctor.OutcomePass, true
	parts := partsOf(r)
	got, err = output.New(output.Options{}).Render(nil, output.Line(parts[0].heading()...))
	if want := "other checks: 1 check passed, 1 suppressed\n"; string(got) != want || err != nil {
		t.Errorf("heading = %q, %v, want %q", got, err, want)
	}
}

// TestSoundNodeFitsScreen lays out a sound node with as many checks and reasons as there may be.
func TestSoundNodeFitsScreen(t *testing.T) {
	var r doctor.Report
	outcomes := []doctor.Outcome{
		doctor.OutcomePass, doctor.OutcomePass, doctor.OutcomePass, doctor.OutcomeNotApplicable,
		doctor.OutcomePass, doctor.OutcomePass, doctor.OutcomePrivilege,
	}
	for i := range 84 {
		o := outcomes[i%len(outcomes)]
		id := fmt.Sprintf("a-check-of-the-node-%d", i)
		group := doctor.Groups()[i%len(doctor.Groups())]
		f := finding(o, "node", fmt.Sprintf("the reason %d is a long sentence about a file that this node lacks", i))
		f.CheckID = id
		r.Checks = append(r.Checks, doctor.CheckResult{ID: id, Group: group, Outcome: o})
		r.Findings = append(r.Findings, f)
		r.NotCovered = append(r.NotCovered, fmt.Sprintf("number %d of the catalogue", i))
	}
	r.CheckCounts = doctor.Counts{Pass: 60, NotApplicable: 12, Privilege: 12}
	r.Counts = r.CheckCounts
	r.Unseen = []string{
		"kernel modules (no /sys/module)", "whether programs can open the devices (no /dev)",
		"the limit of locked memory (no /proc/self/limits)", "answers of the kernel (netlink)",
		"libraries (no /usr/lib)",
	}
	app := output.New(output.Options{OutTerminal: true, Size: func() (int, int) { return 80, 24 }})
	got, err := app.Render(nil, ReportBlocks(r, DetailShort)...)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(ansi.Strip(string(got)), "\n"), "\n")
	if len(lines) > 24 {
		t.Errorf("%d lines, want 24 at most:\n%s", len(lines), got)
	}
	for _, line := range lines {
		if ansi.StringWidth(line) > 80 {
			t.Errorf("line of %d columns: %s", ansi.StringWidth(line), line)
		}
	}
	for _, g := range doctor.Groups() {
		if !strings.Contains(ansi.Strip(string(got)), string(g)+": 10 checks passed") {
			t.Errorf("no line says what passed of %s:\n%s", g, got)
		}
	}
}

func TestSinceBlocks(t *testing.T) {
	c := doctor.Changes{
		New: []doctor.Finding{finding(doctor.OutcomeFail, "mlx5_1:1", "port is down")},
		Changed: []doctor.Change{{
			Before: finding(doctor.OutcomeWarn, "x", "slow"), Now: finding(doctor.OutcomeFail, "x", "dead"),
		}},
		Gone:      []doctor.Finding{finding(doctor.OutcomeWarn, "y", "small")},
		NotJudged: []doctor.Finding{finding(doctor.OutcomeWarn, "z", "hot")},
		Vanished: []doctor.VanishedObject{
			{Object: doctor.Object{Kind: doctor.KindDevice, Name: "mlx5_2"}},
			{
				Object:   doctor.Object{Kind: doctor.KindPort, Name: "mlx5_2:1"},
				Findings: []doctor.Finding{finding(doctor.OutcomeFail, "mlx5_2:1", "down")},
			},
		},
		NotCompared: []doctor.NotCompared{{CheckID: "a"}, {CheckID: "b", New: true}, {CheckID: "c"}},
	}
	got, err := output.New(output.Options{}).Render(nil, sinceBlocks(&c)...)
	want := `since the earlier report:
  vanished    port mlx5_2:1; it had : down (fail)
  vanished    device mlx5_2
  new          mlx5_1:1: port is down (fail)
  changed      x: dead (fail, was warn)
  not judged   z: hot (warn; now without a result)
  gone         y: small (warn)
not compared, only in the earlier report: a, c
not compared, only in this report: b
`
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("sinceBlocks = %v, -want +got:\n%s", err, diff)
	}
	c = doctor.Changes{NotCompared: []doctor.NotCompared{{CheckID: "a"}}}
	got, err = output.New(output.Options{}).Render(nil, sinceBlocks(&c)...)
	want = "nothing changed since the earlier report in the checks of both\n" +
		"not compared, only in the earlier report: a\n"
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("sinceBlocks = %v, -want +got:\n%s", err, diff)
	}
}

// TestUnknownLast shows that the last cause is not replaced by a line that is no shorter.
func TestUnknownLast(t *testing.T) {
	var findings []doctor.Finding
	for i := range shortUnknown + 2 {
		findings = append(findings, finding(doctor.OutcomeUnknown, fmt.Sprintf("eth%d", i), fmt.Sprintf("error %d", i)))
	}
	lines := unknownLines(findings[:shortUnknown+1], nil)
	last := lines[len(lines)-1]
	if text := last[len(last)-1].Text; !strings.Contains(text, "error 5") {
		t.Errorf("last line of %d causes: %q", shortUnknown+1, text)
	}
	if got := len(unknownLines(findings, nil)); got != shortUnknown+1 {
		t.Errorf("%d lines for %d causes, want %d", got, shortUnknown+2, shortUnknown+1)
	}
}

// TestGroupedLines has lines that differ in the names of objects only: they are one.
func TestGroupedLines(t *testing.T) {
	var unknown, absent, accepted, trial []doctor.Finding
	known := &doctor.Suppression{Reason: "known"}
	for i := range 9 {
		port := fmt.Sprintf("mlx5_%d:1", i)
		file := fmt.Sprintf("/sys/mlx5_%d/pkeys/0", i)
		unknown = append(unknown, finding(doctor.OutcomeUnknown, port, "no usable value in "+file))
		absent = append(absent, finding(doctor.OutcomeNotApplicable, port, file+" does not exist"))
		f := finding(doctor.OutcomeWarn, port, fmt.Sprintf("MTU of mlx5_%d is small", i))
		f.Suppressed = known
		accepted = append(accepted, f)
		f.Suppressed, f.Shadow = nil, true
		trial = append(trial, f)
	}
	accepted[8].Suppressed = &doctor.Suppression{Reason: "another reason"}
	other := []doctor.Finding{finding(doctor.OutcomeNotApplicable, "node", "/sys/mlx5_8/pkeys/0 does not exist")}
	r := reportOf(t, unknown, absent, accepted, trial, other)
	for i := range 9 {
		name := fmt.Sprintf("mlx5_%d", i)
		r.Objects = append(r.Objects, doctor.Object{Kind: doctor.KindDevice, Name: name},
			doctor.Object{Kind: doctor.KindPort, Name: name + ":1"})
	}
	const ports = "mlx5_0:1, mlx5_1:1, mlx5_2:1, mlx5_3:1, mlx5_4:1, mlx5_5:1, mlx5_6:1, mlx5_7:1"
	const devices = "mlx5_0, mlx5_1, mlx5_2, mlx5_3, mlx5_4, mlx5_5, mlx5_6, mlx5_7"
	for d, want := range map[Detail][]string{
		DetailVerbose: {
			"UNKNOWN  a\n  " + ports + ", mlx5_8:1\n    no usable value in /sys/*/pkeys/0\n",
			"\n  b, e: /sys/mlx5_8/pkeys/0 does not exist\n  b: /sys/*/pkeys/0 does not exist\n",
			"\nsuppressed: c " + ports + ": MTU of " + devices + " is small (warn, suppressed: known)\n" +
				"suppressed: c mlx5_8:1: MTU of mlx5_8 is small (warn, suppressed: another reason)\n",
			"\non trial, not counted: d " + ports + ", mlx5_8:1: MTU of " + devices + ", mlx5_8 is small (warn)\n",
		},
		DetailShort: {
			"\nnot applicable: 2 checks: /sys/mlx5_8/pkeys/0 does not exist (2); /sys/*/pkeys/0 does not exist\n",
			"\nsuppressed: c " + ports + " (8): MTU of " + devices + " is small (warn, suppressed: known)\n",
			"\non trial, not counted: d " + ports[:len("mlx5_0:1, ")*6] + "… mlx5_8:1 (9): MTU",
		},
	} {
		got, err := output.New(output.Options{}).Render(nil, ReportBlocks(r, d)...)
		for _, text := range want {
			if err != nil || !strings.Contains(string(got), text) {
				t.Errorf("detail %d: %v, no %q in\n%s", d, err, text, got)
			}
		}
	}
}
