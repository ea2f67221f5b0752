package lint

import (
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkNetworkKind(p *pass, n *network) {
	for _, pol := range p.policiesOf(n.Spec.ResourceName) {
		if link, why, _ := p.linkByCards(pol); link != "" && (link == source.LinkIB) != n.IB {
			want := k8s.KindNetwork
			if link == source.LinkIB {
				want = k8s.KindIBNetwork
			}
			p.error(n.Object, path{"kind"}, "the resource comes from %s, whose cards are %s (%s)",
				pol.Object, link, why).fix("kind: %s", want)
			break
		}
	}
}
