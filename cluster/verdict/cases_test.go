package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// expect fails the test if the report has other verdicts.
func expect(t *testing.T, r Report, want ...string) {
	t.Helper()
	if got := brief(r); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q\n%s", got, want, dump(r))
	}
}

func TestTwoNodes(t *testing.T) {
	const pair = "gpu-1 mlx5_2:1 or gpu-2 mlx5_2:1 or the cable between"
	t.Run("cable", func(t *testing.T) {
		w := newWorld(1, 2, 8, 0)
		w.tx[end(1, 2)], w.rx[end(1, 2)] = 0.6, 0.6
		r := Find(w.run(t), Options{})
		expect(t, r, "slow: "+pair)
		if c := r.Verdicts[0].Confidence; c > 0.5 {
			t.Errorf("confidence %v of one of two cards", c)
		}
	})
	t.Run("loopback", func(t *testing.T) {
		w := newWorld(1, 2, 8, 0)
		w.tx[end(1, 2)], w.rx[end(1, 2)], w.loop[end(1, 2)] = 0.6, 0.6, 0.6
		expect(t, Find(w.run(t), Options{}), "slow: gpu-2 mlx5_2:1")
	})
	t.Run("direction", func(t *testing.T) {
		w := newWorld(1, 2, 8, 0)
		w.rx[end(1, 2)], w.loop[end(1, 2)] = 0.6, 0.6
		expect(t, Find(w.run(t), Options{}), "slow-receive: gpu-2 mlx5_2:1 (what it receives)")
	})
	t.Run("loss", func(t *testing.T) {
		w := newWorld(1, 2, 8, 0)
		w.lossTx[end(0, 2)] = 1e-4
		expect(t, Find(w.run(t), Options{}), "loss: "+pair)
	})
	t.Run("one rail against its line rate", func(t *testing.T) {
		w := newWorld(1, 2, 1, 0)
		w.tx[end(0, 0)], w.rx[end(0, 0)] = 0.5, 0.5
		expect(t, Find(w.run(t), Options{}), "slow: gpu-1 mlx5_0:1 or gpu-2 mlx5_0:1 or the cable between")
	})
	t.Run("node", func(t *testing.T) {
		w := newWorld(1, 2, 8, 0)
		for r := range 8 {
			w.tx[end(1, r)], w.rx[end(1, r)] = 0.6, 0.6
		}
		expect(t, Find(w.run(t), Options{}), "slow-node: gpu-1, gpu-2")
	})
	t.Run("MTU", func(t *testing.T) { // no majority: the smaller one is the likely one
		w := newWorld(1, 2, 1, 0)
		w.fact(0, 0, result.FactMTU, "1024")
		r := Find(w.run(t), Options{})
		expect(t, r, "mtu: gpu-1 mlx5_0:1")
		if c := r.Verdicts[0].Confidence; c > 0.6 {
			t.Errorf("confidence %v without a majority", c)
		}
	})
}

func TestSmall(t *testing.T) {
	for _, n := range []int{3, 4, 5} {
		w := newWorld(uint64(n), n, 4, 0)
		w.tx[end(1, 2)] = 0.6
		w.lossRx[end(0, 1)] = 1e-4
		w.dead[end(2, 3)] = true
		expect(t, Find(w.run(t), Options{}), "dead-card: gpu-3 mlx5_3:1",
			"loss-receive: gpu-1 mlx5_1:1 (what it receives)", "slow-send: gpu-2 mlx5_2:1 (what it sends)")
	}
}

func TestMissingCard(t *testing.T) {
	w := newWorld(1, 9, 4, 0)
	w.cluster.Nodes[3].Rails = w.cluster.Nodes[3].Rails[:3]
	w.nodes[3].Cards = w.nodes[3].Cards[:3]
	w.tx[end(4, 3)] = 0.6
	expect(t, Find(w.run(t), Options{}), "missing-card: gpu-4", "slow-send: gpu-5 mlx5_3:1 (what it sends)")
}

// TestHalfBad breaks the majority: those that reach line rate are the reference then.
func TestHalfBad(t *testing.T) {
	w := newWorld(1, 20, 1, 0)
	var want []string
	for i := range 11 {
		w.tx[end(i, 0)], w.rx[end(i, 0)] = 0.6, 0.6
		want = append(want, "slow: "+w.cluster.Nodes[i].Name+" mlx5_0:1")
	}
	slices.Sort(want)
	expect(t, Find(w.run(t), Options{}), want...)
}

func TestManyBadNodes(t *testing.T) {
	w := newWorld(1, 60, 2, 0)
	var want []string
	for i := 0; i < 60; i += 10 {
		w.tx[end(i, 1)] = 0.8
		want = append(want, "slow-send: "+w.cluster.Nodes[i].Name+" mlx5_1:1 (what it sends)")
	}
	slices.Sort(want)
	expect(t, Find(w.run(t), Options{}), want...)
}

// TestMixedModels has nodes with slower cards of another model: they are slow among their own only.
func TestMixedModels(t *testing.T) {
	for seed := range uint64(4) {
		w := newWorld(seed, 24, 2, 0)
		for i := range 8 {
			for r := range 2 {
				w.cluster.Nodes[i].Rails[r].Gbps = 200
				w.fact(i, r, result.FactBoard, "MT_0223")
				w.fact(i, r, result.FactRate, "200")
				w.fact(i, r, result.FactPCIe, "16.0 GT/s x16")
				w.fact(i, r, result.FactFirmware, "20.38.1002")
			}
		}
		expect(t, Find(w.run(t), Options{}))
		w.rx[end(2, 1)] = 0.7
		expect(t, Find(w.run(t), Options{}), "slow-receive: gpu-3 mlx5_1:1 (what it receives)")
	}
}

// TestRateOfPort has one link that has trained to half of its rate.
func TestRateOfPort(t *testing.T) {
	w := newWorld(1, 12, 2, 0)
	w.fact(3, 1, result.FactRate, "200")
	w.tx[end(3, 1)], w.rx[end(3, 1)] = 0.5, 0.5
	r := Find(w.run(t), Options{})
	expect(t, r, "slow: gpu-4 mlx5_1:1")
	if !strings.Contains(r.Verdicts[0].Words, "200 instead of 400") {
		t.Errorf("the verdict does not name the rate: %s", r.Verdicts[0].Words)
	}
}

// TestRepeat has a card that was slow in the plan's rounds, and not with other partners.
func TestRepeat(t *testing.T) {
	w := newWorld(1, 8, 1, 0)
	w.tx[end(2, 0)] = 0.6
	run := w.run(t)
	expect(t, Find(run, Options{}), "slow-send: gpu-3 mlx5_0:1 (what it sends)")
	before := Find(run, Options{}).Verdicts[0].Confidence

	suspects := Suspects(run, Options{})
	if want := []Suspect{{Node: 2, Peer: -1, Cause: CauseSlowSend, Stage: plan.StagePairs}}; !slices.Equal(suspects,
		want) {
		t.Errorf("Suspects = %+v, want %+v", suspects, want)
	}
	good := Good(run)
	if want := []int32{0, 1, 3, 4, 5, 6, 7}; !slices.Equal(good, want) {
		t.Errorf("Good = %v, want %v", good, want)
	}

	w.retest = [][]plan.Pair{{{A: 2, B: 5}}, {{A: 2, B: 7}}}
	confirmed := w.run(t)
	if c := Find(confirmed, Options{}).Verdicts[0].Confidence; c <= before {
		t.Errorf("confidence %v with repeats that agree, %v without", c, before)
	}

	for i := range confirmed.Samples {
		if s := &confirmed.Samples[i]; s.Attempt > 0 && s.Gbps > 0 {
			s.Gbps = 389
		}
	}
	r := Find(confirmed, Options{})
	expect(t, r)
	if !slices.ContainsFunc(r.NotJudged, func(g Gap) bool { return g.What == "gpu-3 mlx5_0:1" }) {
		t.Errorf("the report does not say that the card was slow at first:\n%s", dump(r))
	}
}

func TestUnfinished(t *testing.T) {
	w := newWorld(1, 8, 2, 4)
	run := w.run(t)
	run.Stages[2].Done = 1
	run.Samples = slices.DeleteFunc(run.Samples, func(s result.Sample) bool {
		return s.Stage > 2 || s.Stage == 2 && s.Round > 0
	})
	run.Stages = run.Stages[:3]
	r := Find(run, Options{})
	expect(t, r)
	for _, what := range []string{"stage pairs", "stages incast, permutation, jitter, collective"} {
		if !slices.ContainsFunc(r.NotJudged, func(g Gap) bool { return g.What == what }) {
			t.Errorf("%q is not among what was not judged:\n%s", what, dump(r))
		}
	}
	expect(t, Find(&result.Run{}, Options{}))
}

// TestImpact has the model of a ring: as slow as its slowest link.
func TestImpact(t *testing.T) {
	w := newWorld(1, 12, 2, 0)
	w.noise, w.cardNoise = 0.001, 0.001
	w.tx[end(2, 0)] = 0.5
	w.fact(5, 1, result.FactFirmware, "1.0")
	r := Find(w.run(t), Options{})
	near := func(got, want float64) bool { return math.Abs(got-want) < 0.01*want }
	const healthy = 400 * 0.975 / 8 // GB/s
	if i := r.Verdicts[0].Impact; !near(i.Without, healthy) || !near(i.With, healthy/2) {
		t.Errorf("impact of a card with half the rate: %+v", i)
	}
	if i := r.Verdicts[1].Impact; !near(i.With, healthy) {
		t.Errorf("impact of firmware: %+v", i)
	}
	if i := r.Impact; !near(i.With, healthy/2) || !near(i.Without, healthy) {
		t.Errorf("impact of all: %+v", i)
	}
}

// TestTakeOut has names that a shell would take apart.
func TestTakeOut(t *testing.T) {
	w := newWorld(1, 8, 2, 0)
	w.cluster.Nodes[2].Name = "gpu 3;reboot"
	w.tx[end(2, 1)] = 0.5
	r := Find(w.run(t), Options{})
	want := []string{
		"NCCL_IB_HCA='^=mlx5_1'",
		"scontrol update NodeName='gpu 3;reboot' State=DRAIN Reason='rdmactl: slow-send gpu 3;reboot mlx5_1:1 " +
			"(what it sends)'",
		"kubectl cordon 'gpu 3;reboot'",
		"kubectl drain --ignore-daemonsets 'gpu 3;reboot'",
	}
	if got := r.Verdicts[0].TakeOut; !slices.Equal(got, want) {
		t.Errorf("TakeOut = %q, want %q", got, want)
	}
}

// TestRepeatedJitter has repeats, all of which are of the suspect: they are no reference.
func TestRepeatedJitter(t *testing.T) {
	w := newWorld(1, 3, 8, 0)
	w.tail[2] = 5
	w.retest = [][]plan.Pair{{{A: 0, B: 2}}, {{A: 1, B: 2}}}
	expect(t, Find(w.run(t), Options{}), "jitter: gpu-3")
}

// TestFewGoodPartners has one good partner of three for each good card.
func TestFewGoodPartners(t *testing.T) {
	w := newWorld(1, 4, 8, 0)
	for r := range 8 {
		w.tx[end(0, r)], w.rx[end(0, r)] = 0.7, 0.7
		w.tx[end(1, r)], w.rx[end(1, r)] = 0.5, 0.5
	}
	expect(t, Find(w.run(t), Options{}), "slow-node: gpu-1", "slow-node: gpu-2")
}

func TestBaseline(t *testing.T) {
	w := newWorld(1, 3, 1, 0)
	before := w.run(t)
	for i := range 3 { // all alike, so that no peer stands out
		w.tx[end(i, 0)], w.rx[end(i, 0)] = 0.85, 0.85
	}
	r := Find(w.run(t), Options{Baseline: before})
	expect(t, r, "slow: gpu-1 mlx5_0:1", "slow: gpu-2 mlx5_0:1", "slow: gpu-3 mlx5_0:1")
	expect(t, Find(before, Options{Baseline: before}))
}

// TestHashing has a fabric in which hashing alone makes some source ports slower, at all leaves.
func TestHashing(t *testing.T) {
	w := newWorld(1, 32, 4, 8)
	w.badUplink[""] = 10
	r := Find(w.run(t), Options{})
	for _, v := range r.Verdicts {
		if v.Cause == CauseUplink {
			t.Errorf("accused: %s", v.Where)
		}
	}
}

// TestCollisions has two leaves, and flows that halve each other when they are hashed onto one
// uplink.
func TestCollisions(t *testing.T) {
	for _, perLeaf := range []int{4, 8} {
		w := newWorld(1, 16, 4, perLeaf)
		run := w.run(t)
		for i := range run.Samples {
			s := &run.Samples[i]
			if s.Gbps == 0 || run.Stages[s.Stage].Name != plan.StagePairs {
				continue
			}
			flows := []float32{s.Gbps / 4, s.Gbps / 4, s.Gbps / 4, s.Gbps / 4}
			if w.leaf(s.From.Node) != w.leaf(s.To.Node) && w.rng.IntN(4) == 0 {
				flows[w.rng.IntN(4)] *= 0.5
			}
			s.Detail = &result.Detail{Flows: flows}
		}
		expect(t, Find(run, Options{}))
	}
}

// TestRoutedSubnets has a subnet for each leaf and rail, and a leaf with a single node.
func TestRoutedSubnets(t *testing.T) {
	w := newWorld(1, 9, 4, 8)
	for i := range 9 {
		for r := range 4 {
			w.fact(i, r, result.FactSubnet, fmt.Sprintf("10.%d.%d.0/24", r, i/8))
		}
	}
	expect(t, Find(w.run(t), Options{}))
	w.fact(4, 1, result.FactSubnet, "10.2.0.0/24")
	w.fact(4, 2, result.FactSubnet, "10.1.0.0/24")
	expect(t, Find(w.run(t), Options{}), "rails: gpu-5")
}

// TestEcho has pairs whose slow direction slows down the other one, too: traffic of one way tells.
func TestEcho(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(seed, 16, 4, 4)
		w.echo, w.rx[end(4, 2)], w.tx[end(7, 1)] = true, 0.5, 0.7
		w.tx[end(10, 0)], w.rx[end(10, 0)] = 0.6, 0.6
		expect(t, Find(w.run(t), Options{}), "slow-receive: gpu-5 mlx5_2:1 (what it receives)",
			"slow-send: gpu-8 mlx5_1:1 (what it sends)", "slow: gpu-11 mlx5_0:1")
	}
}

// TestOrder checks that the order of samples doesn't matter.
func TestOrder(t *testing.T) {
	w := newWorld(1, 16, 4, 4)
	w.tx[end(4, 2)], w.lossRx[end(7, 1)], w.tail[9] = 0.6, 1e-4, 4
	run := w.run(t)
	want := brief(Find(run, Options{}))
	w.rng.Shuffle(len(run.Samples), func(i, j int) {
		run.Samples[i], run.Samples[j] = run.Samples[j], run.Samples[i]
	})
	if got := brief(Find(run, Options{})); !slices.Equal(got, want) {
		t.Errorf("got %q for shuffled samples, want %q", got, want)
	}
}

// TestSharedUplinks has flows that share uplinks, so that each round has other rates.
func TestSharedUplinks(t *testing.T) {
	for _, c := range []struct{ nodes, perLeaf int }{{16, 4}, {32, 8}, {64, 16}, {200, 32}} {
		for seed := range uint64(3) {
			w := newWorld(seed, c.nodes, 4, c.perLeaf)
			w.uplinks["leaf-2"] = 0.5
			expect(t, Find(w.run(t), Options{}), "leaf-uplinks: leaf leaf-2")
			w = newWorld(seed, c.nodes, 4, c.perLeaf)
			w.uplinks[""] = 0.5
			expect(t, Find(w.run(t), Options{}), "oversubscribed: the fabric")
			w.uplinks[""] = 1 // as many as there are nodes
			expect(t, Find(w.run(t), Options{}))
		}
	}
}

// TestAbsentNext checks that a node is looked at in its rack only if nothing says why its worker
// didn't start.
func TestAbsentNext(t *testing.T) {
	for cause, want := range map[string]string{
		"": "ipmitool", "start worker on gpu-5: unknown host name": "kept its worker from starting",
	} {
		w := newWorld(1, 8, 1, 0)
		w.nodes[4].State, w.nodes[4].Cause = result.NodeAbsent, cause
		w.dead[end(4, 0)] = true
		list := Find(w.run(t), Options{}).Verdicts
		if len(list) != 1 || !strings.Contains(list[0].Next, want) ||
			!strings.Contains(list[0].Evidence[0].Text, cause) {
			t.Errorf("%q: %+v, want next step %q", cause, list, want)
		}
	}
}

// TestNoCardOfRail names the node that has no card of a rail of its peers. With two nodes nothing
// says which is the exception, and a rail of half of the nodes is no rule.
func TestNoCardOfRail(t *testing.T) {
	without := func(nodes int, missing ...int) *result.Run {
		w := newWorld(1, nodes, 2, 0)
		for _, n := range missing {
			w.dead[end(n, 1)] = true
		}
		run := w.run(t)
		for _, n := range missing {
			run.Cluster.Nodes[n].Rails = run.Cluster.Nodes[n].Rails[:1]
			run.Nodes[n].Cards = run.Nodes[n].Cards[:1]
		}
		run.Samples = slices.DeleteFunc(run.Samples, func(s result.Sample) bool {
			return s.From.Rail == 1 && slices.Contains(missing, int(s.From.Node)) ||
				s.To.Rail == 1 && slices.Contains(missing, int(s.To.Node))
		})
		return run
	}
	r := Find(without(3, 1), Options{})
	expect(t, r, "missing-card: gpu-2")
	if v := r.Verdicts[0]; v.Words != "it has no card of rail 1" || !slices.Equal(v.Where.Rails, []int{1}) ||
		v.Evidence[0].Text != "2 of 3 nodes have a card of rail 1" || !strings.Contains(v.Next, "rdmactl detect") {
		t.Errorf("%+v", v)
	}
	r = Find(without(2, 1), Options{})
	expect(t, r)
	if !slices.Contains(r.NotJudged, Gap{"gpu-2", "it has no card of rail 1"}) {
		t.Errorf("not judged: %v", r.NotJudged)
	}
	expect(t, Find(without(6, 1, 2, 3), Options{}))
}

// TestFailedCollective doesn't take a run for healthy in which an all-reduce failed.
func TestFailedCollective(t *testing.T) {
	run := newWorld(1, 4, 2, 0).run(t)
	run.Ended = run.Started.Add(1)
	if !run.Complete() {
		t.Fatal("a run without failures is not complete")
	}
	run.Collectives = []result.Collective{{
		Algorithm: "ring", Rail: 1, Failure: &result.Failure{Text: "step 4 of 4: not finished after 1m0s"},
	}}
	want := Gap{"all-reduce of rail 1", "the ring failed: step 4 of 4: not finished after 1m0s"}
	if r := Find(run, Options{}); run.Complete() || !slices.Contains(r.NotJudged, want) {
		t.Errorf("complete %v, not judged %v", run.Complete(), r.NotJudged)
	}
}

// TestLostRound counts the rounds of a stage from 1, as the leader's notes do.
func TestLostRound(t *testing.T) {
	w := newWorld(1, 8, 1, 0)
	w.lostAt[4] = 3
	list := Find(w.run(t), Options{}).Verdicts
	if len(list) != 1 || list[0].Words != "it vanished in round 4 of the stage pairs" {
		t.Errorf("%+v", list)
	}
}

// TestFailedPair doesn't take a pair for measured that has failed each time, even if that is too
// little for a verdict.
func TestFailedPair(t *testing.T) {
	run := newWorld(1, 4, 2, 0).run(t)
	run.Ended = run.Started.Add(1)
	s := run.Samples[len(run.Samples)-1]
	failed := s
	failed.Detail = &result.Detail{Failure: &result.Failure{Code: "flushed", Text: "work request flushed"}}
	run.Samples = append(run.Samples, failed)
	if !run.Measured() {
		t.Error("a pair that has failed once is not measured, though it was before")
	}
	run.Samples = slices.DeleteFunc(run.Samples, func(x result.Sample) bool {
		return x.Stage == s.Stage && x.From == s.From && x.To == s.To && (x.Detail == nil || x.Detail.Failure == nil)
	})
	if run.Measured() {
		t.Error("a pair is measured that has failed each time")
	}
}
