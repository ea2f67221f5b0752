package lint

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
)

func checkRDMAMode(p *pass) {
	modes := p.rdmaModes()
	for _, n := range p.networks {
		if n.IB || !strings.Contains(strings.Join(strings.Fields(n.Spec.MetaPlugins), ""), `"type":"rdma"`) {
			continue
		}
		if mode := modes.ofResource(n.Spec.ResourceName); mode.name == "shared" {
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
		if mode := modes.ofResource(resource); mode.name == "shared" {
			p.error(nad.Object, path{"spec", "config"},
				"isolation requires exclusive mode, not shared").because(mode.why, "rdmaMode is shared")
		}
	}
	for _, pod := range p.pods {
		checkSharedPlugin(p, pod, modes)
	}
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

func checkSharedPlugin(p *pass, pod *pod, modes *namespaceModes) {
	for _, c := range pod.running {
		for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
			prefix, _ := splitResource(name)
			if prefix != sharedPrefix {
				continue
			}
			mode := modes.on(p.nodesFor(pod), nil)
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
