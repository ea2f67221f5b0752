package facts

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Packet are properties of a packet by the keys of [FilterCondition], as bytes in network order. A
// property that is missing is not known.
type Packet map[string][]byte

// Fate is what packet filters do with a packet.
type Fate struct {
	Accept, Drop bool   // both, if it depends on what isn't known
	By           string // the rule or policy that drops it: "inet filter input: policy drop"
}

// Filtered evaluates the base chains of some hooks, as nft_do_chain of Linux does: a verdict of
// accept ends a base chain, one of drop all of them. The chains of the family netdev at ingress and
// egress are those of the devices that the packet names. If that takes too many steps, because
// chains branch into many others, the fate is not known: both.
func Filtered(rules []FilterRule, p Packet, hooks ...string) Fate {
	fate := Fate{Accept: true}
	p = maps.Clone(p) // rules change it
	for _, hook := range hooks {
		for _, base := range rules {
			if !base.Policy || base.Hook != hook || !slices.Contains([]string{"inet", "ip", "netdev"}, base.Family) {
				continue
			}
			e := evaluation{rules: rules, packet: p}
			if e.match(&base) == never {
				continue // of another device
			}
			e.chain(base, 0)
			if e.drop && fate.By == "" {
				fate.By = e.by
			}
			fate.Drop = fate.Drop || e.drop
			if !e.accept { // no packet gets past this chain
				return Fate{Accept: false, Drop: true, By: fate.By}
			}
		}
	}
	return fate
}

// evaluation collects the verdicts that a packet may meet in a base chain.
type evaluation struct {
	rules        []FilterRule
	packet       Packet
	accept, drop bool
	by           string
	steps        int // rules seen
}

// maxJumps is NFT_JUMP_STACK_SIZE.
const maxJumps = 16

// maxSteps limits the rules that are compared in a base chain: those of other chains count, too.
const maxSteps = 5_000_000

// chain evaluates a chain and reports whether the packet may come to its end, or return from it.
// The policy of a base chain is applied there.
func (e *evaluation) chain(c FilterRule, depth int) (end bool) {
	e.steps += len(e.rules)
	if depth > maxJumps || e.steps > maxSteps {
		e.accept = true
		e.dropBy(c, map[bool]string{true: "a jump too many", false: "too many rules"}[depth > maxJumps])
		return false
	}
	stopped := false
	for _, r := range e.rules {
		if r.Family != c.Family || r.Table != c.Table || r.Chain != c.Chain || r.Policy {
			continue
		}
		match := e.match(&r)
		if match == never {
			continue
		}
		for _, key := range r.Sets {
			delete(e.packet, key)
		}
		stops, returns := e.apply(r, depth)
		end = end || returns
		if stopped = stops && match == always; stopped {
			break
		}
	}
	end = end || !stopped
	if depth == 0 && end {
		e.accept = e.accept || c.Verdict != "drop"
		if c.Verdict == "drop" {
			e.dropBy(c, "policy drop")
		}
	}
	return end
}

// apply applies the verdict of a rule. It reports whether the packet gets no further in this chain,
// and whether it may then be at the chain's end.
func (e *evaluation) apply(r FilterRule, depth int) (stops, returns bool) {
	switch r.Verdict {
	case "":
		return false, false
	case "accept":
		e.accept = true
		return true, false
	case "drop", "reject":
		e.dropBy(r, r.text())
		return true, false
	case "return":
		return true, true
	case "jump", "goto":
		end := e.chain(FilterRule{Family: r.Family, Table: r.Table, Chain: r.Target}, depth+1)
		return r.Verdict == "goto" || !end, r.Verdict == "goto" && end
	}
	e.accept = true // unknown: anything may happen
	e.dropBy(r, r.text())
	return false, false
}

func (e *evaluation) dropBy(r FilterRule, why string) {
	if !e.drop {
		e.by = fmt.Sprintf("%s %s %s: %s", r.Family, r.Table, r.Chain, why)
	}
	e.drop = true
}

// text returns the rule, similar to nft.
func (r FilterRule) text() string {
	var words []string
	for _, c := range r.Conditions {
		var ranges []string
		for _, g := range c.Ranges {
			if g.Low == g.High {
				ranges = append(ranges, g.Low)
			} else {
				ranges = append(ranges, g.Low+"-"+g.High)
			}
		}
		words = append(words, c.Key+" "+c.Op+" "+strings.Join(ranges, ","))
	}
	return strings.Join(append(words, r.Verdict), ", ")
}

type truth int

const (
	never truth = iota
	perhaps
	always
)

// match reports whether all conditions of a rule are true.
func (e *evaluation) match(r *FilterRule) truth {
	result := always
	for _, c := range r.Conditions {
		result = min(result, c.holds(e.packet))
	}
	return result
}

// holds evaluates a condition.
func (c FilterCondition) holds(p Packet) truth {
	value, known := p[c.Key]
	if !known || len(c.Ranges) == 0 && c.Op != "in" && c.Op != "not in" {
		return perhaps
	}
	value = append([]byte(nil), value...)
	if c.Mask != "" {
		mask, err := hex.DecodeString(c.Mask)
		if err != nil || len(mask) > len(value) {
			return perhaps
		}
		for i := range mask {
			value[i] &= mask[i]
		}
	}
	text, in := hex.EncodeToString(value), false
	for _, g := range c.Ranges {
		if len(g.Low) != len(g.High) || len(g.Low) > len(text) {
			return perhaps
		}
		part := text[:len(g.Low)]
		in = in || part >= g.Low && part <= g.High
	}
	if in == (c.Op == "in") {
		return always
	}
	return never
}
