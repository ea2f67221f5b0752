package rules_test

import (
	"regexp"
	"testing"

	"github.com/rdmakit/rdmakit/explain/rules"
)

func TestRules(t *testing.T) {
	ids, names := map[string]bool{}, map[string]bool{}
	for _, r := range rules.All() {
		if !regexp.MustCompile(`^RDX-\d{3}$`).MatchString(r.ID) || ids[r.ID] {
			t.Errorf("ID %q is of another form, or not unique", r.ID)
		}
		if !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(r.Name) || names[r.Name] {
			t.Errorf("%s: name %q is of another form, or not unique", r.ID, r.Name)
		}
		ids[r.ID], names[r.Name] = true, true
		if r.Title == "" || r.Explanation == "" || len(r.Sources) == 0 || r.Find == nil {
			t.Errorf("%s: title, explanation, sources and search are required", r.ID)
		}
	}
}
