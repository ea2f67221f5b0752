package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/testkit/ciforms"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test ./cluster/report -update records it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

type scenario struct {
	name string
	synthetic
	faulty  bool       // whether there are verdicts
	old     *synthetic // baseline
	verbose bool
}

func scenarios() []scenario {
	slow := synthetic{nodes: 6, rails: 2, seed: 3, slow: map[plan.End]float64{{Node: 1, Rail: 1}: 0.48}}
	healthy := synthetic{nodes: 6, rails: 2, seed: 4}
	emulated := slow
	emulated.scale = &result.Scale{Label: "EMULATED", Rate: 2, Time: 0.5}
	software := healthy
	software.scale = &result.Scale{Label: "SOFTWARE", Rate: 1, Time: 1}
	lost := synthetic{
		nodes: 6, rails: 2, seed: 5, lost: map[int32]bool{2: true},
		dead: map[plan.End]bool{{Node: 4, Rail: 0}: true},
	}
	unfinished := healthy
	unfinished.unfinished = true
	return []scenario{
		{name: "healthy", synthetic: healthy},
		{name: "slow", synthetic: slow, faulty: true, old: &healthy},
		{name: "emulated", synthetic: emulated, faulty: true, verbose: true},
		{name: "software", synthetic: software},
		{name: "lost", synthetic: lost},
		{name: "unfinished", synthetic: unfinished},
	}
}

func (s scenario) make(t *testing.T) (*result.Run, verdict.Report, Options) {
	t.Helper()
	run := s.run(t)
	v, o := verdict.Report{}, Options{Verbose: s.verbose, Version: "1.2.3"}
	if s.faulty {
		v = verdicts(run)
	}
	if s.old != nil {
		c, err := Compare(s.old.run(t), run)
		if err != nil {
			t.Fatal(err)
		}
		o.Comparison = c
	}
	return run, v, o
}

// TestGolden compares the forms of reports with recorded ones.
func TestGolden(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			run, v, o := s.make(t)
			for _, f := range []struct {
				extension string
				format    output.Format
				color     output.ColorMode
			}{{".txt", output.FormatTable, output.ColorNever}, {".json", output.FormatJSON, output.ColorNever}} {
				p := output.New(output.Options{Format: f.format, Color: f.color})
				text, err := p.Render(Summarize(run, v, o), Blocks(run, v, o)...)
				if err != nil {
					t.Fatal(err)
				}
				golden(t, s.name+f.extension, string(text))
			}
			var b bytes.Buffer
			if err := JUnit(&b, run, v, o); err != nil {
				t.Fatal(err)
			}
			if err := ciforms.JUnit(b.Bytes()); err != nil {
				t.Errorf("JUnit: %v", err)
			}
			golden(t, s.name+".xml", b.String())
			_, body, _ := strings.Cut(pageFor(t, run, v, o), "</head>\n")
			body, _, _ = strings.Cut(body, "<script")
			golden(t, s.name+".html", body)
		})
	}
}

// TestLabel holds that each form of a scaled run shows its label where figures are shown.
func TestLabel(t *testing.T) {
	for _, s := range scenarios() {
		run, v, o := s.make(t)
		text, err := output.New(output.Options{}).Render(nil, Blocks(run, v, o)...)
		if err != nil {
			t.Fatal(err)
		}
		page := pageFor(t, run, v, o)
		label := "MULATED"
		if run.Scale != nil {
			label = run.Scale.Label
		}
		for _, section := range strings.Split(page, "<h2>")[1:] {
			heading, _, _ := strings.Cut(section, "</h2>")
			if strings.Contains(heading, label) != (run.Scale != nil) {
				t.Errorf("%s: heading %q", s.name, heading)
			}
		}
		for _, title := range []string{
			"rails: ", "rail 0: bandwidth", "rail 1: bandwidth", "compared with", "slow-send", "jitter", "incast",
		} {
			for line := range strings.Lines(string(text)) {
				if strings.HasPrefix(line, title) && strings.Contains(line, label) != (run.Scale != nil) {
					t.Errorf("%s: %s", s.name, line)
				}
			}
		}
	}
}
