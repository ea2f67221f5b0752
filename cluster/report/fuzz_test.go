package report

import (
	"bytes"
	"io"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/testkit/ciforms"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// FuzzReports writes all forms of any run that can be read: none may fail or panic.
func FuzzReports(f *testing.F) {
	small := synthetic{
		nodes: 3, rails: 1, dead: map[plan.End]bool{{Node: 2}: true}, lost: map[int32]bool{1: true}, names: hostile(),
		scale: &result.Scale{Label: "EMULATED", Rate: 2, Time: 1},
	}.run(f)
	var doc bytes.Buffer
	if err := small.Write(&doc); err != nil {
		f.Fatal(err)
	}
	f.Add(doc.Bytes())
	f.Add([]byte(`{"schema":"` + result.Schema + `"}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		run, err := result.Read(bytes.NewReader(doc))
		if err != nil {
			return
		}
		c, err := Compare(small, run)
		if err != nil {
			c, err = Compare(run, run)
		}
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Comparison: c, Verbose: true}
		v := verdictsOf(run)
		if len(doc)%2 == 0 {
			v = verdict.Find(run, verdict.Options{})
		}
		for _, format := range []output.Format{output.FormatTable, output.FormatJSON} {
			p := output.New(output.Options{Format: format, Color: output.ColorAlways})
			if _, err := p.Render(Summarize(run, v, o), Blocks(run, v, o)...); err != nil {
				t.Errorf("%s: %v", format, err)
			}
		}
		var b bytes.Buffer
		if err := JUnit(&b, run, v, o); err != nil {
			t.Errorf("JUnit: %v", err)
		}
		if err := ciforms.JUnit(b.Bytes()); err != nil {
			t.Errorf("JUnit: %v", err)
		}
		if err := HTML(io.Discard, run, v, o); err != nil {
			t.Errorf("HTML: %v", err)
		}
	})
}
