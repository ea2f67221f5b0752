package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/sim/cluster"
)

// card is a card of node 1.
func card(rail int) verdict.Where {
	return verdict.Where{Scope: verdict.ScopeCard, Ends: []plan.End{{Node: 1, Rail: int16(rail)}}}
}

func node(names ...string) verdict.Where {
	return verdict.Where{Scope: verdict.ScopeNode, Nodes: names}
}

func leaf(name string, rails ...int) verdict.Where {
	return verdict.Where{Scope: verdict.ScopeLeaf, Leaf: name, Rails: rails}
}

// TestScore checks what counts as true, as wrong and as confused.
func TestScore(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		fault                  cluster.Fault
		verdicts               []verdict.Verdict
		found, claims, correct int
		confused               string // kind > cause
	}{
		{"right", cluster.Fault{Kind: cluster.SlowCard, Node: 1, Rail: 1}, []verdict.Verdict{
			{Cause: verdict.CauseSlow, Where: card(1)},
		}, 1, 1, 1, ""},
		{"another card", cluster.Fault{Kind: cluster.SlowCard, Node: 1, Rail: 1}, []verdict.Verdict{
			{Cause: verdict.CauseSlow, Where: card(0)},
		}, 0, 1, 0, "slow-card > , > slow"},
		{"another cause", cluster.Fault{Kind: cluster.SlowCard, Node: 1, Rail: 1}, []verdict.Verdict{
			{Cause: verdict.CauseLoss, Where: card(1)},
		}, 0, 1, 0, "slow-card > loss"},
		{"another way", cluster.Fault{Kind: cluster.SlowOneWay, Direction: cluster.Send, Node: 1}, []verdict.Verdict{
			{Cause: verdict.CauseSlowReceive, Where: card(0)},
		}, 0, 1, 0, "slow-one-way > slow-receive"},
		{"twice", cluster.Fault{Kind: cluster.SlowCard, Node: 1, Rail: 1}, []verdict.Verdict{
			{Cause: verdict.CauseSlow, Where: card(1)}, {Cause: verdict.CauseSlow, Where: card(1)},
		}, 1, 2, 1, ""},
		{"a consequence, too", cluster.Fault{Kind: cluster.PausingHost, Node: 1}, []verdict.Verdict{
			{Cause: verdict.CausePauses, Where: node("gpu-001")}, {Cause: verdict.CauseSlowSend, Where: card(1)},
		}, 1, 2, 1, ""},
		{"all cards instead of the node", cluster.Fault{Kind: cluster.SlowNode, Node: 1}, []verdict.Verdict{
			{Cause: verdict.CauseSlow, Where: verdict.Where{
				Scope: verdict.ScopeCard, Ends: []plan.End{{Node: 1}, {Node: 1, Rail: 1}},
			}},
		}, 0, 2, 0, "slow-node > slow"},
		{"a hidden slot named slow", cluster.Fault{Kind: cluster.HalfPCIe, Hidden: true, Node: 1}, []verdict.Verdict{
			{Cause: verdict.CauseSlow, Where: card(0)},
		}, 1, 1, 1, ""},
		{"a slot with a fact named slow", cluster.Fault{Kind: cluster.HalfPCIe, Node: 1}, []verdict.Verdict{
			{Cause: verdict.CauseSlow, Where: card(0)},
		}, 0, 1, 0, "half-pcie > slow"},
		{"the leaf and its rail", cluster.Fault{Kind: cluster.HalfUplinks, Leaf: 3}, []verdict.Verdict{
			{Cause: verdict.CauseUplinks, Where: leaf("leaf-01", 1)},
		}, 1, 1, 1, ""},
		{"the leaf of another rail", cluster.Fault{Kind: cluster.HalfUplinks, Leaf: 3}, []verdict.Verdict{
			{Cause: verdict.CauseUplinks, Where: leaf("leaf-01", 0)},
		}, 0, 1, 0, "half-uplinks > , > leaf-uplinks"},
		{"all leaves", cluster.Fault{Kind: cluster.NoPFC, Leaf: -1}, []verdict.Verdict{
			{Cause: verdict.CauseIncast, Where: verdict.Where{Scope: verdict.ScopeFabric}},
		}, 1, 1, 1, ""},
		{"nothing said", cluster.Fault{Kind: cluster.WrongClock, Node: 1}, nil, 0, 0, 0, "wrong-clock > "},
	} {
		s, err := cluster.Scenario{
			Nodes: 12, Rails: 2, NodesPerLeaf: 4, LeafPerRail: true, Faults: []cluster.Fault{tt.fault},
		}.Complete()
		if err != nil {
			t.Fatal(err)
		}
		c := s.Cluster()
		got := newScore()
		got.add(&s, &c, &verdict.Report{Verdicts: tt.verdicts})
		if got.found != tt.found || got.claims != tt.claims || got.correct != tt.correct {
			t.Errorf("%s: %d found, %d of %d verdicts true; want %d, %d of %d",
				tt.name, got.found, got.correct, got.claims, tt.found, tt.correct, tt.claims)
		}
		var confused []string
		for _, x := range got.confusions() {
			confused = append(confused, string(x.kind)+" > "+string(x.cause))
		}
		for want := range strings.SplitSeq(tt.confused, ", ") {
			all := strings.Join(confused, ", ")
			if !strings.Contains(all, strings.TrimSpace(want)) || tt.confused == "" && all != "" {
				t.Errorf("%s: confused: %q, want %q", tt.name, all, tt.confused)
			}
		}
	}
}

// TestOneLeafOfAllRails checks that a leaf that carries all rails is one place, however many of its
// rails a verdict lists.
func TestOneLeafOfAllRails(t *testing.T) {
	s, err := cluster.Scenario{
		Nodes: 12, Rails: 2, NodesPerLeaf: 4, Faults: []cluster.Fault{{Kind: cluster.HalfUplinks, Leaf: 1}},
	}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cluster()
	for _, rails := range [][]int{nil, {0}, {0, 1}} {
		got := newScore()
		got.add(&s, &c, &verdict.Report{Verdicts: []verdict.Verdict{
			{Cause: verdict.CauseUplinks, Where: leaf("leaf-01", rails...), Confidence: 0.97},
		}})
		if got.found != 1 || got.claims != 1 || got.correct != 1 || got.bins[5].right != 1 {
			t.Errorf("rails %v: %+v", rails, got)
		}
	}
}

// TestSmall scores a few small scenarios of both emulations, as a whole one does.
func TestSmall(t *testing.T) {
	var jobs []job
	for seed := uint64(1000); len(jobs) < 12; seed++ {
		if s := cluster.Random(seed); s.Nodes*s.Rails <= 64 && len(s.Faults) > 0 {
			jobs = append(jobs, flowJob(s))
		}
	}
	jobs = append(jobs, packetJob(cluster.RandomPackets(1)))
	s, err := scoreAll(t.Context(), jobs, 1, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d faults, %d found; %d verdicts, %d true\n%s",
		s.faults, s.found, s.claims, s.correct, strings.Join(s.mistakes, "\n"))
	if s.recall() < leastSmall || s.precision() < leastSmall {
		t.Errorf("recall %.2f, precision %.2f, want %.2f", s.recall(), s.precision(), leastSmall)
	}
	var text bytes.Buffer
	s.table(&text)
	s.confusion(&text)
	s.calibration(&text)
	if n := strings.Count(text.String(), "\n"); n < 10 {
		t.Errorf("the tables have %d lines:\n%s", n, text.String())
	}
}

// leastSmall is lower than what the whole set reaches: a few scenarios vary.
const leastSmall = 0.85

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	const page = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n"
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replace(path, "x", []byte("\nnew\n\n")); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(path)
	if want := "a\n<!-- begin x -->\n\nnew\n\n<!-- end x -->\nb\n"; string(got) != want {
		t.Errorf("replace = %q, want %q", got, want)
	}
	if err := replace(path, "y", nil); err == nil {
		t.Error("a section that the page doesn't have is no error")
	}
}
