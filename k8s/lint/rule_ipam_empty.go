package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/ipam"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkHostLocal(p *pass, ref ipamRef) {
	ours := ref.use == rdmaYes || ref.use == rdmaUnknown && ref.vf()
	if ours && ref.conf.Type == ipam.TypeHostLocal && p.severalNodes(ref.resource) {
		p.warn(ref.Object, ref.at, "host-local assigns addresses from the same range on each node: pods on two "+
			"nodes get the same address").place(ref.key("type"))
	}
}

func checkIPAMEmpty(p *pass, n *network) {
	v := n.Find("spec", "ipam")
	text := strings.Join(strings.Fields(n.Spec.IPAM), "")
	switch {
	case v != nil && v.Kind != manifest.Null && v.Kind != manifest.String, text != "" && text != "{}":
	case p.useOf("", n.Spec.ResourceName) == rdmaNo: // DPDK, or a plain network with addresses of its own
	case n.IB:
		p.note(n.Object, path{"spec", "ipam"},
			"no ipam: verbs work, but rping and librdmacm don't, because they need an IP address")
	case p.useOf("", n.Spec.ResourceName) == rdmaUnknown:
		p.note(n.Object, path{"spec", "ipam"}, "no ipam: the interface gets no address, which RoCE would need")
	default:
		p.warn(n.Object, path{"spec", "ipam"},
			"no ipam: the interface gets no address, and the RoCE device has only a link-local GID")
	}
}

// severalNodes reports whether the policies of a resource may create VFs on more than one node.
func (m *model) severalNodes(resource string) bool {
	if len(m.nodes) > 0 {
		return len(m.vfsOf(resource)) > 1
	}
	return !slices.ContainsFunc(m.policiesOf(resource), func(p *policy) bool {
		_, one := p.Value.Spec.NodeSelector["kubernetes.io/hostname"]
		return one
	})
}
