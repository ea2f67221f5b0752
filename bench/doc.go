// Package bench measures bandwidth and latency with the tests of linux-rdma/perftest. It
// interoperates with perftest's programs: the peer may be ib_write_bw, ib_read_bw, ib_send_bw,
// ib_write_lat, ib_read_lat or ib_send_lat.
//
//	device, err := verbs.Open(ctx, "roce@192.0.2.1", builtin.All()...)
//	conn, err := bench.Dial(ctx, "192.0.2.2", 0)
//	cfg := bench.Config{Test: bench.WriteBW, Role: perftest.RoleClient}
//	result, err := bench.Run(ctx, device, conn, cfg)
//	fmt.Println(result.Bandwidth[0].AverageGbps)
//
// Both ends need the same test, size (or all sizes), iterations (or duration) and number of queue
// pairs: the protocol doesn't carry them, and perftest doesn't check them.
//
// One goroutine posts and polls, as in perftest. Each [Run] creates its own protection domain,
// completion queues, queue pairs and memory (twice the largest message for each queue pair);
// several may use one device concurrently.
//
// The limits are perftest's: messages of up to 1 GiB, 5 to 100 million iterations, 1024 queue pairs
// with queues of 15,000 requests. Connections are reliable or, for WRITE and SEND,
// unreliable; SEND also measures datagrams of up to the MTU. There are no tests of atomics. With
// devices of the kernel the package was tried on rxe only, never on a card.
package bench
