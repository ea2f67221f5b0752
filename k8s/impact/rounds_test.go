package impact

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func TestAtOnce(t *testing.T) {
	tests := []struct {
		value string
		nodes int
		want  int
		ok    bool
	}{
		{"", 7, -1, true},
		{"null", 7, -1, true},
		{"1", 7, 1, true},
		{"0", 7, 0, true},
		{"9", 7, 9, true},
		{`"50%"`, 7, 3, true},
		{`"10%"`, 5, 0, true},
		{"100%", 5, 5, true},
		{`"1%"`, 100, 1, true},
		{`"33%"`, 3, 0, true},
		{`"34%"`, 3, 1, true},
		{`"2"`, 7, 0, false},
		{`"0%"`, 7, 0, false},
		{`"101%"`, 7, 0, false},
		{`"x%"`, 7, 0, false},
		{"-1", 7, 0, false},
		{"1.5", 7, 0, false},
		{"[1]", 7, 0, false},
		{`"99999999999999999999%"`, 7, 0, false},
	}
	for _, tt := range tests {
		spec := ""
		if tt.value != "" {
			spec = "maxUnavailable: " + tt.value
		}
		pools := poolsOf(manifest.Parse("p", []byte(poolText("p", spec))).Objects)
		got, err := pools[0].atOnce(tt.nodes)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("atOnce(%d) of maxUnavailable %s = %d, %v, want %d, ok %t",
				tt.nodes, tt.value, got, err, tt.want, tt.ok)
		}
	}
}

// draining is a node that drains with policy p, and its labels.
func draining(name, labels string) string {
	return nodeText(name, labels) + stateText(name, "", "",
		pfText("ens1", a0, "linkType: IB, numVfs: 2, totalvfs: 4, "+vfsText(2, kernelVF)))
}

var drains = policyText("p", "numVfs: 4, linkType: IB, nicSelector: {pfNames: [ens1]}")

func TestPools(t *testing.T) {
	tests := []struct {
		name, apply, cluster string
		// want: pool, how many at once, batches or the error.
		want []string
		// fails are nodes that never drain.
		fails []string
	}{
		{"none", "", draining("a", "") + draining("b", ""), []string{" 1 [[a] [b]]"}, nil},
		{"all at once", poolText("x", "nodeSelector: {matchLabels: {l: x}}"), draining("a", "l: x") + draining("b",
			"l: x") + draining("c", ""), []string{"x -1 [[a b]]", " 1 [[c]]"}, nil},
		{"half", poolText("x", "maxUnavailable: 50%"), draining("a", "") + draining("b",
			"") + draining("c", "") + draining("d", "") + draining("e", ""), []string{"x 2 [[a b] [c d] [e]]"}, nil},
		{
			"nodes that stay count", poolText("x", "maxUnavailable: 50%"),
			draining("a", "") + draining("b", "") + nodeText("c", "") + nodeText("d", ""),
			[]string{"x 2 [[a b]]"},
			nil,
		},
		{
			"rounded to none", poolText("x", "maxUnavailable: 40%"), draining("a", "") + draining("b", ""),
			[]string{"x 0 maxUnavailable 40% of 2 nodes is 0: the operator drains no node of the pool"},
			[]string{"a", "b"},
		},
		{"two pools", poolText("x", "maxUnavailable: 1") + poolText(
			"y", "nodeSelector: {matchExpressions: [{key: l, operator: In, values: [z]}]}",
		), draining("a", "l: z") + draining("b", ""), []string{"x 1 [[b]]"}, []string{"a"}},
		{
			"hardware offload is no pool", poolText("x", "ovsHardwareOffloadConfig: {name: worker}, maxUnavailable: 3"),
			draining("a", "") + draining("b", ""),
			[]string{" 1 [[a] [b]]"},
			nil,
		},
		{
			"draining disabled", configText("disableDrain: true") + poolText("x", "maxUnavailable: 1"),
			draining("a", "") + draining("b", ""),
			[]string{"x -1 [[a b]]"},
			nil,
		},
		{
			"no expression fits",
			poolText("x", "nodeSelector: {matchExpressions: [{key: l, operator: NotIn, values: [z]}, {key: m, "+
				"operator: DoesNotExist}]}"), draining("a", "l: z") + draining("b", "m: y") + draining("c", ""),
			[]string{"x -1 [[c]]", " 1 [[a] [b]]"},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Run(input(t, drains+tt.apply, tt.cluster))
			var got, fails []string
			for _, p := range r.Pools {
				text := fmt.Sprintf("%s %d %v", p.Name, p.AtOnce, p.Batches)
				if p.Error != "" {
					text = fmt.Sprintf("%s %d %s", p.Name, p.AtOnce, p.Error)
				}
				got = append(got, text)
			}
			for _, n := range r.Nodes {
				if len(n.Failures) > 0 {
					fails = append(fails, n.Name)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("pools differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.fails, fails); diff != "" {
				t.Errorf("nodes that never drain differ (-want +got):\n%s", diff)
			}
			checkRounds(t, r)
		})
	}
}

// checkRounds checks the invariants of every forecast: each node that drains is in one batch of its
// pool, in the round of its batch; no batch is larger than the pool's limit; and there are no more
// batches than necessary.
func checkRounds(t testing.TB, r Report) {
	t.Helper()
	rounds := map[string]int{}
	pool := map[string]string{}
	most := 0
	for _, p := range r.Pools {
		total := 0
		most = max(most, len(p.Batches))
		for i, b := range p.Batches {
			if p.AtOnce >= 0 && len(b) > p.AtOnce || len(b) == 0 {
				t.Errorf("pool %q: a batch of %d nodes, and %d may drain at once", p.Name, len(b), p.AtOnce)
			}
			total += len(b)
			for _, name := range b {
				if rounds[name] != 0 {
					t.Errorf("node %s stands in two batches", name)
				}
				rounds[name], pool[name] = i+1, p.Name
			}
		}
		if p.AtOnce > 0 && len(p.Batches) != (total+p.AtOnce-1)/p.AtOnce || p.AtOnce < 0 && len(p.Batches) > 1 ||
			p.AtOnce == 0 && total > 0 {
			t.Errorf("pool %q: %d batches for %d nodes, %d at once", p.Name, len(p.Batches), total, p.AtOnce)
		}
		if p.WorstRounds < len(p.Batches) {
			t.Errorf("pool %q: %d rounds at worst, and %d otherwise", p.Name, p.WorstRounds, len(p.Batches))
		}
	}
	if r.Rounds != most {
		t.Errorf("Rounds = %d, want %d", r.Rounds, most)
	}
	names := make([]string, 0, len(r.Nodes))
	for _, n := range r.Nodes {
		names = append(names, n.Name)
		if n.Round != rounds[n.Name] || n.Round > 0 && n.Pool != pool[n.Name] {
			t.Errorf("node %s: round %d of pool %q, and it stands in batch %d of pool %q",
				n.Name, n.Round, n.Pool, rounds[n.Name], pool[n.Name])
		}
		if n.Round > 0 && n.Action == ActionNothing {
			t.Errorf("node %s: round %d and nothing to do", n.Name, n.Round)
		}
		if n.Worst.rank() < n.Action.rank() {
			t.Errorf("node %s: %s at worst, and %s otherwise", n.Name, n.Worst, n.Action)
		}
		if n.Round == 0 && n.Action != ActionNothing && len(n.Failures) == 0 &&
			!slices.ContainsFunc(n.Notes, func(s string) bool { return strings.Contains(s, "something else") }) {
			t.Errorf("node %s: %s, and neither a round nor why there is none", n.Name, n.Action)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("nodes %v aren't in the order of their names", names)
	}
	if c := r.Counts; c.Nothing+c.Disrupt+c.Drain+c.Reboot != len(r.Nodes) {
		t.Errorf("counts %+v don't add up to %d nodes", c, len(r.Nodes))
	}
}

// TestRoundsAnyhow makes random clusters and checks the invariants of their forecasts.
func TestRoundsAnyhow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	limits := []string{"1", "2", "3", "0", "25%", "50%", "100%", `"3"`, "-1", ""}
	for range 150 {
		var cluster, apply strings.Builder
		apply.WriteString(drains)
		pools := rng.IntN(4)
		for p := range pools {
			spec := fmt.Sprintf("nodeSelector: {matchLabels: {l: \"%d\"}}", p)
			if rng.IntN(6) == 0 {
				spec = "nodeSelector: {}"
			}
			if limit := limits[rng.IntN(len(limits))]; limit != "" {
				spec += ", maxUnavailable: " + limit
			}
			apply.WriteString(poolText(fmt.Sprintf("pool%d", p), spec))
		}
		for n := range 1 + rng.IntN(12) {
			labels := fmt.Sprintf("l: \"%d\"", rng.IntN(4))
			if name := fmt.Sprintf("n%02d", n); rng.IntN(3) > 0 {
				cluster.WriteString(draining(name, labels))
			} else {
				cluster.WriteString(nodeText(name, labels))
			}
		}
		r := Run(input(t, apply.String(), cluster.String()))
		checkRounds(t, r)
		if t.Failed() {
			t.Fatalf("apply:\n%s\ncluster:\n%s", apply.String(), cluster.String())
		}
	}
}
