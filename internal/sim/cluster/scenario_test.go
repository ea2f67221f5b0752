package cluster

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	s, err := Parse([]byte("nodes: 32\nnodesPerLeaf: 8\nleafPerRail: true\nfaults: [{kind: slow-card, node: 3}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Rails != 8 || s.Rate != 400 || s.Uplinks != 8 || s.Spines != 8 || s.Leaves() != 32 ||
		s.Faults[0].Severity != 0.4 {
		t.Errorf("Parse = %+v, without the defaults of docs", s)
	}
	_, err = Scenario{Nodes: 2, Rate: math.NaN()}.Complete()
	if err == nil || !strings.Contains(err.Error(), "rate: NaN") {
		t.Errorf("a rate of NaN: %v", err)
	}
	for _, tt := range []struct{ text, want string }{
		{"nodes: 1", "nodes: 1 is not in 2 to"},
		{"nodes: 4\nrail: 2", `unknown field "rail"`},
		{"nodes: 4\nrate: 1e9", "rate: 1e+09 is not in 0 to 100000"},
		{"nodes: 4\nnodesPerLeaf: 5", "nodesPerLeaf: 5 of 4 nodes"},
		{"nodes: 4\nnodesPerLeaf: 2\nuplinks: 2\nspines: 4", "spines: 4"},
		{"nodes: 4\nfaults: [{kind: broken}]", `faults[0].kind: unknown kind "broken"`},
		{"nodes: 4\nfaults: [{kind: slow-card, node: 4}]", "faults[0].node: 4 is not in 0 to 3"},
		{"nodes: 4\nfaults: [{kind: slow-card, rail: 8}]", "faults[0].rail: 8"},
		{"nodes: 4\nfaults: [{kind: slow-card, severity: 1.5}]", "faults[0].severity: 1.5"},
		{"nodes: 4\nfaults: [{kind: slow-one-way}]", "faults[0].direction: slow-one-way needs"},
		{"nodes: 4\nfaults: [{kind: dead-node, direction: send}]", "faults[0].direction"},
		{"nodes: 4\nfaults: [{kind: half-uplinks}]", "faults[0].kind: half-uplinks needs two leaves"},
		{"nodes: 4\nfaults: [{kind: slow-card, loss: 0.1}]", "faults[0].loss"},
		{"nodes: 4\nfaults: [{kind: no-gid-at-all}]", "faults[0].kind"},
		{"nodes: 4\nfaults: [{kind: clock, hidden: true}]", "faults[0].kind"},
		{"nodes: 4\nfaults: [{kind: wrong-clock, hidden: true}]", "faults[0].hidden"},
		{"nodes: 4\nfaults: [{kind: exchanged-rails, other: 0}]", "faults[0].other"},
		{"nodes: 4\nnodesPerLeaf: 2\nfaults: [{kind: bad-uplink, leaf: 2}]", "faults[0].leaf: 2"},
		{"nodes: 4\nnodesPerLeaf: 2\nfaults: [{kind: bad-uplink, uplink: 16}]", "faults[0].uplink: 16"},
	} {
		_, err := Parse([]byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%q) = %v, want an error with %q", tt.text, err, tt.want)
		}
	}
}

// TestRandom checks what the scoring relies on: valid scenarios that the seed determines, of all
// sizes, with at least ten faults of each kind in two hundred.
func TestRandom(t *testing.T) {
	kinds, faults := map[Kind]int{}, map[int]int{}
	small, large := 0, 0
	for seed := range uint64(200) {
		s := Random(seed)
		if !reflect.DeepEqual(s, Random(seed)) {
			t.Fatalf("Random(%d) differs from itself", seed)
		}
		if _, err := s.Complete(); err != nil {
			t.Fatalf("Random(%d): %v", seed, err)
		}
		if h := Healthy(seed); len(h.Faults) > 0 || h.Nodes != s.Nodes {
			t.Errorf("Healthy(%d) = %+v", seed, h)
		}
		faults[len(s.Faults)]++
		for _, f := range s.Faults {
			kinds[f.Kind]++
		}
		if s.Nodes < 16 {
			small++
		}
		if s.Nodes > 64 {
			large++
		}
		for i, f := range s.Faults {
			for _, g := range s.Faults[:i] {
				if f.Node == g.Node && f.Kind == DeadNode && inNode(PlaceOf(g.Kind)) {
					t.Errorf("Random(%d): %v on a dead node", seed, g)
				}
			}
		}
	}
	for _, k := range Kinds() {
		if kinds[k] < 10 {
			t.Errorf("%d faults of kind %s in 200 scenarios", kinds[k], k)
		}
	}
	for n := range mostFaults + 1 {
		if faults[n] < 10 {
			t.Errorf("%d of 200 scenarios have %d faults", faults[n], n)
		}
	}
	if small < 20 || large < 20 {
		t.Errorf("%d scenarios below 16 nodes, %d above 64", small, large)
	}
}
