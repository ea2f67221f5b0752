package roce

import (
	"bytes"
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

type side struct {
	e  *Engine
	pd provider.ProtectionDomain
	cq provider.CompletionQueue
	qp provider.QueuePair
	mr provider.MemoryRegion

	also []interface{ Close() error } // closed first

	// Set only by another.
	receives provider.CompletionQueue
	target   provider.MemoryRegion

	t        testing.TB
	wr       [1]provider.SendRequest
	segments [1]provider.Segment
}

// depth is the depth of the send queue of a queue pair that open creates.
const depth = 64

func open(t testing.TB, addr string, size int) *side {
	t.Helper()
	return openMode(t, addr, size, provider.WaitHybrid)
}

func openMode(t testing.TB, addr string, size int, mode provider.WaitMode) *side {
	t.Helper()
	ip := netip.MustParseAddr(addr)
	conn, err := udpio.Listen(netip.AddrPortFrom(ip, 4791), udpio.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return start(t, conn, ip, size, depth, mode)
}

// start makes an engine with one of everything.
func start(t testing.TB, conn PacketConn, ip netip.Addr, size, depth int, mode provider.WaitMode) *side {
	t.Helper()
	e, err := New(Config{Name: "roce@" + ip.String(), Conn: conn, Addr: ip, MTU: ib.MTU4096})
	if err != nil {
		t.Fatal(err)
	}
	return with(t, e, size, depth, mode)
}

// with makes one of everything of an engine, which it closes at the end of the test.
func with(t testing.TB, e *Engine, size, depth int, mode provider.WaitMode) *side {
	t.Helper()
	s := &side{e: e, t: t}
	var err error
	if s.pd, err = e.AllocatePD(); err != nil {
		t.Fatal(err)
	}
	if s.cq, err = e.CreateCQ(provider.CQConfig{Wait: mode}); err != nil {
		t.Fatal(err)
	}
	capacity := provider.QPCapacity{MaxSendWR: depth}
	if s.qp, err = s.pd.CreateQP(provider.QPConfig{SendCQ: s.cq, RecvCQ: s.cq, Capacity: capacity}); err != nil {
		t.Fatal(err)
	}
	all := provider.AccessLocalWrite | provider.AccessRemoteRead | provider.AccessRemoteWrite
	if s.mr, err = s.pd.RegisterMemory(make([]byte, size), provider.MemoryOptions{Access: all}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range s.also {
			_ = c.Close()
		}
		_ = s.qp.Close()
		_ = s.mr.Close()
		_ = s.cq.Close()
		_ = s.pd.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		t.Logf("%s: %+v", e.Name(), e.Stats())
	})
	return s
}

// modify sets those of the attributes that the transition to attr.State allows.
func modify(qp provider.QueuePair, attr provider.QPAttributes) error {
	required, optional, _ := provider.TransitionAttributes(provider.QPTypeRC, qp.State(), attr.State)
	attr.Mask = (attr.Mask | required) & (required | optional)
	attr.Port = 1
	return qp.Modify(attr)
}

// walk moves a queue pair to RESET and from there to a state, each time with those of the
// attributes that the transition allows.
func walk(t testing.TB, qp provider.QueuePair, attr provider.QPAttributes, to provider.QPState) {
	t.Helper()
	for attr.State = provider.QPStateReset; attr.State <= to; attr.State++ {
		if err := modify(qp, attr); err != nil {
			t.Fatalf("modify to %v: %v", attr.State, err)
		}
	}
}

func connect(t testing.TB, a, b *side, mtu ib.MTU) {
	t.Helper()
	one := func(s, peer *side, psn, peerPSN ib.PSN) {
		attr := provider.QPAttributes{
			Mask: ^provider.QPMask(0), State: provider.QPStateInit, Access: 0xff,
			Path: provider.Path{DGID: peer.e.gid}, PathMTU: mtu, DestQPN: peer.qp.QPN(),
			ReceivePSN: peerPSN, SendPSN: psn, MaxDestReadAtomic: 16, MaxReadAtomic: 16, MinRNRTimer: 12,
			Timeout: 14, RetryCount: 7, RNRRetry: 7,
		}
		walk(t, s.qp, attr, provider.QPStateRTS)
	}
	one(a, b, 0xfffff0, 0x123456)
	one(b, a, 0x123456, 0xfffff0)
}

func wait(t testing.TB, s *side, n int) []provider.WorkCompletion {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	out := make([]provider.WorkCompletion, 0, n)
	buf := make([]provider.WorkCompletion, n)
	for len(out) < n {
		k, err := s.cq.Wait(ctx, buf[:n-len(out)])
		if err != nil {
			t.Fatalf("%v after %d of %d completions; a %+v", err, len(out), n, s.e.Stats())
		}
		out = append(out, buf[:k]...)
	}
	return out
}

// inner returns the engine's own queue pair.
func inner(t testing.TB, qp provider.QueuePair) *queuePair {
	t.Helper()
	own, ok := qp.(*queuePair)
	if !ok {
		t.Fatalf("%T is no queue pair of an engine", qp)
	}
	return own
}

// memory returns memory that a peer may have written. It takes the queue pair's lock for the race
// detector, which doesn't see that the network orders the accesses.
func memory(s *side, mr provider.MemoryRegion) []byte {
	s.qp.State()
	return mr.Bytes()
}

func TestLoopback(t *testing.T) {
	const size = 1 << 20
	a, b := open(t, "127.0.10.1", size), open(t, "127.0.10.2", size)
	connect(t, a, b, ib.MTU4096)
	src := a.mr.Bytes()
	for i := range src {
		src[i] = byte(i * 7)
	}
	post := func(wr provider.SendRequest) provider.WorkCompletion {
		t.Helper()
		wr.Flags |= provider.SendSignaled
		wr.RKey, wr.RemoteAddr = b.mr.RKey(), b.mr.Addr()
		if _, err := a.qp.PostSend([]provider.SendRequest{wr}); err != nil {
			t.Fatal(err)
		}
		return wait(t, a, 1)[0]
	}
	whole := []provider.Segment{{Region: a.mr, Length: size}}
	if wc := post(provider.SendRequest{ID: 1, Op: provider.SendOpWrite, Segments: whole}); wc.Err() != nil {
		t.Fatal(wc.Err())
	}
	if !bytes.Equal(src, memory(b, b.mr)) {
		t.Error("WRITE: the bytes differ")
	}
	clear(src)
	if wc := post(provider.SendRequest{ID: 2, Op: provider.SendOpRead, Segments: whole}); wc.Err() != nil {
		t.Fatal(wc.Err())
	}
	if !bytes.Equal(src, memory(b, b.mr)) {
		t.Error("READ: the bytes differ")
	}
	if _, err := b.qp.PostReceive([]provider.ReceiveRequest{
		{ID: 77, Segments: []provider.Segment{{Region: b.mr, Offset: 5, Length: 10000}}},
	}); err != nil {
		t.Fatal(err)
	}
	if wc := post(provider.SendRequest{
		ID: 3, Op: provider.SendOpSendImmediate,
		Segments: []provider.Segment{{Region: a.mr, Offset: 100, Length: 9999}}, Immediate: [4]byte{1, 2, 3, 4},
	}); wc.Err() != nil {
		t.Fatal(wc.Err())
	}
	wc := wait(t, b, 1)[0]
	if wc.ID != 77 || wc.Bytes != 9999 || wc.Immediate != [4]byte{1, 2, 3, 4} || wc.Err() != nil {
		t.Errorf("receive = %+v", wc)
	}
	if !bytes.Equal(src[100:10099], b.mr.Bytes()[5:10004]) {
		t.Error("SEND: the bytes differ")
	}
}
