package leaf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/leaf"
)

// TestGroups checks which nodes have the same leaf if their cards are on several switches.
func TestGroups(t *testing.T) {
	for _, tt := range []struct {
		name    string
		nodes   []string // switches of the cards of each node
		want    []string
		remarks []string
	}{
		{"one switch", []string{"a a", "a a", "b b"}, []string{"a", "a", "b"}, nil},
		{
			"a switch for each rail",
			[]string{"a0 a1 a2", "a0 a1 a2", "b0 b1 b2", "b2 b1 b0"},
			[]string{"a0 to a2", "a0 to a2", "b0 to b2", "b0 to b2"},
			nil,
		},
		{
			"a cable to another leaf, and an unknown card",
			[]string{"a0 a1 a2", "a0 a1 a2", "a0 b1 a2", "a0 - a2", "b0 b1 b2", "b0 b1 b2"},
			[]string{"a0 to a2", "a0 to a2", "a0 to a2", "a0 to a2", "b0 to b2", "b0 to b2"},
			[]string{
				"n3 mlx5_1:1: no file has its node, and its worker has reported no LLDP neighbour",
				"n2 mlx5_1:1: it is connected to b1 port 1, unlike the cards of other nodes of leaf a0 to a2",
			},
		},
		{
			"one between two leaves",
			[]string{"a0 a1", "a0 a1", "a0 a1", "b0 b1", "b0 b1", "b0 b1", "a0 b1"},
			[]string{"a0 and a1", "a0 and a1", "a0 and a1", "b0 and b1", "b0 and b1", "b0 and b1", ""},
			[]string{"n6: it has no leaf: other nodes share some of its switches, a0, b1, and not others"},
		},
		{
			"rails with different leaves",
			[]string{"a x", "a x", "a y", "a y", "b z"},
			[]string{"", "", "", "", "b and z"},
			[]string{
				"n0: it has no leaf: other nodes share some of its switches, a, x, and not others",
				"n1: it has no leaf: other nodes share some of its switches, a, x, and not others",
				"n2: it has no leaf: other nodes share some of its switches, a, y, and not others",
				"n3: it has no leaf: other nodes share some of its switches, a, y, and not others",
			},
		},
	} {
		w := new(world)
		for i, cards := range tt.nodes {
			var facts []map[string]string
			for name := range strings.FieldsSeq(cards) {
				var ports []leaf.Port
				if name != "-" {
					ports = []leaf.Port{{Switch: "mac " + name, Name: name, Port: "1"}}
				}
				facts = append(facts, leaf.Facts(ports))
			}
			w.add(fmt.Sprintf("n%d", i), facts...)
		}
		t.Run(tt.name, func(t *testing.T) {
			check(t, find(t, new(leaf.Sources), w), "lldp", tt.want, tt.remarks...)
		})
	}
}

// TestSameName tells switches of one name apart.
func TestSameName(t *testing.T) {
	w := new(world)
	w.add("a", leaf.Facts([]leaf.Port{{Switch: "mac 1", Name: "switch"}}))
	w.add("b", leaf.Facts([]leaf.Port{{Switch: "mac 2", Name: "switch"}}))
	check(t, find(t, new(leaf.Sources), w), "lldp", []string{"switch mac 1", "switch mac 2"})
}
