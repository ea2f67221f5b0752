package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkRDMAMode(p *pass) {
	modes := p.rdmaModes()
	for _, n := range p.networks {
		if n.IB || !strings.Contains(strings.Join(strings.Fields(n.Spec.MetaPlugins), ""), `"type":"rdma"`) {
			continue
		}
		if mode := modes.on(p.nodesOf(n.Spec.ResourceName)); mode.name == "shared" {
			p.error(
				n.Object, path{"spec", "metaPlugins"}, "the rdma plugin requires exclusive mode, not shared",
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
				"isolation requires exclusive mode, not shared").because(mode.why, "rdmaMode is shared")
		}
	}
	for _, pod := range p.pods {
		checkSharedPlugin(p, pod, modes)
	}
}

// place is the text of a place, as a fmt.Stringer.
type place string

// String returns the text.
func (p place) String() string { return string(p) }

// namespaceMode is the RDMA network namespace mode, shared or exclusive, and the place where it was
// found.
type namespaceMode struct {
	name string // "" if unknown
	why  fmt.Stringer
}

// namespaceModes are the modes of nodes.
type namespaceModes struct {
	usual  namespaceMode // the mode of all pools, or of all nodes
	byNode map[*source.Node]namespaceMode
}

// rdmaModes returns the mode of each node: that of its pool, or its current one. A node with
// unknown labels gets the usual mode.
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

// on returns the common mode of nodes, or an empty one if they differ. Without nodes, because the
// nodes of a resource are unknown, it returns the usual mode.
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

// usualMode returns the common mode of all pools, or of all nodes if no pool has one.
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

// isolates reports whether a CNI configuration moves RDMA devices into the pod.
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
	for _, c := range pod.running {
		for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
			prefix, _ := splitResource(name)
			if prefix != sharedPrefix {
				continue
			}
			mode := modes.on(p.nodesFor(pod))
			if mode.name != "exclusive" {
				return
			}
			at := c.path("resources", "limits", name)
			f := p.error(
				pod.Object, at, "%s needs the shared device plugin, which refuses to start in exclusive mode", name,
			).place(pod.KeyAt(at...)).because(mode.why, "rdmaMode is exclusive")
			f.Remedy = "use a resource of the SR-IOV operator, or shared mode"
		}
	}
}
