package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
)

func checkSelectorNode(p *pass, pol *policy) {
	nodes := p.candidates(pol)
	if len(nodes) > 0 || len(pol.Value.Spec.NodeSelector) == 0 {
		return
	}
	f := p.error(pol.Object, path{"spec", "nodeSelector"}, "nodeSelector matches none of %s",
		english.Count(len(p.nodes), "node"))
	for _, field := range pol.Find("spec", "nodeSelector").Fields {
		p.labelEvidence(f, field.Key, field.Value.Text)
	}
}

// labelEvidence adds the values that nodes have for a label.
func (m *model) labelEvidence(f *Finding, key, want string) {
	var values []string
	for _, n := range m.nodes {
		got, found, _ := n.Label(key)
		if found && got == want {
			return // another label is wrong
		}
		if found && !slices.Contains(values, got) {
			values = append(values, got)
		}
	}
	if len(values) == 0 {
		f.Evidence = append(f.Evidence, Evidence{Place: "label " + key, Text: "no node has it"})
		return
	}
	f.Evidence = append(f.Evidence,
		Evidence{Place: "label " + key, Text: "nodes have " + shorten(strings.Join(values, ", "))})
}
