package rmpp_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/fabric/rmpp"
	"github.com/rdmakit/rdmakit/internal/testkit/tshark"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// message returns a message of n bytes that differ.
func message(n int) rmpp.Message {
	m := rmpp.Message{Data: make([]byte, n)}
	for i := range m.Data {
		m.Data[i] = byte(i*7 + i>>8)
	}
	m.Header = mad.NewSA(mad.MethodGetTableResp, mad.AttributeNodeRecord, 0, 0x1234).SAHeader
	m.Header.AttributeOffset = 14
	return m
}

// start is the time at which the transfers of the tests begin.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// link carries packets between a sender and a receiver, and may lose, repeat and reorder them.
type link struct {
	random       *rand.Rand
	loss, repeat float64
	reorder      bool
}

func (l *link) carry(in []mad.SA) (out []mad.SA) {
	for _, p := range in {
		if l.random.Float64() < l.loss {
			continue
		}
		out = append(out, p)
		for l.random.Float64() < l.repeat {
			out = append(out, p)
		}
	}
	if l.reorder {
		l.random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	return out
}

// transfer sends a message over a link until both ends are done.
func transfer(s *rmpp.Sender, r *rmpp.Receiver, l *link) error {
	now := start
	for range 10_000 {
		var segments, replies []mad.SA
		for p, ok := s.Next(now); ok; p, ok = s.Next(now) {
			segments = append(segments, p)
		}
		for _, p := range l.carry(segments) {
			reply, send, err := r.Receive(&p)
			if err != nil {
				return err
			}
			if send {
				replies = append(replies, reply)
			}
		}
		for _, p := range l.carry(replies) {
			if _, _, err := s.Receive(now, &p); err != nil {
				return err
			}
		}
		if s.Done() {
			return nil
		}
		if len(replies) == 0 || len(segments) == 0 {
			now = s.Deadline()
			if _, _, err := s.Expire(now); err != nil {
				return err
			}
		}
	}
	return errors.New("the transfer doesn't end")
}

func TestTransfer(t *testing.T) {
	for _, n := range []int{0, 1, 199, 200, 201, 399, 400, 401, 1599, 1600, 1601, 1800, 2000, 50_000} {
		for _, l := range []link{{}, {repeat: 0.3}, {reorder: true}, {loss: 0.2, repeat: 0.1, reorder: true}} {
			for seed := range uint64(5) {
				l.random = rand.New(rand.NewPCG(seed, uint64(n)))
				want := message(n)
				s := rmpp.NewSender(want, rmpp.SenderOptions{Retries: 50, TotalTime: time.Hour})
				r := rmpp.Receiver{Window: 1 + int(seed)*3}
				if err := transfer(s, &r, &l); err != nil {
					t.Fatalf("%d bytes, %+v, seed %d: %v", n, l, seed, err)
				}
				got := r.Message()
				if !r.Done() || !bytes.Equal(got.Data, want.Data) || got.Header.AttributeOffset != 14 ||
					r.Segments() != max(1, (n+199)/200) {
					t.Errorf("%d bytes, %+v, seed %d: done %v, %d bytes in %d segments", n, l, seed, r.Done(),
						len(got.Data), r.Segments())
				}
			}
		}
	}
}

// TestHeaders compares the headers of the segments of a message with what the kernel writes: the
// payload of the first segment counts 20 bytes of each header, and so does that of the last one.
func TestHeaders(t *testing.T) {
	s := rmpp.NewSender(message(450), rmpp.SenderOptions{})
	now := start
	first, ok := s.Next(now)
	if _, more := s.Next(now); !ok || more {
		t.Fatalf("the first window has %v, more %v: want one segment", ok, more)
	}
	var r rmpp.Receiver
	ack, send, err := r.Receive(&first)
	if !send || err != nil || ack.Method != mad.MethodGetTable || ack.TransactionID != 0x1234 ||
		ack.RMPP != (mad.RMPP{
			Version: 1, Type: mad.RMPPAck, Flags: mad.RMPPActive, SegmentNumber: 1, PayloadLength: 9,
		}) {
		t.Fatalf("acknowledgement of the first segment: %+v, %v, %v", ack.SAHeader, send, err)
	}
	if _, _, err := s.Receive(now, &ack); err != nil {
		t.Fatal(err)
	}
	second, _ := s.Next(now)
	third, ok := s.Next(now)
	if _, more := s.Next(now); !ok || more {
		t.Fatalf("no third segment, or a fourth")
	}
	want := []mad.RMPP{
		{Version: 1, Type: mad.RMPPData, Flags: 3, SegmentNumber: 1, PayloadLength: 450 + 3*20},
		{Version: 1, Type: mad.RMPPData, Flags: 1, SegmentNumber: 2},
		{Version: 1, Type: mad.RMPPData, Flags: 5, SegmentNumber: 3, PayloadLength: 50 + 20},
	}
	for i, p := range []mad.SA{first, second, third} {
		if p.RMPP != want[i] || p.Method != mad.MethodGetTableResp {
			t.Errorf("segment %d: %+v, want %+v", i+1, p.RMPP, want[i])
		}
	}
	if _, send, _ := r.Receive(&third); send {
		t.Error("a segment after a missing one is acknowledged")
	}
	if ack, send, _ = r.Receive(&second); !send || !r.Done() || ack.RMPP.SegmentNumber != 3 {
		t.Errorf("last acknowledgement %+v, %v", ack.RMPP, send)
	}
}

// TestTsharkReadsSegments compares the headers of a transfer with what tshark decodes of them.
func TestTsharkReadsSegments(t *testing.T) {
	s := rmpp.NewSender(message(1000), rmpp.SenderOptions{})
	var r rmpp.Receiver
	var packets [][]byte
	var headers []mad.RMPP
	keep := func(p *mad.SA) { packets, headers = append(packets, p.Append(nil)), append(headers, p.RMPP) }
	for !s.Done() {
		for p, ok := s.Next(start); ok; p, ok = s.Next(start) {
			keep(&p)
			if ack, send, err := r.Receive(&p); err != nil {
				t.Fatal(err)
			} else if send {
				keep(&ack)
				if _, _, err := s.Receive(start, &ack); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	file := filepath.Join(t.TempDir(), "rmpp.pcap")
	if err := tshark.WriteMADs(file, packets); err != nil {
		t.Fatal(err)
	}
	const p = "infiniband.rmpp."
	frames, err := tshark.Values(t.Context(), file, p+"rmpptype", p+"rmppflags", p+"segmentnumber", p+"payloadlength",
		p+"newwindowlast")
	if err != nil || len(frames) != 7 {
		t.Fatalf("tshark reads %d packets, %v, want 5 segments and 2 acknowledgements", len(frames), err)
	}
	value := func(i int, name string) uint64 {
		v, _ := strconv.ParseUint(frames[i][p+name], 0, 64)
		return v
	}
	for i, h := range headers {
		length := value(i, "payloadlength")
		if h.Type == mad.RMPPAck {
			length = value(i, "newwindowlast")
		}
		if value(i, "rmpptype") != uint64(h.Type) || value(i, "rmppflags") != uint64(h.Flags) ||
			value(i, "segmentnumber") != uint64(h.SegmentNumber) || length != uint64(h.PayloadLength) {
			t.Errorf("packet %d: %+v, tshark prints %v", i, h, frames[i])
		}
	}
}

func data(h mad.RMPP) *mad.SA {
	p := mad.NewSA(mad.MethodGetTableResp, mad.AttributeNodeRecord, 0, 1)
	h.Flags |= mad.RMPPActive
	p.RMPP = h
	return &p
}

// TestReceiverAborts: what the specification forbids ends the transfer with its status.
func TestReceiverAborts(t *testing.T) {
	first := mad.RMPP{Version: 1, Type: mad.RMPPData, Flags: mad.RMPPFirst, SegmentNumber: 1, PayloadLength: 420}
	for _, test := range []struct {
		name   string
		before []mad.RMPP
		h      mad.RMPP
		kind   mad.RMPPType
		status mad.RMPPStatus
		peer   bool
	}{
		{"version", nil, mad.RMPP{Version: 2, Type: mad.RMPPData}, mad.RMPPAbort, 125, false},
		{"type", nil, mad.RMPP{Version: 1, Type: 9}, mad.RMPPAbort, 121, false},
		{"status", nil, mad.RMPP{Version: 1, Type: mad.RMPPData, Status: 1}, mad.RMPPAbort, 124, false},
		{
			"first without flag", nil,
			mad.RMPP{Version: 1, Type: mad.RMPPData, SegmentNumber: 1},
			mad.RMPPAbort, 120,
			false,
		},
		{
			"flag without first",
			[]mad.RMPP{first},
			mad.RMPP{Version: 1, Type: mad.RMPPData, Flags: mad.RMPPFirst, SegmentNumber: 2},
			mad.RMPPAbort, 120, false,
		},
		{
			"last too long",
			[]mad.RMPP{first},
			mad.RMPP{Version: 1, Type: mad.RMPPData, Flags: mad.RMPPLast, SegmentNumber: 2, PayloadLength: 221},
			mad.RMPPAbort, 119, false,
		},
		{
			"last too short",
			[]mad.RMPP{first},
			mad.RMPP{Version: 1, Type: mad.RMPPData, Flags: mad.RMPPLast, SegmentNumber: 2, PayloadLength: 19},
			mad.RMPPAbort, 119, false,
		},
		{
			"last disagrees with first",
			[]mad.RMPP{first},
			mad.RMPP{Version: 1, Type: mad.RMPPData, Flags: mad.RMPPLast, SegmentNumber: 2, PayloadLength: 201},
			mad.RMPPAbort, 119, false,
		},
		{"stopped", []mad.RMPP{first}, mad.RMPP{Version: 1, Type: mad.RMPPStop, Status: 1}, mad.RMPPStop, 1, true},
		{"aborted", nil, mad.RMPP{Version: 1, Type: mad.RMPPAbort, Status: 118}, mad.RMPPAbort, 118, true},
		{
			"too long for the receiver",
			[]mad.RMPP{first},
			mad.RMPP{Version: 1, Type: mad.RMPPData, SegmentNumber: 2},
			mad.RMPPStop, 1, false,
		},
	} {
		r := rmpp.Receiver{MaxLen: 399}
		for _, h := range test.before {
			if _, _, err := r.Receive(data(h)); err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
		}
		reply, send, err := r.Receive(data(test.h))
		var e *rmpp.Error
		if !errors.As(err, &e) || *e != (rmpp.Error{Type: test.kind, Status: test.status, Peer: test.peer}) {
			t.Errorf("%s: %v, want %v with %v", test.name, err, test.kind, test.status)
		}
		if send == test.peer || send && (reply.RMPP.Type != test.kind || reply.RMPP.Status != test.status ||
			reply.Method != mad.MethodGetTable || reply.RMPP.SegmentNumber != 0 || reply.RMPP.PayloadLength != 0) {
			t.Errorf("%s: reply %v %+v", test.name, send, reply.RMPP)
		}
		if _, again, err2 := r.Receive(data(first)); again || !errors.Is(err2, err) || r.Done() {
			t.Errorf("%s: afterwards %v, %v, done %v", test.name, again, err2, r.Done())
		}
	}
}

func TestReceiverIgnores(t *testing.T) {
	var r rmpp.Receiver
	for _, h := range []mad.RMPP{
		{Version: 1, Type: mad.RMPPData, SegmentNumber: 2},                   // beyond the first window
		{Version: 1, Type: mad.RMPPAck, SegmentNumber: 1, PayloadLength: 10}, // of the other direction
	} {
		if _, send, err := r.Receive(data(h)); send || err != nil || r.Started() {
			t.Errorf("%+v: reply %v, %v", h, send, err)
		}
	}
	if _, send := r.Abort(mad.RMPPStatusTotalTime); send {
		t.Error("a receiver that has seen nothing sends an ABORT")
	}
}

// TestReceiverWindow: segments beyond the window are not kept, those within it are.
func TestReceiverWindow(t *testing.T) {
	r := rmpp.Receiver{Window: 3}
	segment := func(n uint32) (mad.SA, bool) {
		h := mad.RMPP{Version: 1, Type: mad.RMPPData, SegmentNumber: n}
		if n == 1 {
			h.Flags = mad.RMPPFirst
		}
		reply, send, err := r.Receive(data(h))
		if err != nil {
			t.Fatal(err)
		}
		return reply, send
	}
	if a, send := segment(1); !send || a.RMPP.PayloadLength != 4 {
		t.Fatalf("first acknowledgement %+v", a.RMPP)
	}
	for _, n := range []uint32{5, 4, 2} {
		segment(n)
	}
	if a, send := segment(3); !send || a.RMPP.SegmentNumber != 4 || a.RMPP.PayloadLength != 7 {
		t.Errorf("second acknowledgement %v %+v, want 4 segments and a window to 7", send, a.RMPP)
	}
}

func TestReceiverAbort(t *testing.T) {
	var r rmpp.Receiver
	first := data(mad.RMPP{Version: 1, Type: mad.RMPPData, Flags: mad.RMPPFirst, SegmentNumber: 1})
	if _, _, err := r.Receive(first); err != nil {
		t.Fatal(err)
	}
	p, send := r.Abort(mad.RMPPStatusTotalTime)
	if !send || p.RMPP.Type != mad.RMPPAbort || p.RMPP.Status != 118 || p.Method != mad.MethodGetTable {
		t.Errorf("Abort = %+v, %v", p.RMPP, send)
	}
}

func ack(h mad.RMPP) *mad.SA {
	p := data(h)
	p.Method = mad.MethodGetTable
	return p
}

func TestSenderAborts(t *testing.T) {
	for _, test := range []struct {
		name   string
		h      mad.RMPP
		kind   mad.RMPPType
		status mad.RMPPStatus
		peer   bool
	}{
		{"version", mad.RMPP{Version: 0, Type: mad.RMPPAck, PayloadLength: 1}, mad.RMPPAbort, 125, false},
		{"type", mad.RMPP{Version: 1, Type: mad.RMPPData}, mad.RMPPAbort, 121, false},
		{"status", mad.RMPP{Version: 1, Type: mad.RMPPAck, Status: 3}, mad.RMPPAbort, 124, false},
		{"window", mad.RMPP{Version: 1, Type: mad.RMPPAck, SegmentNumber: 1}, mad.RMPPAbort, 122, false},
		{
			"not sent",
			mad.RMPP{Version: 1, Type: mad.RMPPAck, SegmentNumber: 2, PayloadLength: 9},
			mad.RMPPAbort, 123,
			false,
		},
		{"stopped", mad.RMPP{Version: 1, Type: mad.RMPPStop, Status: 1}, mad.RMPPStop, 1, true},
	} {
		s := rmpp.NewSender(message(1000), rmpp.SenderOptions{})
		s.Next(start)
		reply, send, err := s.Receive(start, ack(test.h))
		var e *rmpp.Error
		if !errors.As(err, &e) || *e != (rmpp.Error{Type: test.kind, Status: test.status, Peer: test.peer}) {
			t.Errorf("%s: %v", test.name, err)
		}
		if send == test.peer || send && (reply.RMPP.Status != test.status || reply.Method != mad.MethodGetTableResp) {
			t.Errorf("%s: reply %v %+v", test.name, send, reply.RMPP)
		}
		if _, more := s.Next(start); more || !s.Deadline().IsZero() {
			t.Errorf("%s: the sender goes on", test.name)
		}
	}
}

// TestSenderTimers: a segment is sent again after the timeout, and the transfer ends after the
// retries or after the total time.
func TestSenderTimers(t *testing.T) {
	s := rmpp.NewSender(message(1000), rmpp.SenderOptions{Timeout: time.Second, Retries: 2, TotalTime: time.Minute})
	if !s.Deadline().IsZero() {
		t.Error("a deadline before the first segment")
	}
	now := start
	s.Next(now)
	for try := range 3 {
		if _, more := s.Next(now); more {
			t.Fatal("the same segment twice")
		}
		if _, _, err := s.Expire(now.Add(999 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, more := s.Next(now); more {
			t.Fatal("a segment again before the timeout")
		}
		now = now.Add(time.Second)
		reply, send, err := s.Expire(now)
		p, again := s.Next(now)
		if try < 2 && (send || err != nil || !again || p.RMPP.SegmentNumber != 1) {
			t.Fatalf("try %d: %v, %v, segment %v", try, send, err, again)
		}
		if try == 2 && (!send || again || reply.RMPP.Status != 126 || reply.Method != mad.MethodGetTableResp ||
			fmt.Sprint(err) != "transfer ended: RMPP ABORT, status 126, too many retries") {
			t.Fatalf("at the end: %+v, %v, %v", reply.RMPP, send, err)
		}
	}
	s = rmpp.NewSender(message(1000), rmpp.SenderOptions{TotalTime: 5 * time.Second, Timeout: time.Minute})
	s.Next(start)
	if got := s.Deadline().Sub(start); got != 5*time.Second {
		t.Errorf("deadline after %v, want the total time", got)
	}
	s = rmpp.NewSender(message(1000), rmpp.SenderOptions{TotalTime: 5 * time.Second, Retries: 99})
	s.Next(start)
	if _, _, err := s.Expire(start.Add(2 * time.Second)); err != nil {
		t.Fatal(err)
	}
	reply, send, err := s.Expire(start.Add(5 * time.Second))
	if !send || err == nil || reply.RMPP.Status != mad.RMPPStatusTotalTime {
		t.Errorf("after the total time: %+v, %v, %v", reply.RMPP, send, err)
	}
}

// TestSenderWaits: the timeout is at least the RRespTime of the other end; old acknowledgements
// change nothing; progress renews the retries.
func TestSenderWaits(t *testing.T) {
	s := rmpp.NewSender(message(1000), rmpp.SenderOptions{Timeout: time.Second, Retries: 1})
	s.Next(start)
	slow := ack(mad.RMPP{Version: 1, Type: mad.RMPPAck, RRespTime: 20, SegmentNumber: 1, PayloadLength: 3})
	if _, _, err := s.Receive(start, slow); err != nil {
		t.Fatal(err)
	}
	if got := s.Deadline().Sub(start); got != 4294967296*time.Nanosecond { // 4.096 µs << 20
		t.Errorf("deadline after %v", got)
	}
	s.Next(start)
	s.Next(start)
	old := ack(mad.RMPP{Version: 1, Type: mad.RMPPAck, RRespTime: 31, PayloadLength: 1})
	if _, _, err := s.Receive(start, old); err != nil {
		t.Fatal(err)
	}
	if _, more := s.Next(start); more {
		t.Error("an old acknowledgement moved the window")
	}
	none := ack(mad.RMPP{Version: 1, Type: mad.RMPPAck, RRespTime: 31, SegmentNumber: 2, PayloadLength: 4})
	if _, _, err := s.Receive(start, none); err != nil || s.Deadline() != start.Add(time.Second) {
		t.Errorf("RRespTime 31: deadline %v, %v", s.Deadline(), err)
	}
	smaller := ack(mad.RMPP{Version: 1, Type: mad.RMPPAck, RRespTime: 31, SegmentNumber: 2, PayloadLength: 3})
	if _, _, err := s.Receive(start, smaller); err != nil {
		t.Fatal(err)
	}
	if p, more := s.Next(start); !more || p.RMPP.SegmentNumber != 4 {
		t.Errorf("a smaller window than before: segment %d, %v, want 4", p.RMPP.SegmentNumber, more)
	}
	now := start
	for i := range uint32(2) {
		now = now.Add(time.Second)
		if _, _, err := s.Expire(now); err != nil {
			t.Fatalf("retry after progress %d: %v", i, err)
		}
		p, _ := s.Next(now)
		if p.RMPP.SegmentNumber != 3+i {
			t.Errorf("segment %d is sent again, want %d", p.RMPP.SegmentNumber, 3+i)
		}
		progress := ack(mad.RMPP{Version: 1, Type: mad.RMPPAck, RRespTime: 31, SegmentNumber: 3 + i, PayloadLength: 5})
		if _, _, err := s.Receive(now, progress); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzReceiver: whatever arrives, memory is bounded and a complete message is what was sent in
// order.
func FuzzReceiver(f *testing.F) {
	f.Add([]byte{1, 1, 3, 0, 1, 100, 1, 1, 5, 0, 2, 50})
	f.Add([]byte{1, 1, 7, 0, 1, 20, 1, 1, 7, 0, 1, 20, 0, 1, 7, 0, 1, 20}) // complete, again, and another version
	f.Add([]byte{1, 3, 1, 1, 0, 0, 1, 2, 1, 0, 3, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := rmpp.Receiver{Window: 3, MaxLen: 1000}
		for ; len(b) >= 6; b = b[6:] {
			p := data(mad.RMPP{
				Version: b[0], Type: mad.RMPPType(b[1]), Flags: b[2] & 7, Status: mad.RMPPStatus(b[3]),
				SegmentNumber: uint32(b[4]), PayloadLength: uint32(b[5]) * 2,
			})
			_, _, err := r.Receive(p)
			if n := len(r.Message().Data); n > 1000 || n > 200*r.Segments() {
				t.Fatalf("%d bytes of %d segments", n, r.Segments())
			}
			if err != nil && r.Done() {
				t.Fatalf("done with %v", err)
			}
		}
	})
}

// FuzzSender: whatever arrives, segments are those of the message.
func FuzzSender(f *testing.F) {
	f.Add([]byte{1, 2, 1, 0, 1, 9, 1, 2, 1, 0, 5, 9})
	f.Add([]byte{1, 2, 0xff, 0, 1, 255, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := rmpp.NewSender(message(1000), rmpp.SenderOptions{})
		now := start
		for ; len(b) >= 6; b = b[6:] {
			for p, ok := s.Next(now); ok; p, ok = s.Next(now) {
				n := p.RMPP.SegmentNumber
				if n < 1 || n > 5 || p.Data[0] != message(1000).Data[200*(n-1)] {
					t.Fatalf("segment %d begins with %d", n, p.Data[0])
				}
			}
			p := data(mad.RMPP{
				Version: b[0], Type: mad.RMPPType(b[1]), RRespTime: b[2] >> 3, Status: mad.RMPPStatus(b[3]),
				SegmentNumber: uint32(b[4]), PayloadLength: uint32(b[5]),
			})
			if _, _, err := s.Receive(now, p); err != nil && s.Done() {
				t.Fatal("done with an error")
			}
			if d := s.Deadline(); d.After(start.Add(40 * time.Second)) {
				t.Fatalf("deadline %v after the start", d.Sub(start))
			}
			now = now.Add(time.Second)
			s.Expire(now) //nolint:errcheck // either outcome
		}
	})
}
