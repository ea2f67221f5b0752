package lint

import (
	"cmp"
	"slices"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// largestMTU is the most that switches for Ethernet commonly forward.
const largestMTU = 9216

func checkLargeMTU(p *pass, pol *policy) {
	link, _ := p.linkOf(pol)
	mtu, most := k8s.ValueOf(pol.Value.Spec.MTU), cmp.Or(p.in.Options.MaxMTU, largestMTU)
	if link != source.LinkIB && mtu > most {
		p.warn(pol.Object, path{"spec", "mtu"}, "mtu %d is more than switches forward (%d)", mtu, most)
	}
}

// checkRailMTUs reports each policy once whose mtu differs from that of another rail of a pod.
func checkRailMTUs(p *pass) {
	reported, distinct := map[*policy]bool{}, p.distinctMTUs()
	for _, pod := range p.pods {
		var first *policy
		for _, a := range pod.attachments() {
			t, ok := p.resolve(pod, a)
			if !ok || t.resource == "" {
				continue
			}
			for _, pol := range distinct[t.resource] {
				switch {
				case first == nil:
					first = pol
				case *pol.Value.Spec.MTU != *first.Value.Spec.MTU && !reported[pol]:
					reported[pol] = true
					f := p.warn(pol.Object, path{"spec", "mtu"}, "mtu %d, but %s has %d, and %s uses both rails",
						*pol.Value.Spec.MTU, first, *first.Value.Spec.MTU, pod.Object)
					f.because(first.At("spec", "mtu"), "mtu of the other rail")
					p.apart(f, pol.Object, first.Object)
				}
			}
		}
	}
}

// distinctMTUs returns for each resource on Ethernet the first policy with each MTU.
func (m *model) distinctMTUs() map[string][]*policy {
	out := map[string][]*policy{}
	for _, pol := range m.policies {
		mtu, resource := pol.Value.Spec.MTU, pol.Value.Spec.ResourceName
		if mtu == nil || slices.ContainsFunc(out[resource], func(o *policy) bool { return *o.Value.Spec.MTU == *mtu }) {
			continue
		}
		if link, _ := m.linkOf(pol); link != source.LinkIB {
			out[resource] = append(out[resource], pol)
		}
	}
	return out
}
