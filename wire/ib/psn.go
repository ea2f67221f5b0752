package ib

import "fmt"

// PSN is a packet sequence number: 24 bits that wrap around (specification
// volume 1, section 9.7.2). Comparisons are by distance, never by value.
type PSN uint32

// psnMask selects the 24 bits of a sequence number.
const psnMask = 1<<24 - 1

// Add returns the sequence number n packets later, or earlier for a negative n.
func (p PSN) Add(n int) PSN { return PSN(uint32(int(p)+n) & psnMask) }

// Sub returns the distance from q to p in packets, from -2^23 to 2^23-1. It is
// negative if p is older than q.
func (p PSN) Sub(q PSN) int { return int(int32(uint32(p)-uint32(q))<<8) >> 8 }

// Before reports whether p is older than q.
func (p PSN) Before(q PSN) bool { return p.Sub(q) < 0 }

// String returns 0x and six hexadecimal digits.
func (p PSN) String() string { return fmt.Sprintf("0x%06x", uint32(p)) }
