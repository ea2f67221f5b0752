package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkNFDLabel(p *pass, pol *policy) {
	if v := pol.Find("spec", "nodeSelector"); v != nil {
		for _, f := range v.Fields {
			checkLabel(p, pol, f.Key)
		}
	}
}

func checkLabel(p *pass, pol *policy, key string) {
	for i := range p.nodes {
		if _, found, known := p.nodes[i].Label(key); found || known && len(p.nodes) > 0 {
			return // selector-node checks against the labels of the nodes
		}
	}
	const prefix = "feature.node.kubernetes.io/"
	at := path{"spec", "nodeSelector", key}
	place := pol.KeyAt(at...)
	name, ours := strings.CutPrefix(key, prefix)
	bare, custom := strings.CutPrefix(name, "custom-")
	switch {
	case ours && p.publishes(name):
	case ours && bare == "rdma.enabled":
		p.warn(pol.Object, at, "NFD publishes rdma.available; %s appears only in its manual", name).place(
			place).fix("%srdma.available", prefix)
	case ours && custom && (bare == "rdma.available" || bare == "rdma.capable"):
		p.warn(pol.Object, at, "NFD publishes %s; the prefix custom- was dropped in v0.14", bare).place(
			place).fix("%s%s", prefix, bare)
	case !ours &&
		(key == "network-sriov.capable" || strings.HasPrefix(key, "pci-") && strings.HasSuffix(key, ".present")):
		p.warn(pol.Object, at, "NFD's label starts with %s", prefix).place(place).fix("%s%s", prefix, key)
	case ours && name == "pci-15b3.present":
		p.note(pol.Object, at,
			"NFD publishes %s only if its labels are set to vendors alone, or with network-operator's NodeFeatureRule",
			name).place(place)
	}
}

// publishes reports whether an NFD rule among the objects creates a label.
func (m *model) publishes(label string) bool {
	return slices.ContainsFunc(m.objects, func(o *manifest.Object) bool {
		return (o.Kind == "NodeFeatureRule" || o.Kind == k8s.KindNFD) && mentions(o.Root, label, manifest.MaxDepth)
	})
}

// mentions reports whether a key or a text contains a word.
func mentions(v *manifest.Value, word string, depth int) bool {
	if v == nil || depth == 0 {
		return false
	}
	return strings.Contains(v.Text, word) ||
		slices.ContainsFunc(v.Fields,
			func(f manifest.Field) bool { return strings.Contains(f.Key, word) || mentions(f.Value, word, depth-1) }) ||
		slices.ContainsFunc(v.Items, func(item *manifest.Value) bool { return mentions(item, word, depth-1) })
}
