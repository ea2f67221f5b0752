package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/logline"
)

// TestOrdinaryText reads texts that are no logs of RDMA: they have no event, and no more than the
// given number of lines look like those of a known program.
func TestOrdinaryText(t *testing.T) {
	files, err := filepath.Glob("testdata/ordinary/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no texts: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		events, recognized := readText(string(text))
		if len(events) > 0 || recognized > 0 {
			t.Errorf("%s: %d lines recognized, events:\n%s", file, recognized, strings.Join(events, "\n"))
		}
	}
}

// TestOwnSource reads the source of this module, which is full of the words that logs have.
func TestOwnSource(t *testing.T) {
	files, err := filepath.Glob("../[a-e]*/*.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	lines, recognized := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		events, n := readText(string(text))
		lines, recognized = lines+strings.Count(string(text), "\n"), recognized+n
		for _, e := range events {
			t.Errorf("%s: %s", file, e)
		}
	}
	if recognized*100 > lines {
		t.Errorf("%d of %d lines of Go recognized", recognized, lines)
	}
}

// readText returns the events of a text and the number of recognized lines.
func readText(text string) (events []string, recognized int) {
	matcher := programs().Matcher()
	lines := logline.NewReader(strings.NewReader(text), "text")
	lines.Wanted = matcher.Wants
	for lines.Next() {
		for _, e := range matcher.Read(lines.Line()) {
			if e.Kind == evidence.OtherTrouble ||
				e.Kind == evidence.PythonException && e.Process.Rank == evidence.NoRank {
				continue // says nothing by itself
			}
			events = append(events, fmt.Sprintf("%s %s: %s", e.Place, e.Form, e.Text))
		}
	}
	for _, n := range matcher.Counts() {
		recognized += n
	}
	return events, recognized
}
