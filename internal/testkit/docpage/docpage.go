// Package docpage is for tests that compare a list in a page of documentation with the values that
// it describes.
//
//	var update = flag.Bool("update", false, "rewrite the list of rules in docs/env.md")
//
//	func TestRulesDocumented(t *testing.T) {
//		list := docpage.List{Page: "../docs/env.md", Name: "rules", Command: "go test ./launch -update"}
//		docpage.Check(t, list, markdown(), *update)
//	}
package docpage

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// List is a part of a page between two comments: the first has the name of the list and the command
// that rewrites it, the second has "end of" and the name.
type List struct {
	Page    string // path from the folder of the test
	Name    string
	Command string
}

// Check fails the test if the list differs from want, or rewrites it.
func Check(t testing.TB, l List, want string, update bool) {
	t.Helper()
	begin, end := "<!-- "+l.Name+": "+l.Command+" -->\n", "<!-- end of "+l.Name+" -->\n"
	text, err := os.ReadFile(l.Page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	shown, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no list between %q and %q", l.Page, begin, end)
	}
	diff := cmp.Diff(want, shown)
	switch {
	case diff == "":
	case !update:
		t.Errorf("the %s in %s differ (-values +page):\n%s", l.Name, l.Page, diff)
	default:
		if err := os.WriteFile(l.Page, []byte(head+begin+want+end+tail), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Cell escapes text for a table cell in Markdown.
func Cell(text string) string { return strings.NewReplacer("|", `\|`, "*", `\*`).Replace(text) }
