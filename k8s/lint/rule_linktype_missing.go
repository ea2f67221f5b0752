package lint

import (
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkLinkTypeMissing(p *pass, pol *policy) {
	if pol.Value.Spec.LinkType != "" {
		return
	}
	if link, why := p.linkOf(pol); link == source.LinkIB {
		p.warn(pol.Object, path{"spec"}, "the policy is for InfiniBand (%s) but has no linkType", why).fix(
			"linkType: IB")
	}
}
