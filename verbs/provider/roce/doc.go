// Package roce implements RoCE v2 in user space: connections and datagrams over plain UDP
// sockets. It interoperates with the Linux kernel's rxe and with itself, and needs neither
// privileges nor hardware.
//
//	device, err := roce.Provider{}.Open(ctx, "roce@192.0.2.1") // or roce@eth0
//
// Programs use it through package verbs. Tests and simulations call [New] with their own
// [PacketConn].
//
// # How it works
//
// An [Engine] serves one local address. One goroutine receives packets; while a goroutine of the
// program polls, because it waits on a completion queue or for a byte of memory, that
// goroutine receives instead (wait.go). A queue pair has one lock, which is taken once for a
// burst of packets. Requests are sent by the goroutine that posts them, or by the one that
// receives the acknowledgement that opens the window; a separate goroutine sends long READ
// responses in pieces, and everything for which the socket had no space. Only that goroutine waits
// for space, and holds no lock meanwhile.
//
// The ICRC covers the identification field of the IPv4 header, which a UDP socket can neither set
// nor read: outbox.go handles it for sent packets, ident.go for received ones.
//
// # Limits
//
// The package supports the types RC, UC and UD, atomics and shared receive queues; no memory
// windows, no multicast. Atomic operations are atomic among the peers of an engine, not with regard
// to the program. A datagram's route header has no hop limit: a socket doesn't report it. UC
// and UD were never run against another implementation.
// The flow label of a Path, or the queue pair numbers without one, choose the UDP source port
// (senders.go); the label in the header of IPv6 is the kernel's. A peer can't make an engine
// allocate more memory than its queues, whose length is fixed at creation: a READ beyond the
// limit is rejected, a packet out of order is dropped. A connection accepts packets only from the
// address of its peer. All methods are safe for concurrent use.
package roce
