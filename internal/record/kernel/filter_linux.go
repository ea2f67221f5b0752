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
	filterHooks    = []string{"prerouting", "input", "forward", "output", "postrouting"}
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
			head.Verdict, head.Hook = "accept", fmt.Sprint(*c.Hook)
			if int(*c.Hook) < len(filterHooks) {
				head.Hook = filterHooks[*c.Hook]
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
			rule := facts.FilterRule{
				Family: head.Family, Table: r.Table, Chain: r.Chain, Verdict: r.Verdict, Target: r.Target,
			}
			for _, condition := range r.Conditions {
				converted := conditionOf(condition, r, sets)
				if len(converted.Ranges) > left {
					converted = unknownSet(condition.Set)
				}
				left -= len(converted.Ranges)
				rule.Conditions = append(rule.Conditions, converted)
			}
			out = append(out, rule)
		}
	}
	return out
}

// unknownSet is a condition that can't be evaluated: its set is not known.
func unknownSet(name string) facts.FilterCondition {
	return facts.FilterCondition{Key: "(set " + name + ")", Op: "in"}
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
		i := slices.IndexFunc(sets, func(s rdmanl.FilterSet) bool {
			return s.Name == c.Set && s.Table == r.Table && s.Family == r.Family
		})
		if i < 0 || sets[i].Opaque {
			return unknownSet(c.Set)
		}
		out.Op, out.Ranges = c.Op, rangesOf(sets[i])
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

// rangesOf returns the elements of a set as ranges. Those of an interval set have a last byte that
// is 1 for the first value of an interval, and 0 for the value behind its last one.
func rangesOf(s rdmanl.FilterSet) []facts.FilterRange {
	var out []facts.FilterRange
	if !s.Interval {
		for _, e := range s.Elements {
			text := hex.EncodeToString(e)
			out = append(out, facts.FilterRange{Low: text, High: text})
		}
		return out
	}
	elements := slices.Clone(s.Elements)
	slices.SortFunc(elements, bytes.Compare)
	for i, e := range elements {
		value, first := e[:len(e)-1], e[len(e)-1] == 1
		if !first {
			continue
		}
		last := bytes.Repeat([]byte{0xff}, len(value))
		if i+1 < len(elements) {
			last = before(elements[i+1][:len(value)])
		}
		out = append(out, facts.FilterRange{Low: hex.EncodeToString(value), High: hex.EncodeToString(last)})
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
