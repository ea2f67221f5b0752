package ib

import (
	"fmt"
	"time"
)

// Syndrome is the first byte of an AETH: an ACK with a credit count, an RNR NAK
// (receiver not ready) with a timer code, or a NAK with an error code
// (specification volume 1, section 9.7.5.1, tables 45 to 47).
type Syndrome uint8

// Syndromes. The low five bits of ACK and RNR NAK are the credit count and the timer code.
const (
	// SyndromeACK is an acknowledgement without credits, from a responder that doesn't
	// implement end-to-end flow control.
	SyndromeACK Syndrome = 0x1f
	// SyndromeRNR plus a timer code (0 to 31) is an RNR NAK.
	SyndromeRNR Syndrome = 0x20

	SyndromeNAKSequence       Syndrome = 0x60 // PSN sequence error: a packet is missing
	SyndromeNAKInvalidRequest Syndrome = 0x61 // invalid or unsupported request
	SyndromeNAKRemoteAccess   Syndrome = 0x62 // wrong key, range or access rights
	SyndromeNAKRemoteError    Syndrome = 0x63 // the responder could not complete the request
	SyndromeNAKInvalidRD      Syndrome = 0x64 // reliable datagram only
)

const syndromeTypeMask = 0x60

// IsACK reports whether s is an acknowledgement, with or without credits.
func (s Syndrome) IsACK() bool { return s&syndromeTypeMask == 0 }

// IsRNR reports whether s is an RNR NAK (receiver not ready).
func (s Syndrome) IsRNR() bool { return s&syndromeTypeMask == SyndromeRNR }

// IsNAK reports whether s is a NAK other than an RNR NAK.
func (s Syndrome) IsNAK() bool { return s&syndromeTypeMask == syndromeTypeMask }

// RNRTimer returns the timer code of an RNR NAK, 0 to 31.
func (s Syndrome) RNRTimer() uint8 { return uint8(s & 0x1f) }

// String returns a description, such as "NAK: PSN sequence error".
func (s Syndrome) String() string {
	switch {
	case s.IsACK():
		return "ACK"
	case s.IsRNR():
		return fmt.Sprintf("RNR NAK, wait %v", RNRDelay(s.RNRTimer()))
	}
	switch s {
	case SyndromeNAKSequence:
		return "NAK: PSN sequence error"
	case SyndromeNAKInvalidRequest:
		return "NAK: invalid request"
	case SyndromeNAKRemoteAccess:
		return "NAK: remote access error"
	case SyndromeNAKRemoteError:
		return "NAK: remote operational error"
	case SyndromeNAKInvalidRD:
		return "NAK: invalid RD request"
	}
	return fmt.Sprintf("reserved syndrome 0x%02x", uint8(s))
}

// rnrDelays are the delays of the 32 timer codes in units of 10
// microseconds (table 46).
var rnrDelays = [32]uint32{
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
}

// RNRDelay returns how long a requester must wait after an RNR NAK with a timer code;
// only the low five bits are used. Code 0 is the longest, 655.36 ms; code 1 is 10 µs.
func RNRDelay(code uint8) time.Duration {
	return time.Duration(rnrDelays[code&0x1f]) * 10 * time.Microsecond
}

// AckTimeout returns how long a requester waits for an acknowledgement. It depends on
// the 5-bit timeout code of the queue pair: 4.096 µs × 2^code, or 0 (no timeout) for
// code 0 (section 11.2.4.2, Local ACK Timeout).
func AckTimeout(code uint8) time.Duration {
	if code &= 0x1f; code == 0 {
		return 0
	}
	return 4096 * time.Nanosecond << code
}
