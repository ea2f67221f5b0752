package leader_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/worker"
)

// TestGentle measures with a tenth of the cards' rate of 100 Mb/s: each direction of a pair, and
// each sender of an incast, sends 10 Mb/s and not more.
func TestGentle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := fleetOf(t, newRig(t, 3, 1))
		p, err := plan.New(f.Cluster(), plan.Options{Step: time.Second, Flows: 2, Gentle: 10})
		if err != nil {
			t.Fatal(err)
		}
		for s := range p.Stages {
			if s.Name == plan.StageCollective {
				t.Error("a gentle plan has a stage of all-reduce, which knows no limit")
			}
		}
		for _, stage := range []plan.Name{plan.StageLoopback, plan.StagePairs, plan.StageIncast} {
			out, err := f.Measure(t.Context(), task(p, stage))
			if err != nil || len(out.Samples) == 0 {
				t.Fatalf("%s: %+v, %v", stage, out, err)
			}
			for _, s := range out.Samples {
				if s.Detail != nil && s.Detail.Failure != nil || s.Gbps < 0.0098 || s.Gbps > 0.0102 {
					t.Errorf("%s: %v Gb/s, %+v, want 0.01", stage, s.Gbps, s.Detail)
				}
			}
		}
	})
}

// TestGentleSlowest checks that the slower card of a pair decides, and what a limit below a message
// a second leaves: the eight messages that are sent at once, in no more time than was asked for.
func TestGentleSlowest(t *testing.T) {
	for _, tt := range []struct {
		percent, second float64 // second: rate of node 1 in Gb/s as its driver tells it
		want            float64 // Gb/s
	}{
		{10, 0.05, 0.005},
		{0.001, rigBandwidth / 1e9, 8 * rigMessage * 8 / 1e9},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 2, 1)
			r.links[1] = rated{r.links[1], tt.second}
			f, _ := fleetOf(t, r)
			p, err := plan.New(f.Cluster(), plan.Options{Step: time.Second, Flows: 2, Gentle: tt.percent})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			out, err := f.Measure(t.Context(), task(p, plan.StagePairs))
			if err != nil || len(out.Samples) != 2 {
				t.Fatalf("%+v, %v", out, err)
			}
			for _, s := range out.Samples {
				if got := float64(s.Gbps); got < 0.98*tt.want || got > 1.02*tt.want {
					t.Errorf("%g %%: %g Gb/s, want %g", tt.percent, got, tt.want)
				}
			}
			if took := time.Since(began); took > 1100*time.Millisecond {
				t.Errorf("%g %%: a second took %v", tt.percent, took)
			}
		})
	}
}

// rated is a worker whose cards have another rate.
type rated struct {
	leader.Link
	gbps float64
}

// Do changes the rate in a survey.
func (l rated) Do(ctx context.Context, c protocol.Command) (protocol.Reply, error) {
	r, err := l.Link.Do(ctx, c)
	for i := range r.Rails {
		r.Rails[i].Gbps = l.gbps
	}
	return r, err
}

// used returns a worker of one card with the traffic that it sees.
func used(name string, gbps float64, netdevRate string, traffic *result.Traffic) leader.Link {
	card := worker.Card{Name: "mlx5_0", Gbps: gbps, Failure: &result.Failure{Step: result.StepOpen, Code: "other"}}
	if netdevRate != "" {
		card.Facts = map[string]string{result.FactNetdevRate: netdevRate}
	}
	card.Traffic = func(context.Context) (result.Traffic, error) {
		if traffic == nil {
			return result.Traffic{}, errors.New("no counter")
		}
		return *traffic, nil
	}
	return direct{worker.New(worker.Config{Node: worker.Node{Name: name, Cards: []worker.Card{card}}})}
}

// TestUse tells cards that carry more than a hundredth of their rate, in one direction at least.
func TestUse(t *testing.T) {
	links := []leader.Link{
		used("idle", 400, "", &result.Traffic{Sent: 3.9, Received: 3.9}),
		used("sends", 400, "", &result.Traffic{Sent: 4.1}),
		used("receives", 400, "", &result.Traffic{Received: 390}),
		used("software", 0, "10", &result.Traffic{Sent: 0.09}),
		used("software-busy", 0, "10", &result.Traffic{Sent: 0.11}),
		used("unknown-rate", 0, "", &result.Traffic{Sent: 0.11}),
		used("unseen", 400, "", nil),
	}
	f, left, err := leader.NewFleet(t.Context(), leader.FleetConfig{Links: links})
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	use := f.Use()
	want := []string{
		"receives mlx5_0 sends 0 Gb/s and receives 390 Gb/s", "sends mlx5_0 sends 4.1 Gb/s and receives 0 Gb/s",
		"software-busy mlx5_0 sends 0.11 Gb/s and receives 0 Gb/s",
		"unknown-rate mlx5_0 sends 0.11 Gb/s and receives 0 Gb/s",
	}
	if !slices.Equal(use.Busy, want) || use.Unseen != 1 {
		t.Errorf("Use = %q, %d unseen, want %q, 1", use.Busy, use.Unseen, want)
	}
	if got, want := f.Rateless(), []string{"unknown-rate mlx5_0"}; !slices.Equal(got, want) {
		t.Errorf("Rateless = %q, want %q", got, want)
	}
}

// TestNames gives nodes the names that the leader knows them by, and finds one machine with two.
func TestNames(t *testing.T) {
	on := func(machine string) leader.Link {
		card := worker.Card{Name: "x", Failure: &result.Failure{Code: "other"}}
		node := worker.Node{Name: "localhost", Cards: []worker.Card{card}}
		if machine != "" {
			node.Facts = map[string]string{result.FactMachine: machine}
		}
		return direct{worker.New(worker.Config{Node: node})}
	}
	f, left, err := leader.NewFleet(t.Context(), leader.FleetConfig{
		Links: []leader.Link{on("a"), on("b"), on("a"), on(""), on("")},
		Names: []string{"gpu1", "gpu2", "login", "gpu3", "gpu4"},
	})
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	var names []string
	for _, n := range f.Cluster().Nodes {
		names = append(names, n.Name)
	}
	if want := []string{"gpu1", "gpu2", "login", "gpu3", "gpu4"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	if got, want := f.SameMachines(), []string{"login is gpu1"}; !slices.Equal(got, want) {
		t.Errorf("SameMachines = %q, want %q", got, want)
	}
}
