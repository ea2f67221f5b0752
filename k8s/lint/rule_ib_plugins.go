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
			ib-sriov rejects dhcp as IPAM plugin. The rdma plugin (rdma-cni) is for Ethernet only
			(see its pull request 21): moving an InfiniBand device into the pod recreates its network
			device on the host, and the interface that ib-sriov gave the pod is gone. On InfiniBand
			use rdmaIsolation of ib-sriov, which moves both devices in the right order.
			SriovIBNetwork has no field for it, so write the NetworkAttachmentDefinition yourself,
			without the rdma plugin. For RoCE metaPlugins: '{"type": "rdma"}' is correct.`),
		Remedy: "use whereabouts for addresses, and for isolation a NetworkAttachmentDefinition with rdmaIsolation " +
			"and without the rdma plugin",
		Wrong:   "  metaPlugins: '{\"type\": \"rdma\"}'",
		Right:   "  capabilities: '{\"infinibandGUID\": true}'",
		Sources: []string{srcIBCNI, srcRDMACNI},
		check: func(p *pass) {
			for _, ref := range p.ipams() {
				if ref.ib && ref.conf.Type == "dhcp" {
					p.error(ref.Object, ref.at, "ib-sriov rejects dhcp").place(ref.key("type"))
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
								"removes the interface that ib-sriov gave the pod")
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
		_ = json.Unmarshal(text, &plugin) // without an object, type stays empty
		types = append(types, plugin.Type)
	}
	if slices.Contains(types, "ib-sriov") && slices.Contains(types, "rdma") {
		p.error(nad.Object, path{"spec", "config"}, "the rdma plugin is for Ethernet only: it removes the interface "+
			"that ib-sriov gave the pod").Remedy = "remove the rdma plugin, and set rdmaIsolation of ib-sriov"
	}
}
