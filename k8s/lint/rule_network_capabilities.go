package lint

import (
	"encoding/json"
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
)

func networkCapabilities() Rule {
	return Rule{
		ID: "network-capabilities", Title: "a capability that this kind of network doesn't have",
		Severity: SeverityError,
		Kinds:    []string{k8s.KindNetwork, k8s.KindIBNetwork},
		Explanation: prose.Join(`
			capabilities lists what a pod may request in its annotation: a GUID on InfiniBand
			(infinibandGUID), a MAC address on Ethernet (mac), IP addresses (ips). Without the
			capability of the plugin the request is ignored. The values are true or false, without
			quotes.`),
		Remedy:  "write infinibandGUID for InfiniBand, mac for Ethernet",
		Wrong:   "  capabilities: '{\"mac\": true}'",
		Right:   "  capabilities: '{\"infinibandGUID\": true}'",
		Sources: []string{srcCRD, srcIBCNI},
		check: func(p *pass) {
			for _, n := range p.networks {
				known := []string{"mac", "ips"}
				if n.IB {
					known = []string{"infinibandGUID", "ips"}
				}
				var caps map[string]any
				_ = json.Unmarshal([]byte(n.Spec.Capabilities), &caps) // ipam-json reports anything but an object
				for _, name := range slices.Sorted(mapKeys(caps)) {
					near := spelling.Nearest(name, known, spelling.Strict)
					if name == "mac" || name == "infinibandGUID" {
						near = known[0]
					}
					if _, ok := caps[name].(bool); !ok {
						p.error(n.Object, path{"spec", "capabilities"},
							"capability %s must be true or false: no pod starts", name).fix(
							"capabilities: '{%q: true}'", name)
					} else if !slices.Contains(known, name) {
						f := p.warn(n.Object, path{"spec", "capabilities"}, "%s has no capability %q", n.Kind, name)
						if near != "" {
							f.fix("capabilities: '{%q: true}'", near)
						}
					}
				}
			}
		},
	}
}
