package consensus

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/sim/host"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// randomNodes makes a cluster in which some nodes have something wrong.
func randomNodes(t *testing.T, rng *rand.Rand) []*Node {
	t.Helper()
	kinds := []host.Kind{host.SmallMTU, host.NoAddress, host.NoLink, host.SlowLink}
	snaps := cluster(t, 2+rng.IntN(6), func(i int) host.Spec {
		s := roceSpec(i)
		if rng.IntN(3) == 0 {
			s.Plant = []host.Plant{{Kind: kinds[rng.IntN(len(kinds))], Rail: rng.IntN(4)}}
		}
		return s
	}, func(_ int, s *inventory.Snapshot) {
		switch rng.IntN(8) {
		case 0:
			shiftGIDs(s, "mlx5_1", 2)
		case 1:
			swap(s, "mlx5_1", "mlx5_2")
		case 2:
			dropDevice(s, "mlx5_0")
		case 3:
			readdress(s, "mlx5_3", "172.16.3.3/24")
		}
	})
	return digest(t, Options{}, snaps...)
}

// TestOrderOfArguments: the order in which nodes are given changes nothing.
func TestOrderOfArguments(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 7))
		nodes := randomNodes(t, rng)
		want := Compare(nodes, Options{})
		rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		if diff := cmp.Diff(want, Compare(nodes, Options{})); diff != "" {
			t.Fatalf("seed %d: another order gives another report:\n%s", seed, diff)
		}
	}
}

// TestCopyOfMajority: one more node like most others adds no difference.
func TestCopyOfMajority(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 8))
		nodes := randomNodes(t, rng)
		healthy := digest(t, Options{}, emulate(t, roceSpec(100)), emulate(t, roceSpec(101)), emulate(t, roceSpec(102)),
			emulate(t, roceSpec(103)), emulate(t, roceSpec(104)), emulate(t, roceSpec(105)), emulate(t, roceSpec(106)),
			emulate(t, roceSpec(107)))
		nodes = append(nodes, healthy[:7]...) // now they are the majority
		before, after := Compare(nodes, Options{}), Compare(append(nodes, healthy[7]), Options{})
		if diff := cmp.Diff(outliers(before), outliers(after)); diff != "" {
			t.Fatalf("seed %d: one more healthy node changes who differs:\n%s", seed, diff)
		}
		if diff := cmp.Diff(before.GID.Common, after.GID.Common); diff != "" {
			t.Fatalf("seed %d: one more healthy node changes the common indices:\n%s", seed, diff)
		}
	}
}

// outliers are the differences without those who agree.
func outliers(r Report) []string {
	var out []string
	for _, d := range r.Differences {
		text := fmt.Sprint(d.Check, d.Rails)
		for _, g := range d.Groups[min(1, len(d.Groups)-1):] {
			text += " " + g.Value + ":" + strings.Join(g.Nodes, ",")
		}
		out = append(out, text)
	}
	return out
}

// TestEveryTreeAgreesWithItself compares each test tree with itself under another
// identity: whatever is wrong with a node, its twin has it too.
func TestEveryTreeAgreesWithItself(t *testing.T) {
	for _, name := range testtrees.Names() {
		snap := treeSnapshot(t, name)
		a, b := digest(t, Options{}, snap)[0], digest(t, Options{}, snap)[0]
		b.source, b.host = "twin", "twin"
		for i := range b.rails {
			r := &b.rails[i]
			r.nodeGUID[0], r.portGUID[0] = r.nodeGUID[0]^0x40, r.portGUID[0]^0x40
			r.mac, r.lid = "", 0
			for j := range r.gids {
				r.gids[j].addr = r.gids[j].addr.Next()
			}
		}
		r := Compare([]*Node{a, b}, Options{})
		if r.Verdict == VerdictDiffer {
			t.Errorf("%s differs from its twin: %q", name, brief(r))
		}
		if (r.Verdict == VerdictNone) != (len(a.rails) == 0) {
			t.Errorf("%s and its twin: verdict %s with %d rails", name, r.Verdict, len(a.rails))
		}
	}
}

// TestFewNodes: no nodes and one node are no disagreement and no panic.
func TestFewNodes(t *testing.T) {
	if r := Compare(nil, Options{}); r.Verdict != VerdictNone || len(r.Differences) > 0 {
		t.Errorf("Compare(nothing) = %s, %q", r.Verdict, brief(r))
	}
	if r := Compare(digest(t, Options{}, emulate(t, roceSpec(0))), Options{}); r.Verdict != VerdictAgree ||
		len(r.Differences) > 0 {
		t.Errorf("Compare(one node) = %s, %q", r.Verdict, brief(r))
	}
}

func TestSelectors(t *testing.T) {
	snaps := cluster(t, 2, func(i int) host.Spec {
		s := roceSpec(i)
		if i == 1 {
			s.Card = host.ConnectX7()
			s.Card.Prefix = "rocep"
		}
		return s
	}, nil)
	opts := Options{Include: []string{"mlx5_[0-1]", "rocep[0-1]"}, Exclude: []string{"mlx5_1", "rocep1", "nowhere"}}
	nodes := digest(t, opts, snaps...)
	r := Compare(nodes, opts)
	if r.Verdict != VerdictAgree || len(r.Rails) != 1 || r.Rails[0].Nodes != 2 {
		t.Errorf("Compare with %v = %s, rails %+v", opts, r.Verdict, r.Rails)
	}
	if diff := cmp.Diff([]string{"--exclude nowhere"}, Unmatched(nodes)); diff != "" {
		t.Errorf("Unmatched, -want +got:\n%s", diff)
	}
	opts = Options{Include: []string{"mlx5_0"}}
	if r := Compare(digest(t, opts, snaps...), opts); r.Nodes[1].Reason != "no --include matches a port" ||
		r.Verdict != VerdictDiffer {
		t.Errorf("a node without the included device: %+v", r.Nodes[1])
	}
	if err := (Options{Exclude: []string{"mlx5_["}}).Check(); err == nil {
		t.Error("Check accepts a broken selector")
	}
}
