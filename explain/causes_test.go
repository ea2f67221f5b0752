package explain_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
)

// The files of testdata/causes have logs of a few lines. Below each is, after a tab, the cause that
// comes first and how sure it is, or "none".
func TestFirstCauses(t *testing.T) {
	files, err := filepath.Glob("testdata/causes/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq(string(data), "\n\n") {
			log, want, ok := strings.Cut(strings.Trim(block, "\n"), "\n\t")
			if !ok {
				continue // a comment
			}
			got := "none"
			d := explainAll(t, "job.log", log+"\n")
			if slices.ContainsFunc(d.Findings, func(f explain.FindingDocument) bool { return len(f.Causes) > 0 }) {
				_, c := d.First()
				got = c.Cause + " " + string(c.Confidence)
			}
			if got != want {
				t.Errorf("%s: %s\n got %s\nwant %s", file, log, got, want)
			}
		}
	}
}
