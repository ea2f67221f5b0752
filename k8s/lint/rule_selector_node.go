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
		ID: "selector-node", Title: "a nodeSelector that no node fits", Severity: SeverityError, Nodes: true,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			The policy changes nothing, and where the webhook is off nothing tells. Labels come from
			Node Feature Discovery, and not by themselves: stock NFD publishes no label for vendor
			15b3 (network-operator's NodeFeatureRule makes pci-15b3.present), and
			network-sriov.capable only where a network device has sriov_totalvfs above 0, which a
			card with SRIOV_EN off in its firmware, or InfiniBand without ib_ipoib, has not: the
			policy that would turn it on then never matches.`),
		Remedy: "select by a label that the nodes have (kubectl get nodes --show-labels), or put it on them " +
			"first; of a plan, -o json beside --nodes tells its labels",
		Wrong: "  nodeSelector:\n    feature.node.kubernetes.io/pci-15b3.present: \"true\"",
		Right: "  nodeSelector:\n    feature.node.kubernetes.io/network-sriov.capable: \"true\"",
		Reports: []string{
			"kubernetes-sigs/node-feature-discovery#812", "Mellanox/network-operator#211",
			"k8snetworkplumbingwg/sriov-network-operator#672",
		},
		Sources: []string{srcWebhook, srcNFD},
		check: func(p *pass) {
			for _, pol := range p.policies {
				nodes := p.takes(pol)
				if len(nodes) > 0 || len(pol.Value.Spec.NodeSelector) == 0 {
					continue
				}
				f := p.error(pol.Object, path{"spec", "nodeSelector"}, "these labels are on none of %s",
					english.Count(len(p.nodes), "node"))
				for _, field := range pol.Find("spec", "nodeSelector").Fields {
					p.labelEvidence(f, field.Key, field.Value.Text)
				}
			}
		},
	}
}

// labelEvidence tells of a label which values nodes have.
func (m *model) labelEvidence(f *Finding, key, want string) {
	var values []string
	for _, n := range m.nodes {
		got, found, _ := n.Label(key)
		if found && got == want {
			return // the fault is with another label
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
