package lint

import (
	"cmp"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
)

func checkExternalManaged(p *pass, pol *policy) {
	if k8s.ValueOf(pol.Value.Spec.ExternallyManaged) {
		checkExternal(p, pol)
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
