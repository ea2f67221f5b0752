package lint

import (
	"encoding/json"
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func ibPlugins() Rule {
	return Rule{
		ID: "ib-plugins", Title: "a plugin that does not work on InfiniBand", Severity: SeverityError,
		Kinds: []string{k8s.KindIBNetwork, k8s.KindNAD},
		Explanation: prose.Join(`
			ib-sriov refuses dhcp for addresses. rdma-cni is for Ethernet only (its pull request
			21): moving an RDMA device of InfiniBand makes its network device anew, on the host, so
			that the one which ib-sriov gave the pod is gone. Isolation is rdmaIsolation of ib-sriov
			itself, which moves both in the right order; SriovIBNetwork can't express it, so the
			NetworkAttachmentDefinition is written by hand, and then without the rdma plugin. For
			RoCE metaPlugins: '{"type": "rdma"}' is right.`),
		Remedy: "use whereabouts, and for isolation a NetworkAttachmentDefinition with rdmaIsolation " +
			"and without the rdma plugin",
		Wrong:   "  metaPlugins: '{\"type\": \"rdma\"}'",
		Right:   "  capabilities: '{\"infinibandGUID\": true}'",
		Sources: []string{srcIBCNI, srcRDMACNI},
		check: func(p *pass) {
			for _, ref := range p.ipams() {
				if ref.ib && ref.conf.Type == "dhcp" {
					p.error(ref.Object, ref.at, "ib-sriov refuses dhcp").place(ref.key("type"))
				}
			}
			for _, n := range p.networks {
				var list []struct {
					Type string `json:"type"`
				}
				if n.IB && json.Unmarshal([]byte("["+n.Spec.MetaPlugins+"]"), &list) == nil {
					for _, plugin := range list {
						if plugin.Type == "rdma" {
							p.error(n.Object, path{"spec", "metaPlugins"}, "the rdma plugin is for Ethernet only: it "+
								"takes the interface that ib-sriov gave the pod away")
						}
					}
				}
			}
			for _, nad := range p.nads {
				checkIBChain(p, nad)
			}
		},
	}
}

func checkIBChain(p *pass, nad *typed[k8s.NetworkAttachmentDefinition]) {
	var types []string
	for _, text := range plugins(nad.Value.Spec.Config) {
		var plugin struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(text, &plugin) // what is no object has no type
		types = append(types, plugin.Type)
	}
	if slices.Contains(types, "ib-sriov") && slices.Contains(types, "rdma") {
		p.error(nad.Object, path{"spec", "config"}, "the rdma plugin is for Ethernet only: it takes the interface "+
			"that ib-sriov gave the pod away").Remedy = "remove the rdma plugin, and set rdmaIsolation of ib-sriov"
	}
}
