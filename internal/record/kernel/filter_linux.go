package kernel

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/rdmanl"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

func readFilter(ctx context.Context, files *facts.Files) ([]facts.FilterRule, error) {
	if unloaded(files) {
		return nil, facts.Absent("nf_tables is not loaded, so it has no rules")
	}
	chains, rules, sets, err := rdmanl.Client{}.Filter(ctx)
	if errors.Is(err, facts.ErrDenied) {
		return nil, facts.Denied("the rules of nf_tables are for root only (CAP_NET_ADMIN)")
	}
	if err != nil {
		return nil, err
	}
	return filterRules(chains, rules, sets), nil
}

// unloaded reports whether nf_tables is a module that isn't loaded, which a query would load.
func unloaded(files *facts.Files) bool {
	loaded, err := files.Text(sysfs.ProcModules)
	release, err2 := files.Text(sysfs.ProcOSRelease)
	if err != nil || err2 != nil || strings.Contains("\n"+loaded, "\nnf_tables ") {
		return false
	}
	builtin, err := files.Text("lib/modules/" + release + "/modules.builtin")
	return err == nil && !strings.Contains(builtin, "/nf_tables.ko")
}

var (
	filterFamilies = map[uint8]string{0: "unspec", 1: "inet", 2: "ip", 3: "arp", 5: "netdev", 7: "bridge", 10: "ip6"}
	filterHooks    = []string{"prerouting", "input", "forward", "output", "postrouting", "ingress"}
	deviceHooks    = []string{"ingress", "egress"} // of the family netdev
)

// maxRanges limits the ranges of all conditions together: each rule that looks up a set has those
// of the set.
const maxRanges = 65536

// filterRules converts chains, rules and sets into one list: each chain's policy, then its rules.
func filterRules(chains []rdmanl.FilterChain, rules []rdmanl.FilterRule, sets []rdmanl.FilterSet) []facts.FilterRule {
	slices.SortStableFunc(chains, func(a, b rdmanl.FilterChain) int { return cmp.Compare(a.Priority, b.Priority) })
	var out []facts.FilterRule
	left := maxRanges
	for _, c := range chains {
		head := facts.FilterRule{
			Family: filterFamilies[c.Family], Table: c.Table, Chain: c.Name, Priority: c.Priority, Policy: true,
			Verdict: "return",
		}
		if c.Hook != nil {
			head.Verdict, head.Hook = "accept", hookName(c)
			if len(c.Devices) > 0 {
				head.Conditions = []facts.FilterCondition{onDevices(c.Devices, head.Hook)}
			}
			if c.Policy != nil && *c.Policy == 0 {
				head.Verdict = "drop"
			}
		}
		out = append(out, head)
		for _, r := range rules {
			if r.Family != c.Family || r.Table != c.Table || r.Chain != c.Name {
				continue
			}
			out = append(out, rulesOf(r, head.Family, sets, &left)...)
		}
	}
	return out
}

// unknownSet is a condition that can't be evaluated: its set is not known.
func unknownSet(name string) facts.FilterCondition {
	return facts.FilterCondition{Key: "(set " + name + ")", Op: "in"}
}

func hookName(c rdmanl.FilterChain) string {
	names := filterHooks
	if filterFamilies[c.Family] == "netdev" {
		names = deviceHooks
	}
	if int(*c.Hook) >= len(names) {
		return fmt.Sprint(*c.Hook)
	}
	return names[*c.Hook]
}

// onDevices is the condition of a chain that sees the packets of some devices only.
func onDevices(devices []string, hook string) facts.FilterCondition {
	c := facts.FilterCondition{Key: "iifname", Op: "in"}
	if hook == "egress" {
		c.Key = "oifname"
	}
	for _, name := range devices {
		text := hex.EncodeToString(append([]byte(name), 0))
		c.Ranges = append(c.Ranges, facts.FilterRange{Low: text, High: text})
	}
	return c
}

// rulesOf converts a rule, with at most as many ranges as are left. One whose verdicts are in a map
// becomes a rule for each element.
func rulesOf(r rdmanl.FilterRule, family string, sets []rdmanl.FilterSet, left *int) []facts.FilterRule {
	rule := facts.FilterRule{
		Family: family, Table: r.Table, Chain: r.Chain, Verdict: r.Verdict, Target: r.Target, Sets: r.Sets,
	}
	for _, condition := range r.Conditions {
		converted := conditionOf(condition, r, sets)
		if len(converted.Ranges) > *left {
			converted = unknownSet(condition.Set)
			if r.Verdict == "map" {
				rule.Verdict = "unknown"
			}
		}
		*left -= len(converted.Ranges)
		rule.Conditions = append(rule.Conditions, converted)
	}
	if rule.Verdict != "map" {
		return []facts.FilterRule{rule}
	}
	last := len(r.Conditions) - 1
	s := setOf(r.Conditions[last].Set, r, sets)
	if s == nil || !s.Verdicts || len(s.Results) != len(s.Elements) {
		rule.Verdict = "unknown"
		return []facts.FilterRule{rule}
	}
	var out []facts.FilterRule
	for i, g := range rangesOf(*s) {
		one := rule
		one.Verdict, one.Target = s.Results[g.element].Verdict, s.Results[g.element].Target
		one.Conditions = slices.Clone(rule.Conditions)
		if !s.Opaque {
			one.Conditions[last].Ranges = []facts.FilterRange{g.FilterRange}
		}
		if i == 0 || !s.Opaque || !slices.ContainsFunc(out, func(o facts.FilterRule) bool {
			return o.Verdict == one.Verdict && o.Target == one.Target
		}) {
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(a, b facts.FilterRule) int { return catchAll(a, last) - catchAll(b, last) })
	return out
}

// catchAll returns 1 for the rule of a map's element that all values match, which comes last.
func catchAll(r facts.FilterRule, last int) int {
	if ranges := r.Conditions[last].Ranges; len(ranges) == 1 && ranges[0].Low == "" {
		return 1
	}
	return 0
}

func setOf(name string, r rdmanl.FilterRule, sets []rdmanl.FilterSet) *rdmanl.FilterSet {
	i := slices.IndexFunc(sets, func(s rdmanl.FilterSet) bool {
		return s.Name == name && s.Table == r.Table && s.Family == r.Family
	})
	if i < 0 {
		return nil
	}
	return &sets[i]
}

func conditionOf(c rdmanl.FilterCondition, r rdmanl.FilterRule, sets []rdmanl.FilterSet) facts.FilterCondition {
	out := facts.FilterCondition{Key: c.Key, Op: "in", Mask: hex.EncodeToString(c.Mask)}
	low := bytes.Repeat([]byte{0}, len(c.Low))
	high := bytes.Repeat([]byte{0xff}, len(c.Low))
	add := func(from, to []byte) {
		out.Ranges = append(out.Ranges, facts.FilterRange{Low: hex.EncodeToString(from), High: hex.EncodeToString(to)})
	}
	switch {
	case c.Set != "":
		set := setOf(c.Set, r, sets)
		if set == nil || set.Opaque {
			return unknownSet(c.Set)
		}
		out.Op = c.Op
		for _, g := range rangesOf(*set) {
			out.Ranges = append(out.Ranges, g.FilterRange)
		}
		return out
	case c.Ranges != nil:
		out.Op = c.Op
		for _, g := range c.Ranges {
			add(g[0], g[1])
		}
		return out
	case c.High != nil:
		out.Op = c.Op
		add(c.Low, c.High)
		return out
	}
	switch c.Op {
	case "==":
		add(c.Low, c.Low)
	case "!=":
		out.Op = "not in"
		add(c.Low, c.Low)
	case "<=":
		add(low, c.Low)
	case ">":
		out.Op = "not in"
		add(low, c.Low)
	case ">=":
		add(c.Low, high)
	case "<":
		out.Op = "not in"
		add(c.Low, high)
	}
	return out
}

// setRange is what an element of a set stands for.
type setRange struct {
	facts.FilterRange
	element int // index into the elements of the set
}

// rangesOf returns the elements of a set as ranges. Those of an interval set have a last byte that
// is 1 for the first value of an interval, and 0 for the value behind its last one.
func rangesOf(s rdmanl.FilterSet) []setRange {
	var out []setRange
	add := func(low, high []byte, element int) {
		out = append(out, setRange{
			facts.FilterRange{Low: hex.EncodeToString(low), High: hex.EncodeToString(high)}, element,
		})
	}
	if !s.Interval {
		for i, e := range s.Elements {
			add(e, e, i)
		}
		return out
	}
	order := make([]int, len(s.Elements))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(s.Elements[a], s.Elements[b]) })
	for i, at := range order {
		e := s.Elements[at]
		value, first := e[:len(e)-1], e[len(e)-1] == 1
		if !first {
			continue
		}
		last := bytes.Repeat([]byte{0xff}, len(value))
		if i+1 < len(order) && len(value) > 0 {
			last = before(s.Elements[order[i+1]][:len(value)])
		}
		add(value, last, at)
	}
	return out
}

// before returns the value that is one less.
func before(value []byte) []byte {
	out := slices.Clone(value)
	for i := len(out) - 1; i >= 0; i-- {
		out[i]--
		if out[i] != 0xff {
			break
		}
	}
	return out
}
