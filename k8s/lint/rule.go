package lint

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Rule describes one kind of mistake in manifests, and finds it.
type Rule struct {
	// ID is kebab-case, unique and stable.
	ID string `json:"id"`
	// Group is the ID of the group that the rule belongs to, if any. It stands for all of its rules
	// wherever the ID of a rule is expected.
	Group string `json:"group,omitempty"`
	// Title names the mistake.
	Title string `json:"title"`
	// Severity is the highest severity of the rule's findings.
	Severity Severity `json:"severity"`
	// Kinds are the kinds of objects that the rule checks. A rule without kinds checks the text of
	// any file.
	Kinds []string `json:"kinds,omitempty"`
	// Nodes reports whether the rule needs nodes. Without nodes it is skipped.
	Nodes bool `json:"nodes,omitempty"`
	// Explanation describes how the API server, the operator or the CNI plugins handle the mistake.
	Explanation string `json:"explanation"`
	// Remedy is the general way to fix it.
	Remedy string `json:"remedy"`
	// Wrong and Right are excerpts of the manifests in testdata/ID.
	Wrong string `json:"wrong"`
	Right string `json:"right"`
	// Reports are issues in which users reported the mistake.
	Reports []string `json:"reports,omitempty"`
	// Sources are the programs and documents that define the behaviour.
	Sources []string `json:"sources"`

	// check finds the mistakes. In a group the first rule can have the check of several.
	check func(*pass)
}

//go:generate go run ./gendocs -o ../../docs/k8s-lint.md

// rulesYAML has the texts of the rules.
//
//go:embed rules.yaml
var rulesYAML []byte

// Rules returns all rules: those for YAML text and fields, for policies, for networks and their
// addresses, and for pods.
func Rules() []Rule {
	rules, byID := slices.Clone(ruleTexts()), checks()
	for i := range rules {
		r := &rules[i]
		r.Kinds, r.Sources, r.Reports = slices.Clone(r.Kinds), slices.Clone(r.Sources), slices.Clone(r.Reports)
		if r.check = byID[r.ID]; r.check == nil {
			r.check = byID[r.Group]
			delete(byID, r.Group)
		}
	}
	return rules
}

// ruleTexts reads rulesYAML once.
var ruleTexts = sync.OnceValue(func() []Rule {
	rules, err := readRules(rulesYAML)
	if err != nil {
		panic(fmt.Sprintf("k8s/lint: rules.yaml: %v", err))
	}
	return rules
})

// readRules decodes rules. A rule of a group has the kinds and sources of the group's first, and
// none of its own. A source is a key of the first document or a text.
func readRules(text []byte) ([]Rule, error) {
	var sources map[string]string
	var rules []Rule
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := errors.Join(dec.Decode(&sources), dec.Decode(&rules)); err != nil {
		return nil, err
	}
	for i := range rules {
		r := &rules[i]
		for j, key := range r.Sources {
			if sources[key] == "" && !strings.ContainsAny(key, " /") {
				return nil, fmt.Errorf("rule %s: no source has the key %q", r.ID, key)
			}
			r.Sources[j] = cmp.Or(sources[key], key)
		}
		if i > 0 && r.Group != "" && r.Group == rules[i-1].Group {
			if len(r.Kinds)+len(r.Sources) > 0 || r.Nodes {
				return nil, fmt.Errorf("rule %s: kinds, nodes and sources belong to the first rule of group %s",
					r.ID, r.Group)
			}
			r.Kinds, r.Nodes, r.Sources = rules[i-1].Kinds, rules[i-1].Nodes, rules[i-1].Sources
		}
	}
	return rules, nil
}

// FindRules returns the rule with an ID, or the rules of the group with that ID.
func FindRules(id string) []Rule {
	return slices.DeleteFunc(Rules(), func(r Rule) bool { return !r.in([]string{id}) })
}

// IDs returns the IDs of all rules and groups.
func IDs() []string {
	var out []string
	for _, r := range Rules() {
		for _, id := range []string{r.Group, r.ID} {
			if id != "" && !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}

// in reports whether IDs of rules and groups include the rule.
func (r *Rule) in(ids []string) bool {
	return slices.Contains(ids, r.ID) || r.Group != "" && slices.Contains(ids, r.Group)
}
