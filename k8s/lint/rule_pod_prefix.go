package lint

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
)

func checkPodPrefix(p *pass, c container) {
	for _, l := range c.limits() {
		checkPrefix(p, c.pod, l.at, l.name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Requests)) {
		if c.Resources.Limits[name] == "" {
			checkPrefix(p, c.pod, c.path("resources", "requests", name), name)
		}
	}
}

func checkPrefix(p *pass, pod *pod, at path, name string) {
	prefix, base := splitResource(name)
	if !p.ours(base) {
		return
	}
	place := pod.KeyAt(at...)
	if prefix == "" {
		want := cmp.Or(p.prefixOf(base), "PREFIX")
		p.error(pod.Object, at, "%q has no prefix: the API server rejects resources without one",
			name).place(place).fix("%s/%s", want, base)
		return
	}
	if want := p.prefixOf(base); want != "" && want != prefix {
		f := p.error(pod.Object, at, "no node has %s: the resource is called %s/%s", name, want, base).place(place).fix(
			"%s/%s", want, base)
		for _, n := range p.nodes {
			if q, ok := n.Allocatable[want+"/"+base]; ok {
				f.onNode(n.Name, "allocatable has %s/%s: %s", want, base, q)
				break
			}
		}
	}
}

// prefixOf returns the prefix of a resource: that on the nodes, otherwise that in
// NetworkAttachmentDefinitions, otherwise that in the options. It returns "" if the prefix is
// unknown or ambiguous.
func (m *model) prefixOf(base string) string {
	switch found := m.prefixes[base]; len(found) {
	case 0:
		return strings.TrimSuffix(m.in.Options.ResourcePrefix, "/")
	case 1:
		return found[0]
	}
	return ""
}

// findPrefixes returns the prefixes of resources: those on the nodes, and those in
// NetworkAttachmentDefinitions for resources that no node has.
func (m *model) findPrefixes() map[string][]string {
	add := func(to map[string][]string, full string) {
		if prefix, base := splitResource(full); prefix != "" && !slices.Contains(to[base], prefix) {
			to[base] = append(to[base], prefix)
		}
	}
	out, nads := map[string][]string{}, map[string][]string{}
	for _, n := range m.nodes {
		for name := range n.Allocatable {
			add(out, name)
		}
	}
	for _, nad := range m.nads {
		add(nads, nad.Value.Metadata.Annotations[k8s.AnnotationResourceName])
	}
	for base, prefixes := range nads {
		if out[base] == nil {
			out[base] = prefixes
		}
	}
	return out
}
