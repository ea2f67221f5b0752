package verdict

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// TestIsLoss works out probabilities by hand. A link with a bit error rate of 1e-12 loses 3.3e-8 of
// its packets of 4 KiB: 0.4 in a second of 400 Gb/s, of which 3 have a probability of 8e-3 and 4
// one of 8e-4.
func TestIsLoss(t *testing.T) {
	const second = 400e9 / 8 / 4096 // packets
	tests := []struct {
		lost, packets, rate float64
		want                bool
	}{
		{0, second, 1e-9, false},
		{3, second, 1e-9, false},
		{4, second, 1e-9, true},
		{4, 10 * second, 1e-9, false}, // of 4 expected ones
		{14, 10 * second, 1e-9, true}, // 4 + 5 standard deviations
		{1, 300, 1e-9, true},
		{1, 20_000, 1e-9, true}, // 7e-4
		{1, 100_000, 1e-9, false},
		{2, 100_000, 1e-9, true},
		{0.5, 300, 1e-9, false}, // counters are whole
		// The default: a millionth, 12 of a second.
		{1, 300, 0, true},
		{1, 100_000, 0, false},
		{4, second, 0, false},
		{12, second, 0, false},
		{13, second, 0, true},
		{1e5, second, 0.01, false},
		{2e5, second, 0.01, true},
		{5, 0, 0, true}, // none has arrived
		// So many that the probability of none is too small for a number: 990 are expected.
		{31_000, 3e10, 0, true},
		{29_000, 3e10, 0, false},
		{1050, 3e10, 1e-9, false},
		{1100, 3e10, 1e-9, true},
	}
	for _, test := range tests {
		v := &view{o: Options{LossRate: test.rate}.complete()}
		if got := v.isLoss(test.lost, test.packets); got != test.want {
			t.Errorf("%v of %.0f lost, at a rate of %v: %v, want %v", test.lost, test.packets, v.o.LossRate, got,
				test.want)
		}
	}
}

// TestLossBetweenLeaves has a card that loses packets with other leaves only. Its cable carries all
// of its traffic, so it is no fault of the cable if packets within the leaf would have shown it.
func TestLossBetweenLeaves(t *testing.T) {
	type sample = result.Sample
	bad := end(4, 1)
	crosses := func(w *world, s *sample, _ int) bool { return w.crosses(s) }
	half := func(w *world, s *sample, k int) bool { return w.crosses(s) && k%2 == 0 }
	twoThirds := func(w *world, s *sample, k int) bool { return w.crosses(s) && k%3 > 0 }
	loss := []string{"loss-send: gpu-5 mlx5_1:1 (what it sends)"}
	tests := []struct {
		name    string
		perLeaf int
		lossy   func(w *world, s *sample, k int) bool // k counts the samples between leaves
		want    []string
	}{
		{"all steps", 8, crosses, nil},
		// None of 3 within the leaf would be lost with a probability of 0.125, none of 2 with
		// 0.21, and none of one with 0.3.
		{"half of them", 4, half, nil},
		{"half of them, and two neighbours", 3, half, loss},
		{"two thirds, and one neighbour", 2, twoThirds, loss},
		{"nobody within the leaf to compare with", 1, crosses, loss},
		{
			"one step within its leaf, too", 8,
			func(w *world, s *sample, _ int) bool { return w.crosses(s) || s.To.Node == 5 }, loss,
		},
		{"unknown leaves", 0, func(_ *world, s *sample, _ int) bool { return s.To.Node > 7 }, loss},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(3) {
				w := newWorld(seed, 16, 2, test.perLeaf)
				run := w.run(t)
				k := 0
				each(run, plan.StagePairs, func(s *sample) {
					if s.From != bad {
						return
					}
					if test.lossy(w, s, k) {
						lose(s)
					}
					if w.crosses(s) {
						k++
					}
				})
				r := Find(run, Options{})
				expect(t, r, test.want...)
				if test.want == nil {
					notJudged(t, r, "gpu-5 mlx5_1:1", "that is no fault of its cable")
				}
			}
		})
	}
}

// TestLossOfReceiverBetweenLeaves is the same for what a card receives, of one that sends nothing.
func TestLossOfReceiverBetweenLeaves(t *testing.T) {
	w := newWorld(1, 16, 2, 8)
	run := w.run(t)
	run.Samples = slices.DeleteFunc(run.Samples, func(s result.Sample) bool {
		return run.Stages[s.Stage].Name == plan.StagePairs && s.From == end(4, 1)
	})
	each(run, plan.StagePairs, func(s *result.Sample) {
		if s.To == end(4, 1) && w.crosses(s) {
			lose(s)
		}
	})
	r := Find(run, Options{})
	expect(t, r)
	notJudged(t, r, "gpu-5 mlx5_1:1", "in 8 of 8 steps with other leaves and in none of 7 within its leaf")
}

// TestLinkDown has a link that goes down in one stage only, whatever is measured there.
func TestLinkDown(t *testing.T) {
	for _, stage := range []plan.Name{
		plan.StageReach, plan.StagePairs, plan.StageIncast, plan.StagePermutation, plan.StageJitter,
	} {
		for _, side := range []result.Side{result.AtFrom, result.AtTo} {
			w := newWorld(1, 16, 2, 4)
			w.noise, w.cardNoise = 0.001, 0.001
			run := w.run(t)
			done, bad := false, plan.End{}
			each(run, stage, func(s *result.Sample) {
				e := s.From
				if side == result.AtTo {
					e = s.To
				}
				if !done && e.Rail == 1 {
					done, bad = true, e
					count(s, side, result.CounterDowned, 1)
					run.Cluster.Nodes[e.Node].Name = "bad"
				}
			})
			r := Find(run, Options{})
			expect(t, r, "flapping: bad mlx5_1:1")
			steps := 0
			for _, s := range run.Samples {
				if s.From.Node != s.To.Node && (s.From == bad || s.To == bad) {
					steps++
				}
			}
			says(t, r, fmt.Sprintf("the port counted 1 failure of its link in 1 of %d steps", steps))
			if got, want := r.Verdicts[0].Severity, 1/float64(steps); got != want {
				t.Errorf("severity %v, want %v", got, want)
			}
		}
	}
}

// TestLinkDownOnce has a receiver of several senders whose link goes down once: its port's count is
// in the sample of each sender.
func TestLinkDownOnce(t *testing.T) {
	run := newWorld(1, 16, 2, 4).run(t)
	type place struct {
		round uint16
		to    plan.End
	}
	n := map[place]int{}
	each(run, plan.StageIncast, func(s *result.Sample) { n[place{s.Round, s.To}]++ })
	bad := place{}
	for p, k := range n {
		if k == 4 && p.to.Rail == 1 {
			bad = p
		}
	}
	each(run, plan.StageIncast, func(s *result.Sample) {
		if (place{s.Round, s.To}) == bad {
			count(s, result.AtTo, result.CounterDowned, 1)
		}
	})
	run.Cluster.Nodes[bad.to.Node].Name = "bad"
	r := Find(run, Options{})
	expect(t, r, "flapping: bad mlx5_1:1")
	says(t, r, "the port counted 1 failure of its link in 1 of")
}

// TestWithin tells traffic within a leaf from that between leaves, and from that with a node of
// which the leaf is unknown, which is neither.
func TestWithin(t *testing.T) {
	v := &view{leaf: []int32{0, 0, 1, -1, -1}, leaves: []string{"a", "b"}}
	for _, tt := range []struct {
		a, b            int32
		within, crosses bool
	}{{0, 1, true, false}, {0, 2, false, true}, {0, 3, false, false}, {3, 4, false, false}} {
		if v.within(tt.a, tt.b) != tt.within || v.crosses(tt.a, tt.b) != tt.crosses {
			t.Errorf("nodes %d and %d: within %v, crosses %v", tt.a, tt.b, v.within(tt.a, tt.b), v.crosses(tt.a, tt.b))
		}
	}
	v = &view{leaf: []int32{-1, -1}}
	if !v.within(0, 1) {
		t.Error("without any leaf, nodes are not one group")
	}
}

// TestSymbolErrorsOfPairs has errors in two of five steps of pairs: other stages, in which little
// is sent, say nothing against them.
func TestSymbolErrorsOfPairs(t *testing.T) {
	for seed := range uint64(3) {
		for every, want := range map[int][]string{2: {"bit-errors: gpu-5 mlx5_1:1"}, 4: nil} {
			w := newWorld(seed, 16, 2, 4)
			run := w.run(t)
			k := 0
			each(run, plan.StagePairs, func(s *result.Sample) {
				if s.From == end(4, 1) || s.To == end(4, 1) {
					if k%every == 0 {
						side := result.AtFrom
						if s.To == end(4, 1) {
							side = result.AtTo
						}
						count(s, side, result.CounterSymbol, 500)
					}
					k++
				}
			})
			expect(t, Find(run, Options{}), want...)
		}
	}
}

// TestSlowReceiverLoses has a card that drops what it receives because it is slow. It is also slow
// where nothing can be lost: at sending, or with itself.
func TestSlowReceiverLoses(t *testing.T) {
	const where = " gpu-5 mlx5_2:1"
	tests := []struct {
		name             string
		tx, rx, loop     float64
		lossTx, lossRx   float64
		want, says, word string
	}{
		{"slow both ways", 0.6, 0.6, 1, 0, 1e-4, "slow:" + where, "its loopback is as fast", "slower than its peers; "},
		{
			"slow loopback", 1, 0.6, 0.6, 0, 1e-4, "slow-receive:" + where + " (what it receives)",
			"its loopback is 4", "slower than its peers; ",
		},
		{
			"slow by its losses", 1, 1, 1, 0, 3e-4, "loss-receive:" + where + " (what it receives)",
			"it receives 4", "retransmissions: ",
		},
		{ // its rate shows no more than the loss does
			"slow loopback, fast otherwise", 1, 1, 0.6, 0, 1e-5, "loss-receive:" + where + " (what it receives)",
			"packets were lost in", "retransmissions: ",
		},
		{ // a slow card doesn't lose what it sends
			"loses what it sends", 0.6, 0.6, 0.6, 1e-4, 0, "loss-send:" + where + " (what it sends)",
			"it sends 5", "retransmissions: ",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(3) {
				w := newWorld(seed, 16, 4, 4)
				e := end(4, 2)
				w.tx[e], w.rx[e], w.loop[e] = test.tx, test.rx, test.loop
				w.lossTx[e], w.lossRx[e] = test.lossTx, test.lossRx
				r := Find(w.run(t), Options{})
				expect(t, r, test.want)
				says(t, r, test.says)
				if len(r.Verdicts) == 1 {
					v := r.Verdicts[0]
					contains(t, v.Words, test.word)
					// Of the 40 % that it is slower, those of the losses aside.
					slow := v.Cause == CauseSlow || v.Cause == CauseSlowReceive
					if slow && (v.Severity < 0.4 || v.Severity > 0.6) {
						t.Errorf("severity %v", v.Severity)
					}
				}
			}
		})
	}
}

// TestSlowReceivers has two cards that lose what they receive. One of them is slow, too; how slow,
// the partners show that are not slow themselves.
func TestSlowReceivers(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(seed, 16, 4, 0)
		e := end(0, 2)
		w.rx[e], w.loop[e], w.lossRx[e], w.lossRx[end(1, 0)] = 0.75, 0.6, 1e-5, 1e-5
		want := []string{
			"loss-receive: gpu-2 mlx5_0:1 (what it receives)", "slow-receive: gpu-1 mlx5_2:1 (what it receives)",
		}
		for i := 4; i < 13; i++ {
			w.tx[end(i, 2)] = 0.5
			want = append(want, "slow-send: "+w.cluster.Nodes[i].Name+" mlx5_2:1 (what it sends)")
		}
		slices.Sort(want)
		r := Find(w.run(t), Options{})
		expect(t, r, want...)
		for _, v := range r.Verdicts {
			if v.Cause == CauseSlowReceive && (v.Severity < 0.2 || v.Severity > 0.35) {
				t.Errorf("severity %v of a card with 0.75 of the rate", v.Severity)
			}
		}
	}
}

// TestSlowSenderLosesAndIsSlower has a card that drops what it receives, and sends even less.
func TestSlowSenderLosesAndIsSlower(t *testing.T) {
	w := newWorld(1, 16, 4, 4)
	e := end(4, 2)
	w.tx[e], w.rx[e], w.lossRx[e] = 0.3, 0.6, 1e-5
	r := Find(w.run(t), Options{})
	expect(t, r, "slow: gpu-5 mlx5_2:1")
	if s := r.Verdicts[0].Severity; s < 0.65 || s > 0.75 {
		t.Errorf("severity %v of a card that sends 0.3 of the rate", s)
	}
}

// TestRetransmissions gives what is sent again for each hundred packets that arrive.
func TestRetransmissions(t *testing.T) {
	for share, want := range map[float64]string{
		16: "retransmissions: 1600 for each 100 packets", 0.157: "retransmissions: 16 for each 100 packets",
		0.0087: "retransmissions: 0.87 for each 100 packets", 1e-6: "retransmissions: 0.0001 for each 100 packets",
	} {
		if got := retransmissions(share); got != want {
			t.Errorf("%g: %q, want %q", share, got, want)
		}
	}
}

// TestLossEcho doesn't accuse the partner of a card that loses what it receives: without the
// acknowledgements that got lost, that card has sent again, too.
func TestLossEcho(t *testing.T) {
	run := newWorld(1, 4, 1, 0).run(t)
	v := newView(run, Options{})
	between := func(from, to int) []int {
		return []int{slices.IndexFunc(run.Samples, func(s result.Sample) bool {
			return s.From == end(from, 0) && s.To == end(to, 0)
		})}
	}
	lossy := blame{card: 1, dir: rx, partners: 3, or: -1, refs: between(0, 1)}
	echo := blame{card: 0, dir: rx, partners: 1, or: -1, refs: between(1, 0)}
	elsewhere := blame{card: 3, dir: rx, partners: 1, or: -1, refs: between(2, 3)}
	got := v.withoutEchoes([]blame{echo, lossy, elsewhere})
	if len(got) != 2 || got[0].card != 1 || got[1].card != 3 {
		t.Errorf("left %+v, want the lossy card and the one without a lossy partner", got)
	}
	want := Gap{"gpu-1 mlx5_0:1", "packets were lost with gpu-2 mlx5_0:1 only, which loses them with others, too"}
	if !slices.Equal(v.gaps, []Gap{want}) {
		t.Errorf("not judged %v, want %v", v.gaps, want)
	}
}
