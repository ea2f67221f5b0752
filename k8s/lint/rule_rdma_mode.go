package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func rdmaMode() Rule {
	return Rule{
		ID: "rdma-mode", Title: "isolation of RDMA devices without the namespace mode for it, or against a plugin",
		Severity: SeverityError,
		Kinds:    []string{k8s.KindNetwork, k8s.KindNAD, k8s.KindPod},
		Explanation: prose.Join(`
			The rdma plugin and rdmaIsolation move the RDMA device into the pod's namespace, which
			the kernel does in exclusive mode only; shared is its default. The mode is set by
			rdmaMode of a SriovNetworkPoolConfig, and changes with a reboot. In exclusive mode the
			shared device plugin (resources rdma/...) refuses to start. The mode is that of the pool
			of the nodes which a policy gives the resource, or the one that they have; where neither
			tells, nothing is said.`),
		Remedy:  "set rdmaMode: exclusive in a SriovNetworkPoolConfig of the nodes, or leave isolation out",
		Wrong:   "  rdmaMode: shared",
		Right:   "  rdmaMode: exclusive",
		Reports: []string{"Mellanox/k8s-rdma-shared-dev-plugin#84", "Mellanox/k8s-rdma-shared-dev-plugin#87"},
		Sources: []string{srcRDMACNI, srcIBCNI, srcSharedPlugin, srcCRD},
		check: func(p *pass) {
			modes := p.rdmaModes()
			for _, n := range p.networks {
				if n.IB || !strings.Contains(strings.Join(strings.Fields(n.Spec.MetaPlugins), ""), `"type":"rdma"`) {
					continue
				}
				if mode := modes.on(p.nodesOf(n.Spec.ResourceName)); mode.name == "shared" {
					p.error(
						n.Object, path{"spec", "metaPlugins"}, "the rdma plugin needs exclusive mode, and it is shared",
					).because(mode.why, "rdmaMode is shared")
				}
			}
			for _, nad := range p.nads {
				if !isolates(nad.Value.Spec.Config) {
					continue
				}
				_, resource := splitResource(nad.Value.Metadata.Annotations[k8s.AnnotationResourceName])
				if mode := modes.on(p.nodesOf(resource)); mode.name == "shared" {
					p.error(nad.Object, path{"spec", "config"},
						"isolation needs exclusive mode, and it is shared").because(mode.why, "rdmaMode is shared")
				}
			}
			for _, pod := range p.pods {
				checkSharedPlugin(p, pod, modes)
			}
		},
	}
}

// place is a text that is a place.
type place string

// String returns the text.
func (p place) String() string { return string(p) }

// namespaceMode is a mode of RDMA namespaces, "" where it isn't known, and where it stands.
type namespaceMode struct {
	name string
	why  fmt.Stringer
}

// namespaceModes are those of nodes.
type namespaceModes struct {
	usual  namespaceMode // that all pools, or all nodes, agree on
	byNode map[*source.Node]namespaceMode
}

// rdmaModes finds the mode of each node: that of its pool, or the one that it has. A node whose
// labels aren't known has the usual one.
func (m *model) rdmaModes() namespaceModes {
	modes := namespaceModes{usual: m.usualMode(), byNode: map[*source.Node]namespaceMode{}}
	for i := range m.nodes {
		n := &m.nodes[i]
		mode := namespaceMode{n.RDMAMode, place("node " + n.Name)}
		for _, pool := range m.pools {
			if s := pool.Value.Spec.RdmaMode; s != "" && n.Labels != nil && poolSelects(pool, n.Labels) {
				mode = namespaceMode{s, pool.At("spec", "rdmaMode")}
				break
			}
		}
		if n.Labels == nil {
			mode = modes.usual
		}
		modes.byNode[n] = mode
	}
	return modes
}

// on returns the mode that nodes agree on, and the usual one where there are none: a resource whose
// nodes nothing tells.
func (s namespaceModes) on(nodes []*source.Node) namespaceMode {
	if len(nodes) == 0 {
		return s.usual
	}
	first := s.byNode[nodes[0]]
	if slices.ContainsFunc(nodes, func(n *source.Node) bool { return s.byNode[n].name != first.name }) {
		return namespaceMode{}
	}
	return first
}

// usualMode returns the mode that all pools, or all nodes, agree on.
func (m *model) usualMode() namespaceMode {
	modes := map[string]namespaceMode{}
	add := func(name string, why fmt.Stringer) {
		if _, known := modes[name]; !known && name != "" {
			modes[name] = namespaceMode{name, why}
		}
	}
	for _, pool := range m.pools {
		add(pool.Value.Spec.RdmaMode, pool.At("spec", "rdmaMode"))
	}
	if len(modes) == 0 {
		for _, n := range m.nodes {
			add(n.RDMAMode, place("node "+n.Name))
		}
	}
	if len(modes) != 1 {
		return namespaceMode{}
	}
	for _, mode := range modes {
		return mode
	}
	return namespaceMode{}
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

func checkSharedPlugin(p *pass, pod *pod, modes namespaceModes) {
	for _, c := range pod.containers() {
		for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
			prefix, _ := splitResource(name)
			if prefix != sharedPrefix {
				continue
			}
			mode := modes.on(p.fitting(pod))
			if mode.name != "exclusive" {
				return
			}
			at := c.path("resources", "limits", name)
			f := p.error(
				pod.Object, at, "%s is of the shared device plugin, which refuses to start in exclusive mode", name,
			).place(pod.KeyAt(at...)).because(mode.why, "rdmaMode is exclusive")
			f.Remedy = "use a resource of the SR-IOV operator, or shared mode"
		}
	}
}
