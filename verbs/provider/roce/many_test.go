package roce

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/internal/testkit/race"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// another creates another queue pair on the engine of s, with its own memory and completion
// queues.
func (s *side) another(t testing.TB, size, depth int) *side {
	t.Helper()
	n := &side{e: s.e, pd: s.pd, t: t}
	var err error
	if n.cq, err = s.e.CreateCQ(provider.CQConfig{Wait: provider.WaitEvent}); err != nil {
		t.Fatal(err)
	}
	if n.receives, err = s.e.CreateCQ(provider.CQConfig{Wait: provider.WaitEvent}); err != nil {
		t.Fatal(err)
	}
	if n.qp, err = s.pd.CreateQP(provider.QPConfig{
		SendCQ: n.cq, RecvCQ: n.receives, Capacity: provider.QPCapacity{
			MaxSendWR: depth, MaxSendSegments: 4, MaxRecvSegments: 4, MaxInline: 256,
		},
	}); err != nil {
		t.Fatal(err)
	}
	all := provider.AccessLocalWrite | provider.AccessRemoteRead | provider.AccessRemoteWrite
	if n.mr, err = s.pd.RegisterMemory(make([]byte, size), provider.MemoryOptions{Access: all}); err != nil {
		t.Fatal(err)
	}
	if n.target, err = s.pd.RegisterMemory(make([]byte, size), provider.MemoryOptions{Access: all}); err != nil {
		t.Fatal(err)
	}
	s.also = append(s.also, n.qp, n.mr, n.target, n.cq, n.receives)
	return n
}

// TestManyQueuePairs runs 100,000 operations on each of 64 queue pairs between two engines, with
// 1% packet loss and PSNs that wrap, and checks every byte.
func TestManyQueuePairs(t *testing.T) {
	const pairs = 64
	operations := 100_000
	if race.Enabled || testing.Short() {
		operations = 500 // twenty times slower with the race detector, which looks for other faults
	}
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := lossy(t, packetnet.Faults{Seed: 4, Loss: 0.01, Delay: 5 * time.Microsecond, MaxDrops: maxDrops},
			1<<12, 16)
		var wg sync.WaitGroup
		for i := range pairs {
			x, y := a.another(t, 1<<16, 32), b.another(t, 1<<16, 32)
			connect(t, x, y, ib.MTU1024)
			wg.Go(func() { soak(t, x, y, uint64(i), operations, 2048) })
		}
		wg.Wait()
	})
}

// TestRandomSequences runs many short sequences, each with different faults.
func TestRandomSequences(t *testing.T) {
	sequences := 10_000
	if race.Enabled || testing.Short() {
		sequences = 100
	}
	for seed := range sequences {
		f := packetnet.Faults{
			Seed: uint64(seed), Loss: float64(seed%7) * 0.03, Duplicate: float64(seed%5) * 0.04,
			Corrupt: float64(seed%3) * 0.03, Delay: time.Duration(1+seed%20) * time.Microsecond,
			Jitter: time.Duration(seed%4) * 10 * time.Microsecond, MaxDrops: maxDrops, Segmentation: seed%2 == 1,
		}
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b, _ := lossy(t, f, 1<<12, 16)
				x, y := a.another(t, 1<<15, 32), b.another(t, 1<<15, 32)
				connect(t, x, y, ib.MTU(256<<(seed%5)))
				duplex(t, x, y, uint64(seed), 30, 4096)
			})
		})
		if !ok {
			t.Fatalf("seed %d: faults %+v", seed, f)
		}
	}
}

// TestPeerRestart checks that an engine that restarts under the same address doesn't respond to
// the old connection, and accepts a new one.
func TestPeerRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, n := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<12, 16)
		old := b.qp.QPN()
		for _, c := range []interface{ Close() error }{b.qp, b.mr, b.cq, b.pd, b.e} {
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		ip := netip.MustParseAddr("10.0.0.2")
		conn, err := n.Listen(netip.AddrPortFrom(ip, 4791))
		if err != nil {
			t.Fatal(err)
		}
		again := start(t, conn, ip, 1<<12, 16, provider.WaitEvent)
		wr := provider.SendRequest{
			ID: 1, Op: provider.SendOpWrite, Flags: provider.SendSignaled,
			Segments: []provider.Segment{{Region: a.mr, Length: 10}}, RKey: again.mr.RKey(),
			RemoteAddr: again.mr.Addr(),
		}
		if _, err := a.qp.PostSend([]provider.SendRequest{wr}); err != nil {
			t.Fatal(err)
		}
		if wc := wait(t, a, 1)[0]; wc.Status != provider.WCRetryExceeded {
			t.Errorf("write to qp %v of the old engine = %v, want retry exceeded", old, wc.Status)
		}
		fresh := a.another(t, 1<<12, 16)
		connect(t, fresh, again, ib.MTU1024)
		wr.Segments[0].Region = fresh.mr
		if _, err := fresh.qp.PostSend([]provider.SendRequest{wr}); err != nil {
			t.Fatal(err)
		}
		if wc := wait(t, fresh, 1)[0]; wc.Err() != nil {
			t.Errorf("write over a new connection: %v", wc.Err())
		}
	})
}
