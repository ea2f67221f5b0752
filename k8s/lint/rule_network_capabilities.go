package lint

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

func checkNetworkCapabilities(p *pass, n *network) {
	known := []string{"mac", "ips"}
	if n.IB {
		known = []string{"infinibandGUID", "ips"}
	}
	var caps map[string]any
	_ = json.Unmarshal([]byte(n.Spec.Capabilities), &caps) // ipam-json reports anything but an object
	for _, name := range slices.Sorted(maps.Keys(caps)) {
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
