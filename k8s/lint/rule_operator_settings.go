package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
)

// featureGates returns the operator's feature gates.
func featureGates() []string {
	return []string{
		"parallelNicConfig", "resourceInjectorMatchCondition", "metricsExporter", "manageSoftwareBridges",
		"blockDevicePluginUntilConfigured", "mellanoxFirmwareReset",
	}
}

func checkOperatorSettings(p *pass, c *typed[k8s.SriovOperatorConfig]) {
	s := c.Value.Spec
	for i, plugin := range s.DisablePlugins {
		if plugin != "mellanox" {
			p.error(c.Object, path{"spec", "disablePlugins", i},
				"%q can't be disabled: the API server allows only mellanox", plugin)
		}
	}
	for _, gate := range slices.Sorted(maps.Keys(s.FeatureGates)) {
		if slices.Contains(featureGates(), gate) {
			continue
		}
		at := path{"spec", "featureGates", gate}
		f := p.warn(c.Object, at, "the operator has no feature gate %s and ignores it", gate).place(c.KeyAt(at...))
		f.Remedy = "use one of the feature gates " + strings.Join(featureGates(), ", ")
		if near := spelling.Nearest(gate, featureGates(), spelling.Loose); near != "" {
			f.fix("%s", near)
		}
	}
	if k8s.ValueOf(s.DisableDrain) {
		p.warn(
			c.Object, path{"spec", "disableDrain"}, "nodes are not drained: a change removes the VFs of running pods",
		).Remedy = "remove disableDrain, unless the cluster has one node"
	}
	if ns := p.in.Options.OperatorNamespace; ns != "" && c.Namespace != "" && c.Namespace != ns {
		p.error(c.Object, path{"metadata", "namespace"},
			"the operator reads its configuration only from its own namespace %s", ns).fix("namespace: %s", ns)
	}
}
