package roce

import (
	"bytes"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// incast writes size bytes from several senders to one receiver over a network, all at once, and
// returns the receiver and how long it took.
func incast(t *testing.T, n *packetnet.Network, count, size int, class uint8) (to *side, took time.Duration) {
	t.Helper()
	listen := func(addr string) *side {
		ip := netip.MustParseAddr(addr)
		conn, err := n.Listen(netip.AddrPortFrom(ip, 4791))
		if err != nil {
			t.Fatal(err)
		}
		return start(t, conn, ip, count*size, 64, provider.WaitEvent)
	}
	to = listen("10.2.0.1")
	var senders []*side
	for i := range count {
		s := listen(netip.AddrFrom4([4]byte{10, 2, 0, byte(i + 2)}).String())
		senders = append(senders, s)
		qp, err := to.pd.CreateQP(provider.QPConfig{SendCQ: to.cq, RecvCQ: to.cq})
		if err != nil {
			t.Fatal(err)
		}
		to.also = append([]interface{ Close() error }{qp}, to.also...)
		peer := &side{e: to.e, qp: qp}
		connect(t, s, peer, ib.MTU4096)
		inner(t, s.qp).attr.Path.TrafficClass = class
		copy(s.mr.Bytes(), bytes.Repeat([]byte{byte(i + 1)}, size))
	}
	begin := time.Now()
	for i, s := range senders {
		if _, err := s.qp.PostSend([]provider.SendRequest{{
			Op: provider.SendOpWrite, Flags: provider.SendSignaled, RKey: to.mr.RKey(),
			RemoteAddr: to.mr.Addr() + uint64(i*size),
			Segments:   []provider.Segment{{Region: s.mr, Length: size}},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range senders {
		if wc := wait(t, s, 1)[0]; wc.Err() != nil {
			t.Errorf("sender %d: %v; %+v", i, wc.Err(), s.e.Stats())
		}
	}
	took = time.Since(begin)
	for i := range count {
		if got := memory(to, to.mr)[i*size : (i+1)*size]; !bytes.Equal(got, bytes.Repeat([]byte{byte(i + 1)}, size)) {
			t.Errorf("the data of sender %d differ", i)
		}
	}
	return to, took
}

// TestIncast checks that senders that overrun the queue of a switch recover.
func TestIncast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count, size = 4, 256 << 10
		link := packetnet.Link{Bandwidth: 10e9, Queue: 100 << 10}
		n := packetnet.NewNetwork(packetnet.Config{
			Faults: packetnet.Faults{Delay: 2 * time.Microsecond, Segmentation: true}, Link: link, Merge: true,
		})
		_, took := incast(t, n, count, size, 0)
		s := n.Stats()
		if s.Dropped == 0 {
			t.Errorf("%+v: nothing was dropped, so nothing was tested", s)
		}
		if least := time.Duration(count * size * 8 / 10); took < least {
			t.Errorf("done after %v, and the link takes %v", took, least)
		}
		t.Logf("%v, %+v", took, s)
	})
}

// TestMarksOfSwitch checks that marks of a switch with a long queue are counted at the receiver.
func TestMarksOfSwitch(t *testing.T) {
	for _, tt := range []struct {
		class uint8
		want  bool
	}{{26<<2 | 2, true}, {26 << 2, false}} {
		synctest.Test(t, func(t *testing.T) {
			n := packetnet.NewNetwork(packetnet.Config{
				Faults: packetnet.Faults{Delay: time.Microsecond},
				Link:   packetnet.Link{Bandwidth: 10e9, Mark: 30 << 10},
			})
			to, _ := incast(t, n, 3, 256<<10, tt.class)
			if got := to.e.Stats().ECNMarks; (got > 0) != tt.want || got > uint64(n.Stats().Marked) {
				t.Errorf("traffic class %#x: %d marks counted of %d", tt.class, got, n.Stats().Marked)
			}
		})
	}
}
