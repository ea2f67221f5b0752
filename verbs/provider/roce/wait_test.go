package roce

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/testkit/race"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

var waitModes = []struct {
	name string
	mode provider.WaitMode
}{{"event", provider.WaitEvent}, {"hybrid", provider.WaitHybrid}, {"busy", provider.WaitBusy}}

// TestDelayedAcknowledgement checks that a target that receives a SEND while it waits, and then
// neither posts nor waits again, acknowledges it long before the requester's timeout.
func TestDelayedAcknowledgement(t *testing.T) {
	for _, m := range waitModes {
		t.Run(m.name, func(t *testing.T) {
			a, b := open(t, "127.0.10.1", 64), openMode(t, "127.0.10.2", 64, m.mode)
			connect(t, a, b, ib.MTU1024)
			for i := range uint64(50) {
				if _, err := b.qp.PostReceive([]provider.ReceiveRequest{
					{ID: i, Segments: []provider.Segment{{Region: b.mr, Length: 64}}},
				}); err != nil {
					t.Fatal(err)
				}
				got := make(chan provider.WorkCompletion)
				go func() { got <- wait(t, b, 1)[0] }()
				if _, err := a.qp.PostSend([]provider.SendRequest{{
					ID: i, Op: provider.SendOpSend, Flags: provider.SendSignaled,
					Segments: []provider.Segment{{Region: a.mr, Length: 64}},
				}}); err != nil {
					t.Fatal(err)
				}
				if wc := <-got; wc.Err() != nil || wc.ID != i {
					t.Fatalf("receive %d = %+v", i, wc)
				}
				if wc := wait(t, a, 1)[0]; wc.Err() != nil || wc.ID != i {
					t.Fatalf("send %d = %+v", i, wc)
				}
			}
			if s := a.e.Stats(); s.Timeouts != 0 {
				t.Errorf("%d timeouts, want 0: acknowledgements were late", s.Timeouts)
			}
		})
	}
}

// In every mode, a wait ends when its context ends or its completion queue is closed.
func TestWaitEnds(t *testing.T) {
	for _, m := range waitModes {
		t.Run(m.name, func(t *testing.T) {
			s := openMode(t, "127.0.10.1", 64, m.mode)
			cause := errors.New("enough")
			ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Millisecond, cause)
			defer cancel()
			var wcs [1]provider.WorkCompletion
			if _, err := s.cq.Wait(ctx, nil); err == nil {
				t.Error("Wait without room for a completion = nil")
			}
			if _, err := s.cq.Wait(ctx, wcs[:]); !errors.Is(err, cause) {
				t.Errorf("Wait = %v, want %v", err, cause)
			}
			watcher, ok := s.mr.(provider.MemoryWatcher)
			if !ok {
				t.Fatal("the region can't be watched")
			}
			if err := watcher.WaitByte(ctx, 0, 1); !errors.Is(err, cause) {
				t.Errorf("WaitByte = %v, want %v", err, cause)
			}
			if err := watcher.WaitByte(t.Context(), 64, 1); err == nil {
				t.Error("WaitByte after the end of the region = nil")
			}
			cq, err := s.e.CreateCQ(provider.CQConfig{Wait: m.mode})
			if err != nil {
				t.Fatal(err)
			}
			woken := make(chan error)
			go func() {
				_, err := cq.Wait(t.Context(), make([]provider.WorkCompletion, 1))
				woken <- err
			}()
			time.Sleep(time.Millisecond)
			_ = cq.Close()
			if err := <-woken; !errors.Is(err, provider.ErrClosed) {
				t.Errorf("Wait on a queue that was closed = %v, want ErrClosed", err)
			}
			if _, err := cq.Poll(make([]provider.WorkCompletion, 1)); !errors.Is(err, provider.ErrClosed) {
				t.Errorf("Poll = %v, want ErrClosed", err)
			}
		})
	}
}

// TestNoAllocations: posting, sending, receiving, acknowledging, waiting and polling
// allocate nothing, at either end.
func TestNoAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector makes sync.Pool drop its items")
	}
	for _, m := range waitModes {
		for _, op := range []provider.SendOp{provider.SendOpWrite, provider.SendOpRead, provider.SendOpSend} {
			for _, size := range []int{64, 1 << 16} {
				runs := 300
				if m.mode == provider.WaitBusy { // AllocsPerRun sets GOMAXPROCS to 1: the target starves
					runs = 3
				}
				t.Run(fmt.Sprintf("%s/%v/%d", m.name, op, size), func(t *testing.T) {
					a, b := openMode(t, "127.0.10.1", size, m.mode), openMode(t, "127.0.10.2", size, m.mode)
					connect(t, a, b, ib.MTU4096)
					wrs := []provider.SendRequest{{
						Op: op, Flags: provider.SendSignaled,
						Segments: []provider.Segment{{Region: a.mr, Length: size}}, RKey: b.mr.RKey(),
						RemoteAddr: b.mr.Addr(),
					}}
					rrs := []provider.ReceiveRequest{{Segments: []provider.Segment{{Region: b.mr, Length: size}}}}
					wcs := make([]provider.WorkCompletion, 4)
					ctx := t.Context()
					once := func() {
						if op == provider.SendOpSend {
							if _, err := b.qp.PostReceive(rrs); err != nil {
								t.Fatal(err)
							}
						}
						if _, err := a.qp.PostSend(wrs); err != nil {
							t.Fatal(err)
						}
						if n, err := a.cq.Wait(ctx, wcs); n != 1 || err != nil || wcs[0].Err() != nil {
							t.Fatal(n, err, wcs[0].Err())
						}
						take(t, b, wcs)
					}
					// The few runs of busy polling include what the runtime allocates meanwhile.
					allocs := testing.AllocsPerRun(runs, once)
					for attempt := 0; allocs != 0 && attempt < 3; attempt++ {
						allocs = testing.AllocsPerRun(runs, once)
					}
					if allocs != 0 {
						t.Errorf("%v allocations an operation, want 0", allocs)
					}
				})
			}
		}
	}
}
