package lint

import (
	"cmp"
	"fmt"

	"github.com/rdmakit/rdmakit/k8s"
)

func checkPriorityOrder(p *pass) {
	if len(p.nodes) > 0 {
		for _, shared := range p.sharedPFs {
			if !shared.disjoint {
				checkPriority(p, shared.about, shared.other, shared.card.String())
			}
		}
		return
	}
	for _, wide := range p.policies {
		for _, single := range p.policies {
			if specific(single) && !specific(wide) && covers(wide.Value.Spec.NicSelector,
				single.Value.Spec.NicSelector) && !labelsExclude(single, wide) {
				checkPriority(p, single, wide, "the cards that it names")
			}
		}
	}
}

// checkPriority checks the order of two policies that overlap. If it is unknown whether the webhook
// is on, it checks both cases.
func checkPriority(p *pass, a, b *policy, where string) {
	if specific(a) == specific(b) || a.Namespace != b.Namespace || a.Name == b.Name {
		return // the intended order is unknown, and policy-overlap reports the two
	}
	single, wide := a, b
	if specific(b) {
		single, wide = b, a
	}
	webhook, known := p.webhook()
	off, on := p.appliedLater(wide, single, webhook), p.appliedLater(wide, single, webhook || !known)
	high, low := wide.Value.Spec.Priority, single.Value.Spec.Priority
	switch {
	case off && on:
		why := "the lower number wins"
		if p.priority(wide, webhook) == p.priority(single, webhook) {
			why = "with equal numbers the name that sorts last wins"
		}
		f := p.warn(single.Object, path{"spec", "priority"},
			"%s has %s and overrides this policy, which has %s, on %s: %s",
			wide, priorityText(high), priorityText(low), where, why)
		f.because(wide.At("spec", "priority"), "the policy that wins")
		if high != nil && *high > 0 {
			f.fix("priority: %d", *high-1)
		}
	case off:
		f := p.warn(wide.Object, path{"spec"},
			"if the webhook is off, a policy without priority has 0, the highest: this policy overrides %s on %s",
			single, where)
		f.because(single.At("spec", "priority"), "the policy that loses").fix("priority: 99")
	case on:
		f := p.warn(single.Object, path{"spec"},
			"if the webhook is on, a policy without priority has 99, the lowest: %s overrides this policy on %s",
			wide, where)
		f.because(wide.At("spec", "priority"), "the policy that wins")
		if high != nil && *high > 0 {
			f.fix("priority: %d", *high-1)
		}
	}
}

func priorityText(priority *int) string {
	if priority == nil {
		return "no priority"
	}
	return fmt.Sprintf("priority %d", *priority)
}

// priority returns the priority that the operator reads. The webhook sets it in new objects only,
// not in those that the cluster already has.
func (m *model) priority(p *policy, webhook bool) int {
	return p.Value.Spec.EffectivePriority(webhook && m.checked[p.Object])
}

// appliedLater reports whether the operator applies a after b, so that a wins.
func (m *model) appliedLater(a, b *policy, webhook bool) bool {
	return cmp.Or(cmp.Compare(m.priority(b, webhook), m.priority(a, webhook)), cmp.Compare(a.Name, b.Name)) > 0
}

// specific reports whether a policy names cards.
func specific(p *policy) bool {
	s := p.Value.Spec.NicSelector
	return len(s.PfNames)+len(s.RootDevices) > 0
}

// covers reports whether a selector by vendor or device ID selects all cards of another selector.
func covers(wide, single k8s.NicSelector) bool {
	return wide.NetFilter == "" && (wide.Vendor != "" || wide.DeviceID != "") &&
		(wide.Vendor == "" || wide.Vendor == single.Vendor) && (wide.DeviceID == "" || wide.DeviceID == single.DeviceID)
}
