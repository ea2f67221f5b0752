package ib

import (
	"fmt"
	"time"
)

// Syndrome is the first byte of an AETH: an acknowledgement with credits, a
// "receiver not ready" with its timer, or a negative acknowledgement with its
// cause (specification volume 1, section 9.7.5.1, tables 45 to 47).
type Syndrome uint8

// The values that the engine sends. ACK and RNR carry five bits of their own.
const (
	// SyndromeACK is an acknowledgement without credits, as by a responder that
	// counts none.
	SyndromeACK Syndrome = 0x1f
	// SyndromeRNR plus a timer code (0 to 31) is "receiver not ready".
	SyndromeRNR Syndrome = 0x20

	SyndromeNAKSequence       Syndrome = 0x60 // a PSN was skipped: send again from there
	SyndromeNAKInvalidRequest Syndrome = 0x61 // a request that can't be understood or honoured
	SyndromeNAKRemoteAccess   Syndrome = 0x62 // key, bounds or permission
	SyndromeNAKRemoteError    Syndrome = 0x63 // the responder could not complete it
	SyndromeNAKInvalidRD      Syndrome = 0x64 // reliable datagram only
)

const syndromeTypeMask = 0x60

// IsACK reports an acknowledgement, with or without credits.
func (s Syndrome) IsACK() bool { return s&syndromeTypeMask == 0 }

// IsRNR reports "receiver not ready".
func (s Syndrome) IsRNR() bool { return s&syndromeTypeMask == SyndromeRNR }

// IsNAK reports a negative acknowledgement.
func (s Syndrome) IsNAK() bool { return s&syndromeTypeMask == syndromeTypeMask }

// RNRTimer returns the timer code of a "receiver not ready", 0 to 31.
func (s Syndrome) RNRTimer() uint8 { return uint8(s & 0x1f) }

// String returns the meaning in words.
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

// RNRDelay returns how long a requester waits for a timer code; only the low
// five bits count. Code 0 is the longest, 655.36 ms; code 1 is 10 µs.
func RNRDelay(code uint8) time.Duration {
	return time.Duration(rnrDelays[code&0x1f]) * 10 * time.Microsecond
}

// AckTimeout returns how long a requester waits for an acknowledgement by the
// 5-bit code of a queue pair: 4.096 µs × 2^code, and 0 (for ever) for code 0
// (section 11.2.4.2, Local ACK Timeout).
func AckTimeout(code uint8) time.Duration {
	if code &= 0x1f; code == 0 {
		return 0
	}
	return 4096 * time.Nanosecond << code
}
