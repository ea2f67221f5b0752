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
		ID: "network-resource", Title: "a network whose resource no policy makes", Severity: SeverityError,
		Kinds: []string{k8s.KindNetwork, k8s.KindIBNetwork},
		Explanation: prose.Join(`
			resourceName of a network is that of a policy, letter by letter and without the prefix.
			Otherwise pods that ask for the resource of the network stay pending, and those that ask
			for another get no VF on it. Where neither policies nor the resources of nodes are
			known, nothing is said.`),
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
				f := p.error(n.Object, path{"spec", "resourceName"}, "no policy makes the resource %q: there are %s",
					r, shorten(strings.Join(known, ", ")))
				if near := spelling.Nearest(r, known, spelling.Loose); near != "" {
					f.fix("resourceName: %s", near)
				}
			}
		},
	}
}

// resources returns the names, without prefix, of what policies make and nodes have.
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
			// GPUs are of an SR-IOV plugin nowhere; the others can't be told apart by their names.
			if prefix, base := splitResource(name); prefix != "" && !strings.HasSuffix(prefix, "kubernetes.io") &&
				base != "gpu" {
				all[base] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}
