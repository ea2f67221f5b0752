package report

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

var (
	//go:embed page.html.tmpl
	pageTemplate string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// HTML writes a page that needs no other file and no network: figures, findings with evidence,
// distributions, and maps to point at, with light and dark colours. It contains the whole run, so
// that it can be saved from the page. A policy in the page forbids any other script. Errors are
// those of w, or match [ErrTooLarge].
func HTML(w io.Writer, run *result.Run, v verdict.Report, o Options) error {
	if len(run.Samples) > MaxSamples {
		return fmt.Errorf("write page: %w", ErrTooLarge)
	}
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	rails, gathered := gatherRails(run)
	p := pageOf(run, v, o, rails, gathered)
	if err := t.ExecuteTemplate(out, "top", p); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	if err := writeData(out, run, firstRail(rails, p.Culprits)); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	fmt.Fprintf(out, "<script>%s</script>\n</body>\n</html>\n", pageScript)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// page is the data of the template. Texts of the run are cleaned there.
type page struct {
	Style                 template.CSS
	StyleHash, ScriptHash string
	Version               string
	Nodes                 int
	Samples               string
	Started               time.Time
	Took                  string
	Scale                 bool
	Label, ScaleText      string
	State                 []string
	StateClass            string
	Rails                 [][]string
	Together              []together
	Culprits              []culprit
	NotJudged             []string
	Comparison            *pageComparison
	Distributions         []distribution
}

type pageComparison struct {
	Old   time.Time
	Text  string
	Rows  []changeRow
	Lists []string
}

func pageOf(run *result.Run, v verdict.Report, o Options, rails []Rail, gathered []gather) page {
	s := Summarize(run, v, o)
	p := page{
		Style: template.CSS(pageStyle), StyleHash: hash(pageStyle), ScriptHash: hash(pageScript), //nolint:gosec // ours
		Version: o.Version, Nodes: len(run.Nodes), Samples: english.Count(len(run.Samples), "sample"),
		Started: run.Started, Took: tookText(run), Scale: run.Scale != nil, StateClass: stateClass(s, v),
		Culprits: culpritsOf(run, v), NotJudged: notJudged(v), Distributions: distributions(rails, gathered),
	}
	if run.Scale != nil {
		p.Label, p.ScaleText = output.Clean(run.Scale.Label), labelOf(run.Scale)
	}
	for _, line := range stateLines(run, v) {
		p.State = append(p.State, output.Clean(line))
	}
	for _, r := range rails {
		p.Rails = append(p.Rails, railRow(r))
	}
	p.Together = togetherOf(run)
	if c := o.Comparison; c != nil {
		p.Comparison = &pageComparison{Old: c.Old, Text: c.text(), Rows: c.rows(), Lists: c.lists()}
	}
	return p
}

// firstRail returns the rail whose map is shown first.
func firstRail(rails []Rail, culprits []culprit) int {
	for _, r := range shownRails(rails, culprits, false) {
		return r.Rail
	}
	return 0
}

// hash returns a text's hash for the policy of the page.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func hexColor(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// labelOf returns the label of a run's figures and what they stand for, "" for hardware.
func labelOf(s *result.Scale) string {
	if s == nil {
		return ""
	}
	return output.Clean(scaleText(s))
}

// stateClass returns the class of the box at the top of the page.
func stateClass(s Summary, v verdict.Report) string {
	switch {
	case len(v.Verdicts) > 0 || s.Missing > 0:
		return "bad"
	case !s.Complete || len(notJudged(v)) > 0:
		return "warn"
	}
	return ""
}

// railRow returns the cells of a rail's row.
func railRow(r Rail) []string {
	row := []string{
		fmt.Sprint(r.Rail), fmt.Sprint(r.Cards), coverage(r), fmt.Sprint(r.Failed),
	}
	if b := r.Bandwidth; b != nil {
		row = append(row, number(b.Median), number(b.P5), number(b.Worst), number(b.Best))
	} else {
		row = append(row, "–", "–", "–", "–")
	}
	if l := r.Idle; l != nil {
		row = append(row, number(l.P50), number(l.P99), number(l.Worst), number(l.Jitter))
	} else {
		row = append(row, "–", "–", "–", "–")
	}
	if l := r.Loaded; l != nil {
		return append(row, number(l.P99), number(l.Jitter))
	}
	return append(row, "–", "–")
}

// coverage returns how many of the pairs were measured: "448 of 496 (90 %)". The share is rounded
// down, so that 100 % are all.
func coverage(r Rail) string {
	if r.Pairs == 0 {
		return "no pairs"
	}
	return fmt.Sprintf("%d of %d (%d %%)", r.Measured, r.Pairs, r.Measured*100/r.Pairs)
}

// cleanAll cleans texts for the page.
func cleanAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = strings.Join(output.CleanLines(t), "\n")
	}
	return out
}
