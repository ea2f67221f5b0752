package report

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"html"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
)

func pageFor(t testing.TB, run *result.Run, v verdict.Report, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, run, v, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// element returns the content of a script element.
func element(t testing.TB, page, id string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, ` id="`+id+`">`)
	content, _, end := strings.Cut(rest, "</script>")
	if !ok || !end {
		t.Fatalf("the page has no element %s", id)
	}
	return content
}

// hostile are names that try to be more than text.
func hostile() map[int]string {
	return map[int]string{
		0: `<script>alert(1)</script>`, 1: `</script><img src=x onerror=alert(1)>`, 2: `"><svg/onload=alert(1)>`,
		3: "\x1b[31mred\u202e", 4: `=HYPERLINK("http://evil")`, 5: `{{.Version}}<!--<script>`, 6: "\u2028'+alert(1)+'",
	}
}

// TestHTMLUntrusted gives every text of a run and of its verdicts hostile values.
func TestHTMLUntrusted(t *testing.T) {
	c := faulty(8)
	c.rails, c.names, c.lost = 6, hostile(), map[int32]bool{0: true, 1: true, 5: true}
	run := c.run(t)
	run.Scale = &result.Scale{Label: "<b onclick=alert(1)>", Rate: 10, Time: 1}
	run.Nodes[0].Cause = "<script>alert(2)</script>"
	run.Samples[0].Detail = &result.Detail{
		Failure: &result.Failure{Step: "</script>", Code: "<script>", Text: "</script><script>"},
	}
	evil := `</script><script>alert(3)</script><img src=x onerror=alert(4)>`
	v := verdicts(run)
	v.Verdicts[0].Cause, v.Verdicts[0].Where.Name, v.Verdicts[0].Words = verdict.Cause(evil), evil, evil+"\x1b[2J\u202e"
	v.Verdicts[0].Impact.Model, v.Verdicts[0].Next, v.Verdicts[0].TakeOut = evil, evil, []string{evil + "\n\x1b[2J"}
	v.Verdicts[0].Evidence[0].Text, v.NotJudged[0].Why = evil, evil
	old := faulty(8)
	old.rails, old.names = 6, hostile()
	before := old.run(t)
	before.Scale = run.Scale
	comparison, err := Compare(before, run)
	if err != nil {
		t.Fatal(err)
	}
	page := pageFor(t, run, v, Options{Comparison: comparison, Version: evil})
	if n := strings.Count(page, "<script"); n != 4 {
		t.Errorf("the page has %d script elements, want 4", n)
	}
	if n := strings.Count(page, "</script"); n != 4 {
		t.Errorf("the page has %d ends of script elements, want 4", n)
	}
	shown := strings.NewReplacer(element(t, page, "run"), "", element(t, page, "details"), "").Replace(page) // raw data
	for _, bad := range []string{
		"<img", "<svg/", "onerror=alert(1)>", "<b onclick", "<!--<script", "\x1b", "\u202e", "\u2028",
	} {
		if strings.Contains(shown, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
}

// TestHTMLLoadsNothing holds that a page has no address, no attribute that loads, and a policy that
// allows only its own style and script.
func TestHTMLLoadsNothing(t *testing.T) {
	page := pageFor(t, faulty(4).run(t), verdict.Report{}, Options{})
	loads := regexp.MustCompile(`(?i:https?:)|//[a-z]+\.|\ssrc=|\shref=|@import|url\(|\sstyle=|\son[a-z]+="`)
	if m := loads.FindString(page); m != "" {
		i := strings.Index(page, m)
		t.Errorf("the page contains %q: …%s…", m, page[max(0, i-40):i+40])
	}
	script := page[strings.LastIndex(page, "<script>")+len("<script>") : strings.LastIndex(page, "</script>")]
	style := page[strings.Index(page, "<style>")+len("<style>") : strings.Index(page, "</style>")]
	for name, content := range map[string]string{"script": script, "style": style} {
		if want := name + "-src 'sha256-" + hash(content) + "'"; !strings.Contains(html.UnescapeString(page), want) {
			t.Errorf("the policy has no %s", want)
		}
	}
}

// TestHTMLData reads a run back from its page.
func TestHTMLData(t *testing.T) {
	c := faulty(5)
	c.scale = &result.Scale{Label: "EMULATED", Rate: 100, Time: 0.01}
	want := c.run(t)
	page := pageFor(t, want, verdict.Report{}, Options{})
	var got result.Run
	if err := json.Unmarshal([]byte(element(t, page, "run")), &got); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(element(t, page, "run"), `"samples"`) {
		t.Error("the run has samples, in addition to those of the columns")
	}
	var d drawing
	if err := json.Unmarshal([]byte(element(t, page, "drawing")), &d); err != nil {
		t.Fatal(err)
	}
	got.Samples = samplesOf(t, d.Columns)
	for line := range strings.Lines(strings.TrimPrefix(element(t, page, "details"), "\n")) {
		i, text, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(i)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &got.Samples[n].Detail); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("the run of the page (-want +got):\n%s", diff)
	}
	if len(d.Ramp) != 64 || d.Ramp[0] >= d.Ramp[63] || d.Label != "EMULATED" || d.First != 5 {
		t.Errorf("the drawing has %d colours from %s on, label %q, first rail %d",
			len(d.Ramp), d.Ramp[0], d.Label, d.First)
	}
}

func samplesOf(t *testing.T, c columns) []result.Sample {
	out := make([]result.Sample, c.Count)
	stage, attempt, load := numbersOf[uint8](t, c.Stage), numbersOf[uint8](t, c.Attempt), numbersOf[uint8](t, c.Load)
	round, gbps := numbersOf[uint16](t, c.Round), numbersOf[float32](t, c.Gbps)
	from, to := numbersOf[int32](t, c.From), numbersOf[int32](t, c.To)
	fromRail, toRail := numbersOf[int16](t, c.FromRail), numbersOf[int16](t, c.ToRail)
	for i := range out {
		out[i] = result.Sample{
			Stage: stage[i], Attempt: attempt[i], Round: round[i], Load: load[i] == 1, Gbps: gbps[i],
			From: plan.End{Node: from[i], Rail: fromRail[i]}, To: plan.End{Node: to[i], Rail: toRail[i]},
		}
	}
	return out
}

func numbersOf[T any](t *testing.T, text string) []T {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	var one T
	out := make([]T, len(b)/binary.Size(one))
	if _, err := binary.Decode(b, binary.LittleEndian, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestHTMLErrors(t *testing.T) {
	full := errors.New("no space left on device")
	if err := HTML(failingWriter{full}, faulty(4).run(t), verdict.Report{}, Options{}); !errors.Is(err, full) {
		t.Errorf("HTML to a full disk: %v", err)
	}
	if err := JUnit(failingWriter{full}, faulty(4).run(t), verdict.Report{}, Options{}); !errors.Is(err, full) {
		t.Errorf("JUnit to a full disk: %v", err)
	}
	huge := &result.Run{Samples: make([]result.Sample, MaxSamples+1)}
	if err := HTML(io.Discard, huge, verdict.Report{}, Options{}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("HTML of %d samples: %v", len(huge.Samples), err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
