package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/internal/cli"
)

// planOf is the plan of n nodes with a card of a rate in Gb/s, whose only stage is pairs.
func planOf(t *testing.T, n int, gbps float64, o plan.Options) *plan.Plan {
	t.Helper()
	var c plan.Cluster
	for i := range n {
		node := plan.Node{Name: fmt.Sprint("n", i), Rails: []plan.Card{{Device: "mlx5_0", Gbps: gbps}}}
		c.Nodes = append(c.Nodes, node)
	}
	o.Stages = []plan.Name{plan.StagePairs}
	p, err := plan.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAsk answers the question before a run that takes more than a minute or sends more than 1 GB
// by a card.
func TestAsk(t *testing.T) {
	long := planOf(t, 64, 0, plan.Options{}) // 63 rounds of 1.25 s
	short := planOf(t, 40, 0, plan.Options{})
	heavy := planOf(t, 2, 8.1, plan.Options{}) // 1.0125 GB in a second
	light := planOf(t, 2, 8, plan.Options{})
	for _, tt := range []struct {
		name     string
		plan     *plan.Plan
		flags    verifyFlags
		answer   string
		terminal bool
		asked    bool
		stopped  bool
	}{
		{name: "long", plan: long, answer: "\n", terminal: true, asked: true},
		{name: "long, yes", plan: long, answer: "Yes\n", terminal: true, asked: true},
		{name: "long, no", plan: long, answer: "n\n", terminal: true, asked: true, stopped: true},
		{name: "long, end of the input", plan: long, terminal: true, asked: true, stopped: true},
		{name: "long, --yes", plan: long, flags: verifyFlags{yes: true}, terminal: true},
		{name: "long, no terminal", plan: long},
		{name: "short", plan: short, terminal: true},
		{name: "heavy", plan: heavy, answer: "what?\n", terminal: true, asked: true, stopped: true},
		{name: "light", plan: light, terminal: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var shown strings.Builder
			app := &cli.App{
				Stdin: strings.NewReader(tt.answer), Stderr: &shown, IsTerminal: func(any) bool { return tt.terminal },
			}
			err := tt.flags.ask(t.Context(), app, tt.plan.Cost())
			if (err != nil) != tt.stopped || (shown.String() != "") != tt.asked {
				t.Errorf("ask = %v after %q, want asked %v, stopped %v", err, shown.String(), tt.asked, tt.stopped)
			}
		})
	}
}

// TestAskInterrupted ends the question by a signal.
func TestAskInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("ended by signal")
	cancel(ended)
	in, out := io.Pipe()
	t.Cleanup(func() { _ = out.Close() })
	app := &cli.App{Stdin: in, Stderr: io.Discard, IsTerminal: func(any) bool { return true }}
	f := verifyFlags{}
	if err := f.ask(ctx, app, planOf(t, 64, 0, plan.Options{}).Cost()); !errors.Is(err, ended) {
		t.Errorf("ask = %v, want %v", err, ended)
	}
}

// TestPlanDocument is the price of a plan whose budget can't be met.
func TestPlanDocument(t *testing.T) {
	document := func(budget time.Duration) planDocument {
		p := planOf(t, 4, 8, plan.Options{Budget: budget})
		return newPlanDocument(p, p.Cost())
	}
	d := document(time.Second)
	if !d.OverBudget || d.Nodes != 4 || d.Cards != 4 || d.Cost.Rounds != 1 || d.Cost.Stages[0].Full != 3 {
		t.Errorf("document of a plan beyond its budget: %+v", d)
	}
	if d := document(1250 * time.Millisecond); d.OverBudget {
		t.Errorf("document of a plan that just meets its budget: %+v", d)
	}
}

// TestSetStart takes only flags that start workers from a journal.
func TestSetStart(t *testing.T) {
	for _, tt := range []struct {
		given []string
		start map[string]string
		want  string
		fails bool
	}{
		{nil, map[string]string{"local": "4", "rails": "2"}, "4 2", false},
		{[]string{"--local", "3"}, map[string]string{"local": "4", "rails": "2"}, "3 1", false},
		{nil, map[string]string{"html": "/etc/passwd"}, "0 1", true},
		{nil, map[string]string{"hosts": "a,b", "ssh": "sh -c reboot"}, "0 1", true},
		{nil, map[string]string{"hosts": "a,b", "remote-path": "/tmp/evil"}, "0 1", true},
		{[]string{"--ssh", "ssh -F x"}, map[string]string{"local": "4"}, "4 1", false},
		{nil, map[string]string{"local": "many"}, "0 1", true},
		{nil, nil, "0 1", false},
	} {
		cmd := newVerifyCommand(&cli.App{Stdin: os.Stdin})
		if err := cmd.ParseFlags(tt.given); err != nil {
			t.Fatal(err)
		}
		err := setStart(cmd.Flags(), tt.start)
		local, _ := cmd.Flags().GetInt("local")
		rails, _ := cmd.Flags().GetInt("rails")
		if got := fmt.Sprint(local, rails); got != tt.want || (err != nil) != tt.fails {
			t.Errorf("setStart(%v) after %v: %s, %v, want %s", tt.start, tt.given, got, err, tt.want)
		}
	}
}
