package cm

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// message is one that a peer which a test plays sends.
type message interface{ Append(b []byte) []byte }

// played is an agent whose peer, at addrB, is the test. Its times are those of the first REQ.
type played struct {
	*pair
	got []sentMessage // by the agent
}

// sentMessage is a message of the agent, and when it was sent.
type sentMessage struct {
	bytes []byte
	to    netip.Addr
	at    time.Time
}

// play runs a test with one agent in simulated time. b is the peer's address.
func play(t *testing.T, test func(*played)) {
	t.Helper()
	run(t, faults{}, func(p *pair) {
		pl := &played{pair: p}
		p.tap = func(from, to netip.Addr, m []byte) {
			if from == p.a.addr {
				pl.got = append(pl.got, sentMessage{append([]byte(nil), m...), to, time.Now()})
			}
		}
		p.drop = func(_, _ netip.Addr, _ []byte) bool { return true } // the test answers
		test(pl)
	})
}

// sends has the agent receive a message of the peer, and waits until it is handled.
func (p *played) sends(m message) {
	p.a.Receive(p.b.addr, m.Append(nil))
	synctest.Wait()
}

// strangerSends is sends of another peer.
func (p *played) strangerSends(m message) {
	p.a.Receive(netip.MustParseAddr("10.0.0.66"), m.Append(nil))
	synctest.Wait()
}

// sent returns the agent's messages of a kind.
func (p *played) sent(a mad.Attribute) (list []sentMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.got {
		if mad.Attribute(m.bytes[17]) == a {
			list = append(list, m)
		}
	}
	return list
}

// want checks the number of messages of a kind that the agent has sent so far.
func (p *played) want(what string, a mad.Attribute, n int) {
	p.t.Helper()
	if got := len(p.sent(a)); got != n {
		p.t.Errorf("%s: %d messages %#x, want %d", what, got, uint16(a), n)
	}
}

// peerID and peerQPN are those of the peer that the test plays.
const (
	peerID  = 0x1234
	peerQPN = ib.QPN(0x77)
)

// dial starts a connection to the peer.
func (p *played) dial(ctx context.Context, qp provider.QueuePair) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		c, err := p.a.Dial(ctx, qp, service, options(""))
		out <- outcome{c, err}
	}()
	synctest.Wait()
	return out
}

// req returns the agent's last REQ.
func (p *played) req() (m mad.REQ) {
	list := p.sent(mad.AttributeREQ)
	if len(list) == 0 {
		p.t.Fatal("no REQ")
	}
	_, _ = m.Decode(list[len(list)-1].bytes)
	return m
}

// rep returns the answer to the agent's last REQ.
func (p *played) rep() *mad.REP {
	req := p.req()
	return &mad.REP{
		Header: mad.NewCM(mad.AttributeREP, req.TransactionID), LocalCommID: peerID, RemoteCommID: req.LocalCommID,
		LocalQPN: peerQPN, StartingPSN: 5, ResponderResources: 200, InitiatorDepth: 200,
	}
}

// establish connects a queue pair to the peer.
func (p *played) establish(qp *fakeQP) provider.Connection {
	p.t.Helper()
	dialing := p.dial(context.Background(), qp)
	p.sends(p.rep())
	o := <-dialing
	if o.err != nil {
		p.t.Fatal(o.err)
	}
	return o.c
}

// requested is a REQ of the peer that the agent accepts.
func (p *played) requested() *mad.REQ {
	m := &mad.REQ{
		Header: mad.NewCM(mad.AttributeREQ, 99), LocalCommID: peerID, LocalQPN: peerQPN, StartingPSN: 7,
		ServiceID: mad.IPService(uint16(provider.PortSpaceTCP), 7174), TransportService: mad.TransportServiceRC,
		PathPacketPayloadMTU: uint8(ib.MTU1024.Code()), ResponderResources: 3, InitiatorDepth: 2,
		RemoteCMResponseTimeout: responseTimeout, MaxCMRetries: maxRetries,
		Primary: mad.ConnectPath{
			LocalPortGID: ib.GIDFromAddr(p.b.addr), RemotePortGID: ib.GIDFromAddr(p.a.addr),
		},
	}
	h := mad.NewCMAHeader(netip.AddrPortFrom(p.b.addr, 4000), p.a.addr)
	h.Append(m.PrivateData[:0])
	return m
}

// listens has the agent listen for the peer.
func (p *played) listens(o provider.ListenOptions) provider.Listener {
	p.t.Helper()
	l, err := p.a.Listen(p.t.Context(), netip.AddrPortFrom(p.a.addr, 7174), o)
	if err != nil {
		p.t.Fatal(err)
	}
	return l
}

// accepting has the agent accept the peer's REQ with a queue pair, up to its REP.
func (p *played) accepting(qp *fakeQP) (<-chan outcome, mad.REP) {
	p.t.Helper()
	l := p.listens(provider.ListenOptions{})
	out := acceptOne(l, qp, provider.ConnectOptions{ReadAtomic: 12, DestReadAtomic: 12})
	p.sends(p.requested())
	_ = l.Close()
	list := p.sent(mad.AttributeREP)
	if len(list) == 0 {
		p.t.Fatal("no REP")
	}
	var rep mad.REP
	_, _ = rep.Decode(list[0].bytes)
	return out, rep
}

func (p *played) rtu(id uint32) *mad.RTU {
	return &mad.RTU{Header: mad.NewCM(mad.AttributeRTU, 99), LocalCommID: peerID, RemoteCommID: id}
}

func (p *played) dreq(id uint32, qpn ib.QPN) *mad.DREQ {
	return &mad.DREQ{
		Header: mad.NewCM(mad.AttributeDREQ, 98), LocalCommID: peerID, RemoteCommID: id, RemoteQPN: qpn,
	}
}

func (p *played) drep(id uint32) *mad.DREP {
	return &mad.DREP{Header: mad.NewCM(mad.AttributeDREP, 98), LocalCommID: peerID, RemoteCommID: id}
}

func (p *played) rej(id uint32, reason mad.RejectReason) *mad.REJ {
	return &mad.REJ{
		Header: mad.NewCM(mad.AttributeREJ, 97), LocalCommID: peerID, RemoteCommID: id, Reason: reason,
	}
}
