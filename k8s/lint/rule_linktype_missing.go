package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func linkTypeMissing() Rule {
	return Rule{
		ID: "linktype-missing", Title: "a policy for InfiniBand without linkType", Severity: SeverityWarn,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			Without linkType the webhook does not turn isRdma on, the device plugin takes VFs of
			both link types where the selector fits them, and a port that somebody set to Ethernet
			stays so. Releases of the operator before v1.2.0 take the VFs for Ethernet and hang
			while they configure them; later ones go by the link type of the port. Neither the CRD
			nor the webhook asks for it.`),
		Remedy:  "set linkType: IB",
		Wrong:   "  numVfs: 8\n  isRdma: true\n  nicSelector:",
		Right:   "  linkType: IB\n  numVfs: 8\n  isRdma: true\n  nicSelector:",
		Reports: []string{"k8snetworkplumbingwg/sriov-network-operator#274"},
		Sources: []string{srcWebhook, srcSelector, srcPlugin},
		check: func(p *pass) {
			for _, pol := range p.policies {
				if pol.Value.Spec.LinkType != "" {
					continue
				}
				if link, why := p.linkOf(pol); link == source.LinkIB {
					p.warn(pol.Object, path{"spec"}, "the policy is for InfiniBand (%s) and has no linkType", why).fix(
						"linkType: IB")
				}
			}
		},
	}
}
