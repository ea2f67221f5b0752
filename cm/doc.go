// Package cm is the communication manager of InfiniBand and RoCE: it connects queue pairs by
// messages to QP 1, as the Linux kernel does for librdmacm, and interoperates with it.
//
//	agent, err := cm.New(cm.Config{Name: "roce@192.0.2.1", Addr: addr, MTU: ib.MTU4096, Send: send})
//	listener, err := agent.Listen(ctx, netip.AddrPortFrom(addr, 7174), provider.ListenOptions{})
//	connection, err := agent.Dial(ctx, qp, peer, provider.ConnectOptions{})
//
// Programs use it through package verbs: the engine in package roce has an [Agent] for QP 1 and
// passes it the messages that arrive. The package knows nothing about packets, and not whether its
// queue pairs are an engine's.
//
// # The exchange
//
// The active end sends REQ, the passive one REP, then the active one RTU: both have moved their
// queue pairs to RTS before their last message. REJ refuses at any time. DREQ and DREP end a
// connection. SIDR_REQ and SIDR_REP look up the queue pair of a datagram service. Messages may be
// lost, repeated and reordered: REQ, REP, DREQ and SIDR_REQ are repeated until they are answered,
// first after 100 ms and at most after 4.3 s each time, and duplicates are answered again. So both
// ends agree on whether there is a connection unless the network fails for a minute; a peer that
// doesn't know a connection rejects messages about it, which ends it at the other end.
//
// # Concurrency and limits
//
// All methods are safe for concurrent use. Agent.Receive never waits. A request costs memory only
// while it waits in the backlog of a listener, which is limited; answers are remembered in a table
// of fixed size. So a flood of requests from any number of addresses leaves nothing behind.
//
// Alternate paths (LAP) are refused, redirections are not followed, and one port with one address
// is served. Sources: InfiniBand Architecture Specification volume 1, chapter 12 and annex A11;
// kernel: drivers/infiniband/core/cm.c and cma.c.
package cm
