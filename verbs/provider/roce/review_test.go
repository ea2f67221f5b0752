package roce

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestSharedSlotsOfClosedQueue checks that completions that nobody polls before their completion
// queue is closed don't occupy the shared receive queue.
func TestSharedSlotsOfClosedQueue(t *testing.T) {
	s := newSharing(t, provider.SRQConfig{MaxWR: 2})
	s.post(t, 0, 1)
	s.to(0, sendOnly(100), sendOnly(101))
	for _, c := range []interface{ Close() error }{s.qps[0], s.qps[1], s.recv} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s.post(t, 2, 3)
}

// TestSharedSlotOfOverrun checks that a message whose completion had no room doesn't occupy the
// shared receive queue.
func TestSharedSlotOfOverrun(t *testing.T) {
	s := newSharing(t, provider.SRQConfig{MaxWR: 2})
	cq, err := s.e.CreateCQ(provider.CQConfig{Depth: 1})
	if err != nil {
		t.Fatal(err)
	}
	qp, err := s.pd.CreateQP(provider.QPConfig{SendCQ: s.cq, RecvCQ: cq, SRQ: s.srq})
	if err != nil {
		t.Fatal(err)
	}
	s.also = append([]interface{ Close() error }{qp, cq}, s.also...)
	s.qps[0] = qp
	s.connectOne(t, 0)
	s.post(t, 0, 1)
	s.to(0, sendOnly(100), sendOnly(101))
	s.post(t, 2)
	if n, _ := s.srq.PostReceive(make([]provider.ReceiveRequest, 1)); n != 0 {
		t.Error("the slot of a completion that nobody has polled is free")
	}
}

// TestManyRequests checks that queues whose depth is no power of two survive 2^32 requests.
func TestManyRequests(t *testing.T) {
	var q receives
	const depth = 100
	q.init(nil, make([]provider.Segment, depth), depth, 1)
	q.head, q.tail = 1<<32-50, 1<<32-50
	e := receiveEntry{segments: make([]provider.Segment, 0, 1)}
	for id := range uint64(depth) {
		if err := q.add(&provider.ReceiveRequest{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	for id := range uint64(depth) {
		if ok, _ := q.take(&e); !ok || e.id != id {
			t.Fatalf("request %d, %t; want %d", e.id, ok, id)
		}
	}
	r := requester{ring: make([]sendEntry, depth)}
	if r.at(1<<32-1) == r.at(1<<32+depth-2) || r.at(1<<32-1) != r.at(1<<32+depth-1) {
		t.Error("places of send requests around 2^32")
	}
}

// TestOverrunIsNotAcknowledged checks that a message whose completion had no room isn't
// acknowledged: the peer would take it for delivered.
func TestOverrunIsNotAcknowledged(t *testing.T) {
	v := newVictim(t)
	cq, err := v.e.CreateCQ(provider.CQConfig{Depth: 1})
	if err != nil {
		t.Fatal(err)
	}
	qp, err := v.pd.CreateQP(provider.QPConfig{SendCQ: v.cq, RecvCQ: cq})
	if err != nil {
		t.Fatal(err)
	}
	v.also = append(v.also, qp, cq)
	walk(t, qp, inner(t, v.qp).attr, provider.QPStateRTS)
	room := provider.ReceiveRequest{Segments: []provider.Segment{{Region: v.target, Length: 8}}}
	if _, err := qp.PostReceive([]provider.ReceiveRequest{room, room}); err != nil {
		t.Fatal(err)
	}
	own := v.qp
	v.qp, v.conn.record = qp, true
	v.take(sendOnly(100))
	v.conn.packets = nil
	v.take(sendOnly(101))
	if got := v.conn.responses(t); len(got) != 0 || qp.State() != provider.QPStateError {
		t.Errorf("responses %+v in state %v, want none in ERR", got, qp.State())
	}
	v.qp = own
}

// TestCauseOfItsOwn checks that an event doesn't name a repeated READ that got no response.
func TestCauseOfItsOwn(t *testing.T) {
	v := newVictim(t)
	v.take(v.readRequest(100, 8))
	_ = v.target.Close()
	v.take(v.readRequest(100, 8))
	bad := sendOnly(101)
	bad[0] = byte(ib.OpcodeRCSendMiddle)
	v.take(bad)
	for {
		e, ok := v.e.events.next()
		if !ok {
			t.Fatal("no event about the invalid request")
		}
		if e.Type == provider.EventQPRequestError {
			if e.Cause != nil {
				t.Errorf("cause %v of an invalid request", e.Cause)
			}
			return
		}
	}
}

// TestUnreliableErrorStays checks that a send queue error doesn't hide that the completion queue
// has overrun.
func TestUnreliableErrorStays(t *testing.T) {
	pair(t, provider.QPTypeUC, func(t *testing.T, a, _ *endpoint, _ *packetnet.Network) {
		qp := inner(t, a.qp)
		qp.mu.Lock()
		defer qp.mu.Unlock()
		for range qp.sendCQ.Depth() { // of requests that nobody polls
			qp.unpolledSends.Add(1)
			qp.sendCQ.push(provider.WorkCompletion{}, &qp.unpolledSends, false)
		}
		qp.unpolledSends.Store(0)
		if err := qp.enqueue(&provider.SendRequest{Data: []byte{1}}); err != nil {
			t.Fatal(err)
		}
		qp.failSend(provider.WCLocalProtection)
		if qp.state != provider.QPStateError {
			t.Errorf("state = %v, want ERR", qp.state)
		}
	})
}

// TestUnreliableReceiveError checks that a receive request without memory ends the queue pair.
func TestUnreliableReceiveError(t *testing.T) {
	for _, kind := range []provider.QPType{provider.QPTypeUC, provider.QPTypeUD} {
		pair(t, kind, func(t *testing.T, a, b *endpoint, _ *packetnet.Network) {
			wr := provider.SendRequest{Data: []byte("data")}
			if kind == provider.QPTypeUD {
				wr.To = a.to(b.e.gid, b.qp.QPN(), testQKey)
			}
			b.room(1, 0, 64)
			b.room(2, 0, 64)
			_ = b.mr.Close()
			a.mustSend(wr)
			var got []provider.WCStatus
			for _, wc := range b.received() {
				got = append(got, wc.Status)
			}
			want := []provider.WCStatus{provider.WCLocalProtection, provider.WCFlushed}
			if !slices.Equal(got, want) || b.qp.State() != provider.QPStateError {
				t.Errorf("%v: statuses %v in state %v, want %v in ERR", kind, got, b.qp.State(), want)
			}
		})
	}
}

// TestUnreliableLong checks a message of more packets than are sent at once.
func TestUnreliableLong(t *testing.T) {
	pair(t, provider.QPTypeUC, func(t *testing.T, a, b *endpoint, _ *packetnet.Network) {
		all := provider.AccessLocalWrite | provider.AccessRemoteWrite
		const size = 1024*unreliablePackets*3 + 5
		var mrs [2]provider.MemoryRegion
		for i, e := range []*endpoint{a, b} {
			var err error
			if mrs[i], err = e.pd.RegisterMemory(make([]byte, size), provider.MemoryOptions{Access: all}); err != nil {
				t.Fatal(err)
			}
			e.base.also = append(e.base.also, mrs[i])
		}
		for i := range size {
			mrs[0].Bytes()[i] = byte(i * 13 >> 4)
		}
		a.mustSend(provider.SendRequest{
			Op: provider.SendOpWrite, Segments: []provider.Segment{{Region: mrs[0], Length: size}},
			RemoteAddr: mrs[1].Addr(), RKey: mrs[1].RKey(),
		})
		b.received()
		if !slices.Equal(mrs[0].Bytes(), mrs[1].Bytes()) {
			t.Error("data differ")
		}
	})
}

// TestUnreliableTooLong checks that a message that is too long is dropped whole, also if its last
// packet would fit again after the one that didn't.
func TestUnreliableTooLong(t *testing.T) {
	pair(t, provider.QPTypeUC, func(t *testing.T, a, b *endpoint, _ *packetnet.Network) {
		b.room(1, 0, 1024+100)
		a.mustSend(provider.SendRequest{Segments: []provider.Segment{{Region: a.mr, Length: 2*1024 + 50}}})
		if got := b.received(); len(got) != 0 {
			t.Errorf("completions %+v of a message that is too long", got)
		}
		a.mustSend(provider.SendRequest{Data: []byte("short")})
		if got := b.received(); len(got) != 1 || got[0].ID != 1 || got[0].Bytes != 5 {
			t.Errorf("completions %+v, want request 1 with the next message", got)
		}
	})
}

// TestDatagramsOfCounter checks that no datagram of a sender that numbers its packets is lost,
// however far its counter has advanced meanwhile.
func TestDatagramsOfCounter(t *testing.T) {
	v := newVictim(t)
	qp, err := v.pd.CreateQP(provider.QPConfig{Type: provider.QPTypeUD, SendCQ: v.cq, RecvCQ: v.cq})
	if err != nil {
		t.Fatal(err)
	}
	v.also = append(v.also, qp)
	attr := provider.QPAttributes{Port: 1, QKey: testQKey}
	for attr.State = provider.QPStateInit; attr.State <= provider.QPStateRTR; attr.State++ {
		attr.Mask, _, _ = provider.TransitionAttributes(provider.QPTypeUD, attr.State-1, attr.State)
		if err := qp.Modify(attr); err != nil {
			t.Fatal(err)
		}
	}
	own := v.qp
	v.qp = qp
	const total = 10
	for i := range total {
		p := ib.Packet{
			BTH:     ib.BTH{Opcode: ib.OpcodeUDSendOnly, PKey: ib.PKeyDefault, PSN: ib.PSN(i)},
			DETH:    ib.DETH{QKey: testQKey},
			Payload: make([]byte, 8),
		}
		v.from(v.peer.Addr(), uint16(1000+i*12345), p.Append(nil), 0)
	}
	v.qp = own
	if s := v.e.Stats(); s.BadICRC != 0 || s.Dropped != total {
		t.Errorf("%d damaged, %d without a receive request; want 0 and %d", s.BadICRC, s.Dropped, total)
	}
}

// TestDatagramTo checks destinations that can't be.
func TestDatagramTo(t *testing.T) {
	pair(t, provider.QPTypeUD, func(t *testing.T, a, b *endpoint, _ *packetnet.Network) {
		to := a.to(b.e.gid, 1<<24, testQKey)
		for want, to := range map[string]*provider.Datagram{
			"more than 24 bits": to, "no address handle": {QPN: 5},
		} {
			_, err := a.qp.PostSend([]provider.SendRequest{{Data: []byte{1}, To: to}})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("PostSend = %v, want %q", err, want)
			}
		}
	})
}
