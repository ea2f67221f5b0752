package rocev2

import (
	"math/bits"
	"sync"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// polynomial is the polynomial of the CRC, reflected: bit 31 is the coefficient of x^0.
const polynomial = 0xedb88320

// maxDatagram is the maximum length, in bytes, for which an identification can be
// recovered: the largest MTU with all headers.
const maxDatagram = int(ib.MTU4096) + ib.BTHLen + ib.AtomicETHLen + ib.RETHLen + ICRCLen

// Recover finds the identification in the IPv4 header of a received datagram. A UDP
// socket can't read that field, but the ICRC covers it. A CRC is linear: for a flow
// with another ID, the difference that [Flow.Check] returns is the difference of the
// two IDs times a power of x that depends only on the length. Divided by that power it
// must fit into the 16 bits of the field. If it doesn't, Recover returns false: the
// packet is corrupted, or DontFragment differs from that of the flow.
//
// Finding the ID uses 16 of the 32 bits of the check. To restore the error detection,
// compare the ID with those of earlier packets: kernels count upwards.
//
// length is the length of the datagram in bytes, including the ICRC.
func (f *Flow) Recover(length int, difference uint32) (id uint16, ok bool) {
	if length < ib.BTHLen+ICRCLen || length > maxDatagram || length%4 != 0 || !f.IsIPv4() {
		return 0, false
	}
	window := multiply(difference, inversePowers()[(length-ICRCLen)/4])
	if window>>16 != 0 {
		return 0, false
	}
	return f.ID ^ bits.ReverseBytes16(uint16(window)), true
}

// inversePowers returns a table of the powers of x to multiply a difference with: entry n
// cancels the effect of the bytes after the ID in a packet with n words of four bytes
// before its ICRC.
var inversePowers = sync.OnceValue(func() *[maxDatagram/4 + 1]uint32 {
	// The four bytes that begin with the ID enter the CRC as one multiplication by
	// x^32. They are followed by 12 bytes of IPv4, 8 of UDP, and the packet.
	const fixed = 8 * (4 + 12 + udpLen)
	var table [maxDatagram/4 + 1]uint32
	power := uint32(1 << 31)
	for range fixed {
		power = divideByX(power)
	}
	for n := range table {
		table[n] = power
		for range 32 {
			power = divideByX(power)
		}
	}
	return &table
})

// multiply returns the product of two polynomials modulo the polynomial of the CRC.
func multiply(a, b uint32) uint32 {
	var product uint32
	for ; b != 0; b <<= 1 {
		product ^= a & -(b >> 31)
		a = a>>1 ^ polynomial&-(a&1)
	}
	return product
}

// divideByX is the inverse of a multiplication by x modulo the polynomial of the CRC.
func divideByX(a uint32) uint32 {
	if a>>31 == 0 {
		return a << 1
	}
	return (a^polynomial)<<1 | 1
}
