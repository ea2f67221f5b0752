// Package perftest implements the protocol by which the tools of linux-rdma/perftest (ib_write_bw
// and others) set up a measurement over TCP: versions, system data, MTU, parameters of the test,
// queue pair addresses, results, and the closing handshake.
//
//	session, err := perftest.NewSession(conn, perftest.Config{Role: perftest.RoleClient})
//	hello := perftest.Hello{CycleBuffer: 4096, CacheLine: 64, MTU: ib.MTU4096}
//	agreed, err := session.Hello(ctx, hello)
//	_, err = session.Negotiate(ctx, agreed.Peer, parameters)
//	peers, err := session.ExchangeKeys(ctx, own) // one Destination for each queue pair
//	…                                            // connect, measure
//	err = session.Sync(ctx, "end of test", own[0])
//	theirs, err := session.ExchangeReports(ctx, report)
//	err = session.Finish(ctx, own[0])
//
// The protocol is a lock step: in each step the client writes and then reads, the server reads and
// then writes. The package was derived from captures of Debian's perftest 4.5+0.17 (version 6.06)
// and of 6.28 and 6.29, which are in testdata, and of 6.29 with the source of 6.30's negotiation
// put into it by hand (*_630.hex), since a released 6.30 wasn't available. It announces 6.30 and
// accepts every version from 5.70 on: older versions only check that the other end's is not too
// old. From 6.28 on, the ends compare their parameters: 6.28 and 6.29 exchange a C struct, later
// versions a list of names and values.
//
// A [Session] must be used by one goroutine only.
package perftest
