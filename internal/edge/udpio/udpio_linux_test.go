package udpio

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// loopbacks are the addresses that the tests use.
var loopbacks = []struct{ name, addr string }{{"IPv4", "127.0.0.1"}, {"IPv6", "::1"}}

func listen(t testing.TB, addr string, opts Options) *Conn {
	t.Helper()
	c, err := Listen(netip.AddrPortFrom(netip.MustParseAddr(addr), 0), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// got has the datagrams of a receiver.
type got struct {
	datagrams [][]byte
	entries   int
	from      netip.AddrPort
}

func (g *got) take(list []Inbound) {
	for _, in := range list {
		g.entries++
		g.from = in.From
		for data := in.Data; len(data) > 0; {
			one := data[:min(in.Segment, len(data))]
			data = data[len(one):]
			g.datagrams = append(g.datagrams, bytes.Clone(one))
		}
	}
}

// receive reads until n datagrams have been received.
func receive(t *testing.T, c *Conn, n int) *got {
	t.Helper()
	var g got
	stop := time.AfterFunc(10*time.Second, func() { _ = c.Close() })
	defer stop.Stop()
	for len(g.datagrams) < n {
		if err := c.Read(g.take); err != nil {
			t.Fatalf("Read after %d of %d datagrams: %v", len(g.datagrams), n, err)
		}
	}
	return &g
}

// pattern returns a distinguishable datagram of n bytes.
func pattern(seed, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(seed*31 + i)
	}
	return b
}

// TestBatch sends single datagrams and super-packets, more than fit into one system call, with and
// without GSO and GRO, and checks that the same datagrams are received.
func TestBatch(t *testing.T) {
	options := []struct {
		name string
		opts Options
	}{{"offload", Options{}}, {"no GSO", Options{NoGSO: true}}, {"no GRO", Options{NoGRO: true}}, {
		"neither", Options{NoGSO: true, NoGRO: true},
	}}
	for _, l := range loopbacks {
		for _, o := range options {
			t.Run(l.name+"/"+o.name, func(t *testing.T) {
				a, b := listen(t, l.addr, o.opts), listen(t, l.addr, o.opts)
				var list []Outbound
				var want [][]byte
				for i := range 2*batch + 3 {
					e := Outbound{To: b.Addr()}
					if i%7 == 3 { // five of 100 bytes, and a shorter one
						e.Segment, e.Numbered = 100, !o.opts.NoGSO
						for k := range 6 {
							one := pattern(i+k, 100-60*(k/5))
							e.Data, want = append(e.Data, one...), append(want, one)
						}
					} else {
						e.Data = pattern(i, 1+i)
						want = append(want, e.Data)
					}
					list = append(list, e)
				}
				if err := writeAll(a, list); err != nil {
					t.Fatal(err)
				}
				g := receive(t, b, len(want))
				for i := range want {
					if !bytes.Equal(g.datagrams[i], want[i]) {
						t.Fatalf("datagram %d = %x, want %x", i, g.datagrams[i], want[i])
					}
				}
				if g.from != a.Addr() {
					t.Errorf("they came from %v, want %v", g.from, a.Addr())
				}
				merged := g.entries < len(want)
				if gso, gro := b.Offload(); merged != (gso && gro) {
					t.Errorf("%d entries for %d datagrams with GSO %t, GRO %t", g.entries, len(want), gso, gro)
				}
			})
		}
	}
}

// The kernel must support both, so that the other tests use them.
func TestOffloadIsThere(t *testing.T) {
	for _, l := range loopbacks {
		if gso, gro := listen(t, l.addr, Options{}).Offload(); !gso || !gro {
			t.Errorf("%s: GSO %t, GRO %t, want both (Linux 5.0 or later)", l.name, gso, gro)
		}
		if gso, gro := listen(t, l.addr, Options{NoGSO: true, NoGRO: true}).Offload(); gso || gro {
			t.Errorf("%s: GSO %t, GRO %t though turned off", l.name, gso, gro)
		}
	}
}

// TestReceiveBuffer checks that the size of the buffer is what the kernel gave.
func TestReceiveBuffer(t *testing.T) {
	c := listen(t, "127.0.0.1", Options{ReceiveBuffer: 1 << 16})
	if got := c.ReceiveBuffer(); got != 1<<16 {
		t.Errorf("buffer = %d bytes, want %d", got, 1<<16)
	}
	var actual int
	err := c.raw.Control(func(fd uintptr) { actual, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF) })
	if err != nil || actual != 2<<16 { // socket(7): the kernel doubles the value
		t.Errorf("SO_RCVBUF = %d, %v; want %d", actual, err, 2<<16)
	}
	if got := listen(t, "127.0.0.1", Options{}).ReceiveBuffer(); got > WantedBuffer || got < 4096 {
		t.Errorf("buffer = %d bytes", got)
	}
}

// TestIdentification checks the identification in the IPv4 headers that the kernel writes: 0 for a
// single datagram, the index for a segment.
func TestIdentification(t *testing.T) {
	raw, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if errors.Is(err, unix.EPERM) {
		t.Skip("a raw socket needs CAP_NET_RAW")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(raw) }()
	a, b := listen(t, "127.0.0.1", Options{}), listen(t, "127.0.0.1", Options{})
	data := pattern(1, 250)
	list := []Outbound{
		{Data: pattern(0, 10), To: b.Addr()},
		{Data: data, Segment: 100, To: b.Addr(), Numbered: true},
		{Data: data, Segment: 100, To: b.Addr()},
		{Data: pattern(0, 10), To: b.Addr()},
	}
	if err := writeAll(a, list); err != nil {
		t.Fatal(err)
	}
	type header struct{ id, flags, length uint16 }
	// The loopback device delivers the super-packet as one: its header has the first number.
	want := []header{
		{0, 0x4000, 38},
		{0, 0x4000, 278},
		{0, 0x4000, 128},
		{0, 0x4000, 128},
		{0, 0x4000, 78},
		{0, 0x4000, 38},
	}
	buf := make([]byte, 1<<16)
	for i := 0; i < len(want); {
		n, _, err := unix.Recvfrom(raw, buf, unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			t.Fatalf("header %d: %v", i, err)
		}
		u16 := func(at int) uint16 { return uint16(buf[at])<<8 | uint16(buf[at+1]) }
		if n < 28 || u16(20) != a.Addr().Port() {
			continue // from another program
		}
		if h := (header{u16(4), u16(6), u16(2)}); h != want[i] {
			t.Errorf("header %d = %+v, want %+v", i, h, want[i])
		}
		i++
	}
}

// TestRefused checks that a connection stops using GSO if the kernel rejects segmentation, here
// because checksums are turned off, which has the same effect as a device without checksum offload.
func TestRefused(t *testing.T) {
	for _, l := range loopbacks {
		t.Run(l.name, func(t *testing.T) {
			a, b := listen(t, l.addr, Options{}), listen(t, l.addr, Options{})
			noChecksums(t, a, 1)
			e := Outbound{Data: pattern(1, 250), Segment: 100, To: b.Addr(), Numbered: true}
			if err := writeAll(a, []Outbound{e}); !errors.Is(err, ErrNoSegmentation) {
				t.Fatalf("Write = %v, want ErrNoSegmentation", err)
			}
			if gso, _ := a.Offload(); gso {
				t.Error("GSO is still on")
			}
			noChecksums(t, a, 0) // GSO stays off, even if it would work again
			if err := writeAll(a, []Outbound{e}); l.name == "IPv4" && !errors.Is(err, ErrNoSegmentation) ||
				l.name == "IPv6" && err != nil {
				t.Errorf("Write of numbered datagrams = %v", err)
			}
			e.Numbered = false
			if err := writeAll(a, []Outbound{e}); err != nil {
				t.Fatal(err)
			}
			n := 4 // the first datagram was sent alone to find the reason
			if l.name == "IPv6" {
				n = 7
			}
			g := receive(t, b, n)
			for i, one := range g.datagrams[n-3:] {
				if want := e.Data[100*i : min(250, 100*i+100)]; !bytes.Equal(one, want) {
					t.Errorf("datagram %d = %x, want %x", i, one, want)
				}
			}
		})
	}
}

func noChecksums(t *testing.T, c *Conn, value int) {
	t.Helper()
	var err error
	control := c.raw.Control(func(fd uintptr) {
		if err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_NO_CHECK, value); err == nil && c.v6 {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_NO_CHECK6_TX, value)
		}
	})
	if err := errors.Join(control, err); err != nil {
		t.Fatal(err)
	}
}

// A datagram that is too long for the path doesn't turn segmentation off.
func TestTooLong(t *testing.T) {
	a, b := listen(t, "127.0.0.1", Options{}), listen(t, "127.0.0.1", Options{})
	for _, e := range []Outbound{
		{Data: make([]byte, MaxBytes+1), To: b.Addr()},
		{Data: make([]byte, 2*65000), Segment: 65000, To: b.Addr(), Numbered: true},
	} {
		if err := writeAll(a, []Outbound{e}); !errors.Is(err, syscall.EMSGSIZE) {
			t.Errorf("Write of %d bytes = %v, want EMSGSIZE", len(e.Data), err)
		}
	}
	if gso, _ := a.Offload(); !gso {
		t.Error("GSO was turned off")
	}
}

// Close ends a waiting Read and a paused one; later calls return an error.
func TestClose(t *testing.T) {
	for _, l := range loopbacks {
		for _, standby := range []bool{false, true} {
			c := listen(t, l.addr, Options{})
			ended, passed := make(chan error, 1), make(chan struct{})
			go func() {
				if standby {
					c.in.standBy()
				}
				close(passed)
				ended <- c.Read(func([]Inbound) { t.Error("something was received") })
			}()
			for over := !standby; !over; { // until Read pauses, or has paused in between
				c.in.polls.Add(1)
				select {
				case <-passed:
					over = true
				default:
					over = c.in.standby.Load()
				}
			}
			time.Sleep(10 * time.Millisecond)
			_ = c.Close()
			_ = c.Close()
			select {
			case err := <-ended:
				if !errors.Is(err, net.ErrClosed) {
					t.Errorf("Read = %v, want net.ErrClosed", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("Read still waits after Close")
			}
			if _, err := c.Poll(func([]Inbound) {}); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Poll = %v, want net.ErrClosed", err)
			}
			if err := writeAll(c, []Outbound{{Data: []byte{1}, To: c.Addr()}}); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Write = %v, want net.ErrClosed", err)
			}
			c.Resume()
		}
	}
}

// TestTrafficClass checks the traffic class and the hop limit of each datagram, segmented or not:
// as this package receives the first, and as the kernel reports the second.
func TestTrafficClass(t *testing.T) {
	for _, l := range loopbacks {
		t.Run(l.name, func(t *testing.T) {
			for _, opts := range []Options{{}, {NoGSO: true, NoGRO: true}} {
				a, b := listen(t, l.addr, opts), listen(t, l.addr, opts)
				const lossless, marked = 26 << 2, 3 // DSCP 26, and ECN's "congestion experienced"
				list := []Outbound{
					{Data: pattern(1, 100), To: b.Addr(), TrafficClass: lossless, HopLimit: 7},
					{Data: pattern(2, 100), To: b.Addr()},
					{Data: pattern(3, 350), To: b.Addr(), Segment: 100, TrafficClass: lossless | marked, HopLimit: 9},
				}
				if err := writeAll(a, list); err != nil {
					t.Fatal(err)
				}
				var got []uint8
				for len(got) < 6 {
					if err := b.Read(func(list []Inbound) {
						for _, in := range list {
							for range (len(in.Data) + in.Segment - 1) / in.Segment {
								got = append(got, in.TrafficClass)
							}
						}
					}); err != nil {
						t.Fatal(err)
					}
				}
				want := []uint8{lossless, 0, lossless | marked, lossless | marked, lossless | marked, lossless | marked}
				if !bytes.Equal(got, want) {
					t.Errorf("traffic classes with %+v = %d, want %d", opts, got, want)
				}
				if limits := hopLimits(t, a, l.addr, list[:2]); limits[0] != 7 || limits[1] == 7 {
					t.Errorf("hop limits with %+v = %d, want 7 and the kernel's", opts, limits)
				}
			}
		})
	}
}

// hopLimits sends each datagram to a plain socket and returns the hop limits that the
// kernel reports.
func hopLimits(t *testing.T, from *Conn, addr string, list []Outbound) (limits []int) {
	t.Helper()
	pc, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", net.JoinHostPort(addr, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pc.Close() }()
	udp, _ := pc.(*net.UDPConn)
	raw, err := udp.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_RECVTTL, 1) // one of them applies
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVHOPLIMIT, 1)
	}); err != nil {
		t.Fatal(err)
	}
	_ = udp.SetDeadline(time.Now().Add(10 * time.Second))
	data, control := make([]byte, 2048), make([]byte, 256)
	for _, o := range list {
		o.To = udp.LocalAddr().(*net.UDPAddr).AddrPort() //nolint:errcheck,forcetypeassert // it has no other
		if err := writeAll(from, []Outbound{o}); err != nil {
			t.Fatal(err)
		}
		_, n, _, _, err := udp.ReadMsgUDP(data, control)
		if err != nil {
			t.Fatal(err)
		}
		messages, err := unix.ParseSocketControlMessage(control[:n])
		if err != nil || len(messages) == 0 || len(messages[0].Data) < 4 {
			t.Fatalf("control messages: %v, %v", messages, err)
		}
		limits = append(limits, int(messages[0].Data[0]))
	}
	return limits
}

// TestCloseInHandler checks that a handler may close its connection, and that Close doesn't wait
// for a handler.
func TestCloseInHandler(t *testing.T) {
	for name, receive := range map[string]func(*Conn, Handler) error{
		"read": (*Conn).Read,
		"poll": func(c *Conn, h Handler) error {
			for {
				if got, err := c.Poll(h); got || err != nil {
					return err
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := listen(t, "127.0.0.1", Options{}), listen(t, "127.0.0.1", Options{})
			if err := writeAll(a, []Outbound{{Data: []byte{1}, To: b.Addr()}}); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- receive(b, func([]Inbound) { _ = b.Close() }) }()
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("the call whose handler closed = %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("Close in a handler never returned")
			}
			if err := b.Close(); err != nil {
				t.Errorf("Close after the handler = %v", err)
			}
			if err := b.Read(func([]Inbound) { t.Error("a handler ran after Close") }); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Read after Close = %v, want ErrClosed", err)
			}
			again, err := Listen(b.Addr(), Options{}) // the address is free
			if err != nil {
				t.Fatal(err)
			}
			_ = again.Close()
		})
	}
}

// TestStandBy checks that Read pauses while a goroutine polls continuously, and that it receives
// datagrams after that, with or without Resume.
func TestStandBy(t *testing.T) {
	for _, resume := range []bool{true, false} {
		a, b := listen(t, "127.0.0.1", Options{}), listen(t, "127.0.0.1", Options{})
		read := make(chan int, 100)
		go func() {
			for b.Read(func(list []Inbound) { read <- len(list) }) == nil {
			}
		}()
		one := []Outbound{{Data: []byte{1}, To: b.Addr()}}
		deadline := time.Now().Add(20 * time.Second)
		for !b.in.standby.Load() {
			if time.Now().After(deadline) {
				t.Fatal("Read doesn't pause while another goroutine polls")
			}
			b.in.mu.Lock() // Read must find nothing when it wakes
			if err := writeAll(a, one); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Microsecond)
			b.in.handle = func([]Inbound) {}
			b.in.polls.Add(1)
			_ = b.raw.Control(b.in.poll)
			b.in.mu.Unlock()
			time.Sleep(100 * time.Microsecond)
			for len(read) > 0 {
				<-read
			}
		}
		if resume {
			b.Resume()
		}
		begin := time.Now()
		if err := writeAll(a, one); err != nil {
			t.Fatal(err)
		}
		select {
		case <-read:
			t.Logf("resume %t: it took %v", resume, time.Since(begin))
		case <-time.After(10 * time.Second):
			t.Fatal("Read doesn't continue")
		}
	}
}

// Calls don't allocate.
func TestAllocations(t *testing.T) {
	for _, l := range loopbacks {
		a, b := listen(t, l.addr, Options{}), listen(t, l.addr, Options{})
		list := []Outbound{
			{Data: pattern(1, 64), To: b.Addr()},
			{Data: pattern(1, 1000), Segment: 100, To: b.Addr(), Numbered: true},
		}
		seen := 0
		handler := func(list []Inbound) { seen += len(list) }
		for name, take := range map[string]func() error{
			"Read": func() error { return b.Read(handler) },
			"Poll": func() error { _, err := b.Poll(handler); return err },
		} {
			allocs := testing.AllocsPerRun(200, func() {
				if _, err := a.Write(list); err != nil {
					t.Fatal(err)
				}
				if err := take(); err != nil {
					t.Fatal(err)
				}
			})
			if allocs != 0 {
				t.Errorf("%s: Write and %s allocate %v times, want 0", l.name, name, allocs)
			}
		}
		if seen < 400 {
			t.Errorf("%d entries received, want at least one a call", seen)
		}
	}
}

func BenchmarkPingPong(b *testing.B) {
	x, y := listen(b, "127.0.0.1", Options{}), listen(b, "127.0.0.1", Options{})
	one := []Outbound{{Data: make([]byte, 64), To: y.Addr()}}
	b.ReportAllocs()
	for range b.N {
		if err := writeAll(x, one); err != nil {
			b.Fatal(err)
		}
		if ok, err := y.Poll(func([]Inbound) {}); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

// writeAll writes a list, and waits for space where it must.
func writeAll(c *Conn, list []Outbound) error {
	for list = slices.Clone(list); ; {
		rest, err := c.Write(list)
		if err != nil || len(rest) == 0 {
			return err
		}
		if err := c.WaitWritable(); err != nil {
			return err
		}
		list = rest
	}
}
