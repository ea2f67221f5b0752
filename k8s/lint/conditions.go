package lint

import (
	"maps"
	"slices"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// conditions are conditions on the labels of a node, all of which must be met.
type conditions []k8s.SelectorRequirement

// matching returns the conditions of a map of labels, in the order of the keys.
func matching(labels map[string]string) conditions {
	var out conditions
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k8s.SelectorRequirement{Key: key, Operator: "In", Values: []string{labels[key]}})
	}
	return out
}

// conditionsOf returns the conditions of a pool's nodeSelector.
func conditionsOf(p *pool) conditions {
	s := p.Value.Spec.NodeSelector
	if s == nil {
		return nil
	}
	return append(matching(s.MatchLabels), s.MatchExpressions...)
}

// meets reports whether a label meets a condition; present is false for a node without it.
func meets(c k8s.SelectorRequirement, value string, present bool) bool {
	switch c.Operator {
	case "In":
		return present && slices.Contains(c.Values, value)
	case "NotIn":
		return !present || !slices.Contains(c.Values, value)
	case "Exists":
		return present
	case "DoesNotExist":
		return !present
	}
	return false // an unknown operator selects nothing
}

// metBy reports whether labels meet all conditions.
func (c conditions) metBy(labels map[string]string) bool {
	return !slices.ContainsFunc(c, func(one k8s.SelectorRequirement) bool {
		value, present := labels[one.Key]
		return !meets(one, value, present)
	})
}

// Limits on the conditions of a list that are compared with others, higher than in real selectors.
const (
	maxConditions = 32
	maxValues     = 256 // of all conditions together
)

// decidable returns the conditions that can be compared with others: those with a known operator
// and without placeholders, up to a limit.
func (c conditions) decidable() conditions {
	known, values := []string{"In", "NotIn", "Exists", "DoesNotExist"}, 0
	var out conditions
	for _, one := range c[:min(len(c), maxConditions)] {
		if values += len(one.Values); values > maxValues {
			break
		}
		if slices.Contains(known, one.Operator) && !slices.ContainsFunc(one.Values, manifest.IsPlaceholder) {
			out = append(out, one)
		}
	}
	return out
}

// excludes reports whether no node can meet both lists of conditions, because they demand different
// things of one label.
func (c conditions) excludes(others conditions) bool {
	both := slices.Concat(c.decidable(), others.decidable())
	return slices.ContainsFunc(both, func(one k8s.SelectorRequirement) bool {
		return !both.allow(one, func(string, bool) bool { return true })
	})
}

// implies reports whether each node that meets the conditions meets the others, too.
func (c conditions) implies(others conditions) bool {
	mine, theirs := c.decidable(), others.decidable()
	return len(theirs) == len(others) && !slices.ContainsFunc(theirs, func(one k8s.SelectorRequirement) bool {
		return mine.allow(one, func(value string, present bool) bool { return !meets(one, value, present) })
	})
}

// allow reports whether the conditions allow a node whose label, that of one condition, passes a
// test. It tries the values that conditions name, another value, and a node without the label.
func (c conditions) allow(one k8s.SelectorRequirement, test func(value string, present bool) bool) bool {
	const another = "another value" // labels have no blanks
	values := append([]string{another}, one.Values...)
	var same conditions
	for _, other := range c {
		if other.Key == one.Key {
			same, values = append(same, other), append(values, other.Values...)
		}
	}
	allowed := func(value string, present bool) bool {
		return test(value, present) && !slices.ContainsFunc(same,
			func(other k8s.SelectorRequirement) bool { return !meets(other, value, present) })
	}
	return allowed("", false) || slices.ContainsFunc(values, func(value string) bool { return allowed(value, true) })
}
