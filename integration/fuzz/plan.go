package main

import (
	"cmp"
	"slices"
)

// A smoke run has at most mostChanged targets that a change calls for, and fewOthers of the others:
// see scripts/fuzz.sh for the time that it may take.
const (
	mostChanged = 12
	fewOthers   = 10
)

// plan is all targets by how near they are to a change.
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

// pick chooses the targets of a turn, in the order in which they are to run: first those whose
// package changed, then by how much must be compiled for fuzzing. Where not all of a kind fit, the
// next turn goes on where this one ends.
func (p plan) pick(turn int, cost func(target) int) []target {
	cheap := func(a, b target) int { return cmp.Compare(cost(a), cost(b)) }
	out := window(p.changed, mostChanged, turn)
	rest := window(p.near, mostChanged-len(out), turn)
	rest = append(rest, window(p.others, fewOthers, turn)...)
	slices.SortStableFunc(out, cheap)
	slices.SortStableFunc(rest, cheap)
	return append(out, rest...)
}

// window returns n targets of a ring of them, or all: turn 0 the first n, turn 1 the next.
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
