package launch_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/testkit/docpage"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/launch/kserve"
)

var updateDocs = flag.Bool("update", false, "rewrite the list of rules in docs/env.md")

// TestRulesDocumented compares the list of rules in docs/env.md with the rules themselves.
func TestRulesDocumented(t *testing.T) {
	docpage.Check(t,
		docpage.List{Page: "../docs/env.md", Name: "rules", Command: "go test ./launch -run RulesDocumented -update"},
		rulesMarkdown(), *updateDocs)
}

func rulesMarkdown() string {
	titles := map[launch.RuleKind]string{
		launch.KindPort: "Which ports", launch.KindSocket: "Which network device for bootstrap",
		launch.KindVariable: "Which variables", launch.KindWarning: "Warnings",
		launch.KindKServe: "`--compat kserve`",
	}
	var b strings.Builder
	last := launch.RuleKind("")
	for _, r := range append(launch.Rules(), kserve.Rules()...) {
		if r.Kind != last {
			b.WriteString("\n### " + titles[r.Kind] + "\n\n| rule | when | then | why |\n|---|---|---|---|\n")
			last = r.Kind
		}
		b.WriteString("| `" + r.ID + "` | " + docpage.Cell(r.When) + " | " + docpage.Cell(r.Then) + " | " +
			docpage.Cell(r.Why) + " |\n")
	}
	return b.String() + "\n"
}
