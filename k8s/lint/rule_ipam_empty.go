package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func ipamEmpty() []Rule {
	return group("ipam-empty", Rule{
		ID: "ipam-missing", Title: "a network without addresses", Severity: SeverityWarn,
		Kinds: []string{k8s.KindNetwork, k8s.KindIBNetwork, k8s.KindNAD},
		Explanation: prose.Join(`
			Without ipam the operator renders "ipam": {} and the interface gets no address. RoCE
			derives its GIDs from IP addresses: without an address the device has only a link-local
			GID, with which queue pairs can connect at most within one layer 2 network. On
			InfiniBand verbs need no IP address, but rping and librdmacm do.`),
		Remedy:  "set ipam; whereabouts assigns addresses that are unique in the cluster",
		Wrong:   "  ipam: '{}'",
		Right:   "  ipam: '{\"type\": \"whereabouts\", \"range\": \"192.168.0.0/24\"}'",
		Sources: []string{srcRender, srcWhereabouts, srcHostLocal},
		check: func(p *pass) {
			for _, n := range p.networks {
				checkIPAMEmpty(p, n)
			}
			for _, ref := range p.ipams() {
				ours := ref.use == rdmaYes || ref.use == rdmaUnknown && ref.vf()
				if ours && ref.conf.Type == ipam.TypeHostLocal && p.severalNodes(ref.resource) {
					p.as(
						"ipam-host-local",
					).warn(ref.Object, ref.at, "host-local assigns addresses from the same range "+
						"on each node: pods on two nodes get the same address").place(ref.key("type"))
				}
			}
		},
	}, Rule{
		ID: "ipam-host-local", Title: "a network with the same addresses on several nodes", Severity: SeverityWarn,
		Explanation: prose.Join(`
			host-local assigns addresses on each node separately from the same range, so pods on two
			nodes get the same address.`),
		Remedy: "use an IPAM that knows the cluster, such as whereabouts or nv-ipam",
		Wrong:  "  ipam: '{\"type\": \"host-local\", \"subnet\": \"192.168.0.0/24\"}'",
		Right:  "  ipam: '{\"type\": \"whereabouts\", \"range\": \"192.168.0.0/24\"}'",
	})
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
