package checks_test

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

var update = flag.Bool("update", false, "rewrite testdata/examples.json, the examples of docs/checks.md")

// TestExamples compares the examples of the documentation with what the checks find on the nodes of
// the tests: the first fault of each check in numberCases, or else in metaTable.
func TestExamples(t *testing.T) {
	const file = "testdata/examples.json"
	var examples []doctor.Finding
	cases := numberCases()
	for _, c := range checks.All() {
		var tree *nodetree.Tree
		var object string
		if i := slices.IndexFunc(cases, func(n numberCase) bool { return n.id == c.ID }); i >= 0 {
			n := cases[i]
			tree, object = load(t, n.tree, n.base, n.find), n.object
		} else if i := slices.IndexFunc(metaTable, func(r metaRow) bool { return r.id == c.ID }); i >= 0 {
			r := metaTable[i]
			tree, object = load(t, r.find.tree, r.find.change), r.object
		} else {
			t.Errorf("check %s: no node on which it finds something", c.ID)
			continue
		}
		i := slices.IndexFunc(diagnose(t, tree, c.ID).Findings, func(f doctor.Finding) bool {
			return f.Object == object && f.Outcome.Compare(doctor.OutcomePass) > 0
		})
		if i < 0 {
			t.Errorf("check %s: nothing found of %s", c.ID, object)
			continue
		}
		f := diagnose(t, tree, c.ID).Findings[i]
		f.Explanation, f.Actions = "", nil // that of the check; and the text of the remedy
		examples = append(examples, f)
	}
	want, err := json.MarshalIndent(examples, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(file, want, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: run go generate ./doctor/... (-want +got):\n%s", file, diff)
	}
}
