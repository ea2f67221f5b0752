// Package bench measures bandwidth and latency of reliable connections with the
// tests of linux-rdma/perftest, and against its programs: either end may be
// ib_write_bw, ib_read_bw, ib_send_bw, ib_write_lat, ib_read_lat or ib_send_lat.
//
//	device, err := verbs.Open(ctx, "roce@192.0.2.1", builtin.All()...)
//	conn, err := bench.Dial(ctx, "192.0.2.2", 0)
//	result, err := bench.Run(ctx, device, conn, bench.Config{Test: bench.WriteBW, Role: perftest.RoleClient})
//	fmt.Println(result.Bandwidth[0].AverageGbps)
//
// Both ends need the same test, size (or all sizes), iterations (or duration) and
// number of queue pairs: the protocol doesn't tell, and perftest doesn't check.
//
// One goroutine posts and polls, as in perftest. A [Run] has its own protection
// domain, completion queues, queue pairs and memory, twice the largest message for
// each queue pair; several may use one device at a time.
//
// Bounds are perftest's: messages of up to 1 GiB, 5 to 100 million iterations, 1024 queue
// pairs with queues of 15,000 requests. Reliable connections only, and no atomics.
package bench
