package verdict

import (
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// latencies calls f with the latency of each sample of gpu-7.
func latencies(run *result.Run, f func(s *result.Sample, l *result.Latency)) {
	each(run, plan.StageJitter, func(s *result.Sample) {
		if s.From.Node == 6 || s.To.Node == 6 {
			f(s, s.Detail.Latency)
		}
	})
}

// longTail makes the tail of a latency longer, from the 99th or from the 99.9th percentile on.
func longTail(l *result.Latency, percentile int) {
	if percentile == 99 {
		l.P99 *= 6
	}
	l.P999 *= 12
	l.Max = max(l.Max, 2*l.P999)
}

// TestJitterByLoad has a node whose latency varies in one half of the rounds only: idle, for queues
// hide it under load, or under load, when its daemons run.
func TestJitterByLoad(t *testing.T) {
	tests := []struct {
		name string
		long func(s *result.Sample, k int) bool // k counts the node's samples
		want []string
		says string
	}{
		{
			"idle", func(s *result.Sample, _ int) bool { return !s.Load },
			[]string{"jitter: gpu-7"},
			"idle, in 4 of 4 rounds",
		},
		{
			"under load", func(s *result.Sample, _ int) bool { return s.Load },
			[]string{"jitter: gpu-7"},
			"under load, in 4 of 4 rounds",
		},
		{ // idle is what says it
			"always", func(*result.Sample, int) bool { return true },
			[]string{"jitter: gpu-7"},
			"idle, in 4 of 4 rounds",
		},
		// With half of its partners: the first two of four rounds.
		{"now and then", func(_ *result.Sample, k int) bool { return k < 4 }, nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(3) {
				w := newWorld(seed, 16, 1, 4)
				run := w.run(t)
				k := 0
				latencies(run, func(s *result.Sample, l *result.Latency) {
					if test.long(s, k) {
						longTail(l, 99)
					}
					k++
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

// TestTimeouts has a node with which packets are lost in latency measurements of 10,000 round
// trips. Each costs a timeout, which makes the tail long, or the longest round trip, but is no
// property of the host.
func TestTimeouts(t *testing.T) {
	tests := []struct {
		name       string
		timeouts   float64
		percentile int     // from which on the tail is long, 0 for none
		longest    float64 // µs
		want       []string
	}{
		{"a long tail", 0, 99, 0, []string{"jitter: gpu-7"}},
		{"a long tail, and few timeouts", 9, 99, 0, []string{"jitter: gpu-7"}},
		// More than a hundredth of the round trips.
		{"as many timeouts as a long tail takes", 101, 99, 0, nil},
		{"fewer, but not fewer than the last thousandth", 20, 99, 0, []string{"jitter: gpu-7"}},
		{"a longer end of the tail", 0, 999, 0, []string{"jitter: gpu-7"}},
		{"a longer end of the tail, and few timeouts", 9, 999, 0, []string{"jitter: gpu-7"}},
		{"as many timeouts as the end of a tail takes", 11, 999, 0, nil},
		{"a pause", 0, 0, 60_000, []string{"pauses: gpu-7"}},
		{"a timeout", 1, 0, 60_000, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(3) {
				w := newWorld(seed, 16, 2, 4)
				run := w.run(t)
				latencies(run, func(s *result.Sample, l *result.Latency) {
					if test.percentile > 0 {
						longTail(l, test.percentile)
					}
					l.Max = max(l.Max, test.longest)
					if test.timeouts > 0 {
						count(s, result.AtFrom, result.CounterTimeouts, test.timeouts)
					}
				})
				expect(t, Find(run, Options{}), test.want...)
			}
		})
	}
}

// TestLongPauses has a node that stands still so often that its 99th percentile is a pause: no host
// that only varies takes longer than a tick for one of a hundred messages.
func TestLongPauses(t *testing.T) {
	for _, c := range []struct {
		p99, longest float64
		want         string
	}{
		{9000, 50_000, "jitter: gpu-7"}, // the end of a long tail
		{11_000, 50_000, "pauses: gpu-7"},
		{100, 50_000, "pauses: gpu-7"}, // far apart from the tail
		{400, 50_000, "jitter: gpu-7"},
		{400, 4900, "jitter: gpu-7"},
	} {
		for seed := range uint64(3) {
			w := newWorld(seed, 16, 2, 4)
			run := w.run(t)
			latencies(run, func(_ *result.Sample, l *result.Latency) {
				l.P99, l.P999, l.Max = c.p99, max(2*c.p99, l.P999), c.longest
			})
			expect(t, Find(run, Options{}), c.want)
		}
	}
}

// TestPausesOfEmulation has an emulation that takes ten times as long as hardware does: its
// latencies are judged by those of the hardware.
func TestPausesOfEmulation(t *testing.T) {
	for _, c := range []struct {
		time, p99, longest float64
		want               []string
	}{
		{1, 0, 40_000, []string{"pauses: gpu-7"}},
		{0.1, 0, 40_000, nil},
		{0.1, 0, 60_000, []string{"pauses: gpu-7"}},
		{0.1, 90_000, 200_000, []string{"jitter: gpu-7"}},
		{0.1, 110_000, 200_000, []string{"pauses: gpu-7"}},
	} {
		w := newWorld(1, 16, 2, 4)
		run := w.run(t)
		run.Scale = &result.Scale{Label: "EMULATED", Rate: 1, Time: c.time}
		latencies(run, func(_ *result.Sample, l *result.Latency) {
			l.P99 = max(l.P99, c.p99)
			l.P999, l.Max = max(l.P999, l.P99), c.longest
		})
		expect(t, Find(run, Options{}), c.want...)
	}
}

// TestTimeoutsOfEitherEnd has what both ends count: each sends, so each may be the one that lost.
func TestTimeoutsOfEitherEnd(t *testing.T) {
	for _, c := range []struct {
		at   result.Side
		name string
	}{
		{result.AtFrom, result.CounterTimeouts},
		{result.AtTo, result.CounterTimeouts},
		{result.AtFrom, result.CounterRetransmits},
		{result.AtTo, result.CounterRetransmits},
		{result.AtFrom, result.CounterOutOfSeq},
		{result.AtTo, result.CounterOutOfSeq},
		{result.AtTo, result.CounterECN}, // marked, not lost
	} {
		w := newWorld(1, 16, 2, 4)
		run := w.run(t)
		latencies(run, func(s *result.Sample, l *result.Latency) {
			l.Max = 60_000
			count(s, c.at, c.name, 1)
		})
		if c.name == result.CounterECN {
			expect(t, Find(run, Options{}), "pauses: gpu-7")
			continue
		}
		expect(t, Find(run, Options{}))
	}
}

// TestPausesExplain has a host that pauses, and cards of it that are slow: all alike that it can't
// make send meanwhile, but neither more than its pauses cost nor what others write to it.
func TestPausesExplain(t *testing.T) {
	const pauses = "pauses: gpu-7"
	sends := func(card string) string { return "slow-send: gpu-7 " + card + " (what it sends)" }
	tests := []struct {
		name  string
		plant func(w *world)
		want  []string
	}{
		{"half of its cards", func(w *world) {
			w.tx[end(6, 0)], w.tx[end(6, 2)] = 0.6, 0.6
		}, []string{pauses}},
		{"three of its cards", func(w *world) {
			w.tx[end(6, 0)], w.tx[end(6, 1)], w.tx[end(6, 3)] = 0.6, 0.6, 0.6
		}, []string{pauses}},
		{
			"one of its cards", func(w *world) { w.tx[end(6, 1)] = 0.6 },
			[]string{pauses, sends("mlx5_1:1")},
		},
		{"one card, a little", func(w *world) { w.tx[end(6, 1)] = 0.85 }, []string{pauses}},
		{"too slow for pauses", func(w *world) {
			w.tx[end(6, 0)], w.tx[end(6, 2)] = 0.45, 0.45
		}, []string{pauses, sends("mlx5_0:1"), sends("mlx5_2:1")}},
		{
			"what they receive", func(w *world) { w.rx[end(6, 0)], w.rx[end(6, 2)] = 0.6, 0.6 },
			[]string{
				pauses, "slow-receive: gpu-7 mlx5_0:1 (what it receives)",
				"slow-receive: gpu-7 mlx5_2:1 (what it receives)",
			},
		},
		{ // one that sends less and one that receives less are not alike
			"one each way", func(w *world) { w.tx[end(6, 0)], w.rx[end(6, 2)] = 0.6, 0.6 },
			[]string{pauses, "slow-receive: gpu-7 mlx5_2:1 (what it receives)", sends("mlx5_0:1")},
		},
		{
			"half of its cards, and what another one receives", func(w *world) {
				w.tx[end(6, 0)], w.tx[end(6, 2)], w.rx[end(6, 1)] = 0.6, 0.6, 0.6
			},
			[]string{pauses, "slow-receive: gpu-7 mlx5_1:1 (what it receives)"},
		},
		{ // what it receives makes that one slow
			"one of its cards, and one that is slower to receive", func(w *world) {
				w.tx[end(6, 0)], w.tx[end(6, 2)], w.rx[end(6, 2)] = 0.6, 0.75, 0.5
			},
			[]string{pauses, sends("mlx5_0:1"), "slow: gpu-7 mlx5_2:1"},
		},
		{"another node's", func(w *world) {
			w.tx[end(8, 0)], w.tx[end(8, 2)] = 0.6, 0.6
		}, []string{
			pauses, "slow-send: gpu-9 mlx5_0:1 (what it sends)",
			"slow-send: gpu-9 mlx5_2:1 (what it sends)",
		}},
		{"all of its cards", func(w *world) {
			for r := range 4 {
				w.tx[end(6, r)], w.rx[end(6, r)] = 0.6, 0.6
			}
		}, []string{pauses}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(3) {
				w := newWorld(seed, 16, 4, 4)
				w.pauses[6] = 0.9
				test.plant(w)
				expect(t, Find(w.run(t), Options{}), test.want...)
			}
		})
	}
}

// TestJitterExplainsNoSlowCards has a host whose latency varies: it sends all the time, so slow
// cards are slow for another reason.
func TestJitterExplainsNoSlowCards(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(seed, 16, 4, 4)
		w.tail[6], w.tx[end(6, 0)], w.tx[end(6, 2)] = 4, 0.6, 0.6
		expect(t, Find(w.run(t), Options{}), "jitter: gpu-7", "slow-send: gpu-7 mlx5_0:1 (what it sends)",
			"slow-send: gpu-7 mlx5_2:1 (what it sends)")
	}
}

// TestJitterOfFaultyCards has nodes with a fault of their only card, and a long tail. A setting
// that differs makes no latency long; a bad cable does.
func TestJitterOfFaultyCards(t *testing.T) {
	const card, jitter = "gpu-7 mlx5_0:1", "jitter: gpu-7"
	tests := []struct {
		name  string
		plant func(w *world)
		want  []string
	}{
		{"MTU", func(w *world) { w.fact(6, 0, result.FactMTU, "1024") }, []string{jitter, "mtu: " + card}},
		{"P_Key", func(w *world) { w.fact(6, 0, result.FactPKey, "0x8001") }, []string{jitter, "pkey: " + card}},
		{
			"type of GID", func(w *world) { w.fact(6, 0, result.FactGIDType, "RoCE v1") },
			[]string{"gid-type: " + card, jitter},
		},
		{
			"firmware", func(w *world) { w.fact(6, 0, result.FactFirmware, "28.39.1002") },
			[]string{"firmware: " + card, jitter},
		},
		// Other priorities queue elsewhere.
		{"traffic class", func(w *world) { w.fact(6, 0, result.FactClass, "0") }, []string{"traffic-class: " + card}},
		{"loss", func(w *world) { w.lossTx[end(6, 0)], w.lossRx[end(6, 0)] = 1e-4, 1e-4 }, []string{"loss: " + card}},
		{"flapping", func(w *world) { w.downs[end(6, 0)] = 0.4 }, []string{"flapping: " + card}},
		{"nothing", func(*world) {}, []string{jitter}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(3) {
				w := newWorld(seed, 16, 1, 4)
				w.tail[6] = 4
				test.plant(w)
				expect(t, Find(w.run(t), Options{}), test.want...)
			}
		})
	}
}
