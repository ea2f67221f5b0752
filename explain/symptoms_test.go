package explain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/logline"
	"github.com/rdmakit/rdmakit/explain/symptoms"
)

// The files of testdata/symptoms have lines as programs print them. Below each is, after a tab, the
// ID of the symptom and the name of its line, or "none" for lines that must not be taken for one.
// Each line of a symptom has an example.
func TestSymptomLines(t *testing.T) {
	files, err := filepath.Glob("testdata/symptoms/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	seen := map[string]bool{}
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
			if got := symptomOf(line); got != want {
				t.Errorf("%s: %s\n got %s\nwant %s", file, line, got, want)
			}
			seen[want] = true
		}
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
	files, err := filepath.Glob("testdata/symptoms/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq(string(data), "\n\n") {
			line, want, ok := strings.Cut(strings.Trim(block, "\n"), "\n\t")
			if !ok {
				continue
			}
			for _, prefix := range [...]string{
				"[1,3]<stdout>:", "3: ", " 3: ", "[pod/train-0/main] ", "2026-11-27T06:34:31.123456789Z stdout F ",
				"(RayWorkerWrapper pid=901) ", "train-0  | ", "[rank3]: ", "Nov 27 06:34:31 node1 kernel: ",
			} {
				r := logline.NewReader(strings.NewReader(prefix+line+"\n"), "f")
				r.Next()
				if got := symptomOf(r.Line().Text); got != want {
					t.Errorf("%s%s\n got %s\nwant %s", prefix, line, got, want)
				}
			}
		}
	}
}

// Lines of any program, also damaged ones, don't stop the search.
func FuzzSymptomLines(f *testing.F) {
	files, err := filepath.Glob("testdata/symptoms/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var lines []string
		for block := range strings.SplitSeq(string(data), "\n\n") {
			line, _, _ := strings.Cut(strings.Trim(block, "\n"), "\n\t")
			lines = append(lines, line)
		}
		for few := range slices.Chunk(lines, 20) { // one seed for each would take the time of a short run
			f.Add(strings.Join(few, "\n"))
		}
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
