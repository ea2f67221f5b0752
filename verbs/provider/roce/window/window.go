// Package window computes how many packets the engine of package roce has in flight from the
// receive buffer of a socket. It is separate from the engine so that a check of a node judges by
// the same rule without opening a socket:
//
//	needed := window.Buffer(ib.MTU4096) // the buffer, in bytes, that doesn't limit the engine
//
// Its functions depend on their arguments only and may be called concurrently.
package window

import "github.com/rdmakit/rdmakit/wire/ib"

const (
	// Least is the smallest window, in packets.
	Least = 8
	// Most is the largest window, in packets.
	Most = 256
)

// The kernel charges packets to twice the size of a buffer: those of a segmented send by little
// more than their length (three quarters of that were filled without a loss), single ones by up to
// twice. So a buffer of n bytes takes fill/share × n bytes of packets.
const fill, share = 3, 2

// Limit returns the largest window for packets of mtu bytes into a receive buffer of buffer bytes,
// as SO_RCVBUF sets it. 0 is a buffer of unknown size, which doesn't limit the window.
func Limit(buffer int, mtu ib.MTU) int {
	if buffer == 0 {
		return Most
	}
	return min(Most, max(Least, fill*buffer/(share*int(mtu))))
}

// Buffer returns the size in bytes of the smallest receive buffer with which [Limit] is [Most].
func Buffer(mtu ib.MTU) int { return (Most*share*int(mtu) + fill - 1) / fill }
