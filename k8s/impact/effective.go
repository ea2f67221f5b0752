package impact

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// policy is a SriovNetworkNodePolicy with the priority that the operator sees.
type policy struct {
	name     string
	spec     k8s.PolicySpec
	priority int
	// implied reports whether the priority is absent and depends on the webhook.
	implied bool
}

// config is the operator's desired setting of a PF.
type config struct {
	address           string
	vfs, mtu          int
	vfsFrom, mtuFrom  string
	linkType, eswitch string
	external          bool
	groups            []Group
	applied           []Applied
}

// setting is the operator's desired setting of a node.
type setting struct {
	cards map[string]*config // by the address of the PF
	// maybe names policies whose nodeSelector needs unknown labels.
	maybe []string
	// broken describes the error with which the operator gives up on the node, "" for none.
	broken string
	// selects names the policies that select a card.
	selects []string
}

// sortPolicies sorts policies in the order in which the operator applies them: by descending
// priority number, then by name (api/v1/helper.go, ByPriority).
func sortPolicies(policies []*policy) {
	slices.SortStableFunc(policies, func(a, b *policy) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.name, b.name))
	})
}

// settingOf applies sorted policies to a node
// (controllers/sriovnetworknodepolicy_controller.go, syncSriovNetworkNodeState).
func settingOf(policies []*policy, n *source.Node, pfs []pf) setting {
	s := setting{cards: map[string]*config{}}
	previous := 100 // the operator's initial value, which no priority equals
	for _, p := range policies {
		selected, maybe := n.Selected(p.spec.NodeSelector)
		if !selected && !maybe || p.name == "default" {
			continue // the operator ignores the policy named default
		}
		before := len(s.selects)
		if err := s.apply(p, pfs, previous == p.priority); err != "" {
			s.broken = err
			return s
		}
		if maybe && len(s.selects) > before {
			s.maybe = append(s.maybe, p.name)
		}
		previous = p.priority
	}
	for _, c := range s.cards {
		c.setEffects()
	}
	return s
}

// apply corresponds to Apply of the operator's policy. A policy with 0 VFs changes nothing.
func (s *setting) apply(p *policy, pfs []pf, equal bool) string {
	for i := range pfs {
		f := &pfs[i]
		if !f.Selected(p.spec.NicSelector) {
			continue
		}
		if len(s.selects) == 0 || s.selects[len(s.selects)-1] != p.name { // policies are applied one by one
			s.selects = append(s.selects, p.name)
		}
		vfs := k8s.ValueOf(p.spec.NumVfs)
		if vfs <= 0 {
			continue
		}
		first, last, err := f.VFs(p.spec)
		if err != nil {
			return fmt.Sprintf(
				"policy %s: %v: the operator stops there and doesn't change this node and those after it",
				p.name, err)
		}
		next := &config{
			address: f.Address, vfs: vfs, vfsFrom: p.name, mtu: k8s.ValueOf(p.spec.MTU), linkType: p.spec.LinkType,
			eswitch:  p.spec.ESwitchMode,
			external: k8s.ValueOf(p.spec.ExternallyManaged),
			groups: []Group{{
				Resource: p.spec.ResourceName, Policy: p.name, First: first, Last: last,
				DeviceType: cmp.Or(p.spec.DeviceType, "netdevice"), MTU: k8s.ValueOf(p.spec.MTU),
				RDMA: k8s.ValueOf(p.spec.IsRdma), VdpaType: p.spec.VdpaType,
			}},
		}
		if next.mtu > 0 {
			next.mtuFrom = p.name
		}
		if old := s.cards[f.Address]; old != nil {
			next.merge(old, equal)
		}
		next.applied = append(next.applied, Applied{Policy: p.name, Priority: new(p.priority)})
		s.cards[f.Address] = next
	}
	return ""
}

// merge keeps the parts of policies applied before that the operator keeps: groups of other
// resources whose VFs don't overlap. If there are any, or if the priorities are equal, it also
// keeps the higher MTU and number of VFs (api/v1/helper.go, mergeConfigs).
func (c *config) merge(old *config, equal bool) {
	c.applied = old.applied // old is not used any more
	own := c.groups[0]
	merged := false
	for _, g := range old.groups {
		if g.Resource == own.Resource || g.First <= own.Last && own.First <= g.Last {
			continue
		}
		merged = true
		c.groups = append(c.groups, g)
	}
	if !equal && !merged {
		return
	}
	if c.mtu < old.mtu {
		c.mtu, c.mtuFrom = old.mtu, old.mtuFrom
	}
	if c.vfs < old.vfs {
		c.vfs, c.vfsFrom = old.vfs, old.vfsFrom
	}
}

// setEffects sets the effect of each policy on the PF.
func (c *config) setEffects() {
	for i := range c.applied {
		a := &c.applied[i]
		switch {
		case i == len(c.applied)-1:
			a.Effect = EffectDecides
		case slices.ContainsFunc(c.groups, func(g Group) bool { return g.Policy == a.Policy }):
			a.Effect = EffectShares
		default:
			a.Effect = EffectOverridden
		}
	}
}

// fromStateSpec returns the desired setting in a SriovNetworkNodeState.
func fromStateSpec(spec k8s.NodeStateSpec) setting {
	s := setting{cards: map[string]*config{}}
	for _, i := range spec.Interfaces {
		c := &config{
			address: strings.ToLower(i.PciAddress), vfs: i.NumVfs, mtu: i.Mtu, linkType: i.LinkType,
			eswitch: i.ESwitchMode, external: i.ExternallyManaged,
		}
		for _, g := range i.VfGroups {
			first, last, _ := source.ReadVFRange(g.VfRange)
			c.groups = append(c.groups, Group{
				Resource: g.ResourceName, Policy: g.PolicyName, First: first, Last: last,
				DeviceType: cmp.Or(g.DeviceType, "netdevice"), MTU: g.Mtu, RDMA: g.IsRdma, VdpaType: g.VdpaType,
			})
		}
		if len(c.groups) > 0 {
			c.vfsFrom = c.groups[0].Policy
		}
		s.cards[c.address] = c
	}
	return s
}

// policies returns the names of the policies of a PF's VFs.
func (c *config) policies() []string {
	var names []string
	for _, g := range c.groups {
		if g.Policy != "" && !slices.Contains(names, g.Policy) {
			names = append(names, g.Policy)
		}
	}
	return names
}

// equalCards reports whether two desired settings are equal.
func equalCards(a, b map[string]*config) bool {
	return maps.EqualFunc(a, b, func(x, y *config) bool {
		return x.vfs == y.vfs && x.mtu == y.mtu && x.linkType == y.linkType && x.eswitch == y.eswitch &&
			x.external == y.external &&
			slices.EqualFunc(x.groups, y.groups, func(g, h Group) bool {
				if strings.EqualFold(x.linkType, source.LinkIB) && g.DeviceType == "netdevice" {
					g.RDMA, h.RDMA = true, true // the webhook sets it if it is on
				}
				return g == h
			})
	})
}

// wanted returns the exported form.
func (c *config) wanted() *Wanted {
	return &Wanted{
		VFs: c.vfs, MTU: c.mtu, VFsFrom: c.vfsFrom, MTUFrom: c.mtuFrom, LinkType: c.linkType, ESwitchMode: c.eswitch,
		ExternallyManaged: c.external, Groups: append([]Group{}, c.groups...),
	}
}

// clone copies the parts that a trial may change.
func (c *config) clone() *config {
	d := *c
	d.groups = slices.Clone(c.groups)
	return &d
}

// owner returns the policy that overrides the others on a PF.
func (c *config) owner() string {
	if n := len(c.applied); n > 0 {
		return c.applied[n-1].Policy
	}
	return c.vfsFrom
}
