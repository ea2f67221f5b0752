// Package perftest implements the protocol by which the tools of linux-rdma/perftest (ib_write_bw
// and others) set up a measurement over TCP: versions, system data, MTU, queue pair addresses,
// results, and the closing handshake.
//
//	session, err := perftest.NewSession(conn, perftest.Config{Role: perftest.RoleClient})
//	hello := perftest.Hello{CycleBuffer: 4096, CacheLine: 64, MTU: ib.MTU4096}
//	agreed, err := session.Hello(ctx, hello)
//	peers, err := session.ExchangeKeys(ctx, own) // one Destination for each queue pair
//	…                                            // connect, measure
//	err = session.Sync(ctx, "end of test", own[0])
//	theirs, err := session.ExchangeReports(ctx, report)
//	err = session.Finish(ctx, own[0])
//
// The protocol is a lock step: in each step the client writes and then reads, the server reads and
// then writes, messages of equal length. The package was derived from captures of Debian's perftest
// 4.5+0.17 (version 6.06), which are in testdata. It announces that version and accepts 5.70 to
// 6.27: from 6.28 on, peers send a C struct whose layout depends on the build.
//
// A [Session] must be used by one goroutine only.
package perftest
