package forms

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms/posix"
	"github.com/rdmakit/rdmakit/explain/symptoms"
)

// Troubles returns the table of lines of any program that say that something failed. They are no
// failures of their own, since nobody knows what they are about; but logs with them aren't healthy.
// It is the last table, and its lines don't count as recognized.
func Troubles() Table {
	t := Table{Strict: true}
	var rows []Row
	var words []string
	for _, g := range symptoms.Generals() { // first those that say more
		words = append(words, g.Texts...)
	}
	for _, text := range posix.Texts() {
		words = append(words, ": "+text)
	}
	words = append(words,
		"Traceback (most recent call last)", "egmentation fault", "core dumped", "panic: ", "fatal error", "FATAL",
		"ERROR ", "ERROR:", "Error: ", "error: ", "[ERROR]", "[error]", "level=error", `"level":"error"`, "Aborted",
		"*ERROR*", "-E- ", "dpkg: error",
		" failed: ", " failed with ", "timed out", "OOMKilled", "CrashLoopBackOff", "Call Trace:", "BUG: ",
	)
	for _, word := range words {
		t.Markers = append(t.Markers, word)
		rows = append(rows, Row{
			Name: word, Kind: evidence.OtherTrouble, Anchor: word, Standing: evidence.Vague,
			Parse: func(m, before string, f evidence.Fields) bool {
				f["word"], f["errno"] = word, posix.Errno(before+m)
				return trouble(before + m)
			},
		})
	}
	t.Forms = Rows("trouble", rows, nil)
	return t
}

// trouble leaves out lines that only have such a word.
func trouble(whole string) bool {
	for _, word := range [...]string{"NCCL INFO", "no error", "No error", "errors: 0", "error: 0", "WARN", "import "} {
		if strings.Contains(whole, word) {
			return false
		}
	}
	return true
}
