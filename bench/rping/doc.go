// Package rping pings a peer by RDMA as the program rping of rdma-core does, as client and as
// server: either end may be that program, on a card or on an engine in user space.
//
//	server, err := rping.Listen(ctx, device, netip.AddrPort{}, rping.Options{}) // at one end
//	session, err := server.Accept(ctx)
//	for err == nil {
//		err = session.Next(ctx) // io.EOF at the end
//	}
//
//	client, err := rping.Dial(ctx, device, addr, rping.Options{}) // at the other
//	rping.Fill(client.Source(), 0)
//	err = client.Ping(ctx)
//	same := bytes.Equal(client.Source(), client.Sink())
//
// [Run] pings in intervals, compares the data and computes percentiles, and [Explain] states at
// which stage and why a connection or a ping failed.
//
// # Protocol
//
// The ends connect through the communication manager of InfiniBand and RoCE, or by iWARP: port
// space TCP, port 7174, a queue pair of type RC. A ping has seven operations, one after the other:
//
//   - the client sends address, key and length of its source (16 bytes, a [Buffer])
//   - the server reads the source with RDMA READ, and sends 16 bytes, whose content doesn't matter
//   - the client sends address, key and length of its sink
//   - the server writes what it has read, up to the first zero byte and including that, into the
//     sink with RDMA WRITE, and sends 16 bytes
//
// The time of a ping is that of all of them: it is not half a round trip, as the latencies of
// perftest are.
//
// # Concurrency
//
// A [Client] and a [Session] are for one goroutine each. Sessions of one [Server] may be used in
// different goroutines.
package rping
