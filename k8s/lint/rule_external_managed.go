package lint

import (
	"cmp"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func externalManaged() Rule {
	return Rule{
		ID: "external-managed", Title: "a policy that differs from an externally managed PF", Severity: SeverityError,
		Nodes: true,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			With externallyManaged the operator doesn't change the PF. It compares the PF with the
			policy and fails if the policy requires more than the PF has. The webhook rejects an mtu
			above the PF's and a different linkType; the daemon also fails on a different
			eSwitchMode, which defaults to legacy. The rule num-vfs checks the number of VFs.`),
		Remedy:  "configure the PF with the tool that manages it, or write the PF's values into the policy",
		Wrong:   "  mtu: 9000\n  externallyManaged: true",
		Right:   "  mtu: 4092\n  externallyManaged: true",
		Sources: []string{srcWebhook, srcDaemon},
		check: func(p *pass) {
			for _, pol := range p.policies {
				if k8s.ValueOf(pol.Value.Spec.ExternallyManaged) {
					checkExternal(p, pol)
				}
			}
		},
	}
}

func checkExternal(p *pass, pol *policy) {
	s := pol.Value.Spec
	reported := map[string]bool{}
	report := func(c card, field, format string, args ...any) {
		if !reported[field] {
			reported[field] = true
			p.error(pol.Object, path{"spec", field}, format, args...).onNode(c.Node.Name, "has %s", c)
		}
	}
	mode := cmp.Or(s.ESwitchMode, "legacy")
	for _, c := range p.cards(pol) {
		if s.MTU != nil && c.PF.MTU > 0 && *s.MTU > c.PF.MTU {
			report(c, "mtu", "mtu %d is more than the PF's %d, and the operator doesn't change it", *s.MTU, c.PF.MTU)
		}
		if s.LinkType != "" && c.PF.LinkType != "" && !strings.EqualFold(s.LinkType, c.PF.LinkType) {
			report(c, "linkType", "linkType is %s, but the PF has %s, and the operator doesn't change it",
				s.LinkType, c.PF.LinkType)
		}
		if c.PF.ESwitchMode != "" && c.PF.ESwitchMode != mode {
			report(c, "eSwitchMode", "eSwitchMode is %s, but the PF has %s, and the operator doesn't change it",
				mode, c.PF.ESwitchMode)
		}
	}
}
