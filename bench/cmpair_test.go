package bench

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// queuePair opens a device and creates a queue pair.
func queuePair(t *testing.T, address string) (*verbs.Device, *verbs.QueuePair) {
	t.Helper()
	d, err := verbs.Open(t.Context(), "roce@"+address, builtin.All()...)
	if err != nil {
		t.Fatal(err)
	}
	pd, err := d.AllocatePD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := d.CreateCQ(verbs.CQConfig{Depth: 16})
	if err != nil {
		t.Fatal(err)
	}
	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{qp, cq, pd, d} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return d, qp
}

// TestNextFrom rejects the connection request of a machine that is not the peer, and adopts what
// the communication manager has chosen for the peer's.
func TestNextFrom(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	server, qp := queuePair(t, "127.0.63.30")
	peer, peerQP := queuePair(t, "127.0.63.31")
	stranger, strangerQP := queuePair(t, "127.0.63.32")
	l, err := server.Listen(ctx, netip.MustParseAddrPort("127.0.63.30:18607"), verbs.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	strange, dialed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := stranger.Dial(ctx, strangerQP, l.Addr(), verbs.ConnectOptions{})
		strange <- err
		_, err = peer.Dial(ctx, peerQP, l.Addr(), verbs.ConnectOptions{})
		dialed <- err
	}()
	r := &run{
		rig: &rig{own: make([]perftest.Destination, 1), qps: []*verbs.QueuePair{qp}, mtu: ib.MTU256},
		cm:  &cmConn{remote: netip.MustParseAddrPort("127.0.63.31:1")},
	}
	request, err := r.nextFrom(ctx, l)
	if err != nil || request.Remote().Addr() != r.cm.remote.Addr() {
		t.Fatalf("nextFrom = a request from %v, %v", request, err)
	}
	if err := <-strange; err == nil {
		t.Error("the stranger is connected")
	}
	if _, err := request.Accept(ctx, qp, verbs.ConnectOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := <-dialed; err != nil {
		t.Fatal(err)
	}
	if err := r.adopt(); err != nil {
		t.Fatal(err)
	}
	other, err := peerQP.Query()
	if err != nil {
		t.Fatal(err)
	}
	if r.own[0].PSN != other.ReceivePSN || r.mtu != ib.MTU4096 {
		t.Errorf("adopted PSN %v and MTU %v, want %v, which the peer expects, and 4096", r.own[0].PSN, r.mtu,
			other.ReceivePSN)
	}
}
