package lint

import (
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func linkTypeMissing() Rule {
	return Rule{
		ID: "linktype-missing", Title: "a policy for InfiniBand without linkType", Severity: SeverityError,
		Kinds:       []string{k8s.KindPolicy},
		Explanation: "Without linkType the webhook does not turn isRdma on, the operator treats the VFs as Ethernet and hangs while it configures them, and the device plugin puts InfiniBand and Ethernet VFs of one model into one pool. Neither the CRD nor the webhook asks for it.",
		Remedy:      "set linkType: IB",
		Wrong:       "  numVfs: 8\n  isRdma: true\n  nicSelector:",
		Right:       "  linkType: IB\n  numVfs: 8\n  isRdma: true\n  nicSelector:",
		Reports:     []string{"k8snetworkplumbingwg/sriov-network-operator#274", "k8snetworkplumbingwg/sriov-network-operator#265"},
		Sources:     []string{srcWebhook, srcSelector, srcPlugin},
		check: func(p *pass) {
			for _, pol := range p.policies {
				if pol.Value.Spec.LinkType != "" {
					continue
				}
				if link, why := p.linkOf(pol); link == source.LinkIB {
					p.error(pol.Object, path{"spec"}, "the policy is for InfiniBand (%s) and has no linkType", why).fix("linkType: IB")
				}
			}
		},
	}
}
