// Package perftest speaks the protocol by which the tools of linux-rdma/perftest
// (ib_write_bw and its kin) set up a measurement over TCP: versions, system
// data, MTU, queue pair addresses, results, and the good-bye.
//
//	session, err := perftest.NewSession(conn, perftest.Config{Role: perftest.RoleClient})
//	agreed, err := session.Hello(ctx, perftest.Hello{CycleBuffer: 4096, CacheLine: 64, MTU: ib.MTU4096})
//	peers, err := session.ExchangeKeys(ctx, own) // one Destination for each queue pair
//	…                                            // connect, measure
//	err = session.Sync(ctx, "end of test", own[0])
//	theirs, err := session.ExchangeReports(ctx, report)
//	err = session.Finish(ctx, own[0])
//
// The protocol is a lock step: at each one the client writes and then reads, the
// server reads and then writes, messages of equal length. It was learnt from
// captures of Debian's perftest 4.5+0.17 (version 6.06), which testdata holds. The
// package announces that version and accepts 5.70 to 6.27: from 6.28 on peers send
// a C struct of the sender's build.
//
// A [Session] is for one goroutine.
package perftest
