package lint

import (
	"cmp"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func externalManaged() Rule {
	return Rule{
		ID: "external-managed", Title: "an externally managed PF that would have to change", Severity: SeverityError,
		Nodes: true,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			With externallyManaged the operator leaves the PF alone: it compares, and fails where
			the policy asks for more than there is. The webhook refuses an mtu above the PF's and
			another linkType; the daemon also fails on another eSwitchMode, where absent means
			legacy. The number of VFs is judged by num-vfs.`),
		Remedy:  "set up the PF by what manages it, or write in the policy what the PF has",
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
	told := map[string]bool{}
	tell := func(c card, field, format string, args ...any) {
		if !told[field] {
			told[field] = true
			p.error(pol.Object, path{"spec", field}, format, args...).onNode(c.Node.Name, "has %s", c)
		}
	}
	mode := cmp.Or(s.ESwitchMode, "legacy")
	for _, c := range p.cards(pol) {
		if s.MTU != nil && c.PF.MTU > 0 && *s.MTU > c.PF.MTU {
			tell(c, "mtu", "mtu %d is more than the PF's %d, and the operator doesn't change it", *s.MTU, c.PF.MTU)
		}
		if s.LinkType != "" && c.PF.LinkType != "" && !strings.EqualFold(s.LinkType, c.PF.LinkType) {
			tell(c, "linkType", "linkType is %s, the PF is %s, and the operator doesn't change it",
				s.LinkType, c.PF.LinkType)
		}
		if c.PF.ESwitchMode != "" && c.PF.ESwitchMode != mode {
			tell(c, "eSwitchMode", "eSwitchMode is %s, the PF is in %s, and the operator doesn't change it",
				mode, c.PF.ESwitchMode)
		}
	}
}
