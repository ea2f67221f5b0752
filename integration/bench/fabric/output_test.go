package main

import (
	"slices"
	"strings"
	"testing"
)

const discovered = `#
# Topology file: generated on Sat Nov 21 07:32:01 2026
#
Switch	64 "S-0000000000200003"		# "MF0;leaf3:MQM9700/U1" base port 0 lid 6 lmc 0
[1]	"H-0000000000100030"[1](100031) 		# "host24 mlx5_0" lid 31 4xHDR
[2]	"H-0000000000100032"[1](100033) 		# "host1 mlx5_0" lid 32 4xHDR

Ca	1 "H-0000000000100030"		# "host24 mlx5_0"
[1](100031) 	"S-0000000000200003"[1]		# lid 31 lmc 0 "MF0;leaf3:MQM9700/U1" lid 6 4xHDR

Ca	1 "H-0000000000100032"		# "host1 mlx5_0"
[1](100033) 	"S-0000000000200003"[2]		# lid 32 lmc 0 "MF0;leaf3:MQM9700/U1" lid 6 4xHDR
`

func TestCountTopology(t *testing.T) {
	if got, want := countTopology([]byte(discovered)), (census{3, 4}); got != want {
		t.Errorf("countTopology = %v, want %v", got, want)
	}
}

func TestAdapters(t *testing.T) {
	got := adapters([]byte(discovered), "host1")
	if want := []string{"0000000000100030"}; !slices.Equal(got, want) {
		t.Errorf("adapters = %v, want %v", got, want)
	}
}

func TestFirstDifference(t *testing.T) {
	later := strings.Replace(discovered, "07:32:01", "08:00:00", 1)
	for _, test := range []struct{ theirs, ours, want string }{
		{discovered, later, ""},
		{
			discovered, strings.Replace(discovered, "lid 31 4xHDR", "lid 31 4xEDR", 1),
			`only ours: [1]	"H-0000000000100030"[1](100031) 		# "host24 mlx5_0" lid 31 4xEDR`,
		},
		{discovered, discovered + "x\n", "only ours: x"},
		{discovered + "x\n", discovered, "only theirs: x"},
		{"a [PortXmitData == 12 (12.000)]\n", "a [PortXmitData == 72000 (70.312KB)]\n", ""},
		{"a [PortXmitData == 12 (12.000)]\n", "a [PortRcvData == 12 (12.000)]\n", "only ours: a [PortRcvData == n]"},
	} {
		got := strings.TrimSpace(firstDifference(sortedLines([]byte(test.theirs)), sortedLines([]byte(test.ours))))
		if got != test.want {
			t.Errorf("firstDifference = %q, want %q", got, test.want)
		}
	}
}
