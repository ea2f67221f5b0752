package lint

import (
	"maps"
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func podInitResource() Rule {
	return Rule{
		ID: "pod-init-resource", Title: "a VF that only an init container requests", Severity: SeverityError,
		Kinds: []string{k8s.KindPod},
		Explanation: prose.Join(`
			multus finds the VFs of a pod in the kubelet's list of its containers, which doesn't
			contain init containers that end. If only such an init container requests a VF, multus
			doesn't find it ("VF pci addr is required"), and the containers have no /dev/infiniband.
			Init containers with restartPolicy: Always are in the list.`),
		Remedy: "request the resource in a container",
		Wrong:  "  initContainers:\n  - name: check\n    resources:",
		Right:  "  initContainers:\n  - name: check\n    restartPolicy: Always\n    resources:",
		Reports: []string{
			"k8snetworkplumbingwg/sriov-network-device-plugin#258",
			"k8snetworkplumbingwg/sriov-network-device-plugin#310",
		},
		Sources: []string{srcMultus, srcKubernetes},
		check: func(p *pass) {
			for _, pod := range p.pods {
				for _, c := range pod.initOnly {
					for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
						prefix, base := splitResource(name)
						use := p.resource[base]
						if prefix == "" || !use.made && !use.networked || pod.requested(prefix, base) > 0 {
							continue
						}
						at := c.path("resources", "limits", name)
						p.error(pod.Object, at, "init container %s requests %s, but no container does",
							c.Name, name).place(pod.KeyAt(at...))
					}
				}
			}
		},
	}
}
