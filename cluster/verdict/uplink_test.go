package verdict

import (
	"math"
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// TestLossOfUplinks has a leaf whose uplinks lose a share of the steps' packets, in one direction
// or in both.
func TestLossOfUplinks(t *testing.T) {
	sends := func(w *world, s *result.Sample) bool { return w.leaf(s.From.Node) == "leaf-2" }
	receives := func(w *world, s *result.Sample) bool { return w.leaf(s.To.Node) == "leaf-2" }
	both := func(w *world, s *result.Sample) bool { return sends(w, s) || receives(w, s) }
	const uplink = "uplink: leaf leaf-2"
	tests := []struct {
		name   string
		share  float64 // of the steps
		on     func(w *world, s *result.Sample) bool
		within bool // the leaf's own traffic, too
		want   []string
		says   string
	}{
		{"what it sends", 1, sends, false, []string{uplink}, "traffic from it to other leaves loses packets"},
		{"what it receives", 1, receives, false, []string{uplink}, "traffic from other leaves to it loses packets"},
		{"both", 1, both, false, []string{uplink}, "traffic between it and other leaves loses packets"},
		// One of four uplinks: of all steps of the leaf, that are an eighth.
		{"a part of what it sends", 0.25, sends, false, []string{uplink}, "traffic from it to other leaves"},
		{"a part of what it receives", 0.25, receives, false, []string{uplink}, "traffic from other leaves to it"},
		{"a part of both", 0.25, both, false, []string{uplink}, "loses packets in"},
		{"hardly any of what it sends", 0.05, sends, false, nil, ""},
		// The leaf's own switch drops, not its uplinks.
		{"what it sends to its own nodes, too", 0.25, sends, true, nil, ""},
		{"of all leaves", 0.3, func(*world, *result.Sample) bool { return true }, false, nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(3) {
				w := newWorld(seed, 64, 2, 8)
				run := w.run(t)
				each(run, plan.StagePairs, func(s *result.Sample) {
					if test.on(w, s) && (w.crosses(s) || test.within) && w.rng.Float64() < test.share {
						lose(s)
					}
				})
				r := Find(run, Options{})
				expect(t, r, test.want...)
				if test.says != "" {
					says(t, r, test.says)
				}
			}
		})
	}
}

// TestLossOfTwoLeaves has two leaves with bad uplinks in opposite directions: what the first one
// sends to the second one is no reason against the others.
func TestLossOfTwoLeaves(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(seed, 64, 2, 8)
		run := w.run(t)
		each(run, plan.StagePairs, func(s *result.Sample) {
			if w.crosses(s) && (w.leaf(s.From.Node) == "leaf-2" && s.From.Rail == 0 || w.leaf(s.To.Node) == "leaf-5") {
				lose(s)
			}
		})
		r := Find(run, Options{})
		expect(t, r, "uplink: leaf leaf-2 rail 0", "uplink: leaf leaf-5")
		for _, v := range r.Verdicts {
			if got, want := v.sends, v.Where.Leaf == "leaf-2"; got != want {
				t.Errorf("%s: only what it sends: %v, want %v", v.Where, got, want)
			}
		}
	}
}

// TestUplinkSends has a leaf that loses what it sends on one rail, and other traffic on another:
// the verdict about both says that what it receives suffers, too.
func TestUplinkSends(t *testing.T) {
	for name, other := range map[string]func(w *world, s *result.Sample) bool{
		"sends":    func(w *world, s *result.Sample) bool { return w.leaf(s.From.Node) == "leaf-2" },
		"receives": func(w *world, s *result.Sample) bool { return w.leaf(s.To.Node) == "leaf-2" },
	} {
		w := newWorld(1, 32, 3, 8)
		run := w.run(t)
		each(run, plan.StagePairs, func(s *result.Sample) {
			if w.crosses(s) && (s.To.Rail == 0 && w.leaf(s.From.Node) == "leaf-2" || s.To.Rail == 1 && other(w, s)) {
				lose(s)
			}
		})
		r := Find(run, Options{})
		expect(t, r, "uplink: leaf leaf-2 rail 0, 1")
		if got := r.Verdicts[0].sends; got != (name == "sends") {
			t.Errorf("%s on another rail: only what it sends: %v", name, got)
		}
	}
}

// TestLossOfUplinksAndCard has uplinks that lose packets in one direction, and a card of the leaf
// whose cable loses them in the other one.
func TestLossOfUplinksAndCard(t *testing.T) {
	bad := end(10, 1)
	for seed := range uint64(3) {
		for _, dir := range []int{tx, rx} {
			w := newWorld(seed, 64, 2, 8)
			run := w.run(t)
			each(run, plan.StagePairs, func(s *result.Sample) {
				near, card := s.From, s.To
				if dir == rx {
					near, card = card, near
				}
				if w.crosses(s) && w.leaf(near.Node) == "leaf-2" || card == bad {
					lose(s)
				}
			})
			want := "loss-receive: gpu-11 mlx5_1:1 (what it receives)"
			if dir == rx {
				want = "loss-send: gpu-11 mlx5_1:1 (what it sends)"
			}
			expect(t, Find(run, Options{}), want, "uplink: leaf leaf-2")
		}
	}
}

// TestLossOfFewCards has three of a leaf's eight cards that lose packets with other leaves: its
// uplinks would lose those of all.
func TestLossOfFewCards(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(seed, 64, 2, 8)
		run := w.run(t)
		each(run, plan.StagePairs, func(s *result.Sample) {
			if w.crosses(s) && s.From.Rail == 1 && s.From.Node >= 8 && s.From.Node < 11 {
				lose(s)
			}
		})
		expect(t, Find(run, Options{}))
	}
}

// TestLossBetweenTwoLeaves has two leaves, which nothing can be compared with: a loss in a tenth of
// the steps is too little to accuse an uplink, and more may be the other leaf's.
func TestLossBetweenTwoLeaves(t *testing.T) {
	for seed := range uint64(3) {
		for _, share := range []float64{0.1, 0.5} {
			w := newWorld(seed, 32, 1, 16)
			run := w.run(t)
			each(run, plan.StagePairs, func(s *result.Sample) {
				if w.crosses(s) && w.leaf(s.From.Node) == "leaf-1" && w.rng.Float64() < share {
					lose(s)
				}
			})
			r := Find(run, Options{})
			switch {
			case share < 0.2:
				expect(t, r)
			case len(r.Verdicts) != 1 || r.Verdicts[0].Cause != CauseUplink || r.Verdicts[0].Confidence > 0.6:
				t.Errorf("want one uplink, of either leaf\n%s", dump(r))
			default:
				says(t, r, "there are two leaves only")
			}
		}
	}
}

// TestLossOfFarCard has leaves of two nodes, and a card that loses what it receives: half of what
// each card of the other leaf sends, but with one partner.
func TestLossOfFarCard(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(seed, 4, 4, 2)
		w.lossRx[end(0, 1)] = 1e-5
		expect(t, Find(w.run(t), Options{}), "loss-receive: gpu-1 mlx5_1:1 (what it receives)")
		w = newWorld(seed, 4, 4, 2)
		w.lossTx[end(0, 1)] = 1e-5
		expect(t, Find(w.run(t), Options{}), "loss-send: gpu-1 mlx5_1:1 (what it sends)")
	}
}

// TestLossOfSmallLeaf has a leaf of two cards. Uplinks are to blame if both lose packets.
func TestLossOfSmallLeaf(t *testing.T) {
	for seed := range uint64(3) {
		for _, both := range []bool{false, true} {
			w := newWorld(seed, 16, 2, 2)
			run := w.run(t)
			seen := map[plan.End]int{}
			each(run, plan.StagePairs, func(s *result.Sample) {
				if w.crosses(s) && s.From.Rail == 1 && (s.From.Node == 2 || both && s.From.Node == 3) {
					if seen[s.From]++; seen[s.From]%3 != 0 { // two thirds: one such card alone is a third of the leaf
						lose(s)
					}
				}
			})
			want := "loss-send: gpu-3 mlx5_1:1 (what it sends)"
			if both {
				want = "uplink: leaf leaf-2 rail 1"
			}
			expect(t, Find(run, Options{}), want)
		}
	}
}

// TestSlowLossyUplink has uplinks that are slow because they lose packets: neither the leaf's cards
// nor a second fault of its uplinks are to blame for that.
func TestSlowLossyUplink(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(seed, 32, 2, 4)
		run := w.run(t)
		for _, stage := range []plan.Name{plan.StagePairs, plan.StagePermutation} {
			each(run, stage, func(s *result.Sample) {
				if w.crosses(s) && w.leaf(s.From.Node) == "leaf-2" {
					lose(s)
					s.Gbps *= 0.5
				}
			})
		}
		expect(t, Find(run, Options{}), "uplink: leaf leaf-2")
	}
}

// TestSlowCardOfSmallLeaf has leaves of two cards, of which one is slow: its own rate is no
// property of the leaf's uplinks. Two that are slow with other leaves, and not with each other,
// are.
func TestSlowCardOfSmallLeaf(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(seed, 16, 4, 2)
		w.tx[end(2, 1)], w.rx[end(2, 1)] = 0.6, 0.6
		expect(t, Find(w.run(t), Options{}), "slow: gpu-3 mlx5_1:1")
		w = newWorld(seed, 16, 4, 2)
		w.leafShare["leaf-2"] = 0.6
		expect(t, Find(w.run(t), Options{}), "leaf-uplinks: leaf leaf-2")
	}
}

// TestUplinksOfFewFlows has a leaf whose uplinks carry less. With few source ports of a pair,
// hashing alone makes leaves differ: four times as much with one as with 16.
func TestUplinksOfFewFlows(t *testing.T) {
	for flows, shares := range map[int][2]float64{1: {0.65, 0.55}, 4: {0.85, 0.75}, 16: {0.93, 0.87}} {
		for i, share := range shares {
			for seed := range uint64(3) {
				w := newWorld(seed, 64, 2, 16)
				w.noise, w.leafShare["leaf-2"] = 0.01, share
				run := w.run(t)
				each(run, plan.StagePairs, func(s *result.Sample) {
					s.Detail = &result.Detail{}
					for range flows {
						s.Detail.Flows = append(s.Detail.Flows, s.Gbps/float32(flows))
					}
				})
				r := Find(run, Options{})
				if i > 0 {
					expect(t, r, "leaf-uplinks: leaf leaf-2")
					continue
				}
				expect(t, r)
				if flows < 16 {
					notJudged(t, r, "uplinks", "with few source ports hashing does that, too")
				}
			}
		}
	}
}

func TestUpperQuartile(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{1}, 1},
		{[]float64{2, 1}, 2},
		{[]float64{3, 1, 2}, 3},
		{[]float64{4, 3, 1, 2}, 4},
		{[]float64{5, 4, 3, 1, 2}, 4},
		{[]float64{9, 8, 7, 6, 5, 4, 3, 2, 1}, 7},
	} {
		if got := upperQuartile(slices.Clone(c.x)); got != c.want {
			t.Errorf("upperQuartile(%v) = %v, want %v", c.x, got, c.want)
		}
	}
	if got := upperQuartile(nil); !math.IsNaN(got) {
		t.Errorf("upperQuartile of nothing = %v", got)
	}
}
