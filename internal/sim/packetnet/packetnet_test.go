package packetnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
)

var (
	alice = netip.MustParseAddrPort("10.0.0.1:4791")
	bob   = netip.MustParseAddrPort("10.0.0.2:4791")
)

// packet returns a datagram that n identifies, at the offset of the PSN in a BTH.
func packet(n int) []byte {
	b := make([]byte, 40)
	b[0] = 0x0a
	binary.BigEndian.PutUint32(b[8:], uint32(n))
	return b
}

type arrival struct {
	N  uint32
	At time.Duration
	// Flipped is the number of bits that differ from the datagram that was sent.
	Flipped int
}

// trip sends count packets, one per microsecond, and returns those that arrive.
func trip(t *testing.T, f Faults, count int) (got []arrival, stats Stats) {
	synctest.Test(t, func(t *testing.T) {
		n := New(f)
		a, b := listen(t, n, alice), listen(t, n, bob)
		begin := time.Now()
		go func() {
			for i := range count {
				if _, err := a.Write([]udpio.Outbound{{Data: packet(i), To: bob}}); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Microsecond)
			}
			time.Sleep(time.Second)
			_ = b.Close()
		}()
		for {
			err := b.Read(func(list []udpio.Inbound) {
				for _, in := range list {
					if in.From != alice || in.Segment != len(in.Data) {
						t.Errorf("inbound = %+v", in)
					}
					got = append(got, look(in.Data, time.Since(begin)))
				}
			})
			if errors.Is(err, net.ErrClosed) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		stats = n.Stats()
	})
	return got, stats
}

func look(data []byte, at time.Duration) arrival {
	n := binary.BigEndian.Uint32(data[8:])
	a := arrival{N: n, At: at}
	for i, c := range packet(int(n)) {
		a.Flipped += bits.OnesCount8(c ^ data[i])
	}
	return a
}

func listen(t *testing.T, n *Network, at netip.AddrPort) *Conn {
	t.Helper()
	c, err := n.Listen(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A network without faults delivers everything in order, after the delay.
func TestPerfect(t *testing.T) {
	got, stats := trip(t, Faults{Delay: 3 * time.Microsecond}, 100)
	if want := (Stats{Sent: 100}); stats != want {
		t.Errorf("stats = %+v, want %+v", stats, want)
	}
	for i, a := range got {
		if want := (arrival{N: uint32(i), At: time.Duration(i+3) * time.Microsecond}); a != want {
			t.Fatalf("arrival %d = %+v, want %+v", i, a, want)
		}
	}
}

// The same seed gives the same faults, order and counts; another seed gives different ones.
func TestSeed(t *testing.T) {
	f := Faults{
		Seed: 7, Loss: 0.1, Duplicate: 0.1, Corrupt: 0.1, Delay: time.Microsecond, Jitter: 20 * time.Microsecond,
	}
	got, stats := trip(t, f, 1000)
	again, statsAgain := trip(t, f, 1000)
	if diff := cmp.Diff(got, again); diff != "" || stats != statsAgain {
		t.Errorf("the second run differs: %+v, %+v\n%s", stats, statsAgain, diff)
	}
	f.Seed = 8
	if other, _ := trip(t, f, 1000); cmp.Equal(got, other) {
		t.Error("another seed gives the same results")
	}
	if want := 1000 - stats.Lost + stats.Duplicated; len(got) != want {
		t.Errorf("%d arrivals, want %d: %+v", len(got), want, stats)
	}
	overtaken, flipped := 0, 0
	for i, a := range got {
		if i > 0 && a.N < got[i-1].N {
			overtaken++
		}
		if flipped += min(1, a.Flipped); a.Flipped > 1 && a.N < 1000 {
			t.Errorf("arrival %d has %d bits flipped, want one at most", i, a.Flipped)
		}
	}
	if overtaken < 100 {
		t.Errorf("%d datagrams overtook another, want many", overtaken)
	}
	for name, n := range map[string]int{
		"lost": stats.Lost, "duplicated": stats.Duplicated, "corrupted": stats.Corrupted,
	} {
		if n < 60 || n > 160 {
			t.Errorf("%d of 1000 %s, want about 100", n, name)
		}
	}
}

// The same packet is lost or corrupted MaxDrops times and then delivered.
func TestMaxDrops(t *testing.T) {
	for _, f := range []Faults{{Loss: 1, MaxDrops: 3}, {Corrupt: 1, MaxDrops: 3}, {
		Loss: 0.5, Corrupt: 0.9, MaxDrops: 3,
	}} {
		t.Run(fmt.Sprintf("%+v", f), func(t *testing.T) {
			n := New(f)
			a, b := listen(t, n, alice), listen(t, n, bob)
			for k := range 10 {
				for i := range 100 {
					data := packet(i)
					// not a part of the packet's key
					data[1], data[4], data[8], data[20], data[39] = byte(k), byte(k), byte(k<<7), byte(k), byte(k)
					if _, err := a.Write([]udpio.Outbound{{Data: data, To: bob}}); err != nil {
						t.Fatal(err)
					}
				}
			}
			stats := n.Stats()
			if got := stats.Lost + stats.Corrupted; got != 300 {
				t.Errorf("%d of ten times 100 packets dropped, want 300: %+v", got, stats)
			}
			if got := len(b.inbox); got != 1000-stats.Lost {
				t.Errorf("%d delivered, want %d", got, 1000-stats.Lost)
			}
		})
	}
}

// Segments are numbered, or rejected if the network doesn't number them.
func TestSegmentation(t *testing.T) {
	n := New(Faults{Segmentation: true})
	a, b := listen(t, n, alice), listen(t, n, bob)
	var ids []uint16
	n.SetTap(func(d Datagram) { ids = append(ids, d.ID) })
	three := udpio.Outbound{Data: make([]byte, 50), Segment: 20, To: bob, Numbered: true}
	single := udpio.Outbound{Data: make([]byte, 50), Segment: 20, To: bob}
	if _, err := a.Write([]udpio.Outbound{three, single}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint16{0, 1, 2, 0, 0, 0}, ids); diff != "" {
		t.Errorf("identifications:\n%s", diff)
	}
	var lengths []int
	if ok, err := b.Poll(func(list []udpio.Inbound) {
		for _, in := range list {
			lengths = append(lengths, len(in.Data))
		}
	}); !ok || err != nil {
		t.Errorf("Poll = %t, %v", ok, err)
	}
	if diff := cmp.Diff([]int{20, 20, 10, 20, 20, 10}, lengths); diff != "" {
		t.Errorf("lengths:\n%s", diff)
	}
	n.SetFaults(Faults{})
	if _, err := a.Write([]udpio.Outbound{three}); !errors.Is(err, udpio.ErrNoSegmentation) {
		t.Errorf("Write of numbered datagrams = %v, want ErrNoSegmentation", err)
	}
	if ok, err := b.Poll(func([]udpio.Inbound) {}); ok || err != nil {
		t.Errorf("Poll of nothing = %t, %v", ok, err)
	}
}

// Cut loses the datagrams in one direction; those to a closed address are lost.
func TestCutAndClose(t *testing.T) {
	n := New(Faults{MaxDrops: 1})
	a, b := listen(t, n, alice), listen(t, n, bob)
	if _, err := n.Listen(bob); err == nil {
		t.Error("a second listener on one address is accepted")
	}
	n.Cut(alice.Addr(), bob.Addr(), true)
	for range 5 {
		_, _ = a.Write([]udpio.Outbound{{Data: packet(1), To: bob}})
		_, _ = b.Write([]udpio.Outbound{{Data: packet(1), To: alice}})
	}
	if len(b.inbox) != 0 || len(a.inbox) != 5 || n.Stats().Lost != 5 {
		t.Errorf("%d and %d arrived, want 0 and 5; %+v", len(b.inbox), len(a.inbox), n.Stats())
	}
	n.Cut(alice.Addr(), bob.Addr(), false)
	_ = b.Close()
	if _, err := a.Write([]udpio.Outbound{{Data: packet(1), To: bob}}); err != nil || n.Stats().Lost != 6 {
		t.Errorf("Write to a closed address = %v, %+v", err, n.Stats())
	}
	if _, err := b.Write(nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write of a closed connection = %v, want net.ErrClosed", err)
	}
	if _, err := b.Poll(nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Poll of a closed connection = %v, want net.ErrClosed", err)
	}
}

// The number of unread datagrams is limited.
func TestOverflow(t *testing.T) {
	n := New(Faults{})
	a, b := listen(t, n, alice), listen(t, n, bob)
	for i := range inboxSize + 10 {
		_, _ = a.Write([]udpio.Outbound{{Data: packet(i), To: bob}})
	}
	if got := n.Stats().Overflowed; got != 10 || len(b.inbox) != inboxSize {
		t.Errorf("%d overflowed of %d, want 10", got, inboxSize+10)
	}
}

// TestOrderWithPoll checks that datagrams are handled in order although one goroutine reads and
// another one polls.
func TestOrderWithPoll(t *testing.T) {
	n := New(Faults{})
	to := netip.MustParseAddrPort("10.0.0.2:1")
	a, err := n.Listen(netip.MustParseAddrPort("10.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := n.Listen(to)
	if err != nil {
		t.Fatal(err)
	}
	const count = 4000 // fewer than the inbox has room for
	got, ended := uint32(0), make(chan struct{})
	handle := func(list []udpio.Inbound) { // never concurrently
		for _, in := range list {
			if number := binary.BigEndian.Uint32(in.Data); number != got {
				t.Errorf("datagram %d, want %d", number, got)
			}
			if got++; got == count {
				close(ended)
			}
		}
	}
	go func() {
		for {
			if err := b.Read(handle); err != nil {
				return
			}
		}
	}()
	go func() {
		for {
			if _, err := b.Poll(handle); err != nil {
				return
			}
			runtime.Gosched()
		}
	}()
	for i := range uint32(count) {
		data := binary.BigEndian.AppendUint32(nil, i)
		if _, err := a.Write([]udpio.Outbound{{Data: data, Segment: len(data), To: to}}); err != nil {
			t.Fatal(err)
		}
		if i%64 == 0 {
			time.Sleep(time.Microsecond)
		}
	}
	<-ended
	_, _ = a.Close(), b.Close()
}
