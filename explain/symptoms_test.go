package explain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/input"
	"github.com/rdmakit/rdmakit/explain/logline"
	"github.com/rdmakit/rdmakit/explain/rules"
	"github.com/rdmakit/rdmakit/explain/symptoms"
)

// symptomExample is a line as a program prints it. Below it is, after a tab, the ID of the symptom
// and the name of its line, or "none" for lines that must not be taken for one. Some have a third
// line, with the first cause of a log of nothing else, and "proven" if it is.
type symptomExample struct {
	file, line, want, cause string
}

// symptomExamples returns the examples of the files of testdata/symptoms.
func symptomExamples(t testing.TB) []symptomExample {
	t.Helper()
	files, err := filepath.Glob("testdata/symptoms/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	var all []symptomExample
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq(string(data), "\n\n") {
			line, want, ok := strings.Cut(strings.Trim(block, "\n"), "\n\t")
			if !ok {
				continue // a comment
			}
			want, cause, _ := strings.Cut(want, "\n\t")
			all = append(all, symptomExample{file: file, line: line, want: want, cause: cause})
		}
	}
	return all
}

// Each line of a symptom has an example.
func TestSymptomLines(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range symptomExamples(t) {
		if got := symptomOf(x.line); got != x.want {
			t.Errorf("%s: %s\n got %s\nwant %s", x.file, x.line, got, x.want)
		}
		seen[x.want] = true
	}
	for _, s := range symptoms.All() {
		for _, l := range s.Lines {
			if !seen[s.ID+" "+l.Name] {
				t.Errorf("testdata/symptoms has no example of %s %s", s.ID, l.Name)
			}
		}
	}
}

// symptomOf returns the ID and the line's name of the symptom that a line has, "none" without one.
func symptomOf(line string) string {
	for _, e := range programs().Matcher().Read(&evidence.Line{Text: line}) {
		if e.Kind == evidence.Symptom {
			return e.Fields["symptom"] + " " + e.Fields["line"]
		}
	}
	return "none"
}

// What launchers, containers and kubectl put before a line doesn't change its symptom.
func TestSymptomLinesWithPrefixes(t *testing.T) {
	for _, x := range symptomExamples(t) {
		for _, prefix := range [...]string{
			"[1,3]<stdout>:", "3: ", " 3: ", "[pod/train-0/main] ", "2026-11-27T06:34:31.123456789Z stdout F ",
			"(RayWorkerWrapper pid=901) ", "train-0  | ", "[rank3]: ", "Nov 27 06:34:31 node1 kernel: ",
		} {
			r := logline.NewReader(strings.NewReader(prefix+x.line+"\n"), "f")
			r.Next()
			if got := symptomOf(r.Line().Text); got != x.want {
				t.Errorf("%s%s\n got %s\nwant %s", prefix, x.line, got, x.want)
			}
		}
	}
}

// What a line says of its cause puts that cause first.
func TestSymptomCauses(t *testing.T) {
	for _, x := range symptomExamples(t) {
		if x.cause == "" {
			continue
		}
		inputs := input.All([]string{input.Stdin}, strings.NewReader(x.line+"\n"))
		report, err := Explain(t.Context(), inputs, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		if d := report.Document(); len(d.Findings) > 0 && len(d.Findings[0].Causes) > 0 {
			first := d.Findings[0].Causes[0]
			got = first.Cause
			if first.Confidence == rules.Proven {
				got += " proven"
			}
		}
		if got != x.cause {
			t.Errorf("%s: %s\n got %s\nwant %s", x.file, x.line, got, x.cause)
		}
	}
}

// Lines of any program, also damaged ones, don't stop the search.
func FuzzSymptomLines(f *testing.F) {
	var lines []string
	for _, x := range symptomExamples(f) {
		lines = append(lines, x.line)
	}
	for few := range slices.Chunk(lines, 20) { // one seed for each would take the time of a short run
		f.Add(strings.Join(few, "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		matcher := programs().Matcher()
		for line := range strings.SplitSeq(text, "\n") {
			for _, e := range matcher.Read(&evidence.Line{Text: line}) {
				if e.Kind == "" || e.Form == "" {
					t.Errorf("an event without kind or form: %+v", e)
				}
			}
		}
	})
}
