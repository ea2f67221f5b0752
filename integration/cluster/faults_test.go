//go:build cluster

package cluster

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/integration/cluster/lab"
)

// TestHealthy verifies a cluster without a fault: there must be no verdict.
func TestHealthy(t *testing.T) {
	l := cluster(t)
	for range 2 {
		o := verify(t, l, short("reach,loopback,pairs,permutation")...)
		if o.exit != 0 || len(o.summary.Verdicts.Verdicts) > 0 || !o.summary.Complete {
			t.Errorf("want exit status 0 and no verdict: %v", o)
		}
		t.Log(o.brief())
	}
}

// planted is a fault of a card, and what a verification must say of it.
type planted struct {
	name   string
	card   lab.Card // to be accused
	plant  func(ctx context.Context, l *lab.Lab, c lab.Card) (lab.Undo, error)
	stages string // default: reach,pairs
	causes []verdict.Cause
}

// rate limits a card. What is acknowledged waits in the same queue as data, so both directions of a
// pair are slow if one is; more stages don't show more here.
func rate(d lab.Direction) func(context.Context, *lab.Lab, lab.Card) (lab.Undo, error) {
	return func(ctx context.Context, l *lab.Lab, c lab.Card) (lab.Undo, error) {
		return l.Rate(ctx, c, d, slowRate)
	}
}

func loss(d lab.Direction) func(context.Context, *lab.Lab, lab.Card) (lab.Undo, error) {
	return func(ctx context.Context, l *lab.Lab, c lab.Card) (lab.Undo, error) { return l.Loss(ctx, c, d, 0.01) }
}

// smallMTU has room for RoCE packets of 1024 bytes, the lab's for those of 2048.
const smallMTU = 1300

func plantedFaults(l *lab.Lab) []planted {
	c := l.Nodes[1].Card(1)
	return []planted{
		{"rate", c, rate(lab.Both), "", []verdict.Cause{verdict.CauseSlow}},
		{"rate of what it sends", c, rate(lab.Sends), "", []verdict.Cause{verdict.CauseSlow, verdict.CauseSlowSend}},
		{
			"rate of what it receives", c, rate(lab.Receives), "",
			[]verdict.Cause{verdict.CauseSlow, verdict.CauseSlowReceive},
		},
		{"loss", c, loss(lab.Both), "", []verdict.Cause{verdict.CauseLoss}},
		{"loss of what it sends", c, loss(lab.Sends), "", []verdict.Cause{verdict.CauseLossSend}},
		{"loss of what it receives", c, loss(lab.Receives), "", []verdict.Cause{verdict.CauseLossReceive}},
		{
			"loss by iptables", l.Nodes[2].Card(0),
			func(ctx context.Context, l *lab.Lab, c lab.Card) (lab.Undo, error) {
				return l.LossByIptables(ctx, c, 0.01)
			},
			"",
			[]verdict.Cause{verdict.CauseLossReceive},
		},
		{
			"closed port", c,
			func(ctx context.Context, l *lab.Lab, c lab.Card) (lab.Undo, error) { return l.Firewall(ctx, c) },
			"",
			[]verdict.Cause{verdict.CauseDeadCard},
		},
		{
			"MTU of the card", c,
			func(ctx context.Context, l *lab.Lab, c lab.Card) (lab.Undo, error) {
				return l.CardMTU(ctx, c, smallMTU)
			},
			"",
			[]verdict.Cause{verdict.CauseMTU},
		},
		{
			"MTU of the port", c,
			func(ctx context.Context, l *lab.Lab, c lab.Card) (lab.Undo, error) {
				return l.PortMTU(ctx, c, smallMTU)
			},
			"",
			[]verdict.Cause{verdict.CauseMTU},
		},
		{
			"second address in the subnet of the other rail", c,
			func(ctx context.Context, l *lab.Lab, c lab.Card) (lab.Undo, error) {
				return l.ForeignRoute(ctx, c.Node.Card(0), 1)
			},
			"",
			[]verdict.Cause{verdict.CauseDeadCard, verdict.CauseSubnet},
		},
		{
			"address of the other rail's subnet", c,
			func(ctx context.Context, l *lab.Lab, c lab.Card) (lab.Undo, error) {
				return l.SetAddress(ctx, c, "10.77.0.66")
			},
			"",
			[]verdict.Cause{verdict.CauseSubnet},
		},
		{
			"reordering", c,
			func(ctx context.Context, l *lab.Lab, c lab.Card) (lab.Undo, error) {
				return l.Forward(ctx, c, lab.Forwarding{Reorder: 0.01, Late: 3 * time.Millisecond})
			},
			"",
			[]verdict.Cause{verdict.CauseLoss, verdict.CauseLossSend, verdict.CauseLossReceive},
		},
	}
}

// TestJitter delays some packets of a node on their way: its host is named, since the round trips
// of its peers don't vary with each other.
func TestJitter(t *testing.T) {
	l := cluster(t)
	victim := l.Nodes[1]
	jitter := func(ctx context.Context, l *lab.Lab, c lab.Card) (lab.Undo, error) {
		return l.Forward(ctx, c, lab.Forwarding{Jitter: 50 * time.Millisecond, Share: 0.03, Seed: uint64(c.Rail)})
	}
	for rail := range labRails {
		plant(t, l, planted{card: victim.Card(rail), plant: jitter})
	}
	o := verify(t, l, short("reach,jitter")...)
	t.Log(o.brief())
	list := o.summary.Verdicts.Verdicts
	if o.exit != 1 || len(list) != 1 || list[0].Cause != verdict.CauseJitter && list[0].Cause != verdict.CausePauses ||
		!slices.Equal(list[0].Where.Nodes, []string{victim.Name}) {
		t.Errorf("want jitter of %s and nothing else: %v", victim.Name, o)
	}
}

// TestFaults plants one fault after the other. Each verification must name the card with a right
// cause, and nothing else.
func TestFaults(t *testing.T) {
	l := cluster(t)
	for _, f := range plantedFaults(l) {
		t.Run(f.name, func(t *testing.T) {
			plant(t, l, f)
			stages := f.stages
			if stages == "" {
				stages = "reach,pairs"
			}
			o := verify(t, l, short(stages)...)
			t.Log(o.brief())
			checkNamed(t, o, f)
		})
	}
}

// plant plants a fault for the rest of the test.
func plant(t *testing.T, l *lab.Lab, f planted) {
	t.Helper()
	undo, err := f.plant(t.Context(), l, f.card)
	if undo != nil {
		t.Cleanup(func() {
			if err := undo(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkNamed checks that an outcome accuses the card of a fault, and nothing else.
func checkNamed(t *testing.T, o outcome, f planted) {
	t.Helper()
	const faults = 1
	list := o.summary.Verdicts.Verdicts
	if o.exit != faults || len(list) != 1 || !o.summary.Complete {
		t.Fatalf("want exit status %d and one verdict: %v", faults, o)
	}
	v := list[0]
	if v.Where.Scope != verdict.ScopeCard || len(v.Where.Or) > 0 ||
		!slices.Equal(v.Where.Nodes, []string{f.card.Node.Name}) ||
		!slices.Equal(v.Where.Devices, []string{"roce@" + f.card.Netdev()}) {
		t.Errorf("%s is accused, want %s roce@%s: %v", v.Where, f.card.Node.Name, f.card.Netdev(), o)
	}
	if !slices.Contains(f.causes, v.Cause) {
		t.Errorf("the cause is %s, want one of %s: %v", v.Cause, f.causes, o)
	}
}
