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
			Without linkType the webhook doesn't set isRdma, the device plugin accepts VFs of both
			link types if the selector matches them, and a port that was set to Ethernet is not
			changed back. Releases of the operator before v1.2.0 treat the VFs as Ethernet and hang
			during their configuration; later releases use the link type of the port. Neither the
			CRD nor the webhook requires linkType.`),
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
					p.warn(pol.Object, path{"spec"}, "the policy is for InfiniBand (%s) but has no linkType", why).fix(
						"linkType: IB")
				}
			}
		},
	}
}
