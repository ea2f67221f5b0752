package packetnet

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/internal/edge/udpio"
)

// landing is an entry that was received, and when.
type landing struct {
	udpio.Inbound
	at time.Duration // since the epoch of the test
}

// open listens on addresses 10.1.0.1 and following.
func open(t *testing.T, n *Network, count int) []*Conn {
	t.Helper()
	var out []*Conn
	addr := netip.MustParseAddr("10.1.0.1")
	for range count {
		c, err := n.Listen(netip.AddrPortFrom(addr, 4791))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
		addr = addr.Next()
	}
	return out
}

// drain returns what a connection has received. The clock says when, if it isn't nil.
func drain(c *Conn, now func() time.Duration) (out []landing) {
	for {
		if ok, _ := c.Poll(func(list []udpio.Inbound) {
			for _, in := range list {
				in.Data = append([]byte(nil), in.Data...)
				out = append(out, landing{in, now()})
			}
		}); !ok {
			return out
		}
	}
}

// send writes datagrams of a size.
func send(t *testing.T, from, to *Conn, count, size int, class uint8) {
	t.Helper()
	data := make([]byte, count*size)
	if _, err := from.Write([]udpio.Outbound{
		{Data: data, Segment: size, To: to.addr, TrafficClass: class},
	}); err != nil {
		t.Fatal(err)
	}
}

// step advances a manual clock and returns what arrived at each event.
func step(c *clock.Manual, to *Conn, start time.Time) (out []landing) {
	for {
		d, ok := c.Next()
		if !ok {
			return out
		}
		c.Advance(d)
		out = append(out, drain(to, func() time.Duration { return c.Now().Sub(start) })...)
	}
}

// TestBandwidth checks when datagrams arrive: each after its transmission over both links, behind
// those before it.
func TestBandwidth(t *testing.T) {
	c := &clock.Manual{}
	n := NewNetwork(Config{
		Faults: Faults{Delay: 5 * time.Microsecond}, Link: Link{Bandwidth: 8e9}, Clock: c,
	})
	conns := open(t, n, 2)
	send(t, conns[0], conns[1], 3, 1000-frameOverhead, 0) // a microsecond each
	got := step(c, conns[1], c.Now())
	if len(got) != 3 {
		t.Fatalf("%d datagrams, want 3", len(got))
	}
	for i, a := range got {
		if want := time.Duration(1+1+5+i) * time.Microsecond; a.at != want {
			t.Errorf("datagram %d arrives after %v, want %v", i, a.at, want)
		}
	}
}

// TestIncast checks that datagrams of several senders share the link of their receiver in the order
// of their landing at the switch, and that its queue drops what exceeds it.
func TestIncast(t *testing.T) {
	const senders, each, size = 4, 50, 1000 - frameOverhead
	run := func(l Link) (got []landing, s Stats) {
		c := &clock.Manual{}
		n := NewNetwork(Config{Link: l, Clock: c})
		conns := open(t, n, senders+1)
		for _, from := range conns[1:] {
			send(t, from, conns[0], each, size, 0)
		}
		return step(c, conns[0], c.Now()), n.Stats()
	}
	got, s := run(Link{Bandwidth: 8e9})
	if len(got) != senders*each || s.Dropped != 0 {
		t.Fatalf("%d datagrams, %d dropped, want %d and 0", len(got), s.Dropped, senders*each)
	}
	if last := got[len(got)-1].at; last != (senders*each+1)*time.Microsecond {
		t.Errorf("the last one after %v, want 201 µs", last)
	}
	seen := map[netip.AddrPort]int{}
	for _, a := range got[:40] {
		seen[a.From]++
	}
	for from, k := range seen {
		if k != 40/senders {
			t.Errorf("%d of the first 40 datagrams are from %v, want 10", k, from)
		}
	}
	// Four arrive each microsecond and one leaves: 10 wait after a few microseconds.
	got, s = run(Link{Bandwidth: 8e9, Queue: 10_000})
	if s.Dropped < 130 || s.Dropped > 150 || len(got)+s.Dropped != senders*each {
		t.Errorf("%d datagrams and %d dropped of %d, want about 60 and 140", len(got), s.Dropped, senders*each)
	}
}

// TestMarks checks that a long queue marks datagrams that are ECN-capable, and only those.
func TestMarks(t *testing.T) {
	const dscp = 26 << 2
	for _, tt := range []struct {
		name   string
		class  uint8
		marked bool
	}{
		{"not capable", dscp, false},
		{"capable (0)", dscp | 2, true},
		{"capable (1)", dscp | 1, true},
		{"marked already", 3, true},
	} {
		c := &clock.Manual{}
		n := NewNetwork(Config{Link: Link{Bandwidth: 8e9, Mark: 5000}, Clock: c})
		conns := open(t, n, 3)
		for _, from := range conns[1:] {
			send(t, from, conns[0], 20, 1000-frameOverhead, tt.class)
		}
		got := step(c, conns[0], c.Now())
		marked := 0
		for i, a := range got {
			if a.TrafficClass&^3 != tt.class&^3 {
				t.Errorf("%s: datagram %d has class %#x", tt.name, i, a.TrafficClass)
			}
			if a.TrafficClass != tt.class {
				marked++
			}
			if i < 8 && a.TrafficClass != tt.class {
				t.Errorf("%s: datagram %d is marked, and few wait before it", tt.name, i)
			}
		}
		// Two arrive each microsecond and one leaves: from the twelfth on five and more wait.
		if want := tt.marked && tt.class&3 != 3; want != (marked > 20) || !want && marked > 0 {
			t.Errorf("%s: %d of %d marked", tt.name, marked, len(got))
		}
		if (n.Stats().Marked > 0) != tt.marked {
			t.Errorf("%s: %d counted as marked", tt.name, n.Stats().Marked)
		}
	}
}

// TestMerge checks which datagrams are received as one entry.
func TestMerge(t *testing.T) {
	n := NewNetwork(Config{Faults: Faults{Segmentation: true}, Merge: true})
	conns := open(t, n, 3)
	a, b, to := conns[0], conns[1], conns[2]
	type entry struct {
		length, segment int
		from            *Conn
	}
	for _, tt := range []struct {
		name string
		send func()
		want []entry
	}{
		{"equal", func() { send(t, a, to, 3, 100, 0) }, []entry{{300, 100, a}}},
		{"numbered, the last shorter", func() {
			_, _ = a.Write([]udpio.Outbound{{Data: make([]byte, 250), Segment: 100, To: to.addr, Numbered: true}})
		}, []entry{{250, 100, a}}},
		{"a shorter one ends it", func() {
			send(t, a, to, 1, 100, 0)
			send(t, a, to, 2, 50, 0)
		}, []entry{{150, 100, a}, {50, 50, a}}},
		{
			"a longer one", func() { send(t, a, to, 1, 50, 0); send(t, a, to, 1, 100, 0) },
			[]entry{{50, 50, a}, {100, 100, a}},
		},
		{
			"two senders", func() { send(t, a, to, 1, 50, 0); send(t, b, to, 1, 50, 0); send(t, b, to, 1, 50, 0) },
			[]entry{{50, 50, a}, {100, 50, b}},
		},
		{
			"two classes", func() { send(t, a, to, 1, 50, 0); send(t, a, to, 1, 50, 4) },
			[]entry{{50, 50, a}, {50, 50, a}},
		},
		{"too many", func() { send(t, a, to, 65, 10, 0) }, []entry{{640, 10, a}, {10, 10, a}}},
		{"numbers begin again", func() {
			one := udpio.Outbound{Data: make([]byte, 200), Segment: 100, To: to.addr, Numbered: true}
			_, _ = a.Write([]udpio.Outbound{one, one})
		}, []entry{{200, 100, a}, {200, 100, a}}},
	} {
		tt.send()
		got := drain(to, func() time.Duration { return 0 })
		if len(got) != len(tt.want) {
			t.Errorf("%s: %d entries, want %d", tt.name, len(got), len(tt.want))
			continue
		}
		for i, w := range tt.want {
			if len(got[i].Data) != w.length || got[i].Segment != w.segment || got[i].From != w.from.addr {
				t.Errorf("%s: entry %d has %d bytes in segments of %d from %v, want %+v",
					tt.name, i, len(got[i].Data), got[i].Segment, got[i].From, w)
			}
		}
	}
	if _, gro := to.Offload(); !gro {
		t.Error("Offload doesn't report that datagrams are merged")
	}
}

// TestLinkOnSystemClock checks that a network with links works on package time as well.
func TestLinkOnSystemClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNetwork(Config{Link: Link{Bandwidth: 8e6}}) // a byte a microsecond
		conns := open(t, n, 2)
		start := time.Now()
		send(t, conns[0], conns[1], 2, 1000-frameOverhead, 0)
		time.Sleep(2500 * time.Microsecond)
		if got := drain(conns[1], func() time.Duration { return time.Since(start) }); len(got) != 1 {
			t.Errorf("%d datagrams after 2.5 ms, want 1", len(got))
		}
		time.Sleep(time.Millisecond)
		if got := drain(conns[1], func() time.Duration { return time.Since(start) }); len(got) != 1 {
			t.Errorf("%d more after 3.5 ms, want 1", len(got))
		}
	})
}
