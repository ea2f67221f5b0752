// Package roce speaks RoCE v2 in user space: reliable connections over plain UDP
// sockets, on the wire with the Linux kernel's rxe and with itself, without privilege
// and without hardware.
//
//	device, err := roce.Provider{}.Open(ctx, "roce@192.0.2.1") // or roce@eth0
//
// Programs use it through package verbs; what stands here is for tests and simulations,
// which give [New] a [PacketConn] of their own.
//
// # How it works
//
// An [Engine] is one address. One goroutine receives; while somebody waits on a completion
// queue or for a byte of memory and polls, that goroutine receives instead (wait.go). A
// queue pair has one lock, which is taken once for a run of packets. Requests are sent by
// the goroutine that posts them or takes the acknowledgement that makes room; long
// responses are sent piece by piece by a goroutine of their own.
//
// The ICRC covers the identification of the IPv4 header, which a UDP socket neither sets
// nor shows: see outbox.go for what is sent and ident.go for what is received.
//
// # Limits
//
// Reliable connections with SEND, WRITE and READ; no atomics, no UC, no UD. The flow label,
// traffic class and hop limit of a Path are the kernel's affair: a UDP socket has one of
// each for all its peers, so they are not sent. A peer can't
// make an engine hold more than its queues, which are as long as they were made: a READ
// that is one too many is refused, a packet out of order is dropped. Packets are accepted
// from the connected peer's address only. All methods are safe for concurrent use.
package roce
