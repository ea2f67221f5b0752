package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

func checkNetworkResource(p *pass) {
	known := p.resources()
	for _, n := range p.networks {
		r := n.Spec.ResourceName
		if r == "" || len(known) == 0 || slices.Contains(known, r) || strings.Contains(r, "/") {
			continue
		}
		f := p.error(n.Object, path{"spec", "resourceName"}, "no policy creates resource %q; known are %s",
			r, shorten(strings.Join(known, ", ")))
		if near := spelling.Nearest(r, known, spelling.Loose); near != "" {
			f.fix("resourceName: %s", near)
		}
	}
}

// resources returns the names, without prefix, of the resources of policies and nodes.
func (m *model) resources() []string { return m.known }

func (m *model) findResources() []string {
	all := map[string]bool{}
	for _, pol := range m.policies {
		if r := pol.Value.Spec.ResourceName; r != "" {
			all[r] = true
		}
	}
	for _, n := range m.nodes {
		for name := range n.Allocatable {
			// GPUs never come from an SR-IOV device plugin. Other resources can't be distinguished
			// by their names.
			if prefix, base := splitResource(name); prefix != "" && !strings.HasSuffix(prefix, "kubernetes.io") &&
				base != "gpu" {
				all[base] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}
