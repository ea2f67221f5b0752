package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func rdmaIsolation() Rule {
	return Rule{
		ID: "rdma-isolation", Title: "a network that leaves the RDMA device on the host in exclusive mode",
		Severity: SeverityError,
		Kinds:    []string{k8s.KindNetwork, k8s.KindIBNetwork, k8s.KindNAD},
		Explanation: prose.Join(`
			In exclusive mode an RDMA device works only in its own network namespace. The rdma
			plugin after sriov, or rdmaIsolation of ib-sriov, moves it into the pod's namespace.
			Otherwise /dev/infiniband/uverbsN is in the pod, but opening it fails. SriovIBNetwork
			has no field for rdmaIsolation, so write the NetworkAttachmentDefinition yourself. The
			rule takes the mode from the pool of the nodes on which policies provide the resource,
			or from the nodes. It reports nothing if the mode is unknown.`),
		Remedy: "set metaPlugins: '{\"type\": \"rdma\"}' on Ethernet; on InfiniBand write a " +
			"NetworkAttachmentDefinition with rdmaIsolation",
		Wrong:   "  resourceName: roce0\n  ipam:",
		Right:   "  metaPlugins: '{\"type\": \"rdma\"}'\n  ipam:",
		Reports: []string{"Mellanox/k8s-rdma-shared-dev-plugin#93", "Mellanox/network-operator#738"},
		Sources: []string{srcRDMACNI, srcIBCNI, srcKernelRDMA},
		check: func(p *pass) {
			modes := p.rdmaModes()
			for _, n := range p.networks {
				mode := modes.on(p.nodesOf(n.Spec.ResourceName))
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
				mode := modes.on(p.nodesOf(resource))
				if vf && mode.name == "exclusive" && p.forRDMA(resource) && !isolates(d.Value.Spec.Config) {
					p.error(d.Object, path{"spec", "config"},
						"in exclusive mode the RDMA device must move into the pod, but the network leaves it on the "+
							"host").because(mode.why, "rdmaMode is exclusive")
				}
			}
		},
	}
}
