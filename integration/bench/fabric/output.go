package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// census is how many nodes a sweep found, and how many ends of cables: two for each.
type census struct{ nodes, ends int }

func (c census) String() string { return fmt.Sprintf("%d nodes, %d ends of cables", c.nodes, c.ends) }

// countTopology counts in the output of ibnetdiscover.
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

// sortedLines returns what is compared: the lines in order, without the date of ibnetdiscover, and
// without the values of ibqueryerrors' data counters, which each sweep makes grow.
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

// adapters returns the node GUIDs of the adapters in the output of ibnetdiscover, in their order
// there, but for those whose description has one of the given first words.
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
