package roce

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// sendOnly returns a SEND of eight bytes that asks for an acknowledgement.
func sendOnly(psn ib.PSN) []byte {
	p := ib.Packet{
		BTH:     ib.BTH{Opcode: ib.OpcodeRCSendOnly, PKey: ib.PKeyDefault, PSN: psn, AckReq: true},
		Payload: make([]byte, 8),
	}
	return p.Append(nil)
}

// responses returns the acknowledgements that were sent since the last call: PSN and syndrome.
func (s *sink) responses(t *testing.T) (out []ib.Packet) {
	t.Helper()
	for _, data := range s.packets {
		var p ib.Packet
		if _, err := p.Decode(data[:len(data)-4]); err != nil {
			t.Fatal(err)
		}
		if p.BTH.Opcode == ib.OpcodeRCAcknowledge {
			out = append(out, p)
		}
	}
	s.packets = nil
	return out
}

// TestAcknowledgedAtTheEnd checks that a queue pair that received its last message while the
// program waited acknowledges it before it stops responding.
func TestAcknowledgedAtTheEnd(t *testing.T) {
	ends := map[string]func(v *victim) error{
		"close": func(v *victim) error { return v.qp.Close() },
		"error": func(v *victim) error {
			return v.qp.Modify(provider.QPAttributes{State: provider.QPStateError})
		},
		"reset": func(v *victim) error {
			return v.qp.Modify(provider.QPAttributes{State: provider.QPStateReset})
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			v := newVictim(t)
			v.conn.record = true
			v.takePolled(sendOnly(100))
			if got := v.conn.responses(t); len(got) != 0 {
				t.Fatalf("%d acknowledgements at once, want a delayed one", len(got))
			}
			if err := end(v); err != nil {
				t.Fatal(err)
			}
			got := v.conn.responses(t)
			if len(got) != 1 || got[0].BTH.PSN != 100 || !got[0].AETH.Syndrome.IsACK() {
				t.Errorf("acknowledgements = %+v, want one of PSN 100", got)
			}
		})
	}
}

// TestSwappedPackets checks that the receiver asks again for a packet that came too early and was
// dropped, although the gap before it has closed in the same burst.
func TestSwappedPackets(t *testing.T) {
	tests := []struct {
		name string
		psns []ib.PSN
		psn  ib.PSN // of the response
		nak  bool
	}{
		{"swapped", []ib.PSN{101, 100}, 101, true},
		{"the last of three", []ib.PSN{100, 102, 101}, 102, true},
		{"both too early", []ib.PSN{102, 101, 100}, 101, true},
		{"came again", []ib.PSN{101, 100, 101}, 101, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := newVictim(t)
			v.conn.record = true
			var burst [][]byte
			for _, psn := range tt.psns {
				burst = append(burst, sendOnly(psn))
			}
			v.take(burst...)
			got := v.conn.responses(t)
			if len(got) != 1 || got[0].BTH.PSN != tt.psn ||
				(got[0].AETH.Syndrome == ib.SyndromeNAKSequence) != tt.nak {
				t.Errorf("responses = %+v, want one with PSN %v, NAK %t", got, tt.psn, tt.nak)
			}
		})
	}
}

// TestReceiverCloses checks the same over sockets: a receiver that closes after its last message
// doesn't leave the sender without an acknowledgement.
func TestReceiverCloses(t *testing.T) {
	for _, m := range waitModes {
		t.Run(m.name, func(t *testing.T) {
			a, b := open(t, "127.0.10.1", 64), openMode(t, "127.0.10.2", 64, m.mode)
			for range 20 {
				x, y := *a, *b // with queue pairs of their own on the same completion queues
				for _, s := range []*side{&x, &y} {
					qp, err := s.pd.CreateQP(provider.QPConfig{SendCQ: s.cq, RecvCQ: s.cq})
					if err != nil {
						t.Fatal(err)
					}
					s.qp = qp
				}
				connect(t, &x, &y, ib.MTU1024)
				if _, err := y.qp.PostReceive([]provider.ReceiveRequest{
					{Segments: []provider.Segment{{Region: y.mr, Length: 8}}},
				}); err != nil {
					t.Fatal(err)
				}
				done := make(chan error)
				go func() { // the last message, and the end
					_, err := y.cq.Wait(t.Context(), make([]provider.WorkCompletion, 1))
					_ = y.qp.Close()
					done <- err
				}()
				if _, err := x.qp.PostSend([]provider.SendRequest{{
					Op: provider.SendOpSend, Flags: provider.SendSignaled,
					Segments: []provider.Segment{{Region: x.mr, Length: 8}},
				}}); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if wc := wait(t, &x, 1)[0]; wc.Err() != nil {
					t.Fatal(wc.Err())
				}
				drain(y.cq)
				_ = x.qp.Close()
			}
		})
	}
}

// refusing is a connection whose writes fail once broken is set.
type refusing struct {
	PacketConn
	broken atomic.Pointer[syscall.Errno]
}

func (c *refusing) Write(list []udpio.Outbound) ([]udpio.Outbound, error) {
	if errno := c.broken.Load(); errno != nil {
		return list, os.NewSyscallError("sendmmsg", *errno)
	}
	return c.PacketConn.Write(list)
}

// TestWriteErrors checks that the completion and the counters say why packets were not sent.
func TestWriteErrors(t *testing.T) {
	for _, tt := range []struct {
		errno   syscall.Errno
		counter string
	}{
		{syscall.EMSGSIZE, "tooLong"},
		{syscall.EPERM, "forbidden"},
		{syscall.EACCES, "forbidden"},
		{syscall.ENETUNREACH, "unreachable"},
		{syscall.EHOSTUNREACH, "unreachable"},
		{syscall.ENOBUFS, "writeErrors"},
	} {
		t.Run(tt.errno.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := packetnet.New(packetnet.Faults{Delay: time.Microsecond})
				listen := func(addr string) (netip.Addr, PacketConn) {
					ip := netip.MustParseAddr(addr)
					conn, err := n.Listen(netip.AddrPortFrom(ip, 4791))
					if err != nil {
						t.Fatal(err)
					}
					return ip, conn
				}
				ip, conn := listen("10.0.0.1")
				broken := &refusing{PacketConn: conn}
				a := start(t, broken, ip, 64, 4, provider.WaitEvent)
				ip, conn = listen("10.0.0.2")
				b := start(t, conn, ip, 64, 4, provider.WaitEvent)
				connect(t, a, b, ib.MTU1024)
				write := func() provider.WorkCompletion {
					if _, err := a.qp.PostSend([]provider.SendRequest{{
						Op: provider.SendOpWrite, Flags: provider.SendSignaled, RKey: b.mr.RKey(),
						RemoteAddr: b.mr.Addr(),
						Segments:   []provider.Segment{{Region: a.mr, Length: 64}},
					}}); err != nil {
						t.Fatal(err)
					}
					return wait(t, a, 1)[0]
				}
				broken.broken.Store(&tt.errno)
				time.AfterFunc(100*time.Millisecond, func() { broken.broken.Store(nil) })
				if wc := write(); wc.Err() != nil { // a short failure costs only time
					t.Fatalf("completion after a short failure: %v", wc.Err())
				}
				broken.broken.Store(&tt.errno)
				wc := write()
				if wc.Status != provider.WCRetryExceeded || !errors.Is(wc.Err(), tt.errno) {
					t.Errorf("completion = %v, want retries exceeded because of %v", wc.Err(), tt.errno)
				}
				if got := a.e.Counters(); got[tt.counter] < 8 || got["writeErrors"] < 8 {
					t.Errorf("counters = %v, want at least 8 of %s", got, tt.counter)
				}
			})
		})
	}
}

// TestReadResponseOrder checks that the opcodes of READ responses must fit their places.
func TestReadResponseOrder(t *testing.T) {
	const first, middle, last, only = ib.OpcodeRCReadResponseFirst, ib.OpcodeRCReadResponseMiddle,
		ib.OpcodeRCReadResponseLast, ib.OpcodeRCReadResponseOnly
	tests := []struct {
		name   string
		length int // of the READ, in packets of 1024 bytes
		ops    []ib.Opcode
		want   provider.WCStatus
	}{
		{"one", 1, []ib.Opcode{only}, provider.WCSuccess},
		{"three", 3, []ib.Opcode{first, middle, last}, provider.WCSuccess},
		{"one as first", 1, []ib.Opcode{first}, provider.WCBadResponse},
		{"one as last", 1, []ib.Opcode{last}, provider.WCBadResponse},
		{"starts with middle", 3, []ib.Opcode{middle}, provider.WCBadResponse},
		{"ends too early", 3, []ib.Opcode{first, last}, provider.WCBadResponse},
		{"only in the middle", 3, []ib.Opcode{first, only}, provider.WCBadResponse},
		{"first twice", 3, []ib.Opcode{first, first}, provider.WCBadResponse},
		{"doesn't end", 2, []ib.Opcode{first, middle}, provider.WCBadResponse},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := newVictim(t)
			v.connect(t)
			psn := v.readAlone(t, tt.length*1024)
			for i, op := range tt.ops {
				p := ib.Packet{
					BTH:  ib.BTH{Opcode: op, PKey: ib.PKeyDefault, PSN: psn.Add(i)},
					AETH: ib.AETH{Syndrome: ib.SyndromeACK}, Payload: make([]byte, 1024),
				}
				v.take(p.Append(nil))
			}
			var wcs [8]provider.WorkCompletion
			n, _ := v.cq.Poll(wcs[:])
			i := slices.IndexFunc(wcs[:n], func(wc provider.WorkCompletion) bool { return wc.ID == 77 })
			if i < 0 || wcs[i].Status != tt.want {
				t.Errorf("completions = %+v, want the READ's with %v", wcs[:n], tt.want)
			}
		})
	}
}

// readAlone reconnects the victim, posts a READ with ID 77 and returns the PSN of its response.
func (v *victim) readAlone(t *testing.T, length int) ib.PSN {
	t.Helper()
	attr := inner(t, v.qp).attr
	walk(t, v.qp, attr, provider.QPStateRTS)
	drain(v.cq)
	if _, err := v.qp.PostSend([]provider.SendRequest{{
		ID: 77, Op: provider.SendOpRead, Flags: provider.SendSignaled,
		Segments: []provider.Segment{{Region: v.target, Length: length}},
	}}); err != nil {
		t.Fatal(err)
	}
	return attr.SendPSN
}

// TestCongestionNotification checks that a CNP halves the window and is counted.
func TestCongestionNotification(t *testing.T) {
	v := newVictim(t)
	window := func() int { return inner(t, v.qp).req.window }
	before := window()
	p := ib.Packet{
		BTH:     ib.BTH{Opcode: ib.OpcodeCongestionNotification, PKey: ib.PKeyDefault, BECN: true},
		Payload: make([]byte, 16), // reserved
	}
	v.take(p.Append(nil))
	if got := window(); got != before/2 {
		t.Errorf("window = %d packets after a CNP, want half of %d", got, before)
	}
	for range 10 {
		v.take(p.Append(nil))
	}
	if got := window(); got != windowMin {
		t.Errorf("window = %d packets after many CNPs, want %d", got, windowMin)
	}
	if s := v.e.Stats(); s.CNPs != 11 || s.Malformed != 0 {
		t.Errorf("%d CNPs and %d malformed packets, want 11 and 0", s.CNPs, s.Malformed)
	}
}

// TestDelayedForTheAnswer checks that the acknowledgement of a message that completes a receive
// request waits for what the program does next, whatever that is, and that of a WRITE, for which no
// program wakes, doesn't.
func TestDelayedForTheAnswer(t *testing.T) {
	var wcs [8]provider.WorkCompletion
	next := map[string]func(p *channelPair){
		"PostSend": func(p *channelPair) {
			if _, err := p.qp.PostSend([]provider.SendRequest{{Op: provider.SendOpSend}}); err != nil {
				t.Fatal(err)
			}
		},
		"Poll of an empty queue": func(p *channelPair) {
			if n, err := p.recv.Poll(wcs[:]); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			if n, err := p.sends.Poll(wcs[:]); n != 0 || err != nil { // says nothing about the answer
				t.Fatal(n, err)
			}
			if got := p.conn.responses(t); len(got) != 0 {
				t.Errorf("%d acknowledgements after the first Poll, want none", len(got))
			}
			if n, err := p.recv.Poll(wcs[:]); n != 0 || err != nil {
				t.Fatal(n, err)
			}
		},
		"Wait on another queue": func(p *channelPair) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			_, _ = p.cq.Wait(ctx, wcs[:])
		},
		"Wait on a channel": func(p *channelPair) { p.next(t) },
		"nothing":           func(p *channelPair) { p.clock.Advance(maxAckDelay) },
	}
	for name, f := range next {
		t.Run(name, func(t *testing.T) {
			p := newChannelPair(t)
			p.conn.record = true
			p.takeOnly(sendOnly(100))
			if got := p.conn.responses(t); len(got) != 0 {
				t.Fatalf("%d acknowledgements at once, want a delayed one", len(got))
			}
			f(p)
			if got := p.conn.responses(t); len(got) != 1 || got[0].BTH.PSN != 100 || !got[0].AETH.Syndrome.IsACK() {
				t.Errorf("acknowledgements = %+v, want one of PSN 100", got)
			}
		})
	}
	v := newVictim(t)
	v.conn.record = true
	write := ib.Packet{
		BTH:     ib.BTH{Opcode: ib.OpcodeRCWriteOnly, PKey: ib.PKeyDefault, PSN: 100, AckReq: true},
		RETH:    ib.RETH{VirtualAddress: v.target.Addr(), RKey: v.target.RKey(), DMALength: 4},
		Payload: make([]byte, 4),
	}
	v.takeOnly(write.Append(nil))
	if got := v.conn.responses(t); len(got) != 1 {
		t.Errorf("%d acknowledgements of a WRITE, want one at once", len(got))
	}
	v.take(sendOnly(101))
	v.conn.responses(t)
	write.BTH.PSN = 102
	v.takeOnly(write.Append(nil)) // the message before it counts no more
	if got := v.conn.responses(t); len(got) != 1 {
		t.Errorf("%d acknowledgements of a WRITE after a SEND, want one at once", len(got))
	}
}
