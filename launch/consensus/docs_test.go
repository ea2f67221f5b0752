package consensus

import (
	"flag"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/testkit/docpage"
)

var updateDocs = flag.Bool("update", false, "rewrite the list of checks in docs/consensus.md")

// TestChecksDocumented compares the list in docs/consensus.md with the checks themselves.
func TestChecksDocumented(t *testing.T) {
	docpage.Check(t,
		docpage.List{Page: "../../docs/consensus.md", Name: "checks", Command: "go test ./launch/consensus -run " +
			"ChecksDocumented -update"}, checksMarkdown(), *updateDocs)
}

func checksMarkdown() string {
	var b strings.Builder
	b.WriteString("\n| check | a difference | what is compared | why | what to do |\n|---|---|---|---|---|\n")
	for _, c := range Checks() {
		b.WriteString("| `" + c.ID + "` | " + string(c.Severity) + " | " + docpage.Cell(c.What) + " | " +
			docpage.Cell(c.Why) + " | " + docpage.Cell(c.Remedy) + " |\n")
	}
	return b.String() + "\n"
}

// TestChecks: every check that code refers to is in its list, once.
func TestChecks(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Checks() {
		if seen[c.ID] || c.What == "" || c.Why == "" || c.Remedy == "" {
			t.Errorf("check %q is a duplicate or has an empty text: %+v", c.ID, c)
		}
		seen[c.ID] = true
	}
	for list, ids := range map[*[]Check][]string{
		&nodeChecks: {checkNoRDMA, checkHCASet, checkSwapped},
		&duplicateChecks: {
			checkSameNode, checkHost, checkGUID, checkSystem, checkGID, checkMAC, checkLID, checkLimited,
		},
		&noteChecks: {checkSocket, checkShared, checkUnknown, checkUncertain},
	} {
		for _, id := range ids {
			if findCheck(*list, id).ID != id {
				t.Errorf("findCheck(%s) = %s", id, findCheck(*list, id).ID)
			}
		}
	}
}
