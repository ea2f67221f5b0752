package verdict

import (
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// TestDrops has receivers that reach their rate together, though packets are lost: a switch that
// drops what it has no buffer for. Each case says which samples of incast and of pairs lose
// packets.
func TestDrops(t *testing.T) {
	tests := []struct {
		name   string
		incast func(w *world, s *result.Sample, senders int) bool
		pairs  func(w *world, s *result.Sample) bool
		want   []string
	}{
		{
			"where several senders compete", func(_ *world, _ *result.Sample, n int) bool { return n >= 2 },
			nil,
			[]string{"incast: the fabric"},
		},
		{
			"where four senders compete, as buffers suffice for two",
			func(_ *world, _ *result.Sample, n int) bool { return n >= 4 },
			nil,
			[]string{"incast: the fabric"},
		},
		{
			"where two senders compete, but not where four do",
			func(_ *world, _ *result.Sample, n int) bool { return n < 4 },
			nil, nil,
		},
		{
			"with half of the senders", func(_ *world, s *result.Sample, _ int) bool { return s.From.Node%2 == 0 },
			nil, nil,
		},
		{
			"within leaves", func(w *world, s *result.Sample, _ int) bool { return !w.crosses(s) },
			nil,
			[]string{"incast: the fabric"},
		},
		{ // of the uplinks
			"between leaves only", func(w *world, s *result.Sample, _ int) bool { return w.crosses(s) },
			nil, nil,
		},
		{
			"at the receivers of a leaf", func(w *world, s *result.Sample, _ int) bool {
				return w.leaf(s.To.Node) == "leaf-2"
			},
			nil,
			[]string{"incast: leaf leaf-2"},
		},
		{
			"at the receivers of a rail of a leaf", func(w *world, s *result.Sample, _ int) bool {
				return w.leaf(s.To.Node) == "leaf-2" && s.To.Rail == 1
			},
			nil,
			[]string{"incast: leaf leaf-2 rail 1"},
		},
		{ // a leaf without drops: it is no setting of the fabric
			"at all leaves but one", func(w *world, s *result.Sample, _ int) bool {
				return w.leaf(s.To.Node) != "leaf-2"
			},
			nil,
			[]string{"incast: leaf leaf-1", "incast: leaf leaf-3", "incast: leaf leaf-4"},
		},
		{
			"at all leaves, at one of them now and then", func(w *world, s *result.Sample, _ int) bool {
				return w.leaf(s.To.Node) != "leaf-2" || s.From.Node%2 == 0
			},
			nil,
			[]string{"incast: the fabric"},
		},
		{ // whatever loses them, it is not what several senders have in common
			"in pairs, too", func(_ *world, _ *result.Sample, _ int) bool { return true },
			func(_ *world, s *result.Sample) bool { return (s.From.Node+s.To.Node)%3 == 0 }, nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(3) {
				w := newWorld(seed, 64, 2, 16)
				run := w.run(t)
				n := senders(run)
				each(run, plan.StageIncast, func(s *result.Sample) {
					if test.incast(w, s, n(s)) {
						lose(s)
					}
				})
				each(run, plan.StagePairs, func(s *result.Sample) {
					if test.pairs != nil && test.pairs(w, s) {
						lose(s)
					}
				})
				expect(t, Find(run, Options{}), test.want...)
			}
		})
	}
}

// TestDropsOfSmallLeaves has leaves of four nodes, of whose receivers hardly any has four senders
// within its leaf: traffic between leaves tells then, and two senders if there are no four.
func TestDropsOfSmallLeaves(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(seed, 16, 4, 4)
		run := w.run(t)
		each(run, plan.StageIncast, lose)
		expect(t, Find(run, Options{}), "incast: the fabric")

		// A leaf that drops sends to others over uplinks that drop, and receives over theirs.
		w = newWorld(seed, 16, 4, 4)
		run = w.run(t)
		each(run, plan.StagePairs, func(s *result.Sample) {
			if w.crosses(s) && w.leaf(s.From.Node) == "leaf-2" {
				lose(s)
			}
		})
		expect(t, Find(run, Options{}), "uplink: leaf leaf-2")
		each(run, plan.StageIncast, func(s *result.Sample) {
			if w.leaf(s.To.Node) == "leaf-2" {
				lose(s)
			}
		})
		expect(t, Find(run, Options{}), "incast: leaf leaf-2")

		w = newWorld(seed, 4, 4, 0) // three senders at most
		run = w.run(t)
		each(run, plan.StageIncast, lose)
		expect(t, Find(run, Options{}), "incast: the fabric")

		w = newWorld(seed, 8, 4, 0) // two senders, or four
		run = w.run(t)
		n := senders(run)
		each(run, plan.StageIncast, func(s *result.Sample) {
			if n(s) == 4 {
				lose(s)
			}
		})
		expect(t, Find(run, Options{}), "incast: the fabric")
	}
}

// TestDropsOfHealthySenders has cards with a fault of their own that lose nothing: that the others
// lose packets tells.
func TestDropsOfHealthySenders(t *testing.T) {
	w := newWorld(1, 16, 4, 0)
	for i := range 5 {
		for r := range 4 {
			w.fact(i, r, result.FactMTU, "1024")
		}
	}
	run := w.run(t)
	each(run, plan.StageIncast, func(s *result.Sample) {
		if s.From.Node >= 5 {
			lose(s)
		}
	})
	expect(t, Find(run, Options{}), "incast: the fabric", "mtu: gpu-1 mlx5_0:1 and 19 other cards")
}

// TestDropsAreNoCollapse has the words of a verdict about receivers that reach their rate.
func TestDropsAreNoCollapse(t *testing.T) {
	w := newWorld(1, 64, 2, 16)
	run := w.run(t)
	each(run, plan.StageIncast, lose)
	r := Find(run, Options{})
	expect(t, r, "incast: the fabric")
	says(t, r, "packets were discarded or sent again")
	if x := r.Verdicts[0]; x.Severity > 0.1 || len(x.Evidence[0].Samples) == 0 {
		t.Errorf("severity %v, samples %v", x.Severity, x.Evidence[0].Samples)
	}
}

// faultySender returns a run of eight nodes of no known leaf in which a card loses what it sends.
// It is one of the senders in each round with four of them, and its receiver counts what it misses
// over all senders.
func faultySender(t *testing.T, seed uint64) (*result.Run, plan.End) {
	t.Helper()
	w := newWorld(seed, 8, 1, 0)
	run := w.run(t)
	n := senders(run)
	sends := map[plan.End]int{}
	each(run, plan.StageIncast, func(s *result.Sample) {
		if n(s) == 4 {
			sends[s.From]++
		}
	})
	bad := plan.End{Node: -1}
	for e, times := range sends {
		if times == 2 && (bad.Node < 0 || e.Node < bad.Node) {
			bad = e
		}
	}
	if bad.Node < 0 {
		t.Fatal("no node sends in both rounds with four senders")
	}
	each(run, plan.StagePairs, func(s *result.Sample) {
		if s.From == bad {
			lose(s)
		}
	})
	hit := map[[2]int]bool{}
	each(run, plan.StageIncast, func(s *result.Sample) {
		if s.From == bad {
			hit[[2]int{int(s.Round), int(s.To.Node)}] = true
			count(s, result.AtFrom, result.CounterRetransmits, 10*lostPackets)
		}
	})
	each(run, plan.StageIncast, func(s *result.Sample) {
		if hit[[2]int{int(s.Round), int(s.To.Node)}] {
			count(s, result.AtTo, result.CounterOutOfSeq, lostPackets)
		}
	})
	return run, bad
}

// TestFaultySender has a card that loses what it sends, alone and with others: packets that its
// receiver missed are not those of the other senders.
func TestFaultySender(t *testing.T) {
	for seed := range uint64(3) {
		run, bad := faultySender(t, seed)
		loss := "loss-send: " + run.Cluster.Nodes[bad.Node].Name + " mlx5_0:1 (what it sends)"
		expect(t, Find(run, Options{}), loss)
		noResends(run)
		expect(t, Find(run, Options{}), loss)

		// Where four senders compete, all of them lose packets, and say so themselves: the faulty
		// one hides nothing.
		run, _ = faultySender(t, seed)
		n := senders(run)
		each(run, plan.StageIncast, func(s *result.Sample) {
			if n(s) == 4 {
				lose(s)
			}
		})
		expect(t, Find(run, Options{}), "incast: the fabric", loss)
		noResends(run) // rounds without the faulty one must tell, and have no drops
		expect(t, Find(run, Options{}), loss)
		each(run, plan.StageIncast, lose)
		noResends(run)
		expect(t, Find(run, Options{}), "incast: the fabric", loss)
	}
}

// TestDropsOfReceivers has drivers that count at the receiver only.
func TestDropsOfReceivers(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(seed, 64, 2, 16)
		run := w.run(t)
		each(run, plan.StageIncast, lose)
		noResends(run)
		expect(t, Find(run, Options{}), "incast: the fabric")
	}
}

// TestDropsExplainUplinks has a leaf that drops on its uplinks in pairs, and at some of its
// receivers when several cards send to them.
func TestDropsExplainUplinks(t *testing.T) {
	const uplink, incast = "uplink: leaf leaf-2", "incast: leaf leaf-2 rail 1"
	sends := func(w *world, s *result.Sample) bool { return w.leaf(s.From.Node) == "leaf-2" }
	receives := func(w *world, s *result.Sample) bool { return w.leaf(s.To.Node) == "leaf-2" }
	rail := func(rail int16, f func(*world, *result.Sample) bool) func(*world, *result.Sample) bool {
		return func(w *world, s *result.Sample) bool { return s.To.Rail == rail && f(w, s) }
	}
	tests := []struct {
		name  string
		pairs []func(w *world, s *result.Sample) bool
		want  []string
	}{
		{"what it sends on all rails", []func(*world, *result.Sample) bool{sends}, []string{incast}},
		{"what it sends on the rail", []func(*world, *result.Sample) bool{rail(1, sends)}, []string{incast}},
		{
			"what it receives on another rail",
			[]func(*world, *result.Sample) bool{rail(0, receives)},
			[]string{incast, uplink + " rail 0"},
		},
		{
			"what it sends on one rail and receives on another",
			[]func(*world, *result.Sample) bool{rail(2, sends), rail(0, receives)},
			[]string{incast, uplink + " rail 0, 2"},
		},
		{
			"both ways on another rail",
			[]func(*world, *result.Sample) bool{rail(0, sends), rail(0, receives)},
			[]string{incast, uplink + " rail 0"},
		},
		{
			"what another leaf sends",
			[]func(*world, *result.Sample) bool{func(w *world, s *result.Sample) bool {
				return w.leaf(s.From.Node) == "leaf-3"
			}},
			[]string{incast, "uplink: leaf leaf-3"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(2) {
				w := newWorld(seed, 64, 3, 16)
				run := w.run(t)
				each(run, plan.StagePairs, func(s *result.Sample) {
					for _, f := range test.pairs {
						if w.crosses(s) && f(w, s) {
							lose(s)
							return
						}
					}
				})
				each(run, plan.StageIncast, func(s *result.Sample) {
					if rail(1, receives)(w, s) {
						lose(s)
					}
				})
				expect(t, Find(run, Options{}), test.want...)
			}
		})
	}
}

// TestDropsExplainLoneReceiver has a card without a neighbour at its leaf: what it receives comes
// over uplinks of leaves that drop.
func TestDropsExplainLoneReceiver(t *testing.T) {
	for seed := range uint64(3) {
		for node, want := range map[int32][]string{
			32: {"incast: the fabric"}, // alone
			20: {"incast: the fabric", "loss-receive: gpu-21 mlx5_1:1 (what it receives)"},
		} {
			w := newWorld(seed, 33, 2, 8)
			run := w.run(t)
			each(run, plan.StagePairs, func(s *result.Sample) {
				if s.To == (plan.End{Node: node, Rail: 1}) {
					lose(s)
				}
			})
			loss := "loss-receive: " + w.cluster.Nodes[node].Name + " mlx5_1:1 (what it receives)"
			expect(t, Find(run, Options{}), loss)
			each(run, plan.StageIncast, func(s *result.Sample) {
				if w.leaf(s.To.Node) == "leaf-2" {
					lose(s)
				}
			})
			expect(t, Find(run, Options{}), "incast: leaf leaf-2", loss)
			each(run, plan.StageIncast, lose)
			expect(t, Find(run, Options{}), want...)
		}
	}
}
