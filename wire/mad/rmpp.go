package mad

import (
	"encoding/binary"
	"fmt"
)

// Lengths in bytes.
const (
	RMPPLen = 12 // of an RMPP
	// RMPPSegmentLen is what [RMPP.PayloadLength] counts of a full segment: all after the RMPP
	// header. In the SA that is the rest of its header and [SADataLen] bytes of data (C twin: the
	// kernel's IB_MGMT_RMPP_DATA).
	RMPPSegmentLen = Len - HeaderLen - RMPPLen
)

// RMPPVersion is the version of the protocol, the only one that is defined.
const RMPPVersion = 1

// Bits of [RMPP.Flags].
const (
	RMPPActive uint8 = 1 << 0 // the header is valid
	RMPPFirst  uint8 = 1 << 1 // first segment of a message
	RMPPLast   uint8 = 1 << 2 // last segment of a message
)

// RMPPType is the type of an RMPP packet (specification section 13.6.2.1; C twins:
// IB_MGMT_RMPP_TYPE_…).
type RMPPType uint8

// The types. A requester writes 0 if its transport makes the segments.
const (
	RMPPData  RMPPType = 1 // a segment
	RMPPAck   RMPPType = 2 // acknowledges segments and moves the window
	RMPPStop  RMPPType = 3 // ends a transfer that lacks resources
	RMPPAbort RMPPType = 4 // ends a transfer because of an error
)

var rmppTypeNames = [...]string{"none", "DATA", "ACK", "STOP", "ABORT"}

// String returns the name in the specification.
func (t RMPPType) String() string { return nameOf(rmppTypeNames[:], uint8(t)) }

// RMPPStatus is the cause of a STOP or an ABORT (specification section 13.6.2.1; C twins:
// IB_MGMT_RMPP_STATUS_…).
type RMPPStatus uint8

// The statuses. From 128 on they belong to vendors, from 192 on to the management class.
const (
	RMPPStatusNormal             RMPPStatus = 0
	RMPPStatusResources          RMPPStatus = 1 // of a STOP; all others of an ABORT
	RMPPStatusTotalTime          RMPPStatus = 118
	RMPPStatusPayloadLength      RMPPStatus = 119 // inconsistent with the Last flag
	RMPPStatusFirst              RMPPStatus = 120 // First flag and segment number disagree
	RMPPStatusType               RMPPStatus = 121
	RMPPStatusWindow             RMPPStatus = 122 // NewWindowLast too small
	RMPPStatusSegmentNumber      RMPPStatus = 123 // too big
	RMPPStatusIllegal            RMPPStatus = 124
	RMPPStatusUnsupportedVersion RMPPStatus = 125
	RMPPStatusRetries            RMPPStatus = 126
	RMPPStatusUnspecified        RMPPStatus = 127
)

// String returns a description, such as "status 118, total transaction time too long".
func (s RMPPStatus) String() string {
	text := "reserved"
	switch {
	case s == RMPPStatusNormal:
		text = "normal"
	case s == RMPPStatusResources:
		text = "resources exhausted"
	case s >= RMPPStatusTotalTime && s <= RMPPStatusUnspecified:
		text = rmppStatusTexts[s-RMPPStatusTotalTime]
	case s >= 192:
		text = "specific to the management class"
	case s >= 128:
		text = "specific to the vendor"
	}
	return fmt.Sprintf("status %d, %s", uint8(s), text)
}

// rmppStatusTexts begins at [RMPPStatusTotalTime].
var rmppStatusTexts = [...]string{
	"total transaction time too long", "inconsistent last segment and payload length",
	"inconsistent first segment and segment number", "bad RMPP type", "new window last too small",
	"segment number too big", "illegal status", "unsupported RMPP version", "too many retries", "unspecified error",
}

// RMPP is the header of the reliable multi-packet transaction protocol, for responses
// longer than one MAD. It is valid if Flags has [RMPPActive] (specification section 13.6;
// C twin: the rmpp fields of ib_rmpp_mad_t).
type RMPP struct {
	Version uint8    // 1
	Type    RMPPType // segment, acknowledgement, stop or abort
	// 5 bits: how long the sender of this packet may take to respond, 4.096 µs << RRespTime.
	RRespTime     uint8
	Flags         uint8      // 3 bits
	Status        RMPPStatus // cause of a stop or an abort
	SegmentNumber uint32     // from 1; in an ACK the last segment received
	// In the first segment, of all segments together, or 0 if the sender doesn't know; in the last
	// one of that segment; see [RMPPSegmentLen]. In an ACK NewWindowLast, the last segment that may
	// be sent without another ACK.
	PayloadLength uint32
}

// Decode reads the header from the start of b.
func (h *RMPP) Decode(b []byte) (n int, err error) {
	if len(b) < RMPPLen {
		return 0, ErrShort
	}
	*h = RMPP{
		Version: b[0], Type: RMPPType(b[1]), RRespTime: b[2] >> 3, Flags: b[2] & 7, Status: RMPPStatus(b[3]),
		SegmentNumber: binary.BigEndian.Uint32(b[4:]),
		PayloadLength: binary.BigEndian.Uint32(b[8:]),
	}
	return RMPPLen, nil
}

// Append appends the header to b.
func (h *RMPP) Append(b []byte) []byte {
	b = append(b, h.Version, uint8(h.Type), h.RRespTime<<3|h.Flags&7, uint8(h.Status))
	b = binary.BigEndian.AppendUint32(b, h.SegmentNumber)
	return binary.BigEndian.AppendUint32(b, h.PayloadLength)
}
