package rmpp

import (
	"cmp"
	"time"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// SenderOptions are the limits of a [Sender]. The zero value has those of the kernel.
type SenderOptions struct {
	// Timeout is how long the other end may take to acknowledge; 0: 2 s. If its packets have a
	// longer RRespTime, that is used.
	Timeout time.Duration
	// Retries is how often segments are sent again without progress; 0: 3; negative: never.
	Retries int
	// TotalTime bounds the transfer; 0: 40 s.
	TotalTime time.Duration
}

// noRespTime is the largest value of RRespTime, which means that there is no limit (4.096 µs << 31
// would be more than two hours).
const noRespTime = 31

// Sender sends one message.
type Sender struct {
	message  Message
	options  SenderOptions
	segments uint32

	sent, acked, window uint32
	retries             int
	deadline, ends      time.Time // zero: nothing was sent
	failed              error
}

// NewSender returns a sender for a message, whose data must not change until the end. The header is
// that of the response; its RMPP fields are not used, except for RRespTime.
func NewSender(m Message, o SenderOptions) *Sender {
	o.Timeout = cmp.Or(o.Timeout, 2*time.Second)
	o.Retries = max(0, cmp.Or(o.Retries, 3))
	o.TotalTime = cmp.Or(o.TotalTime, 40*time.Second)
	segments := max(1, (len(m.Data)+mad.SADataLen-1)/mad.SADataLen)
	return &Sender{message: m, options: o, segments: uint32(segments), window: 1}
}

// Done reports whether all segments are acknowledged.
func (s *Sender) Done() bool { return s.acked == s.segments }

// Next returns the next segment to send, or false if the window is used up or all were sent.
func (s *Sender) Next(now time.Time) (mad.SA, bool) {
	if s.failed != nil || s.sent >= min(s.segments, s.window) {
		return mad.SA{}, false
	}
	if s.ends.IsZero() {
		s.ends = now.Add(s.options.TotalTime)
	}
	s.sent++
	s.deadline = now.Add(s.options.Timeout)
	return s.segment(s.sent), true
}

// segment returns a segment, from 1.
func (s *Sender) segment(n uint32) mad.SA {
	p := mad.SA{SAHeader: s.message.Header}
	p.RMPP = mad.RMPP{
		Version: mad.RMPPVersion, Type: mad.RMPPData, Flags: mad.RMPPActive, SegmentNumber: n,
		RRespTime: s.message.Header.RMPP.RRespTime,
	}
	rest := s.message.Data[int(n-1)*mad.SADataLen:]
	if n == 1 {
		p.RMPP.Flags |= mad.RMPPFirst
		p.RMPP.PayloadLength = s.segments*headRest + uint32(len(rest))
	}
	if n == s.segments {
		p.RMPP.Flags |= mad.RMPPLast
		p.RMPP.PayloadLength = headRest + uint32(len(rest))
	}
	copy(p.Data[:], rest)
	return p
}

// Receive takes a packet of the other end. Next may have segments afterwards. An error, an
// [*Error], ends the transfer; it may come with a packet to send.
func (s *Sender) Receive(now time.Time, p *mad.SA) (reply mad.SA, send bool, err error) {
	if s.failed != nil || s.Done() {
		return reply, false, s.failed
	}
	reply, send, err = s.receive(now, p)
	s.failed = err
	return reply, send, err
}

func (s *Sender) receive(now time.Time, p *mad.SA) (mad.SA, bool, error) {
	h := &p.RMPP
	switch {
	case h.Version != mad.RMPPVersion:
		return end(&p.SAHeader, mad.RMPPAbort, mad.RMPPStatusUnsupportedVersion)
	case h.Type == mad.RMPPStop || h.Type == mad.RMPPAbort:
		return mad.SA{}, false, ended(h)
	case h.Type != mad.RMPPAck:
		return end(&p.SAHeader, mad.RMPPAbort, mad.RMPPStatusType)
	case h.Status != mad.RMPPStatusNormal:
		return end(&p.SAHeader, mad.RMPPAbort, mad.RMPPStatusIllegal)
	case h.PayloadLength < h.SegmentNumber:
		return end(&p.SAHeader, mad.RMPPAbort, mad.RMPPStatusWindow)
	case h.SegmentNumber > min(s.segments, s.window):
		return end(&p.SAHeader, mad.RMPPAbort, mad.RMPPStatusSegmentNumber)
	case h.SegmentNumber < s.acked || h.PayloadLength < s.window:
		return mad.SA{}, false, nil // an old one
	}
	if h.SegmentNumber > s.acked {
		s.retries = 0
	}
	s.acked, s.window = h.SegmentNumber, h.PayloadLength
	s.sent = max(s.sent, s.acked)
	timeout := s.options.Timeout
	if h.RRespTime < noRespTime {
		timeout = max(timeout, 4096*time.Nanosecond<<h.RRespTime)
	}
	s.deadline = now.Add(timeout)
	return mad.SA{}, false, nil
}

// Deadline returns when [Sender.Expire] is to be called; zero if nothing is outstanding.
func (s *Sender) Deadline() time.Time {
	switch {
	case s.failed != nil || s.Done():
		return time.Time{}
	case s.ends.Before(s.deadline):
		return s.ends
	}
	return s.deadline
}

// Expire goes back to the first segment that is not acknowledged, which Next then returns again; or
// ends the transfer with an [*Error] and a packet to send, after too many tries or too long a time.
// Before the deadline it does nothing.
func (s *Sender) Expire(now time.Time) (reply mad.SA, send bool, err error) {
	deadline := s.Deadline()
	if deadline.IsZero() || now.Before(deadline) {
		return reply, false, s.failed
	}
	status := mad.RMPPStatusTotalTime
	if now.Before(s.ends) {
		if s.retries < s.options.Retries {
			s.retries++
			s.sent = s.acked
			s.deadline = now.Add(s.options.Timeout)
			return reply, false, nil
		}
		status = mad.RMPPStatusRetries
	}
	s.failed = &Error{Type: mad.RMPPAbort, Status: status}
	reply = mad.SA{SAHeader: s.message.Header}
	reply.RMPP = mad.RMPP{Version: mad.RMPPVersion, Type: mad.RMPPAbort, Flags: mad.RMPPActive, Status: status}
	return reply, true, s.failed
}
