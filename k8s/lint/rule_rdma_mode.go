package lint

import (
	"encoding/json"
	"fmt"
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

// checkSharedPlugin checks resources of the shared device plugin against the nodes on which the pod
// may run.
func checkSharedPlugin(p *pass, pod *pod, modes *namespaceModes) {
	limits := slices.DeleteFunc(pod.limits(), func(l limit) bool { return l.prefix != sharedPrefix })
	if len(limits) == 0 {
		return
	}
	where := pod.nodeConditions()
	nodes := slices.DeleteFunc(p.nodesFor(pod), func(n *source.Node) bool { return !mayMeet(n, where) })
	mode := modes.on(nodes, where...)
	if mode.name != "exclusive" {
		return
	}
	for _, l := range limits {
		f := p.error(pod.Object, l.at, "%s needs the shared device plugin, which refuses to start in exclusive mode",
			l.name).place(pod.KeyAt(l.at...)).because(mode.why, "rdmaMode is exclusive")
		f.Remedy = "use a resource of the SR-IOV operator, or shared mode"
		if !modes.decided(nodes, where) {
			f.Severity = SeverityWarn
			f.Summary = fmt.Sprintf("%s needs the shared device plugin, which refuses to start on nodes in exclusive "+
				"mode, and nothing keeps the pod from those", l.name)
			f.Remedy += ", or select nodes outside of the pool"
		}
	}
}

// nodeConditions returns the conditions on the labels of the pod's nodes: its nodeSelector together
// with each term of its required node affinity, of which a node must meet one.
func (p *pod) nodeConditions() []conditions {
	selector := matching(p.Value.Spec.NodeSelector)
	terms := p.Find(p.path("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
		"nodeSelectorTerms")...).List()
	if len(terms) == 0 || len(terms) > maxTerms {
		return []conditions{selector}
	}
	var out []conditions
	for _, term := range terms {
		var more conditions
		term.Get("matchExpressions").Decode(&more) // what can't be decoded is no condition
		out = append(out, slices.Concat(selector, more))
	}
	return out
}

// maxTerms limits the terms of a node affinity, more than a pod has.
const maxTerms = 32

// mayMeet reports whether a node meets one of several lists of conditions, or may meet it because
// its labels are unknown.
func mayMeet(n *source.Node, where []conditions) bool {
	return n.Labels == nil ||
		slices.ContainsFunc(where, func(c conditions) bool { return c.decidable().metBy(n.Labels) })
}
