package roce

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// endpoint is a queue pair of type UC or UD, with queues and memory of its own.
type endpoint struct {
	*side
	base *side // which closes it
	t    *testing.T
	psn  ib.PSN
	sent uint64
}

const testQKey = 0x11223344

// newEndpoint makes one on the engine of s, in state INIT.
func newEndpoint(t *testing.T, s *side, kind provider.QPType) *endpoint {
	t.Helper()
	n := s.another(t, 1<<14, 16)
	_ = n.qp.Close()
	var err error
	if n.qp, err = s.pd.CreateQP(provider.QPConfig{
		Type: kind, SendCQ: n.cq, RecvCQ: n.receives,
		Capacity: provider.QPCapacity{MaxRecvSegments: 2, MaxInline: 64}, SignalAll: true,
	}); err != nil {
		t.Fatal(err)
	}
	if n.qp.Type() != kind {
		t.Errorf("type = %v, want %v", n.qp.Type(), kind)
	}
	s.also = append([]interface{ Close() error }{n.qp}, s.also...)
	e := &endpoint{side: n, base: s, t: t, psn: 0xfffffe}
	e.modify(provider.QPAttributes{
		State: provider.QPStateInit, Port: 1, QKey: testQKey, Access: provider.AccessRemoteWrite,
	})
	return e
}

// modify sets the attributes that the transition requires.
func (e *endpoint) modify(attr provider.QPAttributes) {
	e.t.Helper()
	attr.Mask, _, _ = provider.TransitionAttributes(e.qp.Type(), e.qp.State(), attr.State)
	if err := e.qp.Modify(attr); err != nil {
		e.t.Fatal(err)
	}
}

// run moves it to RTS; peer is nil for datagrams.
func (e *endpoint) run(peer *endpoint) {
	e.t.Helper()
	attr := provider.QPAttributes{State: provider.QPStateRTR, PathMTU: ib.MTU1024, SendPSN: e.psn}
	if peer != nil {
		attr.Path.DGID, attr.DestQPN, attr.ReceivePSN = peer.e.gid, peer.qp.QPN(), peer.psn
	}
	e.modify(attr)
	attr.State = provider.QPStateRTS
	e.modify(attr)
}

// room posts a receive request for a part of the memory.
func (e *endpoint) room(id uint64, offset, length int) {
	e.t.Helper()
	wr := provider.ReceiveRequest{ID: id, Segments: []provider.Segment{{Region: e.mr, Offset: offset, Length: length}}}
	if _, err := e.qp.PostReceive([]provider.ReceiveRequest{wr}); err != nil {
		e.t.Fatal(err)
	}
}

// send posts a request and returns the status of its completion.
func (e *endpoint) send(wr provider.SendRequest) provider.WCStatus {
	e.t.Helper()
	e.sent++
	wr.ID = e.sent
	if _, err := e.qp.PostSend([]provider.SendRequest{wr}); err != nil {
		e.t.Fatal(err)
	}
	wcs := wait(e.t, e.side, 1)
	if wcs[0].ID != e.sent {
		e.t.Errorf("completion of request %d, want %d", wcs[0].ID, e.sent)
	}
	return wcs[0].Status
}

// mustSend posts a request that must succeed.
func (e *endpoint) mustSend(wr provider.SendRequest) {
	e.t.Helper()
	if got := e.send(wr); got != provider.WCSuccess {
		e.t.Errorf("%v: status %v", wr.Op, got)
	}
}

// received returns what has come after everything has arrived.
func (e *endpoint) received() []provider.WorkCompletion {
	e.t.Helper()
	time.Sleep(time.Second)
	qp := inner(e.t, e.qp) // the receiver writes to the memory under this lock
	qp.mu.Lock()
	defer qp.mu.Unlock()
	wcs := make([]provider.WorkCompletion, 16)
	n, err := e.receives.Poll(wcs)
	if err != nil {
		e.t.Fatal(err)
	}
	return wcs[:n]
}

// pair runs a test with two endpoints on a network without faults.
func pair(t *testing.T, kind provider.QPType, test func(t *testing.T, a, b *endpoint, n *packetnet.Network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		x, y, n := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<12, 16)
		a, b := newEndpoint(t, x, kind), newEndpoint(t, y, kind)
		if kind == provider.QPTypeUD {
			a.run(nil)
			b.run(nil)
		} else {
			a.run(b)
			b.run(a)
		}
		test(t, a, b, n)
	})
}

// to returns a destination.
func (e *endpoint) to(gid ib.GID, qpn ib.QPN, qkey uint32) *provider.Datagram {
	e.t.Helper()
	create, _ := e.pd.(provider.AddressHandleCreator)
	handle, err := create.CreateAddressHandle(1, provider.Path{DGID: gid, TrafficClass: 104})
	if err != nil {
		e.t.Fatal(err)
	}
	e.base.also = append(e.base.also, handle)
	return &provider.Datagram{Handle: handle, QPN: qpn, QKey: qkey}
}

// TestDatagrams checks what arrives of datagrams, and the way back by their headers.
func TestDatagrams(t *testing.T) {
	pair(t, provider.QPTypeUD, func(t *testing.T, a, b *endpoint, _ *packetnet.Network) {
		b.room(1, 0, 100)
		b.room(2, 128, 4096+40)
		to := a.to(b.e.gid, b.qp.QPN(), testQKey)
		a.mustSend(provider.SendRequest{
			Op: provider.SendOpSendImmediate, Data: []byte("hello"), Immediate: [4]byte{1, 2, 3, 4}, To: to,
		})
		for i := range 4096 {
			a.mr.Bytes()[i] = byte(i * 7)
		}
		to.QKey = 1 << 31 // the own one, which is the same
		a.mustSend(provider.SendRequest{Segments: []provider.Segment{{Region: a.mr, Length: 4096}}, To: to})
		wcs := b.received()
		want := []provider.WorkCompletion{{
			ID: 1, Op: provider.WCReceive, Flags: provider.WCGRH | provider.WCImmediate, Immediate: [4]byte{1, 2, 3, 4},
			Bytes: 45, QPN: b.qp.QPN(), SourceQPN: a.qp.QPN(),
		}, {
			ID: 2, Op: provider.WCReceive, Flags: provider.WCGRH, Bytes: 4136, QPN: b.qp.QPN(), SourceQPN: a.qp.QPN(),
		}}
		if diff := cmp.Diff(want, wcs); diff != "" {
			t.Fatalf("completions (-want +got):\n%s", diff)
		}
		mem := b.mr.Bytes()
		if got := string(mem[40:45]); got != "hello" {
			t.Errorf("payload %q", got)
		}
		if !bytes.Equal(mem[168:168+4096], a.mr.Bytes()[:4096]) {
			t.Error("the second payload differs")
		}
		checkIPv4(t, mem[20:40], "10.0.0.1", "10.0.0.2", 104, 20+8+12+8+4+5+3+4)
		checkIPv4(t, mem[148:168], "10.0.0.1", "10.0.0.2", 104, 20+8+12+8+4096+4)

		a.room(3, 0, 64)
		source := ib.GIDFromAddr(netip.AddrFrom4([4]byte(mem[32:36])))
		b.send(provider.SendRequest{Data: []byte("back"), To: b.to(source, wcs[0].SourceQPN, testQKey)})
		if got := a.received(); len(got) != 1 || got[0].ID != 3 || string(a.mr.Bytes()[40:44]) != "back" {
			t.Errorf("the way back: %+v", got)
		}
	})
}

// checkIPv4 checks a header against RFC 791: its checksum is right if the sum of its words is
// 0xffff.
func checkIPv4(t *testing.T, h []byte, from, to string, class byte, length int) {
	t.Helper()
	sum := 0
	for i := 0; i < 20; i += 2 {
		sum += int(h[i])<<8 | int(h[i+1])
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	src, dst := netip.AddrFrom4([4]byte(h[12:16])).String(), netip.AddrFrom4([4]byte(h[16:20])).String()
	if h[0] != 0x45 || h[1] != class || int(h[2])<<8|int(h[3]) != length || h[9] != 17 || sum != 0xffff ||
		src != from || dst != to {
		t.Errorf("IPv4 header % x: want from %s to %s, class %d, length %d; the sum of its words is %#x",
			h, from, to, class, length, sum)
	}
}

// TestRouteHeaderIPv6 checks the header of a datagram over IPv6.
func TestRouteHeaderIPv6(t *testing.T) {
	var p peer
	p.init(netip.MustParseAddr("2001:db8::9"), ib.GIDFromAddr(netip.MustParseAddr("2001:db8::1")))
	var b [ib.GRHLen]byte
	routeHeader(&b, &p.flow, 0xa8, 100)
	var h ib.GRH
	if _, err := h.Decode(b[:]); err != nil {
		t.Fatal(err)
	}
	if h.TrafficClass != 0xa8 || h.PayloadLen != 112 || b[6] != 17 || b[0]>>4 != 6 ||
		netip.AddrFrom16([16]byte(b[8:24])) != p.addr || b[39] != 1 {
		t.Errorf("header % x", b)
	}
}

// TestDatagramsDropped checks that what can't be received takes no receive request.
func TestDatagramsDropped(t *testing.T) {
	pair(t, provider.QPTypeUD, func(t *testing.T, a, b *endpoint, _ *packetnet.Network) {
		to := a.to(b.e.gid, b.qp.QPN(), testQKey)
		send := func(length int, to *provider.Datagram) {
			t.Helper()
			a.mustSend(provider.SendRequest{Segments: []provider.Segment{{Region: a.mr, Length: length}}, To: to})
		}
		send(8, to) // no receive request
		b.received()
		b.room(1, 0, 50)
		send(11, to) // one byte too long
		send(8, a.to(b.e.gid, b.qp.QPN(), 5))
		send(10, to)
		got := b.received()
		if len(got) != 1 || got[0].ID != 1 || got[0].Bytes != 50 {
			t.Errorf("completions %+v, want that of 10 bytes", got)
		}
		if s := b.e.Stats(); s.Dropped != 2 || s.BadQKey != 1 {
			t.Errorf("%d dropped, %d with another Q_Key; want 2 and 1", s.Dropped, s.BadQKey)
		}
	})
}

// TestDatagramDestinations checks that datagrams of one call reach different destinations, also of
// the same length, and through a full engine of several.
func TestDatagramDestinations(t *testing.T) {
	pair(t, provider.QPTypeUD, func(t *testing.T, a, b *endpoint, _ *packetnet.Network) {
		c := newEndpoint(t, a.base, provider.QPTypeUD)
		c.run(nil)
		var wrs []provider.SendRequest
		for i, to := range []*endpoint{b, c, b, c, c} {
			to.room(uint64(i), 64*i, 64)
			wrs = append(wrs, provider.SendRequest{Data: []byte{byte(i)}, To: a.to(to.e.gid, to.qp.QPN(), testQKey)})
		}
		if n, err := a.qp.PostSend(wrs); n != 5 || err != nil {
			t.Fatal(n, err)
		}
		ids := func(e *endpoint) (out []uint64) {
			for _, wc := range e.received() {
				out = append(out, wc.ID)
				if got := e.mr.Bytes()[64*wc.ID+40]; got != byte(wc.ID) {
					t.Errorf("datagram %d has payload %d", wc.ID, got)
				}
			}
			return out
		}
		if x, y := ids(b), ids(c); !slices.Equal(x, []uint64{0, 2}) || !slices.Equal(y, []uint64{1, 3, 4}) {
			t.Errorf("datagrams %v and %v arrived", x, y)
		}
	})
}

// TestDatagramErrors checks what is refused when it is posted or created.
func TestDatagramErrors(t *testing.T) {
	pair(t, provider.QPTypeUD, func(t *testing.T, a, b *endpoint, _ *packetnet.Network) {
		to := a.to(b.e.gid, b.qp.QPN(), testQKey)
		closed := a.to(b.e.gid, b.qp.QPN(), testQKey)
		_, _ = closed.Handle.Close(), closed.Handle.Close()
		foreign := b.to(a.e.gid, a.qp.QPN(), testQKey)
		for _, tt := range []struct {
			wr   provider.SendRequest
			want string
		}{
			{provider.SendRequest{Data: []byte{1}}, "no destination"},
			{provider.SendRequest{Data: []byte{1}, To: foreign}, "another protection domain"},
			{provider.SendRequest{Data: []byte{1}, To: closed}, "closed"},
			{
				provider.SendRequest{Segments: []provider.Segment{{Region: a.mr, Length: 4097}}, To: to},
				"4097 bytes, and a datagram has at most 4096",
			},
			{provider.SendRequest{Op: provider.SendOpWrite, To: to}, "RDMA WRITE"},
			{provider.SendRequest{Op: provider.SendOpRead, To: to}, "RDMA READ"},
		} {
			_, err := a.qp.PostSend([]provider.SendRequest{tt.wr})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("PostSend = %v, want %q", err, tt.want)
			}
		}
		create, _ := a.pd.(provider.AddressHandleCreator)
		for want, path := range map[string]provider.Path{
			"no destination": {}, "can't be reached": {DGID: ib.GIDFromAddr(netip.MustParseAddr("2001:db8::1"))},
			"GID index 3": {DGID: b.e.gid, SGIDIndex: 3},
		} {
			if _, err := create.CreateAddressHandle(1, path); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("CreateAddressHandle = %v, want %q", err, want)
			}
		}
		if _, err := create.CreateAddressHandle(2, provider.Path{DGID: b.e.gid}); err == nil {
			t.Error("CreateAddressHandle of port 2 has no error")
		}
	})
}

// TestUnreliableConnection checks SEND and WRITE of several packets, with and without immediate
// data, and that nothing is acknowledged.
func TestUnreliableConnection(t *testing.T) {
	pair(t, provider.QPTypeUC, func(t *testing.T, a, b *endpoint, _ *packetnet.Network) {
		for i := range a.mr.Bytes() {
			a.mr.Bytes()[i] = byte(i * 11)
		}
		part := func(length int) []provider.Segment { return []provider.Segment{{Region: a.mr, Length: length}} }
		b.room(1, 0, 4000)
		b.room(2, 0, 0)
		for _, wr := range []provider.SendRequest{
			{Op: provider.SendOpSend, Segments: part(3000)},
			{Op: provider.SendOpWrite, Segments: part(5000), RemoteAddr: b.target.Addr(), RKey: b.target.RKey()},
			{
				Op: provider.SendOpWriteImmediate, Segments: part(1000), RemoteAddr: b.target.Addr() + 6000,
				RKey: b.target.RKey(), Immediate: [4]byte{9},
			},
		} {
			if got := a.send(wr); got != 0 {
				t.Errorf("%v: status %v", wr.Op, got)
			}
		}
		got := b.received()
		if len(got) != 2 || got[0].Bytes != 3000 || got[1].Bytes != 1000 || got[1].Op != provider.WCReceiveWrite ||
			got[1].Immediate != [4]byte{9} {
			t.Errorf("completions %+v", got)
		}
		if !bytes.Equal(b.mr.Bytes()[:3000], a.mr.Bytes()[:3000]) ||
			!bytes.Equal(b.target.Bytes()[:5000], a.mr.Bytes()[:5000]) ||
			!bytes.Equal(b.target.Bytes()[6000:7000], a.mr.Bytes()[:1000]) {
			t.Error("data differ")
		}
		if s := a.e.Stats(); s.Duplicates+s.Timeouts+s.Malformed != 0 {
			t.Errorf("the sender received something: %+v", s)
		}
		for _, op := range []provider.SendOp{provider.SendOpRead, provider.SendOpFetchAdd} {
			_, err := a.qp.PostSend([]provider.SendRequest{{Op: op, Segments: part(8)}})
			if !errors.Is(err, provider.ErrNotSupported) {
				t.Errorf("PostSend of %v = %v, want ErrNotSupported", op, err)
			}
		}
	})
}

// TestUnreliableLoss checks that a message that lacks a packet is dropped, and that the request
// that it has taken serves the next one.
func TestUnreliableLoss(t *testing.T) {
	packet := func(op ib.Opcode, psn ib.PSN, length int, fill byte) *ib.Packet {
		return &ib.Packet{BTH: ib.BTH{Opcode: op, PSN: psn}, Payload: bytes.Repeat([]byte{fill}, length)}
	}
	pair(t, provider.QPTypeUC, func(t *testing.T, a, b *endpoint, _ *packetnet.Network) {
		b.room(1, 0, 3000)
		b.room(2, 4096, 2000)
		qp := inner(t, b.qp)
		qp.mu.Lock()
		for _, p := range []*ib.Packet{
			packet(ib.OpcodeUCSendFirst, 10, 1024, 1), // 11 is lost
			packet(ib.OpcodeUCSendLast, 12, 8, 1),
			packet(ib.OpcodeUCSendFirst, 13, 1024, 2), // its end is lost
			packet(ib.OpcodeUCSendFirst, 17, 1024, 3),
			packet(ib.OpcodeUCSendMiddle, 18, 1024, 3),
			packet(ib.OpcodeUCSendLast, 19, 8, 3),
			packet(ib.OpcodeUCSendMiddle, 20, 1024, 4), // its beginning is lost
			packet(ib.OpcodeUCSendLast, 21, 8, 4),
			packet(ib.OpcodeUCSendFirst, 22, 1024, 5), // too long for request 2
			packet(ib.OpcodeUCSendLast, 23, 1000, 5),
			packet(ib.OpcodeUCSendOnly, 24, 1025, 6), // longer than the path MTU
			packet(ib.OpcodeUCSendFirst, 25, 1000, 6),
			packet(ib.OpcodeUCSendLast, 26, 8, 6),
			packet(ib.OpcodeUCSendOnly, 27, 16, 7),
			packet(ib.OpcodeUCSendOnly, 28, 16, 8), // no receive request
		} {
			qp.handleUnreliable(p)
		}
		qp.mu.Unlock()
		got := b.received()
		if len(got) != 2 || got[0].ID != 1 || got[0].Bytes != 2056 || got[1].ID != 2 || got[1].Bytes != 16 {
			t.Errorf("completions %+v, want the third and the seventh message", got)
		}
		if mem := b.mr.Bytes(); mem[0] != 3 || mem[2055] != 3 || mem[4096] != 7 {
			t.Errorf("bytes %d, %d, %d; want 3, 3, 7", mem[0], mem[2055], mem[4096])
		}
		if got := b.e.Stats().Dropped; got != 4 {
			t.Errorf("%d messages dropped, want 4 for a reason of their own", got)
		}
		if b.qp.State() != provider.QPStateRTS {
			t.Errorf("state = %v", b.qp.State())
		}
	})
}

// TestUnreliableProtection checks that a WRITE that isn't permitted changes nothing and ends
// nothing.
func TestUnreliableProtection(t *testing.T) {
	pair(t, provider.QPTypeUC, func(t *testing.T, a, b *endpoint, _ *packetnet.Network) {
		a.mr.Bytes()[0] = 0xff
		write := func(key uint32, offset int) {
			a.send(provider.SendRequest{
				Op: provider.SendOpWrite, Segments: []provider.Segment{{Region: a.mr, Length: 8}},
				RemoteAddr: b.target.Addr() + uint64(offset), RKey: key,
			})
		}
		write(b.target.RKey()+1, 0)
		write(b.target.RKey(), 1<<14-7)
		b.received()
		if slices.Contains(b.target.Bytes(), 0xff) || b.e.Stats().Dropped != 2 {
			t.Errorf("memory has changed, or %d messages dropped, want 2", b.e.Stats().Dropped)
		}
		write(b.target.RKey(), 1<<14-8)
		b.received()
		if b.target.Bytes()[1<<14-8] != 0xff {
			t.Error("a WRITE within the region changed nothing")
		}
	})
}

// TestSendQueueError checks that a failed request of UC and UD stops the send queue only, and that
// the program can start it again.
func TestSendQueueError(t *testing.T) {
	for _, kind := range []provider.QPType{provider.QPTypeUC, provider.QPTypeUD} {
		pair(t, kind, func(t *testing.T, a, b *endpoint, n *packetnet.Network) {
			var to *provider.Datagram
			if kind == provider.QPTypeUD {
				to = a.to(b.e.gid, b.qp.QPN(), testQKey)
			}
			mr, err := a.pd.RegisterMemory(make([]byte, 64), provider.MemoryOptions{})
			if err != nil {
				t.Fatal(err)
			}
			a.mustSend(provider.SendRequest{Data: []byte("before"), To: to})
			wr := provider.SendRequest{Segments: []provider.Segment{{Region: mr, Length: 64}}, To: to}
			qp := inner(t, a.qp)
			qp.mu.Lock()
			for range 2 {
				if err := qp.enqueue(&wr); err != nil {
					t.Fatal(err)
				}
			}
			_ = mr.Close()
			qp.sendPending()
			qp.mu.Unlock()
			wcs := wait(t, a.side, 2)
			if wcs[0].Status != provider.WCLocalProtection || wcs[1].Status != provider.WCFlushed {
				t.Errorf("%v: completions %+v", kind, wcs)
			}
			if got := a.qp.State(); got != provider.QPStateSQE {
				t.Fatalf("%v: state = %v, want SQE", kind, got)
			}
			wr = provider.SendRequest{Data: []byte("after"), To: to}
			if got := a.send(wr); got != provider.WCFlushed {
				t.Errorf("%v: status in SQE = %v, want flushed", kind, got)
			}
			a.room(1, 0, 64)
			back := provider.SendRequest{Data: []byte("x")}
			if kind == provider.QPTypeUD {
				back.To = b.to(a.e.gid, a.qp.QPN(), testQKey)
			}
			b.send(back)
			if got := a.received(); len(got) != 1 {
				t.Errorf("%v: %d messages received in SQE, want 1", kind, len(got))
			}
			psn := qp.req.psn
			if a.modify(provider.QPAttributes{State: provider.QPStateRTS}); qp.req.psn != psn {
				t.Errorf("%v: PSN after SQE = %v, want %v as before", kind, qp.req.psn, psn)
			}
			b.room(1, 0, 64)
			if got := a.send(wr); got != provider.WCSuccess {
				t.Errorf("%v: status after SQE = %v", kind, got)
			}
			if got := b.received(); len(got) != 1 {
				t.Errorf("%v: %d messages received after SQE, want 1", kind, len(got))
			}
		})
	}
}
