package providertest

import (
	"bytes"
	"errors"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// datagramEnds makes two ends with queue pairs of type UD, in RESET.
func (c *check) datagramEnds() (a, b *end) { return c.ends(shape{typ: provider.QPTypeUD}) }

// checkLookup checks that a lookup finds the peer's queue pair, to which datagrams then go.
func checkLookup(c *check) {
	a, b := c.datagramEnds()
	l := c.listen(provider.ListenOptions{PortSpace: provider.PortSpaceUDP})
	ctx, cancel := c.patience()
	defer cancel()
	asks := provider.ConnectOptions{PrivateData: pattern(20, 1)}
	answers := provider.ConnectOptions{PrivateData: pattern(30, 2)}
	result := c.dial(ctx, a.qp, l.Addr(), asks)
	r := c.next(l)
	if got := r.Options().PrivateData; !isPadded(got, asks.PrivateData) {
		c.errorf("private data of a lookup arrives as %x", got)
	}
	y, err := r.Accept(ctx, b.qp, answers)
	c.must(err)
	c.closeLater("accepted lookup", y)
	got := <-result
	c.must(got.err)
	c.closeLater("lookup", got.conn)
	if data := got.conn.Options().PrivateData; !isPadded(data, answers.PrivateData) {
		c.errorf("private data of an answer arrives as %x", data)
	}
	if a.state() != provider.QPStateRTS || b.state() != provider.QPStateRTS {
		c.errorf("queue pairs in states %v and %v, want RTS", a.state(), b.state())
	}
	if _, ok := y.Datagram(); ok {
		c.errorf("the accepting end knows a peer")
	}
	peer, ok := got.conn.Datagram()
	if !ok || peer.QPN != b.qp.QPN() || peer.QKey != provider.QKeyDatagrams {
		c.fatalf("lookup = %+v, %t, want queue pair %v with Q_Key %#x", peer, ok, b.qp.QPN(), provider.QKeyDatagrams)
	}
	creator, ok := a.pd.(provider.AddressHandleCreator)
	if !ok {
		c.fatalf("no AddressHandleCreator")
	}
	ah, err := creator.CreateAddressHandle(a.at.Port, peer.Path)
	c.must(err)
	c.closeLater("address handle", ah)
	b.postReceive(b.room(5, 0, 1024))
	wr := provider.SendRequest{
		ID: 1, Flags: provider.SendSignaled, Segments: a.part(0, 100),
		To: &provider.Datagram{Handle: ah, QPN: peer.QPN, QKey: peer.QKey},
	}
	fill(a.mr.Bytes()[:100], 7)
	a.post(wr)
	c.expect("datagram", a.sent(1), success(1, 1)...)
	c.expect("datagram at the peer", b.received(1), success(5, 5)...)
	if !bytes.Equal(b.memory(b.mr)[40:140], a.mr.Bytes()[:100]) { // after the GRH
		c.errorf("a datagram has other bytes")
	}
	c.must(errors.Join(got.conn.Close(), got.conn.Close(), y.Close()))
	if a.state() != provider.QPStateRTS || b.state() != provider.QPStateRTS {
		c.errorf("queue pairs in states %v and %v after Close, want RTS: they aren't connected", a.state(), b.state())
	}
}

// checkLookupRejected checks the rejection of a lookup.
func checkLookupRejected(c *check) {
	a, _ := c.datagramEnds()
	l := c.listen(provider.ListenOptions{PortSpace: provider.PortSpaceUDP})
	ctx, cancel := c.patience()
	defer cancel()
	result := c.dial(ctx, a.qp, l.Addr(), provider.ConnectOptions{})
	c.must(c.next(l).Reject(pattern(10, 1)))
	got := <-result
	rejected, ok := errors.AsType[*provider.RejectedError](got.err)
	if !ok || errors.Is(got.err, provider.ErrNobodyListens) || !isPadded(rejected.PrivateData, pattern(10, 1)) {
		c.errorf("rejected lookup = %v, want a RejectedError of a program with private data", got.err)
	}
}

// checkLookupNobody checks that port spaces are kept apart.
func checkLookupNobody(c *check) {
	a, _ := c.datagramEnds()
	l := c.listen(provider.ListenOptions{}) // for connections
	ctx, cancel := c.patience()
	defer cancel()
	got := <-c.dial(ctx, a.qp, l.Addr(), provider.ConnectOptions{})
	c.wantError("lookup where nobody listens", got.err, provider.ErrNobodyListens)
}
