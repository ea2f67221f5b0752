package packetnet

import (
	"net/netip"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
)

const micro = time.Microsecond

// routed sends datagrams of 1000 bytes, which take a microsecond at 8 Gb/s, over hops, and returns
// when they arrive.
func routed(t *testing.T, count int, hops ...*Hop) ([]time.Duration, *Network) {
	t.Helper()
	c := &clock.Manual{}
	n := NewNetwork(Config{Clock: c, Route: func(Datagram) []*Hop { return hops }})
	conns := open(t, n, 2)
	start := c.Now()
	send(t, conns[0], conns[1], count, 1000-frameOverhead, 0)
	var at []time.Duration
	for _, l := range step(c, conns[1], start) {
		at = append(at, l.at)
	}
	return at, n
}

func equal(t *testing.T, name string, got []time.Duration, want ...time.Duration) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d datagrams arrive, want %d", name, len(got), len(want))
		return
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: datagram %d arrives after %v, want %v", name, i, got[i], want[i])
		}
	}
}

// TestRoute checks arrival times over hops of different rates: the slowest one spaces datagrams.
func TestRoute(t *testing.T) {
	got, n := routed(t, 3,
		&Hop{Bandwidth: 8e9, Delay: 10 * micro}, &Hop{Bandwidth: 2e9}, &Hop{Delay: 5 * micro}, &Hop{Bandwidth: 8e9})
	equal(t, "four hops", got, 21*micro, 25*micro, 29*micro)
	if s := n.Stats(); s.Lost != 0 || s.Dropped != 0 {
		t.Errorf("%+v", s)
	}
	through := func(bandwidth int64) *Hop { return &Hop{Bandwidth: bandwidth, CutThrough: true} }
	got, _ = routed(t, 2, &Hop{Bandwidth: 8e9}, through(4e9), through(8e9))
	equal(t, "cut-through", got, micro, 3*micro)
	all := func(Datagram) bool { return true }
	got, n = routed(t, 5, &Hop{Bandwidth: 8e9}, &Hop{Bandwidth: 2e9, Queue: 1500})
	// The second waits 3 µs with 750 bytes before it, which with its own exceed the queue.
	equal(t, "short queue", got, 5*micro, 9*micro)
	if s := n.Stats(); s.Dropped != 3 {
		t.Errorf("%d dropped, want 3", s.Dropped)
	}
	got, _ = routed(t, 5, &Hop{Bandwidth: 8e9}, &Hop{Bandwidth: 2e9, Queue: 1500, Lossless: all})
	equal(t, "short queue with flow control", got, 5*micro, 9*micro, 13*micro, 17*micro, 21*micro)
	one := netip.MustParseAddr("10.1.0.1")
	got, _ = routed(t, 5, &Hop{Bandwidth: 8e9}, &Hop{
		Bandwidth: 2e9, Queue: 1500, Lossless: func(d Datagram) bool { return d.From.Addr() != one },
	})
	equal(t, "flow control for others", got, 5*micro, 9*micro)
}

// TestOutages checks what an outage does to datagrams that arrive before, during and after it.
func TestOutages(t *testing.T) {
	o := Outages{Offset: 2 * micro, Every: 100 * micro, For: 3 * micro}
	hop := &Hop{Bandwidth: 8e9, Outages: o}
	got, n := routed(t, 7, &Hop{Bandwidth: 8e9}, hop)
	// They arrive at the hop after 1, 2, 3 … µs; those after 2, 3 and 4 are lost.
	equal(t, "link", got, 2*micro, 6*micro, 7*micro, 8*micro)
	if c := n.Counts(hop); c.Down != 3 || c.Passed != 4 || n.Downs(hop) != 1 {
		t.Errorf("%+v, down %d times", c, n.Downs(hop))
	}
	hop = &Hop{Outages: o, Lossless: func(Datagram) bool { return true }}
	got, _ = routed(t, 7, &Hop{Bandwidth: 8e9}, hop)
	equal(t, "host", got, micro, 5*micro, 5*micro, 5*micro, 5*micro, 6*micro, 7*micro)
}

// TestHopFaults checks losses, damage, the MTU, marks and the order under jitter.
func TestHopFaults(t *testing.T) {
	const count = 4000
	lossy, damaging := &Hop{Loss: 0.1}, &Hop{Corrupt: 0.2}
	got, n := routed(t, count, lossy, damaging)
	l, d := n.Counts(lossy), n.Counts(damaging)
	if l.Lost < count/12 || l.Lost > count/8 || len(got) != count-l.Lost || l.Corrupted != 0 {
		t.Errorf("%+v, %d of %d arrive, want a loss of a tenth", l, len(got), count)
	}
	if d.Corrupted < count/7 || d.Corrupted > count/5 || d.Lost != 0 {
		t.Errorf("%+v, want a damage of a fifth", d)
	}
	ip := 1000 - frameOverhead + ipOverhead
	small := &Hop{MTU: ip - 1}
	if got, n = routed(t, 2, small); len(got) != 0 || n.Counts(small).TooLong != 2 {
		t.Errorf("%d of 2 too long datagrams arrive, %+v", len(got), n.Counts(small))
	}
	if got, _ = routed(t, 2, &Hop{MTU: ip}); len(got) != 2 {
		t.Errorf("%d of 2 datagrams arrive that are as long as the MTU", len(got))
	}
	jitter := &Hop{Bandwidth: 8e9, Jitter: 50 * micro, JitterShare: 0.5}
	got, _ = routed(t, count, jitter)
	late := 0
	for i := range got {
		if i > 0 && got[i] < got[i-1] {
			t.Fatalf("datagram %d overtakes", i)
		}
		if got[i] > time.Duration(i+1)*micro {
			late++
		}
	}
	if late < count/2 {
		t.Errorf("%d of %d datagrams are late", late, count)
	}
}
