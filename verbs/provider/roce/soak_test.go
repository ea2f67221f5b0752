package roce

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// soaker runs random operations from one end to the other and keeps a model of the content of
// both memories. Operations are fenced, so that they are executed in order.
type soaker struct {
	t         testing.TB
	own, peer *side
	r         *rand.Rand
	slot      int
	local     []byte // expected content of own.mr
	remote    []byte // expected content of peer.target

	posted, done int
	slots        map[int]int // of own.mr in use, by operation
	busy         map[int]bool
	expected     []provider.WorkCompletion // of the peer's receive requests, in order
	received     int
	wcs          [16]provider.WorkCompletion
}

// soak runs operations of at most slot bytes from a to b.
func soak(t testing.TB, a, b *side, seed uint64, operations, slot int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 24*time.Hour)
	defer cancel()
	s := &soaker{
		t: t, own: a, peer: b, r: rand.New(rand.NewPCG(seed, 7)), slot: slot,
		local: make([]byte, len(a.mr.Bytes())), remote: make([]byte, len(b.target.Bytes())),
		slots: map[int]int{}, busy: map[int]bool{},
	}
	fill(s.r, s.local)
	copy(a.mr.Bytes(), s.local)
	copy(s.remote, memory(b, b.target))
	const compareEvery = 256
	for s.done < operations && !t.Failed() {
		until := min(operations, s.posted+compareEvery)
		for s.done < until && !t.Failed() {
			for s.posted < until && s.posted-s.done < min(16, len(s.local)/slot-1) {
				s.post(s.posted+1 == until)
			}
			s.completions(ctx)
		}
		s.compare()
	}
}

// duplex runs soak in both directions concurrently.
func duplex(t testing.TB, a, b *side, seed uint64, operations, slot int) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() { soak(t, a, b, seed, operations, slot) })
	wg.Go(func() { soak(t, b, a, seed+1<<32, operations, slot) })
	wg.Wait()
}

func fill(r *rand.Rand, b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, r.Uint64())
	}
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// post posts a random operation.
func (s *soaker) post(last bool) {
	at := s.free()
	length := s.r.IntN(s.slot + 1)
	if s.r.IntN(4) == 0 {
		length = s.r.IntN(200)
	}
	target := s.r.IntN(len(s.remote)/s.slot) * s.slot
	wr := provider.SendRequest{
		ID: uint64(s.posted), Op: provider.SendOp(s.r.IntN(int(provider.SendOpRead) + 1)), Flags: provider.SendFence,
		RKey: s.peer.target.RKey(), RemoteAddr: s.peer.target.Addr() + uint64(target), Segments: s.cut(at, length),
	}
	binary.BigEndian.PutUint32(wr.Immediate[:], s.r.Uint32())
	// Only a signaled request reports that the requests before it have completed, so signal the
	// last one, and at least every fourth.
	if last || s.posted%4 == 3 || s.r.IntN(2) == 0 {
		wr.Flags |= provider.SendSignaled
	}
	if wr.Op == provider.SendOpRead {
		copy(s.local[at:], s.remote[target:target+length])
	} else {
		copy(s.remote[target:], s.local[at:at+length])
		if length <= 256 && s.r.IntN(2) == 0 {
			wr.Flags |= provider.SendInline
		}
	}
	late := s.receive(&wr, target, length)
	s.busy[at], s.slots[s.posted] = true, at
	s.posted++
	if _, err := s.own.qp.PostSend([]provider.SendRequest{wr}); err != nil {
		s.t.Errorf("operation %d: %v", wr.ID, err)
		return
	}
	if wr.Flags&provider.SendInline != 0 { // the memory may be reused
		fill(s.r, s.local[at:at+length])
		copy(s.own.mr.Bytes()[at:], s.local[at:at+length])
	}
	if late != nil {
		time.Sleep(time.Duration(s.r.IntN(2000)) * time.Microsecond)
		s.postReceive(*late)
	}
}

// free finds a slot that no operation uses.
func (s *soaker) free() int {
	for {
		if at := s.r.IntN(len(s.local)/s.slot) * s.slot; !s.busy[at] {
			return at
		}
	}
}

// cut divides a slot into up to four segments.
func (s *soaker) cut(at, length int) (list []provider.Segment) {
	for len(list) < 3 && length > 1 && s.r.IntN(4) == 0 {
		n := s.r.IntN(length)
		list = append(list, provider.Segment{Region: s.own.mr, Offset: at, Length: n})
		at, length = at+n, length-n
	}
	return append(list, provider.Segment{Region: s.own.mr, Offset: at, Length: length})
}

// receive posts the receive request that the operation needs at the peer. Occasionally it returns
// the request instead, to be posted too late.
func (s *soaker) receive(wr *provider.SendRequest, target, length int) *provider.ReceiveRequest {
	id := uint64(len(s.expected))
	rr := provider.ReceiveRequest{ID: id}
	want := provider.WorkCompletion{ID: id, QPN: s.peer.qp.QPN(), Bytes: uint32(length), Op: provider.WCReceive}
	switch wr.Op {
	case provider.SendOpSend, provider.SendOpSendImmediate:
		rr.Segments = []provider.Segment{{Region: s.peer.target, Offset: target, Length: s.slot}}
	case provider.SendOpWriteImmediate:
		want.Op = provider.WCReceiveWrite
	default:
		return nil
	}
	if wr.Op != provider.SendOpSend {
		want.Flags, want.Immediate = provider.WCImmediate, wr.Immediate
	}
	s.expected = append(s.expected, want)
	if s.r.IntN(64) == 0 {
		return &rr
	}
	s.postReceive(rr)
	return nil
}

func (s *soaker) postReceive(rr provider.ReceiveRequest) {
	if _, err := s.peer.qp.PostReceive([]provider.ReceiveRequest{rr}); err != nil {
		s.t.Error(err)
	}
}

// completions waits for completions and checks them.
func (s *soaker) completions(ctx context.Context) {
	n, err := s.own.cq.Wait(ctx, s.wcs[:])
	if err != nil {
		s.t.Errorf("after %d operations: %v; %+v", s.done, err, s.own.e.Stats())
		return
	}
	for i := range n {
		wc := &s.wcs[i]
		if err := wc.Err(); err != nil {
			s.t.Errorf("after %d operations: %v", s.done, err)
			return
		}
		if wc.ID < uint64(s.done) || wc.ID >= uint64(s.posted) {
			s.t.Errorf("completion %d when %d to %d were outstanding", wc.ID, s.done, s.posted)
			return
		}
		for s.done <= int(wc.ID) { // including those that were not signaled
			delete(s.busy, s.slots[s.done])
			delete(s.slots, s.done)
			s.done++
		}
	}
	s.receipts()
}

// receipts checks the completions of receive requests.
func (s *soaker) receipts() {
	for {
		n, err := s.peer.receives.Poll(s.wcs[:])
		if err != nil {
			s.t.Error(err)
			return
		}
		for i := range n {
			if s.received == len(s.expected) || s.wcs[i] != s.expected[s.received] {
				s.t.Errorf("receive %d = %+v", s.received, s.wcs[i])
				return
			}
			s.received++
		}
		if n == 0 {
			return
		}
	}
}

// compare compares every byte with the model. No operation is outstanding.
func (s *soaker) compare() {
	s.receipts()
	switch {
	case s.t.Failed():
	case s.received != len(s.expected):
		s.t.Errorf("after %d operations %d of %d receive requests have completed", s.done, s.received, len(s.expected))
	case !bytes.Equal(s.remote, memory(s.peer, s.peer.target)):
		s.t.Errorf("after %d operations the target's memory differs from the model", s.done)
	case !bytes.Equal(s.local, s.own.mr.Bytes()):
		s.t.Errorf("after %d operations the requester's memory differs from the model", s.done)
	}
}
