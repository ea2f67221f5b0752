package rmpp

import (
	"cmp"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// Defaults of a [Receiver].
const (
	// DefaultWindow suits the sockets of ibsim, which queue 10 datagrams.
	DefaultWindow = 8
	// DefaultMaxLen is enough for the records of all 49,151 unicast LIDs.
	DefaultMaxLen = 64 << 20
)

// Receiver reassembles one message. The zero value is ready for its first segment.
type Receiver struct {
	// Window is how many segments may arrive before the next acknowledgement; 0: [DefaultWindow].
	// So many segments are kept if one before them is missing.
	Window int
	// MaxLen is the maximum length of the data in bytes; 0: [DefaultMaxLen]. A longer message is
	// stopped.
	MaxLen int

	header   mad.SAHeader
	data     []byte
	early    map[uint32]*mad.SA // segments after a missing one
	received uint32             // the last segment before a missing one
	window   uint32             // NewWindowLast
	total    uint32             // PayloadLength of the first segment; 0: unknown
	done     bool
	failed   error
}

// Started reports whether the first segment has arrived.
func (r *Receiver) Started() bool { return r.received > 0 }

// Done reports whether the message is complete.
func (r *Receiver) Done() bool { return r.done }

// Message returns the message, once it is complete. The data belongs to the receiver.
func (r *Receiver) Message() Message { return Message{Header: r.header, Data: r.data} }

// Segments returns how many segments have arrived without a gap.
func (r *Receiver) Segments() int { return int(r.received) }

// Receive takes a packet of the message, and returns the packet to send in return, if send. An
// error, an [*Error], ends the transfer; it may come with a packet to send. Duplicates are
// acknowledged again, since an acknowledgement may have been lost.
func (r *Receiver) Receive(p *mad.SA) (reply mad.SA, send bool, err error) {
	switch {
	case r.failed != nil:
		return reply, false, r.failed
	case r.done && p.RMPP.Version == mad.RMPPVersion && p.RMPP.Type == mad.RMPPData:
		return r.acknowledge(p), true, nil
	case r.done:
		return reply, false, nil
	}
	reply, send, err = r.receive(p)
	r.failed = err
	return reply, send, err
}

func (r *Receiver) receive(p *mad.SA) (mad.SA, bool, error) {
	h := &p.RMPP
	switch {
	case h.Version != mad.RMPPVersion:
		return end(&p.SAHeader, mad.RMPPAbort, mad.RMPPStatusUnsupportedVersion)
	case h.Type == mad.RMPPStop || h.Type == mad.RMPPAbort:
		return mad.SA{}, false, ended(h)
	case h.Type == mad.RMPPAck: // of a transfer in the other direction
		return mad.SA{}, false, nil
	case h.Type != mad.RMPPData:
		return end(&p.SAHeader, mad.RMPPAbort, mad.RMPPStatusType)
	case h.Status != mad.RMPPStatusNormal:
		return end(&p.SAHeader, mad.RMPPAbort, mad.RMPPStatusIllegal)
	case (h.Flags&mad.RMPPFirst != 0) != (h.SegmentNumber == 1):
		return end(&p.SAHeader, mad.RMPPAbort, mad.RMPPStatusFirst)
	}
	if r.received == 0 {
		r.window = 1
	}
	switch n := h.SegmentNumber; {
	case n <= r.received:
		return r.acknowledge(p), true, nil
	case n > r.window:
		return mad.SA{}, false, nil // it will be sent again
	case n > r.received+1:
		if r.early == nil {
			r.early = map[uint32]*mad.SA{}
		}
		segment := *p
		r.early[n] = &segment
		return mad.SA{}, false, nil
	}
	return r.take(p)
}

// take adds a segment that follows the last one, and those that were waiting for it.
func (r *Receiver) take(p *mad.SA) (mad.SA, bool, error) {
	for segment := p; segment != nil; segment = r.early[r.received+1] {
		delete(r.early, r.received+1)
		if status := r.add(segment); status != mad.RMPPStatusNormal {
			kind := mad.RMPPAbort
			if status == mad.RMPPStatusResources {
				kind = mad.RMPPStop
			}
			return end(&p.SAHeader, kind, status)
		}
		if r.done {
			r.early = nil
			return r.acknowledge(p), true, nil
		}
	}
	if r.received < r.window {
		return mad.SA{}, false, nil
	}
	r.window += uint32(max(1, cmp.Or(r.Window, DefaultWindow)))
	return r.acknowledge(p), true, nil
}

// add appends the data of the next segment, and returns the cause if that ends the transfer.
func (r *Receiver) add(p *mad.SA) mad.RMPPStatus {
	h := &p.RMPP
	if h.SegmentNumber == 1 {
		r.header, r.total = p.SAHeader, h.PayloadLength
	}
	n := mad.SADataLen
	if h.Flags&mad.RMPPLast != 0 {
		before := uint64(h.SegmentNumber-1) * mad.RMPPSegmentLen
		switch {
		case h.PayloadLength < headRest || h.PayloadLength > mad.RMPPSegmentLen,
			h.SegmentNumber > 1 && r.total != 0 && before+uint64(h.PayloadLength) != uint64(r.total):
			return mad.RMPPStatusPayloadLength
		}
		n = int(h.PayloadLength) - headRest
		r.done = true
	}
	if len(r.data)+n > cmp.Or(r.MaxLen, DefaultMaxLen) {
		r.done = false
		return mad.RMPPStatusResources
	}
	r.data = append(r.data, p.Data[:n]...)
	r.received = h.SegmentNumber
	return mad.RMPPStatusNormal
}

func (r *Receiver) acknowledge(p *mad.SA) mad.SA {
	return answer(&p.SAHeader, mad.RMPP{Type: mad.RMPPAck, SegmentNumber: r.received, PayloadLength: r.window})
}

// Abort ends the transfer from this end, for example with [mad.RMPPStatusTotalTime], and returns
// the packet to send; false if nothing has arrived that it could answer.
func (r *Receiver) Abort(status mad.RMPPStatus) (mad.SA, bool) {
	r.failed = &Error{Type: mad.RMPPAbort, Status: status}
	if !r.Started() {
		return mad.SA{}, false
	}
	return answer(&r.header, mad.RMPP{Type: mad.RMPPAbort, Status: status}), true
}
