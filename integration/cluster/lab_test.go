//go:build cluster

package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/integration/cluster/lab"
)

func program() string { return "/tmp/lab/rdmactl" }

func TestLab(t *testing.T) {
	l, err := lab.New(t.Context(), lab.Options{Rails: 2, Dir: t.TempDir(), Rate: 200, Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	c := l.Nodes[1].Card(1)
	for name, plant := range map[string]func(ctx context.Context) (lab.Undo, error){
		"healthy":  func(context.Context) (lab.Undo, error) { return func(context.Context) error { return nil }, nil },
		"rate":     func(ctx context.Context) (lab.Undo, error) { return l.Rate(ctx, c, lab.Both, 100) },
		"ratesend": func(ctx context.Context) (lab.Undo, error) { return l.Rate(ctx, c, lab.Sends, 100) },
		"raterecv": func(ctx context.Context) (lab.Undo, error) { return l.Rate(ctx, c, lab.Receives, 100) },
		"lossrecv": func(ctx context.Context) (lab.Undo, error) { return l.Loss(ctx, c, lab.Receives, 0.01) },
		"losssend": func(ctx context.Context) (lab.Undo, error) { return l.Loss(ctx, c, lab.Sends, 0.01) },
		"lossboth": func(ctx context.Context) (lab.Undo, error) { return l.Loss(ctx, c, lab.Both, 0.01) },
		"iptables": func(ctx context.Context) (lab.Undo, error) { return l.LossByIptables(ctx, c, 0.01) },
		"firewall": func(ctx context.Context) (lab.Undo, error) { return l.Firewall(ctx, c) },
		"cardmtu":  func(ctx context.Context) (lab.Undo, error) { return l.CardMTU(ctx, c, 1500) },
		"portmtu":  func(ctx context.Context) (lab.Undo, error) { return l.PortMTU(ctx, c, 1500) },
		"route":    func(ctx context.Context) (lab.Undo, error) { return l.ForeignRoute(ctx, l.Nodes[1].Card(0), 1) },
		"subnet":   func(ctx context.Context) (lab.Undo, error) { return l.SetAddress(ctx, c, "10.77.0.66") },
		"forward":  func(ctx context.Context) (lab.Undo, error) { return l.Forward(ctx, c, lab.Forwarding{}) },
		"delay": func(ctx context.Context) (lab.Undo, error) {
			return l.Forward(ctx, c, lab.Forwarding{Delay: 5 * time.Millisecond})
		},
		"jitter": func(ctx context.Context) (lab.Undo, error) {
			return l.Forward(ctx, c, lab.Forwarding{Delay: time.Millisecond, Jitter: 10 * time.Millisecond})
		},
		"reorder": func(ctx context.Context) (lab.Undo, error) {
			return l.Forward(ctx, c, lab.Forwarding{Delay: time.Millisecond, Reorder: 0.01, Late: 3 * time.Millisecond})
		},
		"duplicate": func(ctx context.Context) (lab.Undo, error) { return l.SetAddress(ctx, c, "10.77.1.3") },
	} {
		if want := os.Getenv("FAULTS"); want != "" && !strings.Contains(","+want+",", ","+name+",") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			undo, err := plant(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, args := range strings.Split(os.Getenv("ARGS"), ";") {
				o := verify(t, l, append(strings.Fields(args), "--journal", fmt.Sprintf("/tmp/lab/journal-%s-%d", name, i))...)
				t.Log(o.String())
			}
			if err := undo(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
