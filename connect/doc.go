// Package connect tests whether two RDMA ports can exchange data, and reports at which stage and
// why they can't: it opens the devices, registers memory, agrees with the other end on GIDs and the
// path MTU over a TCP connection, connects queue pairs (RC), and sends messages of 64 bytes and
// RDMA WRITEs of 8 MiB in both directions, whose data the receiver compares.
//
//	port := connect.Port{Name: "mlx5_0", Open: open} // open returns a *verbs.Device
//	cfg := connect.Config{Host: "node1"}
//	report, err := connect.Serve(ctx, listener, []connect.Port{port}, false, cfg) // at one end
//	report, err := connect.Dial(ctx, "node1", 0, []connect.Port{port}, false, cfg) // at the other
//	report, err := connect.Local(ctx, port, other, cfg) // or between ports of this machine
//	err = report.Err()
//
// A [Report] has an [Attempt] for each pair of ports. A failed attempt has a [Failure], the same at
// both ends: what was tried, what was observed, what remains possible, and what to do. A cause is
// stated only if it was observed.
//
// # Protocol
//
// The ends exchange JSON documents over TCP, one a line, of at most 1 MiB: see [Message]. Both
// check the other's document before they connect queue pairs, with the same result. Each step has a
// time limit, and after each stage both ends report whether it succeeded, so that neither waits for
// one that has failed. The protocol is not perftest's; a program of perftest at the other end is
// recognized as such.
//
// # Concurrency
//
// The functions may be called concurrently for different ports. Each attempt has its own protection
// domain, queues and memory, and frees them before it returns. [Config] says by which goroutines
// its functions are called.
//
// # Limits
//
// Only reliable connections (RC) are tried, and no iWARP, whose devices need a connection manager.
// The text of causes about cards follows the documentation of the verbs: only engines in user space
// and the kernel's rxe were tried.
package connect
