package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
)

func operatorSettings() Rule {
	return Rule{
		ID: "operator-settings", Title: "settings of the operator that don't exist or endanger pods",
		Severity: SeverityError,
		Kinds:    []string{k8s.KindOperatorConfig},
		Explanation: prose.Join(`
			disablePlugins takes mellanox and nothing else. A feature gate that the operator doesn't
			have is admitted and does nothing. With disableDrain VFs are taken from running pods
			when a policy changes. The webhook refuses a SriovOperatorConfig outside of the
			operator's namespace, and without the webhook it is ignored.`),
		Remedy:  "write one of the values that the operator has",
		Wrong:   "  disablePlugins: [mlx5]",
		Right:   "  disablePlugins: [mellanox]",
		Sources: []string{srcCRD, srcGates, srcWebhook},
		check: func(p *pass) {
			for _, c := range p.configs {
				checkOperatorSettings(p, c)
			}
		},
	}
}

// featureGates are those of the operator.
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
				"%q can't be disabled: the API server takes mellanox only", plugin)
		}
	}
	for _, gate := range slices.Sorted(maps.Keys(s.FeatureGates)) {
		if slices.Contains(featureGates(), gate) {
			continue
		}
		at := path{"spec", "featureGates", gate}
		f := p.warn(c.Object, at, "the operator has no feature gate %s: it does nothing", gate).place(c.KeyAt(at...))
		f.Remedy = "the gates are " + strings.Join(featureGates(), ", ")
		if near := spelling.Nearest(gate, featureGates(), spelling.Loose); near != "" {
			f.fix("%s", near)
		}
	}
	if k8s.ValueOf(s.DisableDrain) {
		p.warn(
			c.Object, path{"spec", "disableDrain"}, "nodes are not drained: a change takes the VFs from running pods",
		).Remedy = "remove disableDrain, unless the cluster has one node"
	}
	if ns := p.in.Options.OperatorNamespace; ns != "" && c.Namespace != "" && c.Namespace != ns {
		p.error(c.Object, path{"metadata", "namespace"},
			"the operator is in %s, and reads its configuration there only", ns).fix("namespace: %s", ns)
	}
}
