package roce

import (
	"errors"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// TestSourcePorts checks over sockets that each queue pair sends from the port of its flow label,
// or of its queue pair numbers, in both directions, and that the data arrive.
func TestSourcePorts(t *testing.T) {
	a, b := openSpread(t, "127.0.10.41"), openSpread(t, "127.0.10.42")
	for _, label := range []uint32{0, 0x12345} {
		connectLabel(t, a, b, label)
		connectLabel(t, b, a, label)
		if _, err := a.qp.PostSend([]provider.SendRequest{{
			Op: provider.SendOpWrite, Flags: provider.SendSignaled, RKey: b.mr.RKey(), RemoteAddr: b.mr.Addr(),
			Segments: []provider.Segment{{Region: a.mr, Length: 1 << 14}},
		}}); err != nil {
			t.Fatal(err)
		}
		if wc := wait(t, a.side, 1)[0]; wc.Err() != nil {
			t.Fatal(wc.Err())
		}
		want := label
		if want == 0 {
			want = rocev2.FlowLabel(a.qp.QPN(), b.qp.QPN())
		}
		port := rocev2.SourcePort(want)
		for _, s := range []*spread{a, b} {
			got := <-s.from
			for len(s.from) > 0 {
				got = <-s.from
			}
			if got != port {
				t.Errorf("label %#x: packets from port %#x, want %#x", label, got, port)
			}
		}
	}
}

// spread is an engine with one socket for each source port, and the ports that it received from.
type spread struct {
	*side
	from chan uint16
}

// tapConn notes the source ports of what it receives.
type tapConn struct {
	*udpio.Conn
	from chan uint16
}

func (c *tapConn) note(h udpio.Handler) udpio.Handler {
	return func(list []udpio.Inbound) {
		select {
		case c.from <- list[0].From.Port():
		default:
		}
		h(list)
	}
}

func (c *tapConn) Read(h udpio.Handler) error         { return c.Conn.Read(c.note(h)) }
func (c *tapConn) Poll(h udpio.Handler) (bool, error) { return c.Conn.Poll(c.note(h)) }

func openSpread(t *testing.T, addr string) *spread {
	t.Helper()
	ip := netip.MustParseAddr(addr)
	conn, err := udpio.Listen(netip.AddrPortFrom(ip, rocev2.Port), udpio.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &spread{from: make(chan uint16, 1024)}
	e, err := New(Config{
		Name: "roce@" + addr, Conn: &tapConn{conn, s.from}, Addr: ip, MTU: ib.MTU4096,
		OpenSender: func(port uint16) (PacketSender, error) { return conn.Sender(port) },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.side = with(t, e, 1<<16, depth, provider.WaitEvent)
	return s
}

// connectLabel connects s to peer by a path with a flow label.
func connectLabel(t *testing.T, s, peer *spread, label uint32) {
	t.Helper()
	attr := provider.QPAttributes{
		Mask: ^provider.QPMask(0), Access: 0xff, Path: provider.Path{DGID: peer.e.gid, FlowLabel: label},
		PathMTU: ib.MTU4096, DestQPN: peer.qp.QPN(), ReceivePSN: 7, SendPSN: 7, MaxDestReadAtomic: 4,
		MaxReadAtomic: 4, MinRNRTimer: 12, Timeout: 14, RetryCount: 7, RNRRetry: 7,
	}
	walk(t, s.qp, attr, provider.QPStateRTS)
}

// portSender is a socket of a port that only notes that it is closed.
type portSender struct {
	sink
	port   uint16
	closed bool
}

func (s *portSender) Close() error { s.closed = true; return nil }

// TestSenders checks the limit on additional sockets, and what queue pairs get beyond it.
func TestSenders(t *testing.T) {
	var opened []*portSender
	main := &sink{done: make(chan struct{})}
	var s senders
	s.init(main, func(port uint16) (PacketSender, error) {
		if port == 0xc001 {
			return nil, syscall.EADDRINUSE
		}
		opened = append(opened, &portSender{port: port})
		return opened[len(opened)-1], nil
	})
	if got := s.at(0xc001); got.port != rocev2.Port || got.PacketSender != PacketSender(main) {
		t.Errorf("a port that is taken: sender of port %d, want the engine's own", got.port)
	}
	ports := map[uint16]int{}
	for range 2 { // the second time the sockets exist
		for i := range uint16(100) {
			got := s.at(0xd000 + i)
			if own, ok := got.PacketSender.(*portSender); !ok || own.port != got.port {
				t.Fatalf("port %#x of the flow, socket of another one", got.port)
			}
			if i < maxSenders && got.port != 0xd000+i {
				t.Errorf("port %#x for a flow of port %#x", got.port, 0xd000+i)
			}
			ports[got.port]++
		}
	}
	if len(opened) != maxSenders || len(ports) != maxSenders {
		t.Errorf("%d sockets, %d used, want %d", len(opened), len(ports), maxSenders)
	}
	for port, n := range ports {
		if n > 2*100/maxSenders+4 {
			t.Errorf("%d of 200 flows share port %#x", n, port)
		}
	}
	if got := s.at(0xc001); got.port < 0xd000 {
		t.Errorf("a port that is taken: port %#x, want one of the sockets", got.port)
	}
	s.close()
	for _, one := range opened {
		if !one.closed {
			t.Errorf("the socket of port %#x is open", one.port)
		}
	}
	if got := s.at(0xd000); got.port != rocev2.Port {
		t.Errorf("after close: port %#x", got.port)
	}
}

// TestSenderClosed checks that Close of an engine frees the ports of its additional sockets.
func TestSenderClosed(t *testing.T) {
	ip := netip.MustParseAddr("127.0.10.43")
	device, err := Provider{}.Open(t.Context(), "roce@127.0.10.43")
	if err != nil {
		t.Fatal(err)
	}
	e, ok := device.(*Engine)
	if !ok {
		t.Fatalf("device is a %T", device)
	}
	port := e.senders.at(0xd123).port
	if _, err := udpio.Listen(netip.AddrPortFrom(ip, port), udpio.Options{}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("Listen on port %#x = %v, want that it is in use", port, err)
	}
	if err := device.Close(); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		conn, err := udpio.Listen(netip.AddrPortFrom(ip, port), udpio.Options{})
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Since(begin) > 5*time.Second {
			t.Fatalf("Listen after Close = %v", err)
		}
	}
}
