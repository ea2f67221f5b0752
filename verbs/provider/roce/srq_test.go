package roce

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// sharing is an engine without a network with two queue pairs that share a receive queue.
type sharing struct {
	*victim
	srq  provider.SharedReceiveQueue
	qps  [2]provider.QueuePair
	own  provider.QueuePair // without it
	recv provider.CompletionQueue
}

// slot is how far apart the buffers of the receive requests are.
const slot = 2048

func newSharing(t *testing.T, cfg provider.SRQConfig) *sharing {
	t.Helper()
	s := &sharing{victim: newVictim(t)}
	s.own = s.qp
	create, ok := s.pd.(provider.SRQCreator)
	if !ok {
		t.Fatal("the engine has no shared receive queues")
	}
	var err error
	if s.srq, err = create.CreateSRQ(cfg); err != nil {
		t.Fatal(err)
	}
	if s.recv, err = s.e.CreateCQ(provider.CQConfig{Wait: provider.WaitEvent}); err != nil {
		t.Fatal(err)
	}
	for i := range s.qps {
		if s.qps[i], err = s.pd.CreateQP(
			provider.QPConfig{SendCQ: s.cq, RecvCQ: s.recv, SRQ: s.srq, ID: uint64(i + 1)}); err != nil {
			t.Fatal(err)
		}
		s.connectOne(t, i)
	}
	s.also = append(s.also, s.qps[0], s.qps[1], s.srq, s.recv)
	return s
}

// connectOne moves one of the queue pairs to RTS.
func (s *sharing) connectOne(t *testing.T, i int) {
	t.Helper()
	walk(t, s.qps[i], inner(t, s.own).attr, provider.QPStateRTS)
}

// post posts receive requests with these IDs, each with a slot of its own.
func (s *sharing) post(t *testing.T, ids ...uint64) {
	t.Helper()
	for _, id := range ids {
		wr := provider.ReceiveRequest{
			ID: id, Segments: []provider.Segment{{Region: s.target, Offset: int(id%4) * slot, Length: slot}},
		}
		if n, err := s.srq.PostReceive([]provider.ReceiveRequest{wr}); n != 1 || err != nil {
			t.Fatal(err)
		}
	}
}

// to passes packets to one of the queue pairs.
func (s *sharing) to(i int, packets ...[]byte) {
	s.qp = s.qps[i]
	s.take(packets...)
	s.qp = s.own
}

// received returns ID, queue pair and status of the completions of receive requests.
func (s *sharing) received(t *testing.T) (out []provider.WorkCompletion) {
	t.Helper()
	wcs := make([]provider.WorkCompletion, 16)
	n, err := s.recv.Poll(wcs)
	if err != nil {
		t.Fatal(err)
	}
	for _, wc := range wcs[:n] {
		out = append(out, provider.WorkCompletion{ID: wc.ID, QPN: wc.QPN, Status: wc.Status})
	}
	return out
}

// sendPacket returns a packet of a SEND.
func sendPacket(op ib.Opcode, psn ib.PSN, payload []byte) []byte {
	p := ib.Packet{BTH: ib.BTH{Opcode: op, PKey: ib.PKeyDefault, PSN: psn, AckReq: true}, Payload: payload}
	return p.Append(nil)
}

// TestSharedOrder checks that queue pairs take requests in the order in which their messages begin,
// and keep them until the messages end.
func TestSharedOrder(t *testing.T) {
	s := newSharing(t, provider.SRQConfig{})
	s.post(t, 0, 1, 2)
	long := bytes.Repeat([]byte{0xaa}, 1024)
	s.to(0, sendPacket(ib.OpcodeRCSendFirst, 100, long))
	s.to(1, sendPacket(ib.OpcodeRCSendOnly, 100, []byte("only")))
	s.to(0, sendPacket(ib.OpcodeRCSendLast, 101, []byte("last")))
	s.to(0, sendPacket(ib.OpcodeRCSendOnly, 102, []byte("next")))
	want := []provider.WorkCompletion{
		{ID: 1, QPN: s.qps[1].QPN()}, {ID: 0, QPN: s.qps[0].QPN()}, {ID: 2, QPN: s.qps[0].QPN()},
	}
	if got := s.received(t); !slices.Equal(got, want) {
		t.Errorf("completions = %+v, want %+v", got, want)
	}
	mem := s.target.Bytes()
	for _, at := range []struct {
		offset int
		want   string
	}{{0, "\xaa\xaa\xaa\xaa"}, {1024, "last"}, {slot, "only"}, {2 * slot, "next"}} {
		if got := string(mem[at.offset : at.offset+4]); got != at.want {
			t.Errorf("bytes at %d = %q, want %q", at.offset, got, at.want)
		}
	}
}

// TestSharedEmpty checks that a message without a request is answered with an RNR NAK, and accepted
// after one is posted.
func TestSharedEmpty(t *testing.T) {
	s := newSharing(t, provider.SRQConfig{})
	s.conn.record = true
	for round := range 2 {
		if round == 1 {
			s.post(t, 7)
		}
		s.conn.packets = nil
		s.to(0, sendOnly(100))
		got := s.conn.responses(t)
		if len(got) != 1 || got[0].AETH.Syndrome.IsRNR() != (round == 0) {
			t.Errorf("round %d: responses %+v, want an RNR NAK, then an acknowledgement", round, got)
		}
	}
	if got := s.received(t); len(got) != 1 || got[0].ID != 7 {
		t.Errorf("completions = %+v, want that of request 7", got)
	}
}

// TestSharedLimit checks that the event comes once, when fewer requests than the limit are left.
func TestSharedLimit(t *testing.T) {
	s := newSharing(t, provider.SRQConfig{Limit: 2, ID: 5})
	psn := ib.PSN(100)
	take := func(want ...provider.EventType) {
		t.Helper()
		s.to(0, sendOnly(psn))
		psn = psn.Add(1)
		if got := s.limitEvents(t); !slices.Equal(got, want) {
			left := s.srqAttributes(t)
			t.Errorf("events %v with limit %d, want %v", got, left.Limit, want)
		}
	}
	s.post(t, 0, 1, 2, 3)
	take()
	take() // two are left: not fewer than the limit
	take(provider.EventSRQLimit)
	if got := s.srqAttributes(t); got.Limit != 0 {
		t.Errorf("limit after the event = %d, want 0", got.Limit)
	}
	take()
	s.received(t)
	s.post(t, 0, 1)
	if err := s.srq.SetLimit(1); err != nil {
		t.Fatal(err)
	}
	take()
	take(provider.EventSRQLimit)
}

func (s *sharing) srqAttributes(t *testing.T) provider.SRQConfig {
	t.Helper()
	got, err := s.srq.Query()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// limitEvents returns the types of the events of the shared queue, whose ID is 5.
func (s *sharing) limitEvents(t *testing.T) (out []provider.EventType) {
	t.Helper()
	for {
		e, ok := s.e.events.next()
		if !ok {
			return out
		}
		if e.ID != 5 {
			t.Errorf("%v of ID %d, want 5", e.Type, e.ID)
		}
		out = append(out, e.Type)
	}
}

// TestSharedFailure checks that a queue pair that fails within a message flushes the request that
// it has taken, says so, and leaves the other ones to the other queue pair.
func TestSharedFailure(t *testing.T) {
	s := newSharing(t, provider.SRQConfig{})
	s.post(t, 0, 1)
	s.to(0, sendPacket(ib.OpcodeRCSendFirst, 100, make([]byte, 1024)))
	if err := modify(s.qps[0], provider.QPAttributes{State: provider.QPStateError}); err != nil {
		t.Fatal(err)
	}
	want := []provider.WorkCompletion{{ID: 0, QPN: s.qps[0].QPN(), Status: provider.WCFlushed}}
	if got := s.received(t); !slices.Equal(got, want) {
		t.Errorf("completions after the failure = %+v, want %+v", got, want)
	}
	e, ok := s.e.events.next()
	if !ok || e.Type != provider.EventQPLastRequest || e.ID != 1 || e.QPN != s.qps[0].QPN() {
		t.Errorf("event %+v, want that the queue pair takes no more", e)
	}
	s.to(1, sendOnly(100))
	want = []provider.WorkCompletion{{ID: 1, QPN: s.qps[1].QPN()}}
	if got := s.received(t); !slices.Equal(got, want) {
		t.Errorf("completions of the other queue pair = %+v, want %+v", got, want)
	}
}

// TestSharedLength checks that a message may fill its request and no more.
func TestSharedLength(t *testing.T) {
	s := newSharing(t, provider.SRQConfig{})
	for i, want := range []provider.WCStatus{provider.WCSuccess, provider.WCLocalLengthError} {
		wr := provider.ReceiveRequest{Segments: []provider.Segment{{Region: s.target, Length: 8 - i}}}
		if _, err := s.srq.PostReceive([]provider.ReceiveRequest{wr}); err != nil {
			t.Fatal(err)
		}
		s.to(0, sendOnly(ib.PSN(100+i))) // 8 bytes
		if got := s.received(t); len(got) != 1 || got[0].Status != want {
			t.Errorf("8 bytes in a request for %d: %+v, want %v", 8-i, got, want)
		}
	}
}

// TestSharedSlots checks that a request occupies the queue until its completion is polled, or until
// the queue pair that has taken it is reset or closed.
func TestSharedSlots(t *testing.T) {
	s := newSharing(t, provider.SRQConfig{MaxWR: 2, MaxSegments: 2})
	if got, want := s.srqAttributes(t), (provider.SRQConfig{MaxWR: 2, MaxSegments: 2}); got != want {
		t.Errorf("Query = %+v, want %+v", got, want)
	}
	full := func(when string) {
		t.Helper()
		n, err := s.srq.PostReceive(make([]provider.ReceiveRequest, 1))
		if n != 0 || !errors.Is(err, provider.ErrQueueFull) {
			t.Errorf("PostReceive %s = %d, %v; want ErrQueueFull", when, n, err)
		}
	}
	s.post(t, 0, 1)
	full("to a full queue")
	s.to(0, sendOnly(100))
	full("before the completion is polled")
	s.received(t)
	s.post(t, 2)
	first := sendPacket(ib.OpcodeRCSendFirst, 101, make([]byte, 1024))
	s.to(0, first)
	full("while a message is received")
	walk(t, s.qps[0], provider.QPAttributes{}, provider.QPStateReset)
	s.post(t, 3)
	s.connectOne(t, 0)
	s.to(1, sendPacket(ib.OpcodeRCSendFirst, 100, make([]byte, 1024)))
	full("while a message is received")
	_ = s.qps[1].Close()
	s.post(t, 4)
}

// TestSharedErrors checks what is refused.
func TestSharedErrors(t *testing.T) {
	s := newSharing(t, provider.SRQConfig{})
	create, _ := s.pd.(provider.SRQCreator)
	for _, cfg := range []provider.SRQConfig{
		{MaxWR: -1},
		{MaxWR: maxDepth + 1},
		{MaxSegments: -1},
		{MaxSegments: maxSegments + 1},
		{Limit: -1},
		{Limit: 129},
	} {
		if _, err := create.CreateSRQ(cfg); err == nil {
			t.Errorf("CreateSRQ(%+v) has no error", cfg)
		}
	}
	wrs := []provider.ReceiveRequest{{ID: 3, Segments: make([]provider.Segment, 2)}}
	_, err := s.srq.PostReceive(wrs)
	if err == nil || !strings.Contains(err.Error(), "receive 3 to shared receive queue: 2 segments") {
		t.Errorf("PostReceive of 2 segments = %v", err)
	}
	if _, err := s.qps[0].PostReceive(wrs); err == nil || !strings.Contains(err.Error(), "shared receive queue") {
		t.Errorf("PostReceive to a queue pair with a shared queue = %v", err)
	}
	if c := s.qps[0].Capacity(); c.MaxRecvWR != 0 || c.MaxRecvSegments != 0 || c.MaxSendWR == 0 {
		t.Errorf("capacity %+v, want no receives of its own", c)
	}
	if err := s.srq.Close(); !errors.Is(err, provider.ErrBusy) {
		t.Errorf("Close of a queue in use = %v, want ErrBusy", err)
	}
	_, _ = s.qps[0].Close(), s.qps[1].Close()
	for range 2 {
		if err := s.srq.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
	_, postErr := s.srq.PostReceive(make([]provider.ReceiveRequest, 1))
	_, queryErr := s.srq.Query()
	_, createErr := s.pd.CreateQP(provider.QPConfig{SendCQ: s.cq, RecvCQ: s.recv, SRQ: s.srq})
	for what, err := range map[string]error{
		"PostReceive": postErr, "Query": queryErr, "SetLimit": s.srq.SetLimit(0), "CreateQP": createErr,
	} {
		if !errors.Is(err, provider.ErrClosed) {
			t.Errorf("%s of a closed queue = %v, want ErrClosed", what, err)
		}
	}
}
