package logcases

import (
	"slices"
	"strings"
	"testing"
)

// run scores a program that knows which case it reads: fakes need no logs.
func run(cases []Case, answer func(*Case) Result) Report {
	var report Report
	for i := range cases {
		one := Run(cases[i:i+1], func([]File) Result { return answer(&cases[i]) })
		report.Outcomes = append(report.Outcomes, one.Outcomes...)
	}
	return report
}

func confirmed(c *Case) bool { return len(c.Causes) > 0 }

func perfect(c *Case) Result {
	r := Result{Facts: c.Facts, Recognised: true}
	for _, slug := range c.Causes {
		r.Causes = append(r.Causes, Ranked{slug, Proven})
	}
	for _, slug := range c.Candidates {
		r.Causes = append(r.Causes, Ranked{slug, Possible})
	}
	return r
}

func TestPerfect(t *testing.T) {
	r := run(load(t), perfect)
	got := r.Sum(confirmed)
	if got.First.hits != got.First.all || got.First.all < 80 || got.Traps.hits != 0 || got.Traps.all < 80 {
		t.Errorf("Sum = first %v, traps %v, want all first and no traps", got.First, got.Traps)
	}
	if got.Facts.Wrong+got.Facts.Missing > 0 || got.Facts.Right < 300 {
		t.Errorf("facts = %+v, want all right", got.Facts)
	}
	if ids := slices.Concat(r.FalseCertainties(), r.FalseAlarms()); len(ids) > 0 {
		t.Errorf("false claims in %v, want none", ids)
	}
	if changed := r.Changed(); len(changed) > 0 {
		t.Errorf("changed verdicts %v, want none", changed)
	}
	for _, o := range r.Outcomes {
		if o.Case.Family == FamilyUnproven && !o.Candidate {
			t.Errorf("%s: candidate not found", o.Case.ID)
		}
	}
}

// TestWrong scores a program that always claims one cause which no case has.
func TestWrong(t *testing.T) {
	r := run(load(t), func(*Case) Result { return Result{Causes: []Ranked{{"no-such-cause", Likely}}} })
	got := r.Sum(confirmed)
	if got.First.hits+got.FirstThree.hits+got.Traps.hits+got.Facts.Right > 0 {
		t.Errorf("Sum = %+v, want no hit", got)
	}
	if n := len(r.FalseAlarms()); n < 10 {
		t.Errorf("%d false alarms, want one for each healthy case", n)
	}
	if n := len(r.FalseCertainties()); n != 0 {
		t.Errorf("%d false certainties of likely causes, want none", n)
	}
	if n := len(r.Changed()["CRLF"]); n < 90 {
		t.Errorf("%d changed verdicts, want one for each case with a cause and each healthy one", n)
	}
}

// TestTrapFirst scores a program that names the traps and then the cause.
func TestTrapFirst(t *testing.T) {
	r := run(load(t), func(c *Case) Result {
		var out Result
		for _, slug := range slices.Concat(c.Traps[:min(1, len(c.Traps))], c.Causes) {
			out.Causes = append(out.Causes, Ranked{slug, Possible})
		}
		return out
	})
	got := r.Sum(func(c *Case) bool { return confirmed(c) && !isNote(c.Causes[0]) })
	if got.Traps.hits != got.Traps.all || got.First.hits != 0 || got.FirstThree.hits != got.FirstThree.all {
		t.Errorf("Sum = %+v, want each trap above and each cause within three", got)
	}
	for variant, ids := range r.Changed() {
		if len(ids) == 0 {
			t.Errorf("variant %s: no changed verdict, though a trap comes first", variant)
		}
	}
	if len(r.Changed()) != len(Variants()) {
		t.Errorf("changed verdicts in %d variants, want all %d", len(r.Changed()), len(Variants()))
	}
}

// TestCertain scores a program that claims the first candidate as proven.
func TestCertain(t *testing.T) {
	cases := load(t)
	r := run(cases, func(c *Case) Result {
		if len(c.Candidates) == 0 {
			return Result{Causes: []Ranked{{"cable", Proven}}}
		}
		return Result{Causes: []Ranked{{c.Candidates[0], Proven}}}
	})
	want := 0
	for i := range cases {
		if cases[i].Family == FamilyUnproven || cases[i].Family == FamilyHealthy {
			want++
		}
	}
	if got := len(r.FalseCertainties()); got != want || want < 70 {
		t.Errorf("%d false certainties, want %d", got, want)
	}
}

// TestSilent scores a program that says nothing: nothing is wrong, and nothing is found.
func TestSilent(t *testing.T) {
	r := run(load(t), func(*Case) Result { return Result{} })
	got := r.Sum(confirmed)
	if got.First.hits+got.Traps.hits+got.Facts.Right+got.Facts.Wrong > 0 || got.Facts.Missing < 300 {
		t.Errorf("Sum = %+v, want nothing found and nothing wrong", got)
	}
	if len(r.Changed())+len(r.FalseCertainties())+len(r.FalseAlarms()) > 0 {
		t.Error("a silent program makes false claims")
	}
}

func TestVerdict(t *testing.T) {
	proven := Case{Family: FamilyNCCL, Causes: []string{"gid-index", "gid-moved"}, Traps: []string{"cable"}}
	note := Case{Family: FamilyNCCL, Causes: []string{"opcode-leftover"}, Traps: []string{"receiver-not-ready"}}
	unproven := Case{Family: FamilyUnproven, Candidates: []string{"acs"}, Traps: []string{"cable"}}
	healthy := Case{Family: FamilyHealthy, Allowed: []string{"sockets-used"}}
	noted := Result{Notes: []string{"opcode-leftover"}, Causes: []Ranked{{"dead-peer", Likely}}}
	causes := func(pairs ...Ranked) Result { return Result{Causes: pairs} }
	for name, test := range map[string]struct {
		c    Case
		r    Result
		want Verdict
	}{
		"cause first":                 {proven, causes(Ranked{"gid-index", Likely}, Ranked{"cable", Likely}), Kept},
		"second accepted cause first": {proven, causes(Ranked{"gid-moved", Possible}), Kept},
		"nothing named":               {proven, Result{}, Weaker},
		"another one, possible":       {proven, causes(Ranked{"udp-blocked", Possible}), Weaker},
		"another one, likely":         {proven, causes(Ranked{"acs", Likely}, Ranked{"gid-index", Likely}), Changed},
		"a trap, possible":            {proven, causes(Ranked{"cable", Possible}), Changed},
		"a remark among the notes":    {note, noted, Kept},
		"unproven, a candidate":       {unproven, causes(Ranked{"acs", Likely}), Kept},
		"unproven, claimed as proven": {unproven, causes(Ranked{"acs", Proven}), Changed},
		"unproven, a likely trap":     {unproven, causes(Ranked{"acs", Likely}, Ranked{"cable", Likely}), Changed},
		"unproven, a possible trap":   {unproven, causes(Ranked{"cable", Possible}), Kept},
		"unproven, silent":            {unproven, Result{}, Weaker},
		"healthy, silent":             {healthy, Result{}, Kept},
		"healthy, a possible cause":   {healthy, causes(Ranked{"cable", Possible}), Kept},
		"healthy, a likely cause":     {healthy, causes(Ranked{"cable", Likely}), Changed},
		"healthy, an allowed remark":  {healthy, causes(Ranked{"sockets-used", Likely}), Kept},
	} {
		if got := test.c.verdict(test.r); got != test.want {
			t.Errorf("%s: verdict = %d, want %d", name, got, test.want)
		}
	}
}

func TestCompareFacts(t *testing.T) {
	want := Facts{
		Versions: []string{"NCCL 2.21.5"}, Networks: map[string]string{"a": "IB", "b": "IB"},
		NICs: map[string][]string{"a": {"mlx5_0", "mlx5_1"}}, GIDs: []string{"fe80::1"}, GDR: "on", Ranks: 4,
		Hosts: []string{"a", "b"}, Decoded: []string{"status=4"},
	}
	got := Facts{
		Versions: []string{"NCCL 2.20.5"}, Networks: map[string]string{"a": "IB", "b": "Socket"},
		NICs: map[string][]string{"a": {"mlx5_1", "mlx5_0"}}, GDR: "off", Hosts: []string{"a"},
		Decoded: []string{"status=4"},
	}
	// right: a's network, a's devices, host a, the decoded value; wrong: b's network, GDR; missing:
	// version, GID, ranks, host b
	if tally := compareFacts(want, got); tally != (FactTally{Right: 4, Wrong: 2, Missing: 4}) {
		t.Errorf("compareFacts = %+v, want 4 right, 2 wrong, 4 missing", tally)
	}
	got.Ranks = 8
	if tally := compareFacts(want, got); tally != (FactTally{Right: 4, Wrong: 3, Missing: 3}) {
		t.Errorf("compareFacts = %+v, want 4 right, 3 wrong, 3 missing", tally)
	}
}

// TestStatementsApart checks that causes by a maintainer's statement only are counted apart.
func TestStatementsApart(t *testing.T) {
	r := run(load(t), func(c *Case) Result {
		if c.statement() {
			return Result{}
		}
		return perfect(c)
	})
	text := r.Markdown()
	row := lineOf(t, text, "**A–E, confirmed**")
	if !strings.Contains(row, "(100 %) | ") {
		t.Errorf("%s: want 100 %%", row)
	}
	if row := lineOf(t, text, "A–E, a maintainer's statement only"); !strings.Contains(row, "| 0/") {
		t.Errorf("%s: want none", row)
	}
}

func lineOf(t *testing.T, text, part string) string {
	t.Helper()
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return strings.TrimSuffix(line, "\n")
		}
	}
	t.Errorf("no line with %q in:\n%s", part, text)
	return ""
}

func TestMarkdown(t *testing.T) {
	cases := load(t)
	text := run(cases, perfect).Markdown()
	for _, f := range families()[:5] {
		lineOf(t, text, string(f.Family)+" "+f.Title)
	}
	for _, v := range Variants() {
		if row := lineOf(t, text, "| "+v.Name+" |"); !strings.HasSuffix(row, "| 0 |") {
			t.Errorf("%s: want no changed verdict", row)
		}
	}
	for part, want := range map[string]string{
		"claimed as proven": "0/", "fault claimed for a healthy job": "0/", "a candidate within three": "(100 %)",
		"values decoded": "4/4", "form recognised": "(100 %)", "facts right in families F and H": "(100 %)",
	} {
		if row := lineOf(t, text, part); !strings.Contains(row, want) {
			t.Errorf("%s: want %s", row, want)
		}
	}
	text = run(cases, func(*Case) Result { return Result{Causes: []Ranked{{"cable", Proven}}} }).Markdown()
	if row := lineOf(t, text, "claimed as proven"); strings.Contains(row, "| 0/") {
		t.Errorf("%s: want a claim in each case", row)
	}
}
