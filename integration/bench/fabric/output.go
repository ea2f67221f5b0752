package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// census is the numbers of nodes and of cable ends (two for each cable) that a sweep found.
type census struct{ nodes, ends int }

func (c census) String() string { return fmt.Sprintf("%d nodes, %d ends of cables", c.nodes, c.ends) }

// countTopology counts nodes and cable ends in the output of ibnetdiscover.
func countTopology(out []byte) (c census) {
	for line := range bytes.Lines(out) {
		switch {
		case bytes.HasPrefix(line, []byte("[")):
			c.ends++
		case bytes.HasPrefix(line, []byte("Switch\t")), bytes.HasPrefix(line, []byte("Ca\t")),
			bytes.HasPrefix(line, []byte("Rt\t")):
			c.nodes++
		}
	}
	return c
}

var (
	generated = regexp.MustCompile(`generated on .*`)
	traffic   = regexp.MustCompile(`== \d+ \([^)]*\)`)
)

// sortedLines returns the sorted lines for comparison, without the date of ibnetdiscover and
// without the values of ibqueryerrors' data counters, which grow with each sweep.
func sortedLines(out []byte) []string {
	list := slices.Collect(strings.Lines(string(out)))
	for i, line := range list {
		switch {
		case strings.HasPrefix(line, "# Topology file"):
			list[i] = generated.ReplaceAllString(line, "generated")
		case strings.Contains(line, "== "):
			list[i] = traffic.ReplaceAllString(line, "== n")
		}
	}
	slices.Sort(list)
	return list
}

// firstDifference returns the first line that only one of two outputs has; "" when there is none.
func firstDifference(theirs, ours []string) string {
	for i := range min(len(theirs), len(ours)) {
		if theirs[i] < ours[i] {
			return "only theirs: " + theirs[i]
		}
		if theirs[i] > ours[i] {
			return "only ours: " + ours[i]
		}
	}
	switch {
	case len(theirs) > len(ours):
		return "only theirs: " + theirs[len(ours)]
	case len(ours) > len(theirs):
		return "only ours: " + ours[len(theirs)]
	}
	return ""
}

var adapterLine = regexp.MustCompile(`(?m)^Ca\t\d+ "H-([0-9a-f]{16})"\t+# "([^"]*)"`)

// adapters returns the node GUIDs of the adapters in the output of ibnetdiscover, in the same
// order, except those whose description begins with one of the given words.
func adapters(out []byte, except ...string) []string {
	var list []string
	for _, m := range adapterLine.FindAllSubmatch(out, -1) {
		name, _, _ := strings.Cut(string(m[2]), " ")
		if !slices.Contains(except, name) {
			list = append(list, string(m[1]))
		}
	}
	return list
}
