package launch

import (
	"flag"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/testkit/docpage"
)

var updateDocs = flag.Bool("update", false, "rewrite the list of rules in docs/env.md")

// TestRulesDocumented compares the list of rules in docs/env.md with the rules themselves.
func TestRulesDocumented(t *testing.T) {
	docpage.Check(t, docpage.List{Page: "../docs/env.md", Name: "rules", Command: "go test ./launch -run RulesDocumented -update"}, rulesMarkdown(), *updateDocs)
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
		b.WriteString("| `" + r.ID + "` | " + docpage.Cell(r.When) + " | " + docpage.Cell(r.Then) + " | " + docpage.Cell(r.Why) + " |\n")
	}
	return b.String() + "\n"
}
