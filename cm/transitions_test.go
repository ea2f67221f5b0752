package cm

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestREP checks answers to a REQ: from others, twice, and with another ID.
func TestREP(t *testing.T) {
	play(t, func(p *played) {
		qp := p.qp()
		dialing := p.dial(p.t.Context(), qp)
		rep := p.rep()
		p.strangerSends(rep)
		if qp.State() != provider.QPStateReset {
			t.Errorf("state %v after a stranger's REP", qp.State())
		}
		p.want("a stranger's REP", mad.AttributeREJ, 1)
		p.sends(rep)
		o := <-dialing
		if o.err != nil || qp.attr.SendPSN != 5 || qp.attr.DestQPN != peerQPN {
			t.Fatalf("Dial = %v, %+v", o.err, qp.attr)
		}
		p.want("REP", mad.AttributeRTU, 1)
		p.strangerSends(rep)
		p.want("a stranger's duplicate", mad.AttributeRTU, 1)
		p.sends(rep)
		p.want("duplicate", mad.AttributeRTU, 2)
		second := *rep
		second.LocalCommID++
		p.sends(&second)
		p.want("REP with another ID", mad.AttributeRTU, 2)
		p.want("REP with another ID", mad.AttributeREJ, 3)
		_ = o.c.Close()
		synctest.Wait()
		p.sends(rep)
		p.want("duplicate after DREQ", mad.AttributeRTU, 2)
		p.want("duplicate after DREQ", mad.AttributeDREQ, 1)
		p.sends(p.drep(rep.RemoteCommID))
	})
}

// TestREPReplacesStale: a REP with the queue pair of an older connection ends that one.
func TestREPReplacesStale(t *testing.T) {
	play(t, func(p *played) {
		old := p.establish(p.qp())
		dialing := p.dial(p.t.Context(), p.qp())
		rep := p.rep()
		rep.LocalCommID++
		p.sends(rep)
		o := <-dialing
		<-old.Done()
		if err := old.Err(); !errors.Is(err, errStale) || o.err != nil || o.c.Err() != nil {
			t.Fatalf("the old one: %v; the new one: %v", err, o.err)
		}
		// The tables have the new one: a REQ with this queue pair is stale.
		p.sends(p.requested())
		<-o.c.Done()
		if err := o.c.Err(); !errors.Is(err, errStale) {
			t.Errorf("the new one: %v", err)
		}
	})
}

// hookedQP calls a function before it goes to a state.
type hookedQP struct {
	*fakeQP
	at   provider.QPState
	hook func()
}

func (q *hookedQP) Modify(attr provider.QPAttributes) error {
	if attr.State == q.at && q.hook != nil {
		hook := q.hook
		q.hook = nil
		hook()
	}
	return q.fakeQP.Modify(attr)
}

// TestWhileEstablishing: what arrives while the queue pair is being connected.
func TestWhileEstablishing(t *testing.T) {
	t.Run("duplicate REP", func(t *testing.T) {
		play(t, func(p *played) {
			qp := &hookedQP{fakeQP: p.qp(), at: provider.QPStateRTR}
			dialing := p.dial(p.t.Context(), qp)
			rep := p.rep()
			qp.hook = func() {
				p.a.Receive(p.b.addr, rep.Append(nil))
				p.want("duplicate REP", mad.AttributeREQ, 1)
				p.want("duplicate REP", mad.AttributeRTU, 0)
				second := *rep
				second.LocalCommID, second.LocalQPN = peerID+1, peerQPN+1
				p.a.Receive(p.b.addr, second.Append(nil))
				p.want("REP with another ID", mad.AttributeREJ, 1)
				p.a.Receive(p.b.addr, p.dreq(rep.RemoteCommID, qp.qpn).Append(nil))
				p.want("DREQ before RTU", mad.AttributeDREP, 0)
			}
			p.sends(rep)
			o := <-dialing
			if o.err != nil {
				t.Fatal(o.err)
			}
			_ = o.c.Close()
			synctest.Wait()
			p.sends(p.drep(rep.RemoteCommID))
		})
	})
	t.Run("REJ at the active end", func(t *testing.T) {
		play(t, func(p *played) {
			qp := &hookedQP{fakeQP: p.qp(), at: provider.QPStateRTS}
			dialing := p.dial(p.t.Context(), qp)
			rep := p.rep()
			qp.hook = func() {
				p.a.Receive(p.b.addr, p.rej(rep.RemoteCommID, mad.RejectConsumer).Append(nil))
			}
			p.sends(rep)
			o := <-dialing
			var rejected *provider.RejectedError
			if !errors.As(o.err, &rejected) || qp.State() != provider.QPStateError {
				t.Errorf("Dial = %v, state %v", o.err, qp.State())
			}
			p.want("rejected", mad.AttributeRTU, 0)
		})
	})
	t.Run("REJ at the passive end", func(t *testing.T) {
		play(t, func(p *played) {
			qp := &hookedQP{fakeQP: p.qp(), at: provider.QPStateRTS}
			l := p.listens(provider.ListenOptions{})
			defer l.Close()
			p.sends(p.requested())
			r := nextRequest(p.t, l)
			qp.hook = func() {
				// The peer gave up before it knew the ID here.
				p.a.Receive(p.b.addr, p.rej(0, mad.RejectTimeout).Append(nil))
			}
			_, err := r.Accept(p.t.Context(), qp, provider.ConnectOptions{})
			if !errors.Is(err, errGone) || qp.State() != provider.QPStateError {
				t.Errorf("Accept = %v, state %v", err, qp.State())
			}
			p.want("rejected", mad.AttributeREP, 0)
		})
	})
}

// TestRTU checks confirmations in wrong states.
func TestRTU(t *testing.T) {
	play(t, func(p *played) {
		l := p.listens(provider.ListenOptions{})
		defer l.Close()
		p.sends(p.requested())
		p.a.mu.Lock()
		c := p.a.incoming[remoteID{p.b.addr, peerID, false}]
		p.a.mu.Unlock()
		p.sends(p.rtu(c.id)) // before REP
		r := nextRequest(p.t, l)
		out := make(chan outcome, 1)
		qp := p.qp()
		go func() {
			c, err := r.Accept(context.Background(), qp, provider.ConnectOptions{})
			out <- outcome{c, err}
		}()
		synctest.Wait()
		p.want("accepted", mad.AttributeREP, 1)
		select {
		case o := <-out:
			t.Fatalf("Accept before RTU = %v", o.err)
		default:
		}
		p.sends(p.requested())
		p.want("duplicate REQ", mad.AttributeREP, 2)
		p.sends(p.rtu(c.id))
		o := <-out
		if o.err != nil {
			t.Fatal(o.err)
		}
		p.sends(p.requested())
		p.want("REQ after RTU", mad.AttributeREP, 2)
		p.want("REQ after RTU", mad.AttributeREJ, 0)
		_ = o.c.Close()
		synctest.Wait()
		p.sends(p.rtu(c.id)) // a duplicate revives nothing
		p.sends(p.drep(c.id))
		if err := o.c.Err(); !errors.Is(err, provider.ErrClosed) {
			t.Errorf("Err = %v", err)
		}
	})
}

// TestDREQ checks the end of connections in wrong states.
func TestDREQ(t *testing.T) {
	t.Run("before an answer", func(t *testing.T) {
		play(t, func(p *played) {
			l := p.listens(provider.ListenOptions{})
			p.sends(p.requested())
			r := nextRequest(p.t, l)
			p.a.mu.Lock()
			c := p.a.incoming[remoteID{p.b.addr, peerID, false}]
			p.a.mu.Unlock()
			p.sends(p.dreq(c.id, 0))
			p.want("DREQ before REP", mad.AttributeDREP, 0)
			if err := r.Reject(nil); err != nil {
				t.Errorf("Reject = %v", err)
			}
			_ = l.Close()
		})
	})
	t.Run("crossed", func(t *testing.T) {
		play(t, func(p *played) {
			qp := p.qp()
			c := p.establish(qp)
			id := p.req().LocalCommID
			_ = c.Close()
			if qp.State() != provider.QPStateError {
				t.Errorf("state %v after Close", qp.State())
			}
			p.sends(p.dreq(id, qp.qpn))
			p.want("crossed DREQ", mad.AttributeDREP, 1)
			<-c.Done()
			if err := c.Err(); !errors.Is(err, provider.ErrClosed) {
				t.Errorf("Err = %v, want ErrClosed: this end has disconnected", err)
			}
		})
	})
	t.Run("while the queue pair ends", func(t *testing.T) {
		play(t, func(p *played) {
			qp := &hookedQP{fakeQP: p.qp(), at: provider.QPStateError}
			dialing := p.dial(p.t.Context(), qp)
			p.sends(p.rep())
			c := (<-dialing).c
			qp.hook = func() { p.a.Receive(p.b.addr, p.dreq(p.req().LocalCommID, qp.qpn).Append(nil)) }
			_ = c.Close()
			time.Sleep(time.Minute)
			p.want("the peer was first", mad.AttributeDREQ, 0)
			p.want("the peer was first", mad.AttributeDREP, 1)
		})
	})
	t.Run("DREP without DREQ", func(t *testing.T) {
		play(t, func(p *played) {
			qp := p.qp()
			c := p.establish(qp)
			id := p.req().LocalCommID
			p.sends(p.drep(id))
			if c.Err() != nil || qp.State() != provider.QPStateRTS {
				t.Errorf("Err = %v, state %v", c.Err(), qp.State())
			}
			p.sends(p.dreq(id, qp.qpn))
			<-c.Done()
			if err := c.Err(); !errors.Is(err, io.EOF) {
				t.Errorf("Err = %v", err)
			}
		})
	})
}

// TestCloseBeforeRTU: a queue pair that is closed before the peer has confirmed sends no DREQ: the
// connection isn't established.
func TestCloseBeforeRTU(t *testing.T) {
	play(t, func(p *played) {
		qp := p.qp()
		out, rep := p.accepting(qp)
		p.a.QueuePairClosed(qp.qpn)
		p.want("closed before RTU", mad.AttributeDREQ, 0)
		lap := mad.LAP{Header: mad.NewCM(mad.AttributeLAP, 1), LocalCommID: peerID, RemoteCommID: rep.LocalCommID}
		p.sends(&lap)
		p.want("LAP before RTU", mad.AttributeAPR, 0)
		p.sends(p.rej(rep.LocalCommID, mad.RejectConsumer))
		if o := <-out; o.err == nil {
			t.Error("Accept succeeded")
		}
	})
}

// TestREJ checks rejections in wrong states.
func TestREJ(t *testing.T) {
	play(t, func(p *played) {
		c := p.establish(p.qp())
		id := p.req().LocalCommID
		wrong := p.rej(id, mad.RejectConsumer)
		wrong.LocalCommID++
		p.sends(wrong)
		if c.Err() != nil {
			t.Errorf("REJ with another ID: %v", c.Err())
		}
		p.sends(p.rej(id, mad.RejectInvalidCommID))
		<-c.Done()
		var rejected *provider.RejectedError
		if err := c.Err(); !errors.As(err, &rejected) || rejected.Code != uint16(mad.RejectInvalidCommID) {
			t.Errorf("Err = %v", err)
		}
	})
	play(t, func(p *played) { // the peer doesn't know the connection that is being ended
		c := p.establish(p.qp())
		_ = c.Close()
		synctest.Wait()
		p.sends(p.rej(p.req().LocalCommID, mad.RejectInvalidCommID))
		<-c.Done()
		time.Sleep(time.Minute)
		p.want("rejected", mad.AttributeDREQ, 1)
	})
}

// TestRejected checks the REJ of each state, and the answer to a duplicate of the request.
func TestRejected(t *testing.T) {
	last := func(p *played) (m mad.REJ) {
		list := p.sent(mad.AttributeREJ)
		if len(list) > 0 {
			_, _ = m.Decode(list[len(list)-1].bytes)
		}
		return m
	}
	play(t, func(p *played) {
		l := p.listens(provider.ListenOptions{})
		defer l.Close()
		p.sends(p.requested())
		if err := nextRequest(p.t, l).Reject([]byte("no")); err != nil {
			t.Fatal(err)
		}
		if m := last(p); m.Message != mad.MRAMessageREQ || m.Reason != mad.RejectConsumer {
			t.Errorf("REJ of a REQ: %+v", m)
		}
		p.sends(p.requested())
		if m := last(p); m.Reason != mad.RejectConsumer || string(m.PrivateData[:2]) != "no" {
			t.Errorf("answer to a duplicate: %+v", m)
		}
		p.want("duplicate", mad.AttributeREJ, 2)
		time.Sleep(2 * time.Minute) // the answer is forgotten
		p.sends(p.requested())
		p.want("after two minutes", mad.AttributeREJ, 2)
	})
	play(t, func(p *played) {
		qp := p.qp()
		qp.fail = provider.QPStateRTR
		dialing := p.dial(p.t.Context(), qp)
		p.sends(p.rep())
		<-dialing
		if m := last(p); m.Message != mad.MRAMessageREP || m.Reason != mad.RejectNoResources {
			t.Errorf("REJ of a REP: %+v", m)
		}
	})
}

// TestStaleService: a REQ with the queue pair of a connection is stale even if nobody listens any
// more, as in the kernel (cm_match_req), and the peer is asked to end the old one. A REQ with that
// of a request that waits is not.
func TestStaleService(t *testing.T) {
	play(t, func(p *played) {
		c := p.establish(p.qp())
		p.sends(p.requested()) // no listener
		list := p.sent(mad.AttributeREJ)
		var rej mad.REJ
		if len(list) == 1 {
			_, _ = rej.Decode(list[0].bytes)
		}
		if rej.Reason != mad.RejectStaleConnection {
			t.Errorf("%d REJ, %+v, want a stale connection", len(list), rej)
		}
		p.want("stale", mad.AttributeDREQ, 1)
		<-c.Done()
		l := p.listens(provider.ListenOptions{})
		first, second := p.requested(), p.requested()
		second.LocalCommID++
		p.sends(first)
		p.sends(second)
		p.want("two requests that wait", mad.AttributeREJ, 1)
		_ = l.Close()
		p.want("closed listener", mad.AttributeREJ, 3)
		p.sends(p.requested())
		if n := len(p.sent(mad.AttributeREJ)); n != 4 {
			t.Errorf("%d REJ for a closed listener, want 4", n)
		}
	})
}

// TestStaleForEver: a peer that always has a stale connection is asked four times.
func TestStaleForEver(t *testing.T) {
	play(t, func(p *played) {
		dialing := p.dial(p.t.Context(), p.qp())
		for range attempts {
			p.sends(p.rej(p.req().LocalCommID, mad.RejectStaleConnection))
			time.Sleep(stalePause)
			synctest.Wait()
		}
		select {
		case o := <-dialing:
			if o.err == nil || !strings.Contains(o.err.Error(), "stale") {
				t.Errorf("Dial = %v", o.err)
			}
		default:
			t.Error("Dial goes on")
			_ = p.a.Close()
			<-dialing
		}
		p.want("stale", mad.AttributeREQ, attempts)
	})
}

// TestAcceptedAttributes: the queue pair of the accepting end has what the REQ says, and the REP
// what this end grants, not more than the REQ.
func TestAcceptedAttributes(t *testing.T) {
	play(t, func(p *played) {
		qp := p.qp()
		out, rep := p.accepting(qp)
		a := qp.attr
		if a.PathMTU != ib.MTU1024 || a.SendPSN != 7 || a.DestQPN != peerQPN || a.ReceivePSN != rep.StartingPSN {
			t.Errorf("attributes %+v", a)
		}
		if rep.ResponderResources != 2 || rep.InitiatorDepth != 3 || a.MaxReadAtomic != 3 || a.MaxDestReadAtomic != 2 {
			t.Errorf("REP %+v, attributes %+v", rep, a)
		}
		p.sends(p.rej(rep.LocalCommID, mad.RejectConsumer))
		<-out
	})
	play(t, func(p *played) { // the peer grants more than was asked for, and more than the device has
		qp := p.qp()
		o := options("")
		o.ReadAtomic, o.DestReadAtomic = 100, 100
		dialing := make(chan outcome, 1)
		go func() {
			c, err := p.a.Dial(context.Background(), qp, service, o)
			dialing <- outcome{c, err}
		}()
		synctest.Wait()
		rep := p.rep()
		rep.InitiatorDepth = 12
		p.sends(rep)
		if c := (<-dialing).c; qp.attr.MaxReadAtomic != 16 || qp.attr.MaxDestReadAtomic != 12 {
			t.Errorf("attributes %+v of %v", qp.attr, c)
		}
		p.sends(p.dreq(rep.RemoteCommID, qp.qpn))
	})
}

// TestUnreliableService: the REQ of a queue pair of type UC says so.
func TestUnreliableService(t *testing.T) {
	play(t, func(p *played) {
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Second)
		defer cancel()
		dialing := p.dial(ctx, p.newQP(provider.QPTypeUC))
		if m := p.req(); m.TransportService != mad.TransportServiceUC {
			t.Errorf("transport service %d", m.TransportService)
		}
		<-dialing
	})
}
