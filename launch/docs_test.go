package launch

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateDocs = flag.Bool("update", false, "rewrite the list of rules in docs/env.md")

// TestRulesDocumented compares the list of rules in docs/env.md with the rules themselves.
func TestRulesDocumented(t *testing.T) {
	const (
		page  = "../docs/env.md"
		begin = "<!-- rules: go test ./launch -run RulesDocumented -update -->\n"
		end   = "<!-- end of rules -->\n"
	)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	shown, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no list of rules between %q and %q", page, begin, end)
	}
	want := rulesMarkdown()
	if diff := cmp.Diff(want, shown); diff != "" && !*updateDocs {
		t.Errorf("the rules in %s differ (-rules +page):\n%s", page, diff)
	}
	if *updateDocs {
		if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func rulesMarkdown() string {
	titles := map[RuleKind]string{
		KindPort: "Which ports", KindSocket: "Which network device for bootstrap", KindVariable: "Which variables", KindWarning: "What is told", KindKServe: "`--compat kserve`",
	}
	var b strings.Builder
	last := RuleKind("")
	for _, r := range Rules() {
		if r.Kind != last {
			b.WriteString("\n### " + titles[r.Kind] + "\n\n| rule | when | then | why |\n|---|---|---|---|\n")
			last = r.Kind
		}
		cell := strings.NewReplacer("|", `\|`, "*", `\*`).Replace
		b.WriteString("| `" + r.ID + "` | " + cell(r.When) + " | " + cell(r.Then) + " | " + cell(r.Why) + " |\n")
	}
	return b.String() + "\n"
}
