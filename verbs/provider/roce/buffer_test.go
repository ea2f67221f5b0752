package roce

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// untuned is Linux's default of net.core.rmem_max, in bytes.
const untuned = 212992

// openUntuned opens an engine whose socket has the buffer of an untuned machine.
func openUntuned(t testing.TB, addr string, size int) *side {
	t.Helper()
	ip := netip.MustParseAddr(addr)
	conn, err := udpio.Listen(netip.AddrPortFrom(ip, 4791), udpio.Options{ReceiveBuffer: untuned})
	if err != nil {
		t.Fatal(err)
	}
	return start(t, conn, ip, size, depth, provider.WaitHybrid)
}

// TestWindowOfUntunedMachine checks that the window respects the buffer that the kernel gave: with
// windowMax a burst overruns it, and hundreds of packets arrive out of order.
func TestWindowOfUntunedMachine(t *testing.T) {
	const size, count = 1 << 20, 50
	x, y := openUntuned(t, "127.0.10.1", size), openUntuned(t, "127.0.10.2", size)
	connect(t, x, y, ib.MTU4096)
	if got := inner(t, x.qp).req.windowLimit; got >= windowMax/2 || got < 2*windowMin {
		t.Errorf("limit of the window = %d packets of 4096 bytes for a buffer of %d bytes", got, untuned)
	}
	for range count {
		if _, err := x.qp.PostSend([]provider.SendRequest{{
			Op: provider.SendOpWrite, Flags: provider.SendSignaled,
			Segments: []provider.Segment{{Region: x.mr, Length: size}}, RKey: y.mr.RKey(), RemoteAddr: y.mr.Addr(),
		}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, wc := range wait(t, x, count) {
		if wc.Err() != nil {
			t.Fatal(wc.Err())
		}
	}
	packets := uint64(size / 4096 * count)
	if got := y.e.Stats().OutOfOrder; got > packets/500 {
		t.Errorf("%d of %d packets arrived out of order", got, packets)
	}
}

// TestAdvice checks that an engine names the setting that limits its buffer, and only then.
func TestAdvice(t *testing.T) {
	x, y := openUntuned(t, "127.0.10.1", 8), newVictim(t)
	if got := x.e.Advice(); len(got) != 1 || !strings.Contains(got[0], "net.core.rmem_max=8388608") ||
		!strings.Contains(got[0], "212992 bytes") {
		t.Errorf("advice = %q", got)
	}
	if got := y.e.Advice(); len(got) != 0 {
		t.Errorf("advice without a limit = %q", got)
	}
}

// TestWindowLimit checks the limits of the window by buffer and path MTU.
func TestWindowLimit(t *testing.T) {
	for _, tt := range []struct {
		buffer int
		mtu    ib.MTU
		want   int
	}{
		{0, ib.MTU4096, windowMax},
		{8 << 20, ib.MTU4096, windowMax},
		{untuned, ib.MTU4096, 78},
		{untuned, ib.MTU1024, windowMax},
		{4096, ib.MTU4096, windowMin},
	} {
		e := &Engine{conn: &sink{buffer: tt.buffer}}
		if got := e.windowLimit(tt.mtu); got != tt.want {
			t.Errorf("buffer of %d bytes, MTU %d: limit = %d packets, want %d", tt.buffer, tt.mtu, got, tt.want)
		}
	}
}

// BenchmarkWriteUntuned measures WRITEs with the receive buffer of an untuned machine, by the limit
// of the window in packets; 0 is the engine's own.
func BenchmarkWriteUntuned(b *testing.B) {
	for _, size := range []int{65536, 1 << 20} {
		for _, limit := range []int{0, 64, 76, 88, 96, windowMax} {
			b.Run(fmt.Sprintf("size=%d/window=%d", size, limit), func(b *testing.B) {
				x, y := openUntuned(b, "127.0.10.1", size), openUntuned(b, "127.0.10.2", size)
				connect(b, x, y, ib.MTU4096)
				if limit != 0 {
					qp, _ := x.qp.(*queuePair)
					qp.req.windowLimit = limit
				}
				stream(b, x, y, provider.SendOpWrite, size)
				b.ReportMetric(float64(y.e.Stats().OutOfOrder)/float64(b.N), "early/op")
			})
		}
	}
}
