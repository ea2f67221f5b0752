package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/result"
)

// brief returns what and where, in the order of the report.
func brief(r Report) []string {
	var out []string
	for _, v := range r.Verdicts {
		place, _, _ := strings.Cut(v.Where.Name, ", about")
		out = append(out, string(v.Cause)+": "+place)
	}
	slices.Sort(out)
	return out
}

func dump(r Report) string {
	var b strings.Builder
	for _, v := range r.Verdicts {
		fmt.Fprintf(&b, "%s: %s (%.2f, confidence %.2f): %s\n", v.Cause, v.Where, v.Severity, v.Confidence, v.Words)
		for _, e := range v.Evidence {
			fmt.Fprintf(&b, "    %s %v\n", e.Text, e.Samples)
		}
	}
	for _, g := range r.NotJudged {
		fmt.Fprintf(&b, "not judged: %s: %s\n", g.What, g.Why)
	}
	return b.String()
}

func TestHealthy(t *testing.T) {
	for _, c := range []struct{ nodes, rails, perLeaf int }{
		{2, 1, 0},
		{2, 8, 0},
		{3, 1, 0},
		{3, 8, 0},
		{4, 2, 2},
		{5, 8, 0},
		{7, 1, 0},
		{8, 8, 4},
		{16, 4, 4},
		{33, 8, 16},
		{64, 8, 16},
		{200, 2, 32},
	} {
		for seed := range uint64(6) {
			w := newWorld(seed, c.nodes, c.rails, c.perLeaf)
			w.noise = 0.01 * float64(1+seed%3)
			w.cardNoise = []float64{0.005, 0.01, 0.02, 0.03}[seed%4]
			if r := Find(w.run(t), Options{}); len(r.Verdicts) > 0 {
				t.Errorf("%d nodes, %d rails, seed %d:\n%s", c.nodes, c.rails, seed, dump(r))
			}
		}
	}
}

func (w *world) fact(node, rail int, name, value string) {
	w.nodes[node].Cards[rail].Facts[name] = value
}

func TestPlanted(t *testing.T) {
	tests := []struct {
		name  string
		plant func(*world)
		want  []string
	}{
		{"slow card", func(w *world) { w.tx[end(4, 2)], w.rx[end(4, 2)] = 0.6, 0.6 }, []string{"slow: gpu-5 mlx5_2:1"}},
		{
			"little slower", func(w *world) { w.tx[end(4, 2)], w.rx[end(4, 2)] = 0.88, 0.88 },
			[]string{"slow: gpu-5 mlx5_2:1"},
		},
		{"slow sender", func(w *world) { w.tx[end(4, 2)] = 0.7 }, []string{"slow-send: gpu-5 mlx5_2:1 (what it " +
			"sends)"}},
		{
			"slow receiver", func(w *world) { w.rx[end(4, 2)] = 0.7 },
			[]string{"slow-receive: gpu-5 mlx5_2:1 (what it receives)"},
		},
		{"slow node", func(w *world) {
			for r := range 4 {
				w.tx[end(3, r)], w.rx[end(3, r)] = 0.7, 0.7
			}
		}, []string{"slow-node: gpu-4"}},
		{
			"two slow cards of a node", func(w *world) { w.tx[end(3, 0)], w.rx[end(3, 3)] = 0.7, 0.5 },
			[]string{"slow-receive: gpu-4 mlx5_3:1 (what it receives)", "slow-send: gpu-4 mlx5_0:1 (what it sends)"},
		},
		{"half the slot", func(w *world) {
			w.tx[end(4, 2)], w.rx[end(4, 2)] = 0.6, 0.6
			w.fact(4, 2, result.FactPCIe, "32.0 GT/s x8")
		}, []string{"pcie: gpu-5 mlx5_2:1"}},
		{
			"lossy cable", func(w *world) { w.lossTx[end(4, 2)], w.lossRx[end(4, 2)] = 1e-4, 1e-4 },
			[]string{"loss: gpu-5 mlx5_2:1"},
		},
		{
			"loses what it sends", func(w *world) { w.lossTx[end(4, 2)] = 1e-4 },
			[]string{"loss-send: gpu-5 mlx5_2:1 (what it sends)"},
		},
		{
			"loses what it receives", func(w *world) { w.lossRx[end(4, 2)] = 1e-5 },
			[]string{"loss-receive: gpu-5 mlx5_2:1 (what it receives)"},
		},
		{
			"ICRC errors", func(w *world) { w.icrc[end(4, 2)] = 1e-5; w.lossTx[end(4, 2)] = 1e-5 },
			[]string{"bit-errors: gpu-5 mlx5_2:1 (what it sends)"},
		},
		{"symbol errors", func(w *world) { w.symbol[end(4, 2)] = 500 }, []string{"bit-errors: gpu-5 mlx5_2:1"}},
		{"flapping", func(w *world) { w.downs[end(4, 2)] = 0.4 }, []string{"flapping: gpu-5 mlx5_2:1"}},
		{"dead card", func(w *world) { w.dead[end(4, 2)] = true }, []string{"dead-card: gpu-5 mlx5_2:1"}},
		{"port down", func(w *world) {
			w.dead[end(4, 2)] = true
			w.fact(4, 2, result.FactState, "DOWN")
		}, []string{"dead-card: gpu-5 mlx5_2:1"}},
		{"absent node", func(w *world) {
			w.nodes[4].State = result.NodeAbsent
			for r := range 4 {
				w.dead[end(4, r)] = true
			}
		}, []string{"absent: gpu-5"}},
		{"lost node", func(w *world) { w.lostAt[4] = 3 }, []string{"lost: gpu-5"}},
		{"jitter", func(w *world) { w.tail[6] = 4 }, []string{"jitter: gpu-7"}},
		{"pauses", func(w *world) { w.pauses[6] = 0.8 }, []string{"pauses: gpu-7"}},
		{"MTU", func(w *world) {
			w.fact(4, 2, result.FactMTU, "1024")
			w.tx[end(4, 2)], w.rx[end(4, 2)] = 0.8, 0.8
		}, []string{"mtu: gpu-5 mlx5_2:1"}},
		{
			"no GID", func(w *world) { w.fact(4, 2, result.FactGID, ""); w.dead[end(4, 2)] = true },
			[]string{"no-gid: gpu-5 mlx5_2:1"},
		},
		{
			"type of GID", func(w *world) { w.fact(4, 2, result.FactGIDType, "RoCE v1"); w.dead[end(4, 2)] = true },
			[]string{"gid-type: gpu-5 mlx5_2:1"},
		},
		{
			"P_Key", func(w *world) { w.fact(4, 2, result.FactPKey, "0x8001"); w.dead[end(4, 2)] = true },
			[]string{"pkey: gpu-5 mlx5_2:1"},
		},
		{"limited member", func(w *world) { w.fact(4, 2, result.FactPKey, "0x7fff") }, nil},
		{"rails by subnet", func(w *world) {
			w.fact(4, 1, result.FactSubnet, "10.2.0.0/16")
			w.fact(4, 2, result.FactSubnet, "10.1.0.0/16")
			w.dead[end(4, 1)], w.dead[end(4, 2)] = true, true
		}, []string{"rails: gpu-5"}},
		{
			"rails by reach", func(w *world) { w.dead[end(4, 1)], w.dead[end(4, 2)] = true, true },
			[]string{"rails: gpu-5"},
		},
		{
			"rails by latency", func(w *world) { w.detour[end(4, 1)], w.detour[end(4, 2)] = 2, 2 },
			[]string{"rails: gpu-5"},
		},
		{"half the uplinks", func(w *world) { w.leafShare["leaf-2"] = 0.5 }, []string{"leaf-uplinks: leaf leaf-2"}},
		{"a bad uplink", func(w *world) { w.badUplink["leaf-2"] = 8 }, []string{"uplink: leaf leaf-2"}},
		{"oversubscribed", func(w *world) { w.leafShare[""] = 0.5 }, []string{"oversubscribed: the fabric"}},
		{"no PFC", func(w *world) { w.noPFC[""] = true }, []string{"incast: the fabric"}},
		{
			"no PFC at a rail of a leaf", func(w *world) { w.noPFC["leaf-2 rail 1"] = true },
			[]string{"incast: leaf leaf-2 rail 1"},
		},
		{"no PFC explains uplinks", func(w *world) {
			w.noPFC["leaf-2"], w.badUplink["leaf-2"] = true, 8
		}, []string{"incast: leaf leaf-2"}},
		{"MTU of a switch port", func(w *world) { w.smallOnly[end(4, 2)] = true }, []string{"mtu: gpu-5 mlx5_2:1"}},
		{"no PFC at a leaf", func(w *world) { w.noPFC["leaf-2"] = true }, []string{"incast: leaf leaf-2"}},
		{
			"traffic class", func(w *world) { w.fact(4, 2, result.FactClass, "0") },
			[]string{"traffic-class: gpu-5 mlx5_2:1"},
		},
		{
			"firmware", func(w *world) { w.fact(4, 2, result.FactFirmware, "28.39.1002") },
			[]string{"firmware: gpu-5 mlx5_2:1"},
		},
		{"clock", func(w *world) { w.nodes[4].Clock = 5e9 }, []string{"clock: gpu-5"}},
		{"pauses that cost a little", func(w *world) {
			w.pauses[6] = 0.9
			for r := range 4 {
				w.tx[end(6, r)], w.rx[end(6, r)] = 0.75, 0.75
			}
		}, []string{"pauses: gpu-7"}},
		{"a slow card of a host that pauses", func(w *world) {
			w.pauses[6] = 0.9
			w.tx[end(6, 1)] = 0.6
		}, []string{"pauses: gpu-7", "slow-send: gpu-7 mlx5_1:1 (what it sends)"}},
		{
			"two faults of a node", func(w *world) { w.tx[end(6, 0)] = 0.5; w.tail[6] = 5 },
			[]string{"jitter: gpu-7", "slow-send: gpu-7 mlx5_0:1 (what it sends)"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(3) {
				w := newWorld(seed, 16, 4, 4)
				test.plant(w)
				r := Find(w.run(t), Options{})
				if got := brief(r); !slices.Equal(got, test.want) {
					t.Fatalf("seed %d: got %q, want %q\n%s", seed, got, test.want, dump(r))
				}
			}
		})
	}
}

// TestUnmeasured has a card that its worker could not use for reasons of its own process: that is
// no fault of the card, and nothing else is said of it.
func TestUnmeasured(t *testing.T) {
	for _, code := range []string{"busy", "permission", "not-supported"} {
		run := newWorld(1, 16, 1, 4).run(t)
		run.Nodes[5].Cards[0].Failure = &result.Failure{Step: result.StepOpen, Code: code, Text: "because"}
		r := Find(run, Options{})
		expect(t, r)
		notJudged(t, r, run.Name(end(5, 0)), "no fault of the card ("+code+"): because")
	}
}
