package roce

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// readRequest returns a READ request for the first bytes of the victim's region.
func (v *victim) readRequest(psn ib.PSN, length uint32) []byte {
	p := ib.Packet{
		BTH:  ib.BTH{Opcode: ib.OpcodeRCReadRequest, PKey: ib.PKeyDefault, PSN: psn, AckReq: true},
		RETH: ib.RETH{VirtualAddress: v.target.Addr(), RKey: v.target.RKey(), DMALength: length},
	}
	return p.Append(nil)
}

// TestReadBehindDuplicates checks that READs that the network duplicated don't count towards the
// limit of outstanding READs.
func TestReadBehindDuplicates(t *testing.T) {
	v := newVictim(t) // four READs may be outstanding
	v.take(v.readRequest(100, 8), v.readRequest(100, 8), v.readRequest(101, 8), v.readRequest(101, 8),
		v.readRequest(102, 8), v.readRequest(103, 8))
	v.check(t)
	if got := v.qp.State(); got != provider.QPStateRTS {
		t.Fatalf("state after four READs and two duplicates = %v, want RTS", got)
	}
	if got := inner(t, v.qp).resp.expected; got != 104 {
		t.Errorf("expected PSN = %v, want 104", got)
	}
}

// reconnect reconnects two ends with changed attributes.
func reconnect(t *testing.T, a, b *side, change func(*provider.QPAttributes)) {
	t.Helper()
	for _, s := range []*side{a, b} {
		attr := inner(t, s.qp).attr
		change(&attr)
		walk(t, s.qp, attr, provider.QPStateRTS)
	}
}

// TestManyReads keeps as many READs outstanding as both ends allow, while the network duplicates
// and loses packets.
func TestManyReads(t *testing.T) {
	for _, limit := range []int{2, 3, 16} {
		for seed := range uint64(10) {
			synctest.Test(t, func(t *testing.T) {
				f := packetnet.Faults{
					Seed: seed, Duplicate: 0.2, Loss: 0.01, Delay: 5 * time.Microsecond, MaxDrops: maxDrops,
				}
				a, b, _ := lossy(t, f, 1<<16, 64)
				reconnect(t, a, b,
					func(attr *provider.QPAttributes) { attr.MaxReadAtomic, attr.MaxDestReadAtomic = limit, limit })
				const total = 500
				for posted, done := 0, 0; done < total; {
					for ; posted < total && posted-done < 32; posted++ {
						wr := provider.SendRequest{
							ID: uint64(posted), Op: provider.SendOpRead, Flags: provider.SendSignaled,
							RKey: b.mr.RKey(), RemoteAddr: b.mr.Addr() + 512,
							Segments: []provider.Segment{{Region: a.mr, Offset: posted % 32 * 2048, Length: 1500}},
						}
						if _, err := a.qp.PostSend([]provider.SendRequest{wr}); err != nil {
							t.Fatal(err)
						}
					}
					wc := wait(t, a, 1)[0]
					if wc.Err() != nil {
						t.Fatalf("limit %d, seed %d, after %d READs: %v", limit, seed, done, wc.Err())
					}
					done++
				}
			})
		}
	}
}

// TestDuplicateReadMSN checks that the response to a duplicate READ has the MSN of the completed
// messages, not one more.
func TestDuplicateReadMSN(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, n := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<12, 16)
		var got []uint32
		n.SetTap(func(d packetnet.Datagram) {
			var p ib.Packet
			if _, err := p.Decode(d.Data[:len(d.Data)-rocev2.ICRCLen]); err == nil &&
				p.BTH.Opcode == ib.OpcodeRCReadResponseOnly {
				got = append(got, p.AETH.MSN)
			}
		})
		n.Cut(b.e.addr, a.e.addr, true)
		wr := provider.SendRequest{
			ID: 1, Op: provider.SendOpRead, Flags: provider.SendSignaled, RKey: b.mr.RKey(), RemoteAddr: b.mr.Addr(),
			Segments: []provider.Segment{{Region: a.mr, Length: 8}},
		}
		if _, err := a.qp.PostSend([]provider.SendRequest{wr}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		n.Cut(b.e.addr, a.e.addr, false)
		if wc := wait(t, a, 1)[0]; wc.Err() != nil {
			t.Fatal(wc.Err())
		}
		n.SetTap(nil)
		if fmt.Sprint(got) != "[1 1]" {
			t.Errorf("MSN of the response and of its repetition = %v, want [1 1]", got)
		}
	})
}

// TestReplayOfClosedRegion checks that a duplicate READ doesn't end the connection if its region
// has been closed after the first response.
func TestReplayOfClosedRegion(t *testing.T) {
	v := newVictim(t)
	v.take(v.readRequest(100, victimSize))
	qp := inner(t, v.qp)
	qp.mu.Lock()
	p := ib.Packet{}
	if _, err := p.Decode(v.readRequest(100, victimSize)); err != nil {
		t.Fatal(err)
	}
	qp.handlePacket(&p, qp.peer, 0)
	_ = v.target.Close() // before the response is sent
	qp.flushBurst(false)
	qp.mu.Unlock()
	if got := v.qp.State(); got != provider.QPStateRTS {
		t.Errorf("state = %v, want RTS", got)
	}
}

// TestCompletionsNotPolled checks that a request occupies its queue until its completion is
// polled, so that a completion queue as long as its work queues never overruns.
func TestCompletionsNotPolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, other, _ := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<12, 16)
		cq, err := base.e.CreateCQ(provider.CQConfig{Depth: 8, Wait: provider.WaitEvent})
		if err != nil {
			t.Fatal(err)
		}
		qp, err := base.pd.CreateQP(provider.QPConfig{
			SendCQ: cq, RecvCQ: cq, Capacity: provider.QPCapacity{MaxSendWR: 8, MaxRecvWR: 8},
		})
		if err != nil {
			t.Fatal(err)
		}
		a := &side{e: base.e, qp: qp, cq: cq, mr: base.mr}
		base.also = append(base.also, qp, cq)
		b := other.another(t, 1<<12, 16)
		connect(t, a, b, ib.MTU1024)
		wr := []provider.SendRequest{{
			Op: provider.SendOpWrite, Flags: provider.SendSignaled,
			Segments: []provider.Segment{{Region: a.mr, Length: 8}}, RKey: b.target.RKey(), RemoteAddr: b.target.Addr(),
		}}
		posted := 0
		for range 20 {
			switch _, err := qp.PostSend(wr); {
			case err == nil:
				posted++
			case !errors.Is(err, provider.ErrQueueFull):
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond) // it completes
		}
		if posted != 8 || qp.State() != provider.QPStateRTS {
			t.Fatalf("%d requests posted to a queue of 8 with unpolled completions, state %v, want 8 and RTS",
				posted, qp.State())
		}
		if wc := wait(t, a, 8)[7]; wc.Err() != nil {
			t.Fatal(wc.Err())
		}
		if _, err := qp.PostSend(wr); err != nil {
			t.Errorf("PostSend after the completions were polled = %v", err)
		}
		wait(t, a, 1)
		if err := qp.Modify(provider.QPAttributes{State: provider.QPStateError}); err != nil {
			t.Fatal(err)
		}
		posted = 0
		for range 20 {
			n, _ := qp.PostSend(wr)
			posted += n
		}
		if posted != 8 {
			t.Errorf("%d requests were posted to a failed queue pair with a queue of 8, want 8", posted)
		}
	})
}

// TestPSNOf32Bits checks that the high byte of a PSN is ignored.
func TestPSNOf32Bits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, other, _ := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<12, 16)
		a, b := base.another(t, 1<<12, 16), other.another(t, 1<<12, 16)
		connect(t, a, b, ib.MTU1024)
		reconnect(t, a, b, func(attr *provider.QPAttributes) {
			attr.ReceivePSN |= 0xab << 24
			attr.SendPSN |= 0xab << 24
		})
		wr := provider.SendRequest{
			Op: provider.SendOpRead, Flags: provider.SendSignaled, RKey: b.target.RKey(), RemoteAddr: b.target.Addr(),
			Segments: []provider.Segment{{Region: a.mr, Length: 8}},
		}
		if _, err := a.qp.PostSend([]provider.SendRequest{wr}); err != nil {
			t.Fatal(err)
		}
		if wc := wait(t, a, 1)[0]; wc.Err() != nil {
			t.Error(wc.Err())
		}
	})
}

// TestReceiverNotReadyForLong checks that with unlimited RNR retries a receiver may be not ready
// for long, even if the network loses packets: its RNR NAKs reset the retry counter.
func TestReceiverNotReadyForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := lossy(t, packetnet.Faults{Seed: 3, Loss: 0.01, Delay: time.Microsecond}, 1<<12, 16)
		if _, err := a.qp.PostSend([]provider.SendRequest{{
			ID: 1, Op: provider.SendOpSend, Flags: provider.SendSignaled,
			Segments: []provider.Segment{{Region: a.mr, Length: 8}},
		}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if _, err := b.qp.PostReceive(
			[]provider.ReceiveRequest{{ID: 2, Segments: []provider.Segment{{Region: b.mr, Length: 8}}}}); err != nil {
			t.Fatal(err)
		}
		if wc := wait(t, a, 1)[0]; wc.Err() != nil {
			t.Error(wc.Err())
		}
	})
}

// TestDuplicateRNRNAK checks that an RNR NAK that the network duplicates is counted once.
func TestDuplicateRNRNAK(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, n := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<12, 16)
		qp := inner(t, a.qp)
		qp.attr.RNRRetry = 1
		n.SetFaults(packetnet.Faults{Delay: time.Microsecond, Duplicate: 1})
		if _, err := a.qp.PostSend([]provider.SendRequest{{
			ID: 1, Op: provider.SendOpSend, Flags: provider.SendSignaled,
			Segments: []provider.Segment{{Region: a.mr, Length: 8}},
		}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Microsecond) // of 640
		if _, err := b.qp.PostReceive(
			[]provider.ReceiveRequest{{ID: 2, Segments: []provider.Segment{{Region: b.mr, Length: 8}}}}); err != nil {
			t.Fatal(err)
		}
		if wc := wait(t, a, 1)[0]; wc.Err() != nil {
			t.Errorf("after one RNR NAK and its duplicate, with 1 retry: %v", wc.Err())
		}
	})
}

// TestAllWaitersWake checks that an overrun, which Poll reports from then on, wakes all waiting
// goroutines.
func TestAllWaitersWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 16, 16)
		cq, err := a.e.CreateCQ(provider.CQConfig{Depth: 1, Wait: provider.WaitEvent})
		if err != nil {
			t.Fatal(err)
		}
		a.also = append(a.also, cq)
		qp, err := a.pd.CreateQP(provider.QPConfig{SendCQ: cq, RecvCQ: cq})
		if err != nil {
			t.Fatal(err)
		}
		a.also = append([]interface{ Close() error }{qp}, a.also...)
		connect(t, &side{e: a.e, qp: qp}, b, ib.MTU1024)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		const waiters = 4
		got := make(chan error, waiters)
		for range waiters {
			go func() {
				var wc [1]provider.WorkCompletion
				_, err := cq.Wait(ctx, wc[:])
				got <- err
			}()
		}
		synctest.Wait()
		wr := provider.SendRequest{
			Op: provider.SendOpWrite, Flags: provider.SendSignaled, RKey: b.mr.RKey(), RemoteAddr: b.mr.Addr(),
			Segments: []provider.Segment{{Region: a.mr, Length: 8}},
		}
		if _, err := qp.PostSend([]provider.SendRequest{wr, wr}); err != nil {
			t.Fatal(err)
		}
		for range waiters {
			// One gets the completion, the others the error of the queue.
			if err := <-got; err != nil && !errors.Is(err, provider.ErrOverrun) {
				t.Error(err)
			}
		}
	})
}

// TestModifyOutOfRange checks that Modify rejects codes that the protocol doesn't have, and the
// transition from ERR to RTS.
func TestModifyOutOfRange(t *testing.T) {
	v := newVictim(t)
	tests := []struct {
		name string
		attr provider.QPAttributes
	}{
		{"timeout 32, which would be unlimited", provider.QPAttributes{Mask: provider.QPAttrTimeout, Timeout: 32}},
		{"retry count 8", provider.QPAttributes{Mask: provider.QPAttrRetryCount, RetryCount: 8}},
		{"RNR retry count 8", provider.QPAttributes{Mask: provider.QPAttrRNRRetry, RNRRetry: 8}},
		{"RNR timer 32, which would be 655 ms", provider.QPAttributes{
			Mask: provider.QPAttrMinRNRTimer, MinRNRTimer: 32,
		}},
		{"negative limit", provider.QPAttributes{Mask: provider.QPAttrMaxReadAtomic, MaxReadAtomic: -1}},
	}
	for _, tt := range tests {
		tt.attr.State = provider.QPStateRTS
		if err := v.qp.Modify(tt.attr); err == nil {
			t.Errorf("Modify with %s = nil", tt.name)
		}
	}
	// The connection fails after the caller has read the state and before Modify.
	if err := v.qp.Modify(provider.QPAttributes{State: provider.QPStateError}); err != nil {
		t.Fatal(err)
	}
	err := v.qp.Modify(provider.QPAttributes{State: provider.QPStateRTS, Mask: provider.QPAttrAccess})
	if got := v.qp.State(); err == nil || got != provider.QPStateError {
		t.Errorf("Modify ERR→RTS = %v, state %v, want an error and ERR", err, got)
	}
}

// TestAcknowledgedAfterRegionClosed checks that a request whose region is closed before its
// retransmission, but which the peer received the first time, completes with success, and
// that no stale entry of the ring is sent after it.
func TestAcknowledgedAfterRegionClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, other, n := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<12, 16)
		a, b := base.another(t, 1<<12, 8), other.another(t, 1<<12, 8)
		connect(t, a, b, ib.MTU1024)
		gone, err := a.pd.RegisterMemory(make([]byte, 8), provider.MemoryOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wr := func(id uint64, mr provider.MemoryRegion) provider.SendRequest {
			return provider.SendRequest{
				ID: id, Op: provider.SendOpWrite, Flags: provider.SendSignaled,
				Segments: []provider.Segment{{Region: mr, Length: 8}}, RKey: b.target.RKey(),
				RemoteAddr: b.target.Addr(),
			}
		}
		for i := range uint64(8) { // fill the ring
			if _, err := a.qp.PostSend([]provider.SendRequest{wr(100+i, a.mr)}); err != nil {
				t.Fatal(err)
			}
			wait(t, a, 1)
		}
		n.Cut(b.e.addr, a.e.addr, true)
		if _, err := a.qp.PostSend([]provider.SendRequest{wr(1, a.mr), wr(2, gone)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		_ = gone.Close()
		n.Cut(b.e.addr, a.e.addr, false)
		for i, wc := range wait(t, a, 2) {
			if wc.Err() != nil || wc.ID != uint64(i+1) {
				t.Errorf("completion %d = %+v", i, wc)
			}
		}
		time.Sleep(time.Second)
		own := inner(t, b.qp)
		own.mu.Lock()
		got := own.resp.msn
		own.mu.Unlock()
		if got != 10 {
			t.Errorf("the peer executed %d requests, 10 were posted", got)
		}
		if _, err := a.qp.PostSend([]provider.SendRequest{wr(3, a.mr)}); err != nil {
			t.Fatal(err)
		}
		if wc := wait(t, a, 1)[0]; wc.Err() != nil || wc.ID != 3 {
			t.Errorf("completion of the next = %+v", wc)
		}
	})
}

// TestNoReads checks that a READ is rejected when it is posted if the queue pair allows no
// outstanding READs, and by a peer that accepts none.
func TestNoReads(t *testing.T) {
	for _, own := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			a, b, _ := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<12, 4)
			reconnect(t, a, b,
				func(attr *provider.QPAttributes) { attr.MaxReadAtomic, attr.MaxDestReadAtomic = own, 0 })
			n, err := a.qp.PostSend([]provider.SendRequest{{
				Op: provider.SendOpRead, Segments: []provider.Segment{{Region: a.mr, Length: 8}},
				RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
			}})
			if own == 0 {
				if n != 0 || err == nil {
					t.Errorf("PostSend of a READ with MaxReadAtomic 0 = %d, %v, want an error", n, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if wc := wait(t, a, 1)[0]; wc.Status != provider.WCRemoteInvalid {
				t.Errorf("READ from a peer with MaxDestReadAtomic 0 ends with %v, want %v",
					wc.Status, provider.WCRemoteInvalid)
			}
		})
	}
}
