package roce

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// TestICRCOverIPv6 checks that a damaged packet over IPv6 is dropped, and a sound one is not.
func TestICRCOverIPv6(t *testing.T) {
	ip, peer := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	s := start(t, &sink{done: make(chan struct{})}, ip, 64, 4, provider.WaitEvent)
	attr := provider.QPAttributes{
		Mask: ^provider.QPMask(0), Access: 0xff, Path: provider.Path{DGID: ib.GIDFromAddr(peer)}, PathMTU: ib.MTU1024,
		DestQPN: 77, ReceivePSN: 100, MaxDestReadAtomic: 4,
	}
	walk(t, s.qp, attr, provider.QPStateRTR)
	write := func(psn ib.PSN, value byte) []byte {
		p := ib.Packet{
			BTH: ib.BTH{
				Opcode: ib.OpcodeRCWriteOnly, PKey: ib.PKeyDefault, PSN: psn, DestQP: s.qp.QPN(),
			},
			RETH:    ib.RETH{VirtualAddress: s.mr.Addr(), RKey: s.mr.RKey(), DMALength: 4},
			Payload: []byte{value, value, value, value},
		}
		flow := rocev2.Flow{
			Source: ib.GIDFromAddr(peer), Destination: s.e.gid, SourcePort: 0xc000, DestinationPort: rocev2.Port,
		}
		return flow.AppendICRC(p.Append(nil))
	}
	take := func(data []byte) {
		s.e.handler([]udpio.Inbound{
			{Data: data, Segment: len(data), From: netip.AddrPortFrom(peer, 0xc000)},
		})
	}
	damaged := write(100, 1)
	damaged[len(damaged)-5] ^= 1 // in the payload
	take(damaged)
	if got := s.mr.Bytes()[0]; got != 0 || s.e.Stats().BadICRC != 1 {
		t.Errorf("a damaged packet wrote %d; %d invalid ICRCs, want 1", got, s.e.Stats().BadICRC)
	}
	take(write(100, 2))
	if got := s.mr.Bytes()[0]; got != 2 {
		t.Errorf("a sound packet wrote %d, want 2", got)
	}
}

// TestRefusedLengths checks that requests whose lengths don't fit are refused as invalid.
func TestRefusedLengths(t *testing.T) {
	for _, tt := range []struct {
		name    string
		op      ib.Opcode
		length  uint32 // announced
		payload int
	}{
		{"WRITE shorter than announced", ib.OpcodeRCWriteOnly, 16, 8},
		{"WRITE longer than announced", ib.OpcodeRCWriteOnly, 4, 8},
		{"WRITE above 2^31", ib.OpcodeRCWriteFirst, 1<<31 + 1, 1024},
		{"READ above 2^31", ib.OpcodeRCReadRequest, 1<<31 + 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newVictim(t)
			v.conn.record = true
			p := ib.Packet{
				BTH:     ib.BTH{Opcode: tt.op, PKey: ib.PKeyDefault, PSN: 100, AckReq: true},
				RETH:    ib.RETH{VirtualAddress: v.target.Addr(), RKey: v.target.RKey(), DMALength: tt.length},
				Payload: make([]byte, tt.payload),
			}
			v.take(p.Append(nil))
			got := v.conn.responses(t)
			if len(got) != 1 || got[0].AETH.Syndrome != ib.SyndromeNAKInvalidRequest {
				t.Errorf("responses = %+v, want a NAK: invalid request", got)
			}
			if state := v.qp.State(); state != provider.QPStateError {
				t.Errorf("state = %v, want ERR", state)
			}
		})
	}
}

// TestOverrunEndsConnection checks that a completion that doesn't fit into its queue ends the
// connection: the program would wait for it without end.
func TestOverrunEndsConnection(t *testing.T) {
	v := newVictim(t)
	cq, err := v.e.CreateCQ(provider.CQConfig{Depth: 1, Wait: provider.WaitEvent})
	if err != nil {
		t.Fatal(err)
	}
	old := v.qp
	v.qp, err = v.pd.CreateQP(provider.QPConfig{SendCQ: cq, RecvCQ: cq, Capacity: provider.QPCapacity{MaxSendWR: 8}})
	if err != nil {
		t.Fatal(err)
	}
	v.also = append([]interface{ Close() error }{old, v.qp, cq}, v.also...)
	v.connect(t) // posts four receive requests
	v.take(sendOnly(100))
	if state := v.qp.State(); state != provider.QPStateRTS {
		t.Fatalf("state = %v after one completion, want RTS", state)
	}
	v.take(sendOnly(101))
	if state := v.qp.State(); state != provider.QPStateError {
		t.Errorf("state = %v after two completions in a queue for one, want ERR", state)
	}
	var wcs [4]provider.WorkCompletion
	if n, err := cq.Poll(wcs[:]); n != 1 || err != nil {
		t.Errorf("Poll = %d, %v; want the first completion", n, err)
	}
	// There is room again, but a completion in it would follow one that is lost.
	if n, err := v.qp.PostSend([]provider.SendRequest{{ID: 5}}); n != 1 || err != nil {
		t.Fatalf("PostSend in state ERR = %d, %v, want a request that is flushed", n, err)
	}
	if n, err := cq.Poll(wcs[:]); n != 0 || !errors.Is(err, provider.ErrOverrun) {
		t.Errorf("Poll = %d, %v, want ErrOverrun", n, err)
	}
}

// sender is an engine on a manual clock with a connected queue pair whose packets are recorded.
type sender struct {
	*victim
	psn ib.PSN
}

func newSender(t *testing.T) *sender {
	t.Helper()
	c := &clock.Manual{}
	v := &victim{
		clock: c, conn: &sink{done: make(chan struct{}), record: true},
		peer: ib.GIDFromAddr(netip.MustParseAddr("10.0.0.2")),
	}
	ip := netip.MustParseAddr("10.0.0.1")
	e, err := New(Config{Name: "roce@10.0.0.1", Conn: v.conn, Addr: ip, MTU: ib.MTU4096, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	v.side = with(t, e, 1<<20, 64, provider.WaitEvent)
	v.target = v.mr
	s := &sender{victim: v, psn: 200}
	s.reconnect(t, ib.MTU1024)
	return s
}

// reconnect connects the queue pair again, with a path MTU.
func (s *sender) reconnect(t *testing.T, mtu ib.MTU) {
	t.Helper()
	attr := provider.QPAttributes{
		Mask: ^provider.QPMask(0), Access: 0xff, Path: provider.Path{DGID: s.peer}, PathMTU: mtu, DestQPN: 77,
		ReceivePSN: 100, SendPSN: 200, MaxDestReadAtomic: 4, MaxReadAtomic: 4, MinRNRTimer: 12, Timeout: 14,
		RetryCount: 7, RNRRetry: 7,
	}
	walk(t, s.qp, attr, provider.QPStateRTS)
}

// write posts a WRITE of a number of packets.
func (s *sender) write(t *testing.T, packets int) {
	t.Helper()
	if _, err := s.qp.PostSend([]provider.SendRequest{{
		Op: provider.SendOpWrite, Flags: provider.SendSignaled,
		Segments: []provider.Segment{{Region: s.mr, Length: packets * 1024}},
	}}); err != nil {
		t.Fatal(err)
	}
}

// TestSegmentsOfWrites checks that the packets of a WRITE are messages of their own, each with its
// part of the memory, all but the last of one length and so in one segmented send; and that a WRITE
// with immediate data and a SEND, whose end the receiver must know, are one message, as is a WRITE
// in small packets.
func TestSegmentsOfWrites(t *testing.T) {
	s := newSender(t)
	const mtu, addr = 2048, 0x7000
	s.reconnect(t, mtu)
	post := func(op provider.SendOp, length int) []ib.Packet {
		t.Helper()
		s.conn.entries = nil
		if _, err := s.qp.PostSend([]provider.SendRequest{{
			Op: op, RKey: 9, RemoteAddr: addr, Segments: []provider.Segment{{Region: s.mr, Length: length}},
		}}); err != nil {
			t.Fatal(err)
		}
		return s.requests(t)
	}
	got := post(provider.SendOpWrite, 4*mtu+100)
	if len(got) != 5 || len(s.conn.entries) != 1 {
		t.Fatalf("%d packets in %d sends, want 5 in one", len(got), len(s.conn.entries))
	}
	for i, p := range got {
		want := ib.RETH{VirtualAddress: addr + uint64(i*mtu), RKey: 9, DMALength: mtu}
		if i == 4 {
			want.DMALength = 100
		}
		if p.BTH.Opcode != ib.OpcodeRCWriteOnly || p.RETH != want || p.BTH.AckReq != (i == 4) {
			t.Errorf("packet %d = %v %+v, acknowledgement requested %t; want WRITE ONLY %+v",
				i, p.BTH.Opcode, p.RETH, p.BTH.AckReq, want)
		}
	}
	got = post(provider.SendOpWriteImmediate, 3*mtu)
	if len(got) != 3 || got[0].BTH.Opcode != ib.OpcodeRCWriteFirst || got[1].BTH.Opcode != ib.OpcodeRCWriteMiddle ||
		got[2].BTH.Opcode != ib.OpcodeRCWriteLastImmediate || got[0].RETH.DMALength != 3*mtu {
		t.Errorf("WRITE with immediate = %+v", got)
	}
	if got = post(provider.SendOpSend, 2*mtu); len(got) != 2 || got[1].BTH.Opcode != ib.OpcodeRCSendLast {
		t.Errorf("SEND = %+v", got)
	}
	s.reconnect(t, mtu)
	if got = post(provider.SendOpWrite, 65*mtu); got[0].BTH.Opcode != ib.OpcodeRCWriteFirst {
		t.Errorf("WRITE of 65 packets begins with %v", got[0].BTH.Opcode)
	}
	s.reconnect(t, ib.MTU1024)
	if got = post(provider.SendOpWrite, 2048); len(got) != 2 || got[0].BTH.Opcode != ib.OpcodeRCWriteFirst {
		t.Errorf("WRITE in packets of 1024 bytes = %+v", got)
	}
}

// requests returns the request packets that were sent since the last call.
func (s *sender) requests(t *testing.T) (out []ib.Packet) {
	t.Helper()
	for _, data := range s.conn.packets {
		var p ib.Packet
		if _, err := p.Decode(data[:len(data)-rocev2.ICRCLen]); err != nil {
			t.Fatal(err)
		}
		if p.BTH.Opcode != ib.OpcodeRCAcknowledge {
			out = append(out, p)
		}
	}
	s.conn.packets = nil
	return out
}

// answer passes an ACK or NAK to the engine.
func (s *sender) answer(psn ib.PSN, syndrome ib.Syndrome) {
	p := ib.Packet{
		BTH:  ib.BTH{Opcode: ib.OpcodeRCAcknowledge, PKey: ib.PKeyDefault, PSN: psn},
		AETH: ib.AETH{Syndrome: syndrome},
	}
	s.take(p.Append(nil))
}

// TestWindowAfterLoss checks that a NAK halves the window, once for each loss, and that a timeout
// does too.
func TestWindowAfterLoss(t *testing.T) {
	for _, tt := range []struct {
		name string
		lose func(s *sender)
	}{
		{"NAK", func(s *sender) {
			s.answer(200, ib.SyndromeNAKSequence)
			s.answer(200, ib.SyndromeNAKSequence) // of a packet that was in flight
		}},
		{"timeout", func(s *sender) { s.clock.Advance(ib.AckTimeout(14)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSender(t)
			s.write(t, 200)
			before := len(s.requests(t))
			if before != windowMax/2 {
				t.Fatalf("%d packets sent at first, want %d", before, windowMax/2)
			}
			tt.lose(s)
			if got := inner(t, s.qp).req.window; got != before/2 {
				t.Errorf("window = %d packets, want half of %d", got, before)
			}
			if again := s.requests(t); len(again) != before/2 || again[0].BTH.PSN != 200 {
				t.Errorf("%d packets sent again, from %v; want %d from 200", len(again), again[0].BTH.PSN, before/2)
			}
		})
	}
}

// TestAckRequestedAtWindowEnd checks that the last packet that the window permits asks for an
// acknowledgement: otherwise nothing would open the window again.
func TestAckRequestedAtWindowEnd(t *testing.T) {
	s := newSender(t)
	inner(t, s.qp).req.window = 13 // not a multiple of ackReqEvery
	s.write(t, 100)
	got := s.requests(t)
	if len(got) != 13 {
		t.Fatalf("%d packets sent, want 13", len(got))
	}
	for i, p := range got {
		if p.BTH.AckReq != (i == 12) {
			t.Errorf("packet %d asks for an acknowledgement: %t", i, p.BTH.AckReq)
		}
	}
}

// TestForwardSeek checks that packets that were acknowledged late, after a retransmission had
// begun, are not sent again.
func TestForwardSeek(t *testing.T) {
	s := newSender(t)
	s.write(t, 100)
	s.requests(t)
	inner(t, s.qp).req.window = 2 * windowMin
	s.clock.Advance(ib.AckTimeout(14)) // goes back to 200; the window is 8
	if got := s.requests(t); len(got) != windowMin || got[0].BTH.PSN != 200 {
		t.Fatalf("%d packets after the timeout, from %v; want %d from 200", len(got), got[0].BTH.PSN, windowMin)
	}
	s.answer(200+49, ib.SyndromeACK) // the first fifty had arrived
	got := s.requests(t)
	if len(got) == 0 || got[0].BTH.PSN != 250 {
		t.Errorf("%d packets after the acknowledgement of 249, from %v; want them from 250", len(got), got[0].BTH.PSN)
	}
}

// TestResponseBudget checks that the receiving goroutine sends a long READ response in pieces, so
// that other queue pairs get their turn.
func TestResponseBudget(t *testing.T) {
	s := newSender(t)
	qp := inner(t, s.qp)
	qp.mu.Lock()
	defer qp.mu.Unlock()
	p := ib.Packet{
		BTH:  ib.BTH{Opcode: ib.OpcodeRCReadRequest, PSN: 100, PKey: ib.PKeyDefault},
		RETH: ib.RETH{VirtualAddress: s.mr.Addr(), RKey: s.mr.RKey(), DMALength: 200 * 1024},
	}
	qp.handleRequest(&p)
	for i, want := range []int{respondPackets, respondPackets, respondPackets, 200 - 3*respondPackets} {
		more := qp.respond(false)
		qp.tx.flush()
		got := len(s.conn.packets)
		s.conn.packets = nil
		if got != want || more != (i < 3) {
			t.Errorf("call %d sent %d packets, more %t; want %d", i, got, more, want)
		}
	}
}

// TestResumeAfterPolling checks that a goroutine that stops polling without a result tells the
// connection, whose Read may pause meanwhile.
func TestResumeAfterPolling(t *testing.T) {
	for _, mode := range []provider.WaitMode{provider.WaitBusy, provider.WaitHybrid} {
		v := newVictim(t)
		cq, err := v.e.CreateCQ(provider.CQConfig{Wait: mode})
		if err != nil {
			t.Fatal(err)
		}
		v.also = append(v.also, cq)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		if _, err := cq.Wait(ctx, make([]provider.WorkCompletion, 1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait = %v, want the end of the context", err)
		}
		cancel()
		if got := v.conn.resumed.Load(); got != 1 {
			t.Errorf("mode %v: Resume was called %d times, want once", mode, got)
		}
	}
}

// failing is a connection whose reads fail.
type failing struct {
	sink
	reads chan struct{}
}

func (c *failing) Read(udpio.Handler) error {
	select {
	case <-c.done:
		return errSinkClosed
	case c.reads <- struct{}{}:
		return errors.New("no buffer space")
	}
}

// TestPauseAfterReadError checks that the receiver waits after an error, so that a persistent error
// doesn't occupy a CPU.
func TestPauseAfterReadError(t *testing.T) {
	c, conn := &clock.Manual{}, &failing{sink: sink{done: make(chan struct{})}, reads: make(chan struct{})}
	e, err := New(Config{Name: "roce@test", Conn: conn, Addr: netip.MustParseAddr("10.0.0.1"), Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	for range 3 {
		<-conn.reads
		pause, ok := c.Next()
		for ; !ok || pause > readPause; pause, ok = c.Next() { // until the receiver has begun to wait
			time.Sleep(10 * time.Microsecond)
		}
		c.Advance(readPause - 1)
		select {
		case <-conn.reads:
			t.Fatal("the receiver read again before the pause had ended")
		case <-time.After(time.Millisecond):
		}
		c.Advance(1)
	}
	<-conn.reads
	if got := e.Stats().ReadErrors; got < 3 {
		t.Errorf("%d read errors counted, want at least 3", got)
	}
}
