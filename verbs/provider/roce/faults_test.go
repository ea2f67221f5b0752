package roce

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// lossy connects two engines over a simulated network.
func lossy(t testing.TB, f packetnet.Faults, size, depth int) (a, b *side, n *packetnet.Network) {
	n = packetnet.New(f)
	one := func(addr string) *side {
		ip := netip.MustParseAddr(addr)
		conn, err := n.Listen(netip.AddrPortFrom(ip, 4791))
		if err != nil {
			t.Fatal(err)
		}
		return start(t, conn, ip, size, depth, provider.WaitEvent)
	}
	a, b = one("10.0.0.1"), one("10.0.0.2")
	connect(t, a, b, ib.MTU1024)
	return a, b, n
}

// maxDrops prevents random loss from exhausting the eight attempts of a requester: a request and
// its acknowledgement may each be lost three times.
const maxDrops = 3

func TestFaults(t *testing.T) {
	tests := []struct {
		name   string
		faults packetnet.Faults
	}{
		{"clean", packetnet.Faults{Delay: 10 * time.Microsecond}},
		{"segmentation", packetnet.Faults{Delay: 10 * time.Microsecond, Segmentation: true}},
		{"loss 1%", packetnet.Faults{Loss: 0.01, Delay: 10 * time.Microsecond}},
		{"loss 20%", packetnet.Faults{Loss: 0.2, Delay: 10 * time.Microsecond, MaxDrops: maxDrops}},
		{"duplicates", packetnet.Faults{Duplicate: 0.2, Delay: 10 * time.Microsecond}},
		{"damage", packetnet.Faults{Corrupt: 0.05, Delay: 10 * time.Microsecond, MaxDrops: maxDrops}},
		{"reorder", packetnet.Faults{Delay: 10 * time.Microsecond, Jitter: 30 * time.Microsecond}},
		{"far away", packetnet.Faults{Delay: 20 * time.Millisecond, Loss: 0.01}},
		{"everything", packetnet.Faults{
			Loss: 0.03, Duplicate: 0.03, Corrupt: 0.03, Delay: 10 * time.Microsecond, Jitter: 10 * time.Microsecond,
			MaxDrops: maxDrops,
		}},
	}
	for _, tt := range tests {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("%s/%d", tt.name, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := tt.faults
					f.Seed = seed
					a, b, _ := lossy(t, f, 1<<12, 16)
					x, y := a.another(t, 1<<18, 32), b.another(t, 1<<18, 32)
					connect(t, x, y, ib.MTU1024)
					duplex(t, x, y, seed, 1000, 8192)
				})
			})
		}
	}
}

// TestSegmentationRefused checks that when segmentation offload stops working during a
// connection, all packets are rebuilt for identification 0 and none is lost.
func TestSegmentationRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := packetnet.Faults{Delay: time.Microsecond, Segmentation: true}
		a, b, n := lossy(t, f, 1<<16, 16)
		numbered, wrong := 0, 0
		n.SetTap(func(d packetnet.Datagram) {
			flow := rocev2.Flow{
				Source: ib.GIDFromAddr(d.From.Addr()), Destination: ib.GIDFromAddr(d.To.Addr()),
				SourcePort: d.From.Port(), DestinationPort: d.To.Port(), DontFragment: true, ID: d.ID,
			}
			numbered += min(1, int(d.ID))
			if flow.Check(d.Data) != 0 {
				wrong++
			}
		})
		for _, segmentation := range []bool{true, false, false} {
			wr := provider.SendRequest{
				Op: provider.SendOpWrite, Flags: provider.SendSignaled,
				Segments: []provider.Segment{{Region: a.mr, Length: 1 << 16}}, RKey: b.mr.RKey(),
				RemoteAddr: b.mr.Addr(),
			}
			if !segmentation {
				qp := inner(t, a.qp) // after the outbox has called Offload, before it writes
				qp.mu.Lock()
				qp.tx.begin(&ib.Packet{}, 0)
				qp.tx.abandon()
				n.SetFaults(packetnet.Faults{Delay: time.Microsecond})
				qp.mu.Unlock()
			}
			if _, err := a.qp.PostSend([]provider.SendRequest{wr}); err != nil {
				t.Fatal(err)
			}
			if wc := wait(t, a, 1)[0]; wc.Err() != nil {
				t.Fatal(wc.Err())
			}
		}
		if s := a.e.Stats(); wrong != 0 || numbered < 30 || s.Retransmits+s.Timeouts+s.WriteErrors != 0 {
			t.Errorf("%d packets with a wrong ICRC, want 0; %d numbered, want most of the first WRITE; %+v",
				wrong, numbered, s)
		}
	})
}

// A request to an unreachable peer fails after exactly the time that timeout and retry count
// give, whether or not the peer has responded before.
func TestVanishedPeer(t *testing.T) {
	for _, tt := range []struct{ timeout, retries uint8 }{{14, 7}, {14, 0}, {1, 7}, {8, 3}, {18, 1}, {22, 2}} {
		for _, op := range []provider.SendOp{provider.SendOpWrite, provider.SendOpRead, provider.SendOpSend} {
			for _, warm := range []bool{false, true} {
				t.Run(fmt.Sprintf("timeout=%d/retries=%d/%v/warm=%t", tt.timeout, tt.retries, op, warm),
					func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { vanish(t, tt.timeout, tt.retries, op, warm) })
					})
			}
		}
	}
}

func vanish(t *testing.T, timeout, retries uint8, op provider.SendOp, warm bool) {
	a, b, n := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<14, 16)
	qp := inner(t, a.qp)
	qp.attr.Timeout, qp.attr.RetryCount = timeout, retries
	wr := provider.SendRequest{
		ID: 4, Op: provider.SendOpWrite, Flags: provider.SendSignaled,
		Segments: []provider.Segment{{Region: a.mr, Length: 9000}}, RKey: b.mr.RKey(), RemoteAddr: b.mr.Addr(),
	}
	post := func() {
		t.Helper()
		if _, err := a.qp.PostSend([]provider.SendRequest{wr}); err != nil {
			t.Fatal(err)
		}
	}
	if warm {
		post()
		if wc := wait(t, a, 1)[0]; wc.Err() != nil {
			t.Fatal(wc.Err())
		}
	}
	n.Cut(a.e.addr, b.e.addr, true)
	begin := time.Now()
	wr.ID, wr.Op, wr.Flags = 5, op, 0 // a failed request completes even if it isn't signaled
	post()
	if wc := wait(t, a, 1)[0]; wc.Status != provider.WCRetryExceeded || wc.ID != 5 {
		t.Errorf("completion = %+v, want retry exceeded", wc)
	}
	if got, want := time.Since(begin), time.Duration(retries+1)*ib.AckTimeout(timeout); got != want {
		t.Errorf("it took %v, want %v: %d timeouts", got, want, retries+1)
	}
	wr.ID = 6
	post()
	if wc := wait(t, a, 1)[0]; wc.Status != provider.WCFlushed || wc.ID != 6 {
		t.Errorf("completion after the error = %+v, want flushed", wc)
	}
}

// A temporary loss of all packets in either direction only delays requests.
func TestBlackHole(t *testing.T) {
	for _, back := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a, b, n := lossy(t, packetnet.Faults{Delay: 300 * time.Microsecond, Loss: 0.01}, 1<<12, 16)
			x, y := a.another(t, 1<<16, 32), b.another(t, 1<<16, 32)
			connect(t, x, y, ib.MTU1024)
			from, to := a.e.addr, b.e.addr
			if back {
				from, to = to, from
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range 5 {
					time.Sleep(200 * time.Millisecond)
					n.Cut(from, to, true)
					time.Sleep(250 * time.Millisecond) // less than four timeouts of 67 ms
					n.Cut(from, to, false)
				}
			}()
			for i := uint64(0); !t.Failed(); i++ {
				select {
				case <-done:
					// Either end may have had nothing outstanding but what the other one repeats.
					if n := a.e.Stats().Timeouts + b.e.Stats().Timeouts; n < 5 {
						t.Errorf("%d timeouts in 5 black holes", n)
					}
					return
				default:
					duplex(t, x, y, i, 100, 2048)
				}
			}
		})
	}
}

func TestReceiverNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<14, 16)
		if _, err := a.qp.PostSend([]provider.SendRequest{{
			ID: 1, Op: provider.SendOpSend, Flags: provider.SendSignaled,
			Segments: []provider.Segment{{Region: a.mr, Length: 5000}},
		}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		if n := a.e.Stats().RNRNAKs; n < 10 || n > 16 {
			t.Errorf("%d RNR NAKs in 10 ms with a timer of 640 µs", n)
		}
		if _, err := b.qp.PostReceive([]provider.ReceiveRequest{
			{ID: 2, Segments: []provider.Segment{{Region: b.mr, Length: 5000}}},
		}); err != nil {
			t.Fatal(err)
		}
		if wc := wait(t, a, 1)[0]; wc.Err() != nil {
			t.Error(wc.Err())
		}
		if wc := wait(t, b, 1)[0]; wc.Err() != nil || wc.Bytes != 5000 {
			t.Errorf("receive = %+v", wc)
		}
	})
}

func TestQueueFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, n := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<12, 4)
		n.Cut(b.e.addr, a.e.addr, true)
		wr := make([]provider.SendRequest, 6)
		for i := range wr {
			wr[i] = provider.SendRequest{
				ID: uint64(i), Op: provider.SendOpWrite, Flags: provider.SendSignaled,
				Segments: []provider.Segment{{Region: a.mr, Length: 1}}, RKey: b.mr.RKey(), RemoteAddr: b.mr.Addr(),
			}
		}
		if got, err := a.qp.PostSend(wr); got != 4 || !errors.Is(err, provider.ErrQueueFull) {
			t.Errorf("PostSend of 6 to a queue of 4 = %d, %v, want 4 and ErrQueueFull", got, err)
		}
		n.Cut(b.e.addr, a.e.addr, false)
		time.Sleep(time.Second) // all complete, but until they are polled they occupy the queue
		if got, err := a.qp.PostSend(wr[:1]); got != 0 || !errors.Is(err, provider.ErrQueueFull) {
			t.Errorf("PostSend after 4 unpolled completions = %d, %v, want 0 and ErrQueueFull", got, err)
		}
		wait(t, a, 1)
		if got, err := a.qp.PostSend(wr); got != 1 || !errors.Is(err, provider.ErrQueueFull) {
			t.Errorf("PostSend after one was polled = %d, %v, want 1 and ErrQueueFull", got, err)
		}
		wait(t, a, 4)
		wr[0].Flags = 0 // no completion, so nothing to poll
		for range 20 {
			if _, err := a.qp.PostSend(wr[:1]); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
	})
}

// TestWaitersOfOneQueue checks that completions that arrive together wake all waiting goroutines.
func TestWaitersOfOneQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<12, 8)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		const waiters = 4
		errs := make(chan error, waiters)
		for range waiters {
			go func() {
				n, err := a.cq.Wait(ctx, make([]provider.WorkCompletion, 1))
				if err == nil && n != 1 {
					err = fmt.Errorf("woken for %d completions", n)
				}
				errs <- err
			}()
		}
		synctest.Wait()
		wr := make([]provider.SendRequest, waiters)
		for i := range wr {
			wr[i] = provider.SendRequest{
				Op: provider.SendOpWrite, Flags: provider.SendSignaled,
				Segments: []provider.Segment{{Region: a.mr, Length: 1}}, RKey: b.mr.RKey(), RemoteAddr: b.mr.Addr(),
			}
		}
		if _, err := a.qp.PostSend(wr); err != nil {
			t.Fatal(err)
		}
		for range waiters {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}
