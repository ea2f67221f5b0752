package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func selectorNode() Rule {
	return Rule{
		ID: "selector-node", Title: "a nodeSelector that matches no node", Severity: SeverityError, Nodes: true,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			The policy has no effect, and without the webhook no error is reported. Labels about
			cards require Node Feature Discovery (NFD). NFD by itself publishes no label for vendor
			15b3; network-operator's NodeFeatureRule adds pci-15b3.present. NFD publishes
			network-sriov.capable only if a network device has sriov_totalvfs above 0. A card with
			SRIOV_EN off in its firmware, or an InfiniBand card without ib_ipoib, doesn't have that,
			so a policy that would turn SR-IOV on never matches.`),
		Remedy: "select by a label that the nodes have (kubectl get nodes --show-labels), or label the nodes first; " +
			"for the labels of a plan, add the output of rdmactl k8s plan -o json to --nodes",
		Wrong: "  nodeSelector:\n    feature.node.kubernetes.io/pci-15b3.present: \"true\"",
		Right: "  nodeSelector:\n    feature.node.kubernetes.io/network-sriov.capable: \"true\"",
		Reports: []string{
			"kubernetes-sigs/node-feature-discovery#812", "Mellanox/network-operator#211",
			"k8snetworkplumbingwg/sriov-network-operator#672",
		},
		Sources: []string{srcWebhook, srcNFD},
		check: func(p *pass) {
			for _, pol := range p.policies {
				nodes := p.candidates(pol)
				if len(nodes) > 0 || len(pol.Value.Spec.NodeSelector) == 0 {
					continue
				}
				f := p.error(pol.Object, path{"spec", "nodeSelector"}, "nodeSelector matches none of %s",
					english.Count(len(p.nodes), "node"))
				for _, field := range pol.Find("spec", "nodeSelector").Fields {
					p.labelEvidence(f, field.Key, field.Value.Text)
				}
			}
		},
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
