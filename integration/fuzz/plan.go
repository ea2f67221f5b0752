package main

import (
	"cmp"
	"slices"
)

// A smoke run has at most mostChanged targets related to the change, and fewOthers of the others:
// see scripts/fuzz.sh for its time limit.
const (
	mostChanged = 12
	fewOthers   = 10
)

// plan holds all targets, grouped by their distance from a change.
type plan struct {
	changed []target // their package was touched
	near    []target // their package, or its tests, imports a touched one
	others  []target
}

// plan sorts the targets by their distance from the touched packages.
func (m *module) plan(touched []string) plan {
	isTouched := func(p string) bool { return slices.Contains(touched, p) }
	var out plan
	for _, t := range m.targets {
		p := m.packages[t.path]
		switch {
		case isTouched(t.path):
			out.changed = append(out.changed, t)
		case slices.ContainsFunc(slices.Concat(p.Imports, p.TestImports, p.XTestImports), isTouched):
			out.near = append(out.near, t)
		default:
			out.others = append(out.others, t)
		}
	}
	return out
}

// pick chooses the targets of a turn, in the order of the run: first those whose package changed,
// then by the amount of code to be compiled for fuzzing. If not all targets of a group fit, the
// next turn continues after the last one.
func (p plan) pick(turn int, cost func(target) int) []target {
	cheap := func(a, b target) int { return cmp.Compare(cost(a), cost(b)) }
	out := window(p.changed, mostChanged, turn)
	rest := window(p.near, mostChanged-len(out), turn)
	rest = append(rest, window(p.others, fewOthers, turn)...)
	slices.SortStableFunc(out, cheap)
	slices.SortStableFunc(rest, cheap)
	return append(out, rest...)
}

// window returns n of the targets, treated as a ring, or all: turn 0 the first n, turn 1 the next
// n.
func window(ring []target, n, turn int) []target {
	if len(ring) <= n {
		return slices.Clone(ring)
	}
	var out []target
	start := turn % len(ring) * n
	for i := range n {
		out = append(out, ring[(start+i)%len(ring)])
	}
	return out
}
