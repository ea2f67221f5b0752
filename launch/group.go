package launch

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/inventory"
)

// groupRules compare ports with each other; group applies them.
var groupRules = []Rule{
	{
		ruleMixedFabric, KindPort,
		"usable ports of several kinds (InfiniBand, RoCE, EFA, eRDMA) remain, and --include is not given",
		"keep the kind with the highest sum of rates",
		"NCCL can't combine link layers in one network, and one GID index does not suit both",
	},
	{
		ruleRoCEVersion, KindPort, "some RoCE ports have v2 GIDs and others only v1", "keep those with v2",
		"the version is one setting for all ports",
	},
	{
		ruleRoCEFamily, KindPort, "RoCE ports have no address family in common",
		"keep the family that most ports have, IPv4 if equal",
		"NCCL_IB_ADDR_FAMILY is one setting for all ports, and NCCL never falls back to IPv6",
	},
	{
		ruleSelected, KindPort, "none of the rules above applies",
		"use the port, through the lowest index of its usable GIDs",
		"on InfiniBand the library chooses the index, so it is never set",
	},
}

const (
	ruleMixedFabric = "port-mixed-fabric"
	ruleRoCEVersion = "port-roce-version"
	ruleRoCEFamily  = "port-roce-family"
	ruleSelected    = "port-selected"
)

// group selects the ports that can be used together from those that passed the port rules.
func (dv *derivation) group() {
	left := dv.passed()
	if len(dv.include) == 0 {
		left = keepFabric(left)
	} else if efa, verbs := splitEFA(left); len(efa) > 0 && len(verbs) > 0 {
		left = keepFabric(left)
	}
	dv.chooseProfile(left)
	for _, c := range left {
		if c.plan.Decision != DecisionSelected {
			continue
		}
		c.plan.Rule, c.plan.Files = ruleSelected, []string{portFile(c.port, "state")}
		switch {
		case c.isEFA():
			c.plan.Reason = "EFA: used through libfabric"
			dv.efa = append(dv.efa, c)
			continue
		case c.isInfiniBand(), c.isERDMA():
			c.plan.Reason = "active, " + c.fabricKind()
		default:
			c.plan.GID = c.gids.choose(dv.profile)
			c.plan.Reason = fmt.Sprintf("active, %s at index %d", dv.profile, c.plan.GID.Index)
			c.plan.Files = append(c.plan.Files, gidFiles(c.port, c.plan.GID.Index)...)
		}
		if role := c.port.Role; role != "" {
			c.plan.Reason += ", role " + string(role)
		}
		dv.selected = append(dv.selected, c)
	}
	slices.SortStableFunc(dv.selected, byRail)
}

// byRail orders the ports of the lists by their rails, as NVSHMEM numbers the devices of its list;
// ports without a rail come last.
func byRail(a, b *candidate) int {
	rail := func(c *candidate) int {
		if c.port.Rail == nil {
			return math.MaxInt
		}
		return *c.port.Rail
	}
	return cmp.Compare(rail(a), rail(b))
}

// passed returns the candidates that no rule has rejected.
func (dv *derivation) passed() []*candidate {
	var out []*candidate
	for _, c := range dv.candidates {
		if c.plan.Decision == DecisionSelected {
			out = append(out, c)
		}
	}
	return out
}

func splitEFA(list []*candidate) (efa, verbs []*candidate) {
	for _, c := range list {
		if c.isEFA() {
			efa = append(efa, c)
		} else {
			verbs = append(verbs, c)
		}
	}
	return efa, verbs
}

// fabricKind returns the kind of network of a port; only ports of the same kind can be used
// together.
func (c *candidate) fabricKind() string {
	switch {
	case c.isEFA():
		return "EFA"
	case c.isERDMA():
		return "eRDMA"
	case c.isInfiniBand():
		return "InfiniBand"
	}
	return "RoCE"
}

// keepFabric rejects all ports except those of the kind with the highest sum of rates. If the sums
// are equal it keeps the kind with more ports, then InfiniBand.
func keepFabric(list []*candidate) []*candidate {
	type weight struct {
		rate  float64
		count int
	}
	sums := map[string]weight{}
	for _, c := range list {
		w := sums[c.fabricKind()]
		w.rate += rateOf(c.port)
		w.count++
		sums[c.fabricKind()] = w
	}
	best := ""
	for _, kind := range []string{"InfiniBand", "RoCE", "EFA", "eRDMA"} {
		w, b := sums[kind], sums[best]
		if w.rate > b.rate || w.rate == b.rate && w.count > b.count {
			best = kind
		}
	}
	for _, c := range list {
		if kind := c.fabricKind(); kind != best {
			c.drop(ruleMixedFabric,
				fmt.Sprintf("%s, but the node has %d %s ports with %g Gb/s in total",
					kind, sums[best].count, best, sums[best].rate),
				portFile(c.port, "link_layer"))
		}
	}
	return list
}

func rateOf(p *inventory.Port) float64 {
	if p.Rate == nil {
		return 0
	}
	return p.Rate.GbPerSecond
}

func (c *candidate) drop(rule, reason string, files ...string) {
	c.plan.Decision, c.plan.Rule, c.plan.Reason, c.plan.Files = DecisionCandidate, rule, reason, files
}

// chooseProfile chooses the kind of GID for all RoCE ports and rejects the ports that have no such
// GID.
func (dv *derivation) chooseProfile(list []*candidate) {
	count := map[profile]int{}
	for _, c := range list {
		if c.plan.Decision != DecisionSelected {
			continue
		}
		for f := range c.gids {
			count[f]++
		}
	}
	if len(count) == 0 {
		return
	}
	best := bestProfile(count)
	dv.profile = best
	for _, c := range list {
		if c.plan.Decision != DecisionSelected || !c.isRoCE() || len(c.gids[best]) > 0 {
			continue
		}
		rule, has := ruleRoCEFamily, slices.IndexFunc(profiles(), func(f profile) bool { return len(c.gids[f]) > 0 })
		own := profiles()[has]
		if own.version != best.version {
			rule = ruleRoCEVersion
		}
		c.drop(rule, fmt.Sprintf("has %s only, while %d ports have %s", own, count[best], best),
			portFile(c.port, "gids"))
	}
}

// bestProfile prefers RoCE v2, then the profile that most ports have, then IPv4.
func bestProfile(count map[profile]int) profile {
	var best profile
	for _, f := range profiles() {
		if count[f] == 0 || best.version > f.version {
			continue
		}
		if count[f] > count[best] {
			best = f
		}
	}
	return best
}
