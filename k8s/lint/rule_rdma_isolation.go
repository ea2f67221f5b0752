package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
)

func checkRDMAIsolation(p *pass) {
	modes := p.rdmaModes()
	for _, n := range p.networks {
		mode := modes.ofResource(n.Spec.ResourceName)
		switch {
		case mode.name != "exclusive", !p.forRDMA(n.Spec.ResourceName):
		case n.IB:
			f := p.error(n.Object, path{"spec"}, "in exclusive mode the RDMA device must move into the pod, "+
				"which SriovIBNetwork can't do").because(mode.why, "rdmaMode is exclusive")
			f.Remedy = "write a NetworkAttachmentDefinition with ib-sriov and rdmaIsolation " +
				"instead, or use shared mode"
		case !strings.Contains(n.Spec.MetaPlugins, `"rdma"`):
			p.error(n.Object, path{"spec"},
				"in exclusive mode the RDMA device must move into the pod, but the network leaves it on the "+
					"host").because(
				mode.why, "rdmaMode is exclusive",
			).fix(`metaPlugins: '{"type": "rdma"}'`)
		}
	}
	for _, d := range p.handwritten() {
		_, resource := splitResource(d.Value.Metadata.Annotations[k8s.AnnotationResourceName])
		list := pluginsOf(d.Value.Spec.Config)
		vf := slices.ContainsFunc(list,
			func(c cniPlugin) bool { return c.Type == "sriov" || c.Type == "ib-sriov" })
		mode := modes.ofResource(resource)
		if vf && mode.name == "exclusive" && p.forRDMA(resource) && !isolates(d.Value.Spec.Config) {
			p.error(d.Object, path{"spec", "config"},
				"in exclusive mode the RDMA device must move into the pod, but the network leaves it on the "+
					"host").because(mode.why, "rdmaMode is exclusive")
		}
	}
}
