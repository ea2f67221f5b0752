package worker

import (
	"context"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/internal/sim/engines"
	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// pair returns the two ends of a connection for round trips, over a network in memory.
func pair(tb testing.TB) (asks, answers *edge) {
	tb.Helper()
	network := packetnet.New(packetnet.Faults{})
	node := Node{Name: "node"}
	for rail, name := range []string{roce.Prefix + "10.0.0.1", roce.Prefix + "10.0.0.2"} {
		node.Cards = append(node.Cards, Card{
			Rail: rail, Name: name, Port: 1,
			Open: func(ctx context.Context) (*verbs.Device, error) {
				return verbs.Open(ctx, name, engines.Provider{Network: network, MTU: ib.MTU1024})
			},
		})
	}
	w := New(Config{Node: node, Wait: verbs.WaitEvent})
	tb.Cleanup(func() {
		if err := w.Close(); err != nil {
			tb.Error(err)
		}
	})
	w.Do(tb.Context(), protocol.Command{Kind: protocol.KindSurvey})
	made := w.Do(tb.Context(), protocol.Command{Kind: protocol.KindPrepare, Edges: []protocol.Edge{
		{ID: 0, Rail: 0, Flows: 1, Role: protocol.RoleAsk}, {ID: 1, Rail: 1, Flows: 1, Role: protocol.RoleAnswer},
	}}).Edges
	connected := w.Do(tb.Context(), protocol.Command{Kind: protocol.KindConnect, Peers: []protocol.Peer{
		{ID: 0, Endpoints: made[1].Endpoints}, {ID: 1, Endpoints: made[0].Endpoints},
	}}).Edges
	for _, e := range connected {
		if e.Failure != nil {
			tb.Fatal(e.Failure)
		}
	}
	return w.edges[0], w.edges[1]
}

// TestReceiveAllocations checks that receiving a message, which is a part of the time that is
// measured, allocates nothing: a collection of garbage would be in the figures.
func TestReceiveAllocations(t *testing.T) {
	asks, answers := pair(t)
	for seq := range uint64(mostReceives) { // until they are acknowledged: they have all arrived
		if err := asks.sendMessage(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	want := uint64(0)
	allocs := testing.AllocsPerRun(mostReceives-1, func() { // and once before it counts
		seq, err := answers.receiveMessage(t.Context())
		if err != nil || seq != want {
			t.Fatalf("message %d, %v; want %d", seq, err, want)
		}
		want++
	})
	if allocs != 0 {
		t.Errorf("%v allocations for a message", allocs)
	}
}

// BenchmarkExchange measures a round trip with both of its ends.
func BenchmarkExchange(b *testing.B) {
	asks, answers := pair(b)
	ended := make(chan error, 1)
	go func() { ended <- answers.answer(b.Context()) }()
	b.ReportAllocs()
	for seq := uint64(0); b.Loop(); seq++ {
		if err := asks.exchange(b.Context(), seq); err != nil {
			b.Fatal(err)
		}
	}
	if err := asks.sendMessage(b.Context(), last); err != nil {
		b.Fatal(err)
	}
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}
