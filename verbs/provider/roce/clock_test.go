package roce

import (
	"net/netip"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestTimeoutsOnGivenClock checks that only the engine's clock moves its timeouts: a request to a
// peer that never answers fails after retries on that clock, and not before.
func TestTimeoutsOnGivenClock(t *testing.T) {
	c, ip := &clock.Manual{}, netip.MustParseAddr("10.0.0.1")
	conn := &sink{done: make(chan struct{})}
	e, err := New(Config{Name: "roce@test", Conn: conn, Addr: ip, MTU: ib.MTU1024, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	s := with(t, e, 64, 4, provider.WaitEvent)
	attr := provider.QPAttributes{
		Mask: ^provider.QPMask(0), Path: provider.Path{DGID: ib.GIDFromAddr(netip.MustParseAddr("10.0.0.2"))},
		PathMTU: ib.MTU1024, DestQPN: 77, Timeout: 14, RetryCount: 2, RNRRetry: 7,
	}
	walk(t, s.qp, attr, provider.QPStateRTS)
	if _, err := s.qp.PostSend([]provider.SendRequest{{
		Op: provider.SendOpWrite, Flags: provider.SendSignaled,
		Segments: []provider.Segment{{Region: s.mr, Length: 64}},
	}}); err != nil {
		t.Fatal(err)
	}
	timeout := ib.AckTimeout(14)
	sent := conn.sent
	c.Advance(timeout - time.Microsecond)
	if conn.sent != sent {
		t.Error("the request was repeated before its timeout")
	}
	c.Advance(time.Microsecond)
	if conn.sent != 2*sent {
		t.Errorf("%d bytes sent after one timeout, want %d", conn.sent, 2*sent)
	}
	c.Advance(2*timeout - time.Microsecond)
	var wcs [1]provider.WorkCompletion
	if n, _ := s.cq.Poll(wcs[:]); n != 0 {
		t.Errorf("completion %+v before the last timeout", wcs[0])
	}
	c.Advance(time.Microsecond)
	if n, _ := s.cq.Poll(wcs[:]); n != 1 || wcs[0].Status != provider.WCRetryExceeded {
		t.Errorf("%d completions, %v; want retries exceeded", n, wcs[0].Status)
	}
}
