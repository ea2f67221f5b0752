package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
)

func networkResource() Rule {
	return Rule{
		ID: "network-resource", Title: "a network whose resource no policy creates", Severity: SeverityError,
		Kinds: []string{k8s.KindNetwork, k8s.KindIBNetwork},
		Explanation: prose.Join(`
			resourceName of a network must equal resourceName of a policy, without the prefix.
			Otherwise pods that request the network's resource stay pending, and pods that request
			another resource get no VF on the network. The rule needs policies, or the resources of
			nodes.`),
		Remedy: "write the resourceName of the policy",
		Wrong:  "  resourceName: rail_0",
		Right:  "  resourceName: rail0",
		Reports: []string{
			"k8snetworkplumbingwg/sriov-network-device-plugin#258",
			"k8snetworkplumbingwg/sriov-network-device-plugin#310",
		},
		Sources: []string{srcRender},
		check: func(p *pass) {
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
		},
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
