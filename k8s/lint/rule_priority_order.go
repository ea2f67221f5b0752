package lint

import (
	"cmp"
	"fmt"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func priorityOrder() Rule {
	return Rule{
		ID: "priority-order", Title: "a policy for all cards that wins over one for a single card",
		Severity: SeverityWarn,
		Kinds:    []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			The lower number is the higher priority. Policies are applied from the highest number
			down, of equal numbers by name, and a later one overrides an earlier one on the same
			VFs; a policy without priority has 99 from the webhook, or 0, the highest, where the
			webhook is off. So a policy that names a card has no effect next to one for all cards of
			the vendor that is applied later.`),
		Remedy:  "give the policy that names cards the lower number, or choose cards that don't meet",
		Wrong:   "  priority: 50",
		Right:   "  priority: 5",
		Sources: []string{srcSelector, srcWebhook},
		check: func(p *pass) {
			if len(p.nodes) > 0 {
				for _, m := range p.meetings {
					if !m.shared {
						checkPriority(p, m.about, m.other, m.card.String())
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
		},
	}
}

// checkPriority judges two policies that meet. Where nothing tells of the webhook, both
// cases count.
func checkPriority(p *pass, a, b *policy, where string) {
	if specific(a) == specific(b) || a.Namespace != b.Namespace || a.Name == b.Name {
		return // who is meant to win can't be told, and policy-overlap tells that they meet
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
			why = "of equal numbers the later name wins"
		}
		f := p.warn(single.Object, path{"spec", "priority"},
			"%s has %s and overrides this one, which has %s, on %s: %s",
			wide, priorityText(high), priorityText(low), where, why)
		f.because(wide.At("spec", "priority"), "the policy that wins")
		if high != nil && *high > 0 {
			f.fix("priority: %d", *high-1)
		}
	case off:
		f := p.warn(wide.Object, path{"spec"},
			"no priority means 0, the highest, where the webhook is off: then this policy overrides %s on %s",
			single, where)
		f.because(single.At("spec", "priority"), "the policy that loses").fix("priority: 99")
	case on:
		f := p.warn(single.Object, path{"spec"},
			"no priority means 99, the lowest, where the webhook is on: then %s overrides this one on %s", wide, where)
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

// priority is what the operator reads: the webhook sees what is applied, not what the cluster has.
func (m *model) priority(p *policy, webhook bool) int {
	return p.Value.Spec.EffectivePriority(webhook && m.judged[p.Object])
}

// appliedLater reports that the operator applies a after b, so that a wins.
func (m *model) appliedLater(a, b *policy, webhook bool) bool {
	return cmp.Or(cmp.Compare(m.priority(b, webhook), m.priority(a, webhook)), cmp.Compare(a.Name, b.Name)) > 0
}

// specific reports a policy that names cards.
func specific(p *policy) bool {
	s := p.Value.Spec.NicSelector
	return len(s.PfNames)+len(s.RootDevices) > 0
}

// covers reports that a selector by vendor or device takes every card that another one takes.
func covers(wide, single k8s.NicSelector) bool {
	return wide.NetFilter == "" && (wide.Vendor != "" || wide.DeviceID != "") &&
		(wide.Vendor == "" || wide.Vendor == single.Vendor) && (wide.DeviceID == "" || wide.DeviceID == single.DeviceID)
}
