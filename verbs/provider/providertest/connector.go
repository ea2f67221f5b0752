package providertest

import (
	"bytes"
	"context"
	"errors"
	"net/netip"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

func connectorRules() []rule {
	const needs = provider.CapRC | provider.CapConnector
	return []rule{
		{"listen-port-0", needs, checkListenPort},
		{"port-in-use", needs, checkPortInUse},
		{"dial-accept", needs, checkDialAccept},
		{"from-init", needs, checkDialFromInit},
		{"private-data", needs, checkPrivateData},
		{"private-data-too-long", needs, checkLongPrivateData},
		{"offers", needs, checkOffers},
		{"access", needs, checkConnectionAccess},
		{"reject", needs, checkReject},
		{"nobody-listens", needs, checkNobodyListens},
		{"answered-once", needs, checkAnsweredOnce},
		{"refused-queue-pairs", needs, checkDialRefused},
		{"disconnect", needs, func(c *check) { checkDisconnect(c, 0) }},
		{"disconnect-accepting-end", needs, func(c *check) { checkDisconnect(c, 1) }},
		{"close-ends", needs, checkConnectionClose},
		{"close-twice", needs, checkConnectionsTwice},
		{"next-ends", needs, checkNextEnds},
		{"dial-ends", needs, checkDialEnds},
		{"closed-listener-rejects", needs, checkClosedListener},
		{"several-requests", needs, checkSeveralRequests},
		{"datagrams", needs | provider.CapUD, checkLookup},
		{"datagrams-rejected", needs | provider.CapUD, checkLookupRejected},
		{"datagrams-nobody-listens", needs | provider.CapUD, checkLookupNobody},
	}
}

// address returns the address that rules of connections listen on.
func (c *check) address() netip.Addr {
	if a := c.pair.B.Addr; a.IsValid() {
		return a
	}
	return c.pair.A.Path.DGID.Addr().Unmap()
}

// connector returns the Connector of a device that announces it.
func (c *check) connector(at Endpoint) provider.Connector {
	d, ok := at.Device.(provider.Connector)
	if !ok {
		c.fatalf("the device announces CapConnector, and has no Connector")
	}
	return d
}

// listen listens at the second endpoint.
func (c *check) listen(options provider.ListenOptions) provider.Listener {
	ctx, cancel := c.patience()
	defer cancel()
	l, err := c.connector(c.pair.B).Listen(ctx, netip.AddrPortFrom(c.address(), 0), options)
	c.must(err)
	c.closeLater("listener", l)
	return l
}

// dialed is the result of a Dial.
type dialed struct {
	conn provider.Connection
	err  error
}

// dial dials in another goroutine.
func (c *check) dial(
	ctx context.Context, qp provider.QueuePair, to netip.AddrPort, options provider.ConnectOptions,
) <-chan dialed {
	out := make(chan dialed, 1)
	options.Local = c.pair.A.Addr
	connector := c.connector(c.pair.A)
	go func() {
		conn, err := connector.Dial(ctx, qp, to, options)
		out <- dialed{conn, err}
	}()
	return out
}

// next returns the next request.
func (c *check) next(l provider.Listener) provider.ConnectionRequest {
	ctx, cancel := c.patience()
	defer cancel()
	r, err := l.Next(ctx)
	c.must(err)
	return r
}

// offer returns the options of a connection that works.
func (c *check) offer() provider.ConnectOptions { l := c.link(); return l.options(0) }

// options returns what the communication manager takes of the attributes of one end.
func (l *link) options(i int) provider.ConnectOptions {
	return provider.ConnectOptions{
		Access: l.access[i], ReadAtomic: l.readAtomic[i], DestReadAtomic: l.destReads[i],
		RetryCount: l.retry, RNRRetry: l.rnr, Timeout: l.timeout,
	}
}

// join connects two ends through a listener and returns their connections.
func (c *check) join(a, b *end, atA, atB provider.ConnectOptions) (x, y provider.Connection) {
	a.peer, b.peer = b, a
	l := c.listen(provider.ListenOptions{})
	ctx, cancel := c.patience()
	defer cancel()
	result := c.dial(ctx, a.qp, l.Addr(), atA)
	y, err := c.next(l).Accept(ctx, b.qp, atB)
	got := <-result
	if err == nil {
		c.closeLater("accepted connection", y)
	}
	if got.err == nil {
		c.closeLater("dialed connection", got.conn)
	}
	c.must(errors.Join(err, got.err))
	c.must(l.Close())
	return got.conn, y
}

// manage connects two ends as connect does, but through a listener. The first end sends first, as
// MPA demands of the initiator (RFC 5044, section 7.1).
func (c *check) manage(a, b *end, l link) {
	usual := c.link()
	usual.access, usual.readAtomic, usual.destReads = l.access, l.readAtomic, l.destReads
	usual.timeout, usual.retry, usual.rnr = l.timeout, l.retry, l.rnr
	if l != usual {
		c.notApplicable("needs attributes that a Connector chooses itself")
	}
	x, y := c.join(a, b, l.options(0), l.options(1))
	a.qp, b.qp = &managed{a.qp, x}, &managed{b.qp, y}
	wr := a.request(0, provider.SendOpWrite, 0, b)
	wr.Segments = nil
	a.post(wr)
	c.expect("first message of the initiator", a.sent(1), done{0, provider.WCSuccess})
}

// managed is a queue pair whose connection is closed with it.
type managed struct {
	provider.QueuePair
	conn provider.Connection
}

// Close closes both.
func (m *managed) Close() error { return errors.Join(m.conn.Close(), m.QueuePair.Close()) }

// checkListenPort checks that port 0 chooses one.
func checkListenPort(c *check) {
	l, other := c.listen(provider.ListenOptions{}), c.listen(provider.ListenOptions{Backlog: 1})
	if l.Addr().Addr() != c.address() || l.Addr().Port() == 0 || other.Addr() == l.Addr() {
		c.errorf("listeners on %v and %v, want different ports of %v", l.Addr(), other.Addr(), c.address())
	}
}

// checkPortInUse checks that a port has one listener, in each port space.
func checkPortInUse(c *check) {
	l := c.listen(provider.ListenOptions{})
	d := c.connector(c.pair.B)
	_, err := d.Listen(context.Background(), l.Addr(), provider.ListenOptions{})
	c.wantError("second Listen", err, nil)
	c.must(l.Close())
	again, err := d.Listen(context.Background(), l.Addr(), provider.ListenOptions{})
	c.must(err)
	c.must(again.Close())
}

// checkDialAccept checks addresses, states and data.
func checkDialAccept(c *check) {
	a, b := c.ends(shape{})
	x, y := c.join(a, b, c.offer(), c.offer())
	if x.Remote().Addr() != c.address() || x.Remote() != y.Local() || x.Local().Addr() != y.Remote().Addr() {
		c.errorf("connection from %v to %v, at the accepting end from %v to %v",
			x.Local(), x.Remote(), y.Remote(), y.Local())
	}
	if x.Err() != nil || y.Err() != nil || a.state() != provider.QPStateRTS || b.state() != provider.QPStateRTS {
		c.errorf("connected queue pairs are in states %v and %v, errors %v, %v", a.state(), b.state(), x.Err(), y.Err())
	}
	if _, ok := x.Datagram(); ok {
		c.errorf("a connection has a peer for datagrams")
	}
	c.exchange(a, b)
}

// exchange sends, writes and reads in both directions, the first end first.
func (c *check) exchange(a, b *end) {
	for seed, pair := range [][2]*end{{a, b}, {b, a}} {
		from, to := pair[0], pair[1]
		fill(from.mr.Bytes()[:512], seed)
		fill(to.mr.Bytes()[512:1024], seed+2)
		to.postReceive(to.room(7, 2048, 512))
		read := from.request(3, provider.SendOpRead, 512, to)
		read.Segments, read.RemoteAddr = from.part(1024, 512), to.mr.Addr()+512
		write := from.request(2, provider.SendOpWrite, 512, to)
		write.RemoteAddr += 1536
		from.post(from.request(1, provider.SendOpSend, 512, to), write, read)
		c.expect("requests", from.sent(3), success(1, 3)...)
		c.expect("receive", to.received(1), success(7, 7)...)
		mine, theirs := from.memory(from.mr), to.memory(to.mr)
		if !bytes.Equal(theirs[2048:2560], mine[:512]) || !bytes.Equal(theirs[1536:2048], mine[:512]) ||
			!bytes.Equal(mine[1024:1536], theirs[512:1024]) {
			c.errorf("SEND, WRITE or READ has transferred other bytes")
		}
	}
}

// checkDialFromInit checks that receive requests which were posted in INIT are used.
func checkDialFromInit(c *check) {
	a, b := c.ends(shape{})
	l := c.link()
	for i, e := range []*end{a, b} {
		attr := l.attributes(i, e.at, 0)
		attr.Access = 0 // is set again
		c.must(step(e.qp, provider.QPStateReset, provider.QPStateInit, attr))
		e.postReceive(e.room(9, 0, 64))
	}
	c.join(a, b, c.offer(), c.offer())
	for _, pair := range [][2]*end{{a, b}, {b, a}} {
		wr := pair[0].request(1, provider.SendOpSend, 64, pair[1])
		wr.Segments = pair[0].part(1024, 64)
		pair[0].post(wr)
		c.expect("SEND", pair[0].sent(1), success(1, 1)...)
		c.expect("receive request of INIT", pair[1].received(1), success(9, 9)...)
	}
	a.post(a.request(2, provider.SendOpWrite, 64, b))
	c.expect("WRITE", a.sent(1), success(2, 2)...)
}

// isPadded reports whether private data arrived: some messages have a fixed size, whose rest is 0.
func isPadded(got, want []byte) bool {
	return len(got) >= len(want) && bytes.Equal(got[:len(want)], want) &&
		len(bytes.TrimRight(got[len(want):], "\x00")) == 0
}

// checkPrivateData checks that private data arrives at both ends.
func checkPrivateData(c *check) {
	for _, n := range []int{0, 1, 56} {
		a, b := c.ends(shape{})
		l := c.listen(provider.ListenOptions{})
		ctx, cancel := c.patience()
		atA, atB := c.offer(), c.offer()
		atA.PrivateData, atB.PrivateData = pattern(n, 1), pattern(n, 2)
		result := c.dial(ctx, a.qp, l.Addr(), atA)
		r := c.next(l)
		if got := r.Options().PrivateData; !isPadded(got, atA.PrivateData) {
			c.errorf("%d bytes of a request arrive as %x", n, got)
		}
		y, err := r.Accept(ctx, b.qp, atB)
		c.must(err)
		got := <-result
		c.must(got.err)
		if data := got.conn.Options().PrivateData; !isPadded(data, atB.PrivateData) {
			c.errorf("%d bytes of a reply arrive as %x", n, data)
		}
		c.must(errors.Join(got.conn.Close(), y.Close()))
		cancel()
	}
}

// checkLongPrivateData checks that private data which doesn't fit is refused, and changes nothing.
func checkLongPrivateData(c *check) {
	a, b := c.ends(shape{})
	l := c.listen(provider.ListenOptions{})
	ctx, cancel := c.patience()
	defer cancel()
	long := c.offer()
	long.PrivateData = make([]byte, 600)
	got := <-c.dial(ctx, a.qp, l.Addr(), long)
	c.wantError("Dial with 600 bytes of private data", got.err, nil)
	result := c.dial(ctx, a.qp, l.Addr(), c.offer())
	r := c.next(l)
	_, err := r.Accept(ctx, b.qp, long)
	c.wantError("Accept with 600 bytes of private data", err, nil)
	c.wantError("Reject with 600 bytes of private data", r.Reject(long.PrivateData), nil)
	y, err := r.Accept(ctx, b.qp, c.offer())
	c.must(err)
	c.closeLater("accepted connection", y)
	got = <-result
	c.must(got.err)
	c.must(got.conn.Close())
}

// checkOffers checks that the limits of READs and atomics reach the peer.
func checkOffers(c *check) {
	a, b := c.ends(shape{})
	l := c.listen(provider.ListenOptions{})
	ctx, cancel := c.patience()
	defer cancel()
	offer := c.offer()
	offer.ReadAtomic, offer.DestReadAtomic = 3, 2
	result := c.dial(ctx, a.qp, l.Addr(), offer)
	r := c.next(l)
	if o := r.Options(); o.ReadAtomic != 3 || o.DestReadAtomic != 2 {
		c.errorf("the peer offers %d READs and takes %d, want 3 and 2", o.ReadAtomic, o.DestReadAtomic)
	}
	if r.Local() != l.Addr() || !r.Remote().Addr().IsValid() {
		c.errorf("request from %v to %v, want one to %v", r.Remote(), r.Local(), l.Addr())
	}
	y, err := r.Accept(ctx, b.qp, c.offer())
	c.must(err)
	c.closeLater("accepted connection", y)
	got := <-result
	c.must(got.err)
	c.closeLater("dialed connection", got.conn)
	c.exchange(a, b)
}

// checkConnectionAccess checks that Access of the options counts.
func checkConnectionAccess(c *check) {
	a, b := c.ends(shape{})
	none := c.offer()
	none.Access = 0
	c.join(a, b, c.offer(), none)
	fill(a.mr.Bytes(), 5)
	a.post(a.request(1, provider.SendOpWrite, 64, b))
	b.waitFailed("a queue pair whose peer has written without permission")
	if b.memory(b.mr)[0] != 0 {
		c.errorf("WRITE without permission has changed memory")
	}
}

// checkReject checks that the peer gets a rejection with its private data.
func checkReject(c *check) {
	a, b := c.ends(shape{})
	l := c.listen(provider.ListenOptions{})
	ctx, cancel := c.patience()
	defer cancel()
	result := c.dial(ctx, a.qp, l.Addr(), c.offer())
	data := pattern(20, 1)
	r := c.next(l)
	c.must(r.Reject(data))
	got := <-result
	rejected, ok := errors.AsType[*provider.RejectedError](got.err)
	if !ok || errors.Is(got.err, provider.ErrNobodyListens) || rejected.Reason == "" {
		c.fatalf("Dial of a rejected connection = %v, want a RejectedError of a program", got.err)
	}
	if !isPadded(rejected.PrivateData, data) {
		c.errorf("private data of a rejection arrives as %x", rejected.PrivateData)
	}
	_, err := r.Accept(ctx, b.qp, c.offer())
	c.wantError("Accept after Reject", err, nil)
}

// checkNobodyListens checks the error of a port without a listener.
func checkNobodyListens(c *check) {
	a, _ := c.ends(shape{})
	l := c.listen(provider.ListenOptions{})
	to := l.Addr()
	c.must(l.Close())
	ctx, cancel := c.patience()
	defer cancel()
	got := <-c.dial(ctx, a.qp, to, c.offer())
	c.wantError("Dial where nobody listens", got.err, provider.ErrNobodyListens)
	if _, ok := errors.AsType[*provider.RejectedError](got.err); !ok {
		c.errorf("Dial where nobody listens = %v, want a RejectedError", got.err)
	}
}

// checkAnsweredOnce checks that a request is answered once.
func checkAnsweredOnce(c *check) {
	a, b := c.ends(shape{})
	other := c.end(c.pair.B, shape{})
	l := c.listen(provider.ListenOptions{})
	ctx, cancel := c.patience()
	defer cancel()
	result := c.dial(ctx, a.qp, l.Addr(), c.offer())
	r := c.next(l)
	y, err := r.Accept(ctx, b.qp, c.offer())
	c.must(err)
	c.closeLater("accepted connection", y)
	_, err = r.Accept(ctx, other.qp, c.offer())
	c.wantError("second Accept", err, nil)
	c.wantError("Reject after Accept", r.Reject(nil), nil)
	got := <-result
	c.must(got.err)
	c.closeLater("dialed connection", got.conn)
	a.peer, b.peer = b, a
	c.exchange(a, b)
}

// checkDialRefused checks that queue pairs in the wrong state can't be connected.
func checkDialRefused(c *check) {
	a, b := c.ends(shape{})
	c.join(a, b, c.offer(), c.offer())
	l := c.listen(provider.ListenOptions{})
	ctx, cancel := c.patience()
	defer cancel()
	got := <-c.dial(ctx, a.qp, l.Addr(), c.offer())
	c.wantError("Dial with a connected queue pair", got.err, provider.ErrTransition)
	fresh := c.end(c.pair.A, shape{})
	result := c.dial(ctx, fresh.qp, l.Addr(), c.offer())
	r := c.next(l)
	_, err := r.Accept(ctx, b.qp, c.offer())
	c.wantError("Accept with a connected queue pair", err, provider.ErrTransition)
	c.must(r.Reject(nil))
	got = <-result
	c.wantError("Dial of a rejected connection", got.err, nil)
	c.exchange(a, b)
}
