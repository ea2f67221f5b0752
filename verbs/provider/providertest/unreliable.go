package providertest

import (
	"bytes"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

func unreliableRules() []rule {
	return []rule{
		{"uc-send-and-write", provider.CapUC, checkUC},
		{"uc-no-read", provider.CapUC, checkUCNoRead},
		{"uc-no-receive-request", provider.CapUC, checkUCDrops},
		{"ud-send", provider.CapUD, checkUD},
		{"ud-wrong-qkey", provider.CapUD, checkUDWrongQKey},
		{"ud-too-long", provider.CapUD, checkUDTooLong},
		{"ud-send-only", provider.CapUD, checkUDSendOnly},
		{"ud-missing-address", provider.CapUD, checkUDNoAddress},
	}
}

// uc connects two ends of unreliable connections. Over a lossy network no message is sure to
// arrive: the rules repeat them.
func (c *check) uc() (a, b *end) {
	a, b = c.ends(shape{typ: provider.QPTypeUC})
	c.connect(a, b, c.link())
	return a, b
}

// checkUC checks SEND and WRITE of unreliable connections (section 9.8.2): the requester completes
// without an acknowledgement.
func checkUC(c *check) {
	a, b := c.uc()
	fill(a.mr.Bytes()[:2000], 1)
	arrived := c.eventually(func() bool {
		_, _ = b.qp.PostReceive([]provider.ReceiveRequest{b.room(1, 2048, 2000)})
		a.post(a.request(2, provider.SendOpWrite, 2000, b), a.request(3, provider.SendOpSend, 2000, b))
		c.expect("sends", a.sent(2), success(2, 3)...)
		c.quiet()
		var wcs [1]provider.WorkCompletion
		n, err := b.receives.Poll(wcs[:])
		c.must(err)
		m, want := b.memory(b.mr), a.mr.Bytes()[:2000]
		return n == 1 && wcs[0].Bytes == 2000 && bytes.Equal(m[:2000], want) && bytes.Equal(m[2048:4048], want)
	})
	if !arrived {
		c.errorf("SEND and WRITE never arrive")
	}
}

// checkUCNoRead checks that unreliable connections have no READ (section 9.8.2; ibv_post_send).
func checkUCNoRead(c *check) {
	a, b := c.uc()
	wr := a.request(1, provider.SendOpRead, 8, b)
	if _, err := a.qp.PostSend([]provider.SendRequest{wr}); err == nil {
		c.expect("READ", a.sent(1), done{1, provider.WCLocalQPError})
	}
}

// checkUCDrops checks that a message without a receive request is dropped, and the connection goes
// on (section 9.8.2.2.4).
func checkUCDrops(c *check) {
	a, b := c.uc()
	a.post(a.request(1, provider.SendOpSend, 8, b))
	c.expect("SEND without a receive request", a.sent(1), success(1, 1)...)
	c.quiet() // the completion doesn't say that it has arrived
	b.postReceive(b.room(2, 0, 8))
	c.none("a receive request posted afterwards", b.receives)
	if a.state() != provider.QPStateRTS || b.state() != provider.QPStateRTS {
		c.errorf("states %v and %v, want RTS", a.state(), b.state())
	}
}

// grhLength is what precedes each datagram in its buffer (section 11.4.1.2; ibv_post_recv).
const grhLength = 40

// ud makes two ends for datagrams, and the address of the second for the first.
func (c *check) ud() (a, b *end, to *provider.Datagram) {
	a, b = c.ends(shape{typ: provider.QPTypeUD})
	c.connect(a, b, c.link())
	creator, ok := a.pd.(provider.AddressHandleCreator)
	if !ok {
		c.fatalf("%T is no AddressHandleCreator", a.pd)
	}
	ah, err := creator.CreateAddressHandle(a.at.Port, a.at.Path)
	c.must(err)
	c.closeLater("address handle", ah)
	return a, b, &provider.Datagram{Handle: ah, QPN: b.qp.QPN(), QKey: qkey}
}

func datagram(a *end, id uint64, length int, to *provider.Datagram) provider.SendRequest {
	return provider.SendRequest{ID: id, Flags: provider.SendSignaled, Segments: a.part(0, length), To: to}
}

// checkUD checks that datagrams arrive after 40 bytes, with the number of the sender (ibv_poll_cq:
// src_qp).
func checkUD(c *check) {
	a, b, to := c.ud()
	for _, size := range []int{0, 1, 256} {
		fill(a.mr.Bytes()[:size], size)
		arrived := c.eventually(func() bool {
			_, _ = b.qp.PostReceive([]provider.ReceiveRequest{b.room(1, 0, grhLength+256)})
			a.post(datagram(a, 2, size, to))
			c.expect("send", a.sent(1), success(2, 2)...)
			c.quiet()
			var wcs [1]provider.WorkCompletion
			n, err := b.receives.Poll(wcs[:])
			c.must(err)
			if n == 0 {
				return false
			}
			if wcs[0].SourceQPN != a.qp.QPN() || int(wcs[0].Bytes) != grhLength+size {
				c.errorf("datagram of %d bytes: %d bytes of queue pair %v", size, wcs[0].Bytes, wcs[0].SourceQPN)
			}
			return bytes.Equal(b.memory(b.mr)[grhLength:grhLength+size], a.mr.Bytes()[:size])
		})
		if !arrived {
			c.errorf("datagrams of %d bytes never arrive", size)
		}
	}
}

// checkUDWrongQKey checks that a datagram with another Q_Key is dropped (section 9.6.1.4.3).
func checkUDWrongQKey(c *check) {
	a, b, to := c.ud()
	b.postReceive(b.room(1, 0, 512))
	to.QKey++
	a.post(datagram(a, 2, 8, to))
	c.expect("send", a.sent(1), success(2, 2)...)
	c.none("receive", b.receives)
}

// checkUDTooLong checks that a datagram is one packet (section 9.8.3): a longer one isn't sent. A
// device need not report that (compliance statement C10-93.1.1).
func checkUDTooLong(c *check) {
	a, b, to := c.ud()
	mtu := int(c.limits(a.at).port.ActiveMTU)
	mr := c.region(a.pd, mtu+1, 0)
	wr := datagram(a, 1, 0, to)
	wr.Segments = []provider.Segment{{Region: mr, Length: mtu + 1}}
	room := c.region(b.pd, grhLength+mtu+1, provider.AccessLocalWrite)
	b.postReceive(provider.ReceiveRequest{
		ID: 2, Segments: []provider.Segment{{Region: room, Length: grhLength + mtu + 1}},
	})
	if _, err := a.qp.PostSend([]provider.SendRequest{wr}); err == nil {
		if got := a.sent(1)[0]; got.Status != provider.WCSuccess && got.Status != provider.WCLocalLengthError {
			c.errorf("datagram longer than the MTU: %v, want local length error or success", got.Status)
		}
	}
	c.none("the receiver of a datagram longer than the MTU", b.receives)
}

// checkUDSendOnly checks that datagrams have SEND only (ibv_post_send).
func checkUDSendOnly(c *check) {
	for _, op := range []provider.SendOp{provider.SendOpWrite, provider.SendOpRead} {
		a, _, to := c.ud()
		wr := datagram(a, 1, 8, to)
		wr.Op = op
		if _, err := a.qp.PostSend([]provider.SendRequest{wr}); err == nil {
			c.expect(fmt.Sprintf("%v of datagrams", op), a.sent(1), done{1, provider.WCLocalQPError})
		}
	}
}

// checkUDNoAddress checks that a datagram without an address is an error.
func checkUDNoAddress(c *check) {
	a, _, _ := c.ud()
	for _, to := range []*provider.Datagram{nil, {}} {
		_, err := a.qp.PostSend([]provider.SendRequest{datagram(a, 1, 8, to)})
		c.wantError("PostSend of a datagram without an address", err, nil)
	}
}
