package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// surveyed is a worker that answers with a node of one card.
type surveyed struct {
	name, machine string
	sent          float64 // Gb/s of 400
}

// Do answers.
func (s surveyed) Do(_ context.Context, c protocol.Command) (protocol.Reply, error) {
	if c.Kind != protocol.KindSurvey {
		return protocol.Reply{}, nil
	}
	node := &result.Node{
		State: result.NodeReady, Facts: map[string]string{result.FactMachine: s.machine},
		Cards: []result.Card{{Traffic: &result.Traffic{Sent: s.sent}}},
	}
	return protocol.Reply{Name: s.name, Node: node, Rails: []plan.Card{{Device: "mlx5_0", Gbps: 400}}}, nil
}

// gathered lets flags gather these workers.
func gathered(t *testing.T, f *verifyFlags, workers ...surveyed) (*cli.App, *leader.Fleet, error) {
	t.Helper()
	app := &cli.App{Out: output.New(output.Options{}), Log: slog.New(slog.DiscardHandler)}
	h, err := newHost(app, protocol.ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.close() })
	fleet, err := f.gather(t.Context(), app, h, func(context.Context, *host) ([]leader.Link, []string, error) {
		links := make([]leader.Link, len(workers))
		for i, w := range workers {
			links[i] = w
		}
		return links, nil, nil
	})
	return app, fleet, err
}

// TestSameMachine refuses one machine by two names, unless all workers are started on it.
func TestSameMachine(t *testing.T) {
	workers := []surveyed{{name: "gpu1", machine: "a"}, {name: "login", machine: "a"}}
	_, _, err := gathered(t, &verifyFlags{}, workers...)
	if want := "the same machine by two names: login is gpu1"; err == nil || err.Error() != want ||
		cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("gather = %v, want %q", err, want)
	}
	if _, _, err := gathered(t, &verifyFlags{local: 2}, workers...); err != nil {
		t.Errorf("gather with --local: %v", err)
	}
}

// TestCheckUse leaves a fabric in use alone, unless it is told not to, and names three cards at
// most.
func TestCheckUse(t *testing.T) {
	var busy []surveyed
	for n := range 5 {
		busy = append(busy, surveyed{name: fmt.Sprint("gpu", n), machine: fmt.Sprint(n), sent: 200})
	}
	for _, tt := range []struct {
		name    string
		force   bool
		workers []surveyed
		want    string // in the error; "" for none
	}{
		{"idle", false, []surveyed{{name: "a", machine: "1"}, {name: "b", machine: "2"}}, ""},
		{"busy", false, busy, "gpu2 mlx5_0 sends 200 Gb/s and receives 0 Gb/s; and 2 more cards"},
		{"busy, --force", true, busy, ""},
	} {
		f := &verifyFlags{force: tt.force}
		app, fleet, err := gathered(t, f, tt.workers...)
		if err != nil {
			t.Fatal(err)
		}
		err = f.checkUse(app, fleet)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || cli.ExitCode(err) != cli.ExitPartial {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
