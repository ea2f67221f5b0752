package rmpp

import (
	"fmt"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// Message is a message of any length: the header of its first segment, and the records.
type Message struct {
	Header mad.SAHeader
	Data   []byte
}

// headRest is the part of the header of subnet administration that [mad.RMPP.PayloadLength] counts
// in each segment.
const headRest = mad.RMPPSegmentLen - mad.SADataLen

// Error reports that a transfer has ended before its end.
type Error struct {
	Type   mad.RMPPType   // [mad.RMPPStop] or [mad.RMPPAbort]
	Status mad.RMPPStatus // the cause
	Peer   bool           // the other end has ended it, not this one
}

// Error implements error.
func (e *Error) Error() string {
	who := "transfer ended"
	if e.Peer {
		who = "the other end has ended the transfer"
	}
	return fmt.Sprintf("%s: RMPP %s, %s", who, e.Type, e.Status)
}

// answer returns a packet in the other direction: the header of a received packet with the response
// bit changed, and an RMPP header.
func answer(to *mad.SAHeader, h mad.RMPP) mad.SA {
	p := mad.SA{SAHeader: *to}
	p.Method ^= mad.MethodResponse
	h.Version, h.Flags = mad.RMPPVersion, mad.RMPPActive
	p.RMPP = h
	return p
}

// end returns the packet that ends a transfer, and the error to go with it.
func end(to *mad.SAHeader, kind mad.RMPPType, status mad.RMPPStatus) (mad.SA, bool, error) {
	return answer(to, mad.RMPP{Type: kind, Status: status}), true, &Error{Type: kind, Status: status}
}

// ended returns the error for a STOP or ABORT of the other end.
func ended(h *mad.RMPP) error {
	return &Error{Type: h.Type, Status: h.Status, Peer: true}
}
