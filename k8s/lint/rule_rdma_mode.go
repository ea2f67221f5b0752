package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
)

func rdmaMode() Rule {
	return Rule{
		ID: "rdma-mode", Title: "isolation of RDMA devices without the namespace mode for it, or against a plugin", Severity: SeverityError,
		Kinds:       []string{k8s.KindNetwork, k8s.KindNAD, k8s.KindPod},
		Explanation: "The rdma plugin and rdmaIsolation move the RDMA device into the pod's namespace, which the kernel does in exclusive mode only; shared is its default. The mode is set by rdmaMode of a SriovNetworkPoolConfig, and changes with a reboot. In exclusive mode the shared device plugin (resources rdma/...) refuses to start. The mode is that of the nodes, or of the pools in the manifests; where neither tells, nothing is said.",
		Remedy:      "set rdmaMode: exclusive in a SriovNetworkPoolConfig of the nodes, or leave isolation out",
		Wrong:       "  rdmaMode: shared",
		Right:       "  rdmaMode: exclusive",
		Reports:     []string{"Mellanox/k8s-rdma-shared-dev-plugin#84", "Mellanox/k8s-rdma-shared-dev-plugin#87"},
		Sources:     []string{srcRDMACNI, srcIBCNI, srcSharedPlugin, srcCRD},
		check: func(p *pass) {
			mode, why := p.namespaceMode()
			for _, n := range p.networks {
				if !n.IB && mode == "shared" && strings.Contains(strings.Join(strings.Fields(n.Spec.MetaPlugins), ""), `"type":"rdma"`) {
					p.error(n.Object, path{"spec", "metaPlugins"}, "the rdma plugin needs exclusive mode, and it is shared").because(why, "rdmaMode is shared")
				}
			}
			for _, nad := range p.nads {
				if mode == "shared" && isolates(nad.Value.Spec.Config) {
					p.error(nad.Object, path{"spec", "config"}, "isolation needs exclusive mode, and it is shared").because(why, "rdmaMode is shared")
				}
			}
			for _, pod := range p.pods {
				if mode == "exclusive" {
					checkSharedPlugin(p, pod, why)
				}
			}
		},
	}
}

// place is a text that is a place.
type place string

// String returns the text.
func (p place) String() string { return string(p) }

// namespaceMode returns the mode that all pools, or all nodes, agree on.
func (m *model) namespaceMode() (mode string, why fmt.Stringer) {
	modes := map[string]fmt.Stringer{}
	for _, pool := range m.pools {
		if s := pool.Value.Spec.RdmaMode; s != "" {
			modes[s] = pool.At("spec", "rdmaMode")
		}
	}
	if len(modes) == 0 {
		for _, n := range m.nodes {
			if n.RDMAMode != "" {
				modes[n.RDMAMode] = place("node " + n.Name)
			}
		}
	}
	if len(modes) != 1 {
		return "", nil
	}
	for mode, why = range modes {
		return mode, why
	}
	return "", nil
}

// isolates reports a CNI configuration that moves RDMA devices.
func isolates(config string) bool {
	return slices.ContainsFunc(plugins(config), func(text json.RawMessage) bool {
		var plugin struct {
			Type          string `json:"type"`
			RDMAIsolation bool   `json:"rdmaIsolation"`
		}
		return json.Unmarshal(text, &plugin) == nil && (plugin.Type == "rdma" || plugin.RDMAIsolation)
	})
}

func checkSharedPlugin(p *pass, pod *pod, why fmt.Stringer) {
	for _, c := range pod.containers() {
		for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
			if prefix, _ := splitResource(name); prefix == sharedPrefix {
				at := c.path("resources", "limits", name)
				f := p.error(pod.Object, at, "%s is of the shared device plugin, which refuses to start in exclusive mode", name).place(pod.KeyAt(at...)).because(why, "rdmaMode is exclusive")
				f.Remedy = "use a resource of the SR-IOV operator, or shared mode"
			}
		}
	}
}
