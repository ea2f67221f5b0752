package roce

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// narrow is a connection whose socket has limited space: each entry of a list takes one unit.
type narrow struct {
	PacketConn
	mu     sync.Mutex
	room   int // entries that are accepted; less than 0 for any number
	change chan struct{}
	closed bool
	sent   []ib.Opcode // of the first packet of each entry
}

func newNarrow(conn PacketConn) *narrow {
	return &narrow{PacketConn: conn, room: -1, change: make(chan struct{})}
}

// set sets the space.
func (c *narrow) set(room int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.room = room
	close(c.change)
	c.change = make(chan struct{})
}

func (c *narrow) Write(list []udpio.Outbound) ([]udpio.Outbound, error) {
	c.mu.Lock()
	n := len(list)
	if c.room >= 0 {
		n = min(n, c.room)
		c.room -= n
	}
	for _, e := range list[:n] {
		c.sent = append(c.sent, ib.Opcode(e.Data[0]))
	}
	c.mu.Unlock()
	rest, err := c.PacketConn.Write(list[:n])
	if err != nil || len(rest) > 0 {
		return list, err
	}
	return list[n:], nil
}

func (c *narrow) WaitWritable() error {
	for {
		c.mu.Lock()
		room, change, closed := c.room, c.change, c.closed
		c.mu.Unlock()
		switch {
		case closed:
			return net.ErrClosed
		case room != 0:
			return nil
		}
		<-change
	}
}

func (c *narrow) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.set(-1)
	return c.PacketConn.Close()
}

// fullNet returns an engine with a narrow socket, connected to two others.
func fullNet(t *testing.T, size int) (conn *narrow, a, toB, b, c *side) {
	t.Helper()
	n := packetnet.New(packetnet.Faults{Delay: time.Microsecond})
	listen := func(addr string) (netip.Addr, PacketConn) {
		ip := netip.MustParseAddr(addr)
		conn, err := n.Listen(netip.AddrPortFrom(ip, 4791))
		if err != nil {
			t.Fatal(err)
		}
		return ip, conn
	}
	ip, plain := listen("10.0.0.1")
	conn = newNarrow(plain)
	a = start(t, conn, ip, size, 64, provider.WaitEvent)
	toB = a.another(t, size, 64)
	ip, plain = listen("10.0.0.2")
	b = start(t, plain, ip, size, 64, provider.WaitEvent)
	ip, plain = listen("10.0.0.3")
	c = start(t, plain, ip, size, 64, provider.WaitEvent)
	connect(t, toB, b, ib.MTU4096)
	connect(t, a, c, ib.MTU4096)
	return conn, a, toB, b, c
}

func (s *side) request(t *testing.T, op provider.SendOp, target provider.MemoryRegion, length int) {
	t.Helper()
	if _, err := s.qp.PostSend([]provider.SendRequest{{
		Op: op, Flags: provider.SendSignaled, RKey: target.RKey(), RemoteAddr: target.Addr(),
		Segments: []provider.Segment{{Region: s.mr, Length: length}},
	}}); err != nil {
		t.Fatal(err)
	}
}

// TestFullSocket checks that nobody waits while the socket has no space: not the receiver, which
// takes requests of other peers, nor a caller of PostSend. Afterwards everything is completed, and
// no retry was necessary.
func TestFullSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		conn, a, toB, b, c := fullNet(t, size)
		for i, data := 0, memory(toB, toB.mr); i < len(data); i++ {
			data[i] = byte(i * 7 >> 3)
		}
		conn.set(3)
		b.request(t, provider.SendOpRead, toB.mr, size)
		time.Sleep(10 * time.Microsecond)
		if _, err := a.qp.PostReceive([]provider.ReceiveRequest{{
			ID: 5, Segments: []provider.Segment{{Region: a.mr, Length: 64}},
		}}); err != nil {
			t.Fatal(err)
		}
		c.request(t, provider.SendOpSend, a.mr, 64)
		if wc := wait(t, a, 1)[0]; wc.ID != 5 || wc.Err() != nil {
			t.Fatalf("completion %+v, want that of the receive request while the socket is full", wc)
		}
		a.request(t, provider.SendOpWrite, c.mr, size)
		for range 39 {
			a.request(t, provider.SendOpWrite, c.mr, size/64)
		}
		for range 20 { // these are not acknowledged yet
			c.request(t, provider.SendOpWrite, a.mr, 64)
			time.Sleep(10 * time.Microsecond)
		}
		if held := len(inner(t, a.qp).tx.backlog); held != 1 {
			t.Errorf("%d buffers wait for space, want only one, with an acknowledgement", held)
		}
		for range 40 { // space comes a little at a time
			conn.set(1)
			time.Sleep(10 * time.Microsecond)
		}
		conn.set(-1)
		for s, n := range map[*side]int{a: 40, b: 1, c: 21} {
			for _, wc := range wait(t, s, n) {
				if wc.Err() != nil {
					t.Errorf("completion: %v", wc.Err())
				}
			}
		}
		if !bytes.Equal(memory(b, b.mr), memory(toB, toB.mr)) {
			t.Error("the data of the READ differ")
		}
		if s := a.e.Stats(); s.Timeouts != 0 || s.WriteErrors != 0 {
			t.Errorf("%d timeouts and %d write errors, want none", s.Timeouts, s.WriteErrors)
		}
		if a.e.written.Load() == 0 {
			t.Error("no write is counted")
		}
	})
}

// TestFullForever checks that requests fail, with the reason, while the socket takes nothing at
// all, and that they don't fail as long as it takes something.
func TestFullForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, a, _, _, c := fullNet(t, 1<<20)
		conn.set(0)
		a.request(t, provider.SendOpWrite, c.mr, 1<<20)
		if held := len(inner(t, a.qp).tx.backlog); held != 1 {
			t.Errorf("%d buffers wait for space, want one", held)
		}
		for range 30 { // more than seven timeouts of 67 ms
			time.Sleep(50 * time.Millisecond)
			a.e.written.Add(1) // as by another queue pair
		}
		var wcs [1]provider.WorkCompletion
		if n, err := a.cq.Poll(wcs[:]); n != 0 || err != nil {
			t.Fatalf("%d completions (%v) while the socket sends for others, want none", n, err)
		}
		wc := wait(t, a, 1)[0]
		if wc.Status != provider.WCRetryExceeded || wc.Cause == nil || wc.Cause.Error() != errNoSpace.Error() {
			t.Errorf("completion = %+v, want retries exceeded because the socket stays full", wc)
		}
		conn.set(-1)
	})
}

// TestFullClose checks that Close doesn't wait for space, and that the last acknowledgement leaves
// later, after what was waiting before it.
func TestFullClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, a, toB, b, c := fullNet(t, 1<<16)
		conn.set(0)
		toB.request(t, provider.SendOpWrite, b.mr, 64)
		a.request(t, provider.SendOpWrite, c.mr, 64)
		if _, err := a.qp.PostReceive([]provider.ReceiveRequest{{
			Segments: []provider.Segment{{Region: a.mr, Length: 64}},
		}}); err != nil {
			t.Fatal(err)
		}
		c.request(t, provider.SendOpSend, a.mr, 64)
		wait(t, a, 1)
		conn.mu.Lock()
		conn.room = 9 // the waiting goroutine doesn't know yet
		conn.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, qp := range []provider.QueuePair{a.qp, toB.qp} {
			if err := qp.Close(); err != nil || ctx.Err() != nil {
				t.Fatalf("Close: %v, %v", err, ctx.Err())
			}
		}
		for range 8 {
			conn.set(1)
			time.Sleep(10 * time.Microsecond)
		}
		conn.set(-1)
		if wc := wait(t, c, 1)[0]; wc.Err() != nil {
			t.Errorf("completion of the peer: %v, want success", wc.Err())
		}
		want := []ib.Opcode{ib.OpcodeRCWriteOnly, ib.OpcodeRCWriteOnly, ib.OpcodeRCAcknowledge}
		if !slices.Equal(conn.sent, want) {
			t.Errorf("packets sent: %v, want %v", conn.sent, want)
		}
		if s := c.e.Stats(); s.Timeouts != 0 {
			t.Errorf("%d timeouts of the peer, want none", s.Timeouts)
		}
	})
}
