package cm

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestRepetitions checks when each message is repeated: after 100 ms, then in intervals that double
// up to the response timeout, 16 times in all; and each kind of message begins anew.
func TestRepetitions(t *testing.T) {
	check := func(p *played, a mad.Attribute) {
		list, want := p.sent(a), 100*time.Millisecond
		if len(list) != 16 {
			p.t.Fatalf("%d messages %#x, want 16", len(list), uint16(a))
		}
		for i := 1; i < len(list); i++ {
			if got := list[i].at.Sub(list[i-1].at); got != want {
				p.t.Errorf("repetition %d of %#x after %v, want %v", i, uint16(a), got, want)
			}
			want = min(2*want, 4294967296*time.Nanosecond) // 4.096 us * 2^20
		}
	}
	t.Run("REQ", func(t *testing.T) {
		play(t, func(p *played) {
			if o := <-p.dial(p.t.Context(), p.qp()); o.err == nil {
				t.Error("Dial succeeded")
			}
			check(p, mad.AttributeREQ)
			var rej mad.REJ
			_, _ = rej.Decode(p.sent(mad.AttributeREJ)[0].bytes)
			if rej.Reason != mad.RejectTimeout || rej.RejectedInfoLength != 8 || ib.GUID(rej.ARI[:8]) != p.a.guid {
				t.Errorf("REJ after the last REQ: %+v", rej)
			}
		})
	})
	t.Run("REP, then DREQ", func(t *testing.T) {
		play(t, func(p *played) {
			qp := p.qp()
			out, rep := p.accepting(qp)
			var timeout *TimeoutError
			if o := <-out; !errors.As(o.err, &timeout) || qp.State() != provider.QPStateError {
				t.Errorf("Accept = %v, state %v", o.err, qp.State())
			}
			check(p, mad.AttributeREP)
			p.want("after the last REP", mad.AttributeREJ, 1)
			var rej mad.REJ
			_, _ = rej.Decode(p.sent(mad.AttributeREJ)[0].bytes)
			if rej.Reason != mad.RejectTimeout || rej.LocalCommID != rep.LocalCommID || rej.RemoteCommID != peerID {
				t.Errorf("REJ after the last REP: %+v", rej)
			}
			time.Sleep(2 * time.Minute)
			check(p, mad.AttributeDREQ)
			p.want("after the last DREQ", mad.AttributeREJ, 1)
		})
	})
	t.Run("DREQ instead of REP", func(t *testing.T) {
		play(t, func(p *played) {
			l := p.listens(provider.ListenOptions{})
			defer l.Close()
			p.sends(p.requested())
			ctx, cancel := context.WithTimeout(p.t.Context(), 150*time.Millisecond)
			defer cancel()
			if _, err := nextRequest(p.t, l).Accept(ctx, p.qp(), provider.ConnectOptions{}); !errors.Is(err,
				context.DeadlineExceeded) {
				t.Errorf("Accept = %v", err)
			}
			time.Sleep(2 * time.Minute)
			check(p, mad.AttributeDREQ)
			p.want("abandoned", mad.AttributeREP, 2)
		})
	})
}

// TestNoRepetitionAfterAnswer: an answer ends the repetitions of REQ, REP and DREQ.
func TestNoRepetitionAfterAnswer(t *testing.T) {
	play(t, func(p *played) {
		qp := p.qp()
		c := p.establish(qp)
		id := p.req().LocalCommID
		time.Sleep(time.Minute)
		p.want("connected", mad.AttributeREQ, 1)
		_ = c.Close()
		synctest.Wait()
		p.sends(p.drep(id))
		time.Sleep(time.Minute)
		p.want("disconnected", mad.AttributeDREQ, 1)
		if err := c.Err(); !errors.Is(err, provider.ErrClosed) {
			t.Errorf("Err = %v", err)
		}
	})
	play(t, func(p *played) {
		out, rep := p.accepting(p.qp())
		p.sends(p.rtu(rep.LocalCommID))
		o := <-out
		time.Sleep(time.Minute)
		p.want("accepted", mad.AttributeREP, 1)
		_ = o.c.Close()
		synctest.Wait()
		p.sends(p.drep(rep.LocalCommID))
	})
}

// TestMRA checks who may ask for more time, for which message, and how much.
func TestMRA(t *testing.T) {
	mra := func(id uint32, about mad.MRAMessage, code uint8) *mad.MRA {
		return &mad.MRA{
			Header: mad.NewCM(mad.AttributeMRA, 1), LocalCommID: peerID, RemoteCommID: id, Message: about,
			ServiceTimeout: code,
		}
	}
	other := func(m *mad.MRA) *mad.MRA { m.LocalCommID++; return m }
	play(t, func(p *played) {
		ctx, cancel := context.WithTimeout(p.t.Context(), 20*time.Minute)
		defer cancel()
		dialing := p.dial(ctx, p.qp())
		id := p.req().LocalCommID
		p.strangerSends(mra(id, mad.MRAMessageREQ, 24))
		p.sends(mra(id, mad.MRAMessageREP, 24))
		p.sends(mra(id+1, mad.MRAMessageREQ, 24))
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		p.want("after MRA of others", mad.AttributeREQ, 2)
		p.sends(mra(id, mad.MRAMessageREQ, 31)) // 2.4 hours, limited to 69 s
		time.Sleep(68 * time.Second)
		p.want("during MRA", mad.AttributeREQ, 2)
		time.Sleep(900 * time.Millisecond) // until 68.9 s
		p.want("after MRA", mad.AttributeREQ, 3)
		if o := <-dialing; o.err == nil || ctx.Err() != nil {
			t.Errorf("Dial = %v, %v", o.err, ctx.Err())
		}
	})
	play(t, func(p *played) {
		out, rep := p.accepting(p.qp())
		p.sends(mra(rep.LocalCommID, mad.MRAMessageREQ, 20))
		p.sends(other(mra(rep.LocalCommID, mad.MRAMessageREP, 20)))
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		p.want("after MRA about others", mad.AttributeREP, 2)
		p.sends(mra(rep.LocalCommID, mad.MRAMessageREP, 20))
		time.Sleep(4 * time.Second)
		p.want("during MRA", mad.AttributeREP, 2)
		time.Sleep(500 * time.Millisecond) // until 4.5 s; the MRA asks for 4.3 s
		p.want("after MRA", mad.AttributeREP, 3)
		p.sends(p.rtu(rep.LocalCommID))
		o := <-out
		p.sends(mra(rep.LocalCommID, mad.MRAMessageREP, 10))
		time.Sleep(time.Minute)
		p.want("MRA after RTU", mad.AttributeREP, 3)
		_ = o.c.Close()
		synctest.Wait()
		p.sends(mra(rep.LocalCommID, mad.MRAMessageREP, 24))
		time.Sleep(time.Second)
		if n := len(p.sent(mad.AttributeDREQ)); n < 3 {
			t.Errorf("%d DREQ after an MRA about the REP, want 4", n)
		}
		p.sends(p.drep(rep.LocalCommID))
	})
}

// TestDialLimit: the limit of the program holds after an MRA, too.
func TestDialLimit(t *testing.T) {
	play(t, func(p *played) {
		ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		dialing := p.dial(ctx, p.qp())
		p.sends(&mad.MRA{
			Header: mad.NewCM(mad.AttributeMRA, 1), LocalCommID: peerID, RemoteCommID: p.req().LocalCommID,
			Message: mad.MRAMessageREQ, ServiceTimeout: 24,
		})
		if o := <-dialing; !errors.Is(o.err, context.DeadlineExceeded) || time.Since(began) != 2*time.Second {
			t.Errorf("Dial = %v after %v", o.err, time.Since(began))
		}
		var rej mad.REJ
		_, _ = rej.Decode(p.sent(mad.AttributeREJ)[0].bytes)
		if rej.Reason != mad.RejectTimeout || ib.GUID(rej.ARI[:8]) != p.a.guid || rej.RejectedInfoLength != 8 {
			t.Errorf("REJ: %+v", rej)
		}
	})
}

// TestImpatient: a request waits at least a second, even if its sender says that it waits only for
// 4 us.
func TestImpatient(t *testing.T) {
	play(t, func(p *played) {
		l := p.listens(provider.ListenOptions{})
		defer l.Close()
		m := p.requested()
		m.RemoteCMResponseTimeout, m.MaxCMRetries = 0, 0
		p.sends(m)
		time.Sleep(900 * time.Millisecond)
		if err := nextRequest(p.t, l).Reject(nil); err != nil {
			t.Error(err)
		}
	})
}

// TestRecent: the table of answers keeps the last ones.
func TestRecent(t *testing.T) {
	var r recent
	now := time.Now()
	key := func(i int) remoteID { return remoteID{id: uint32(i)} }
	for i := range maxRecent + 2 {
		r.add(key(i), []byte{byte(i)}, now)
	}
	for i, want := range map[int]bool{0: false, 1: false, 2: true, maxRecent: true, maxRecent + 1: true} {
		if got := r.find(key(i), now); (got != nil) != want || want && got[0] != byte(i) {
			t.Errorf("find(%d) = %v, want %t", i, got, want)
		}
	}
	if len(r.index) != maxRecent || len(r.list) != maxRecent {
		t.Errorf("%d in the index, %d answers, want %d", len(r.index), len(r.list), maxRecent)
	}
	r.add(key(2), []byte{99}, now)
	if got := r.find(key(2), now); got[0] != 99 {
		t.Errorf("find of a newer answer = %v", got)
	}
	if r.find(key(2), now.Add(recentTime)) == nil || r.find(key(2), now.Add(recentTime+1)) != nil {
		t.Error("answers are not kept for a minute")
	}
}

// TestLookupStates: lookups that come twice, beyond the backlog, and to a closed listener; and an
// answer of a stranger.
func TestLookupStates(t *testing.T) {
	play(t, func(p *played) {
		l := p.listens(provider.ListenOptions{PortSpace: provider.PortSpaceUDP, Backlog: 2})
		ask := func(id uint32) *mad.SIDRREQ {
			m := &mad.SIDRREQ{
				Header: mad.NewCM(mad.AttributeSIDRREQ, 1), RequestID: id, ServiceID: mad.IPService(0x0111, 7174),
			}
			h := mad.NewCMAHeader(netip.AddrPortFrom(p.b.addr, 1), p.a.addr)
			h.Append(m.PrivateData[:0])
			return m
		}
		for _, id := range []uint32{1, 1, 2, 3} {
			p.sends(ask(id))
		}
		p.want("waiting", mad.AttributeSIDRREP, 0)
		_ = l.Close()
		var asked []uint32
		for _, m := range p.sent(mad.AttributeSIDRREP) {
			var rep mad.SIDRREP
			_, _ = rep.Decode(m.bytes)
			asked = append(asked, rep.RequestID)
		}
		if !slices.Equal(asked, []uint32{1, 2}) {
			t.Errorf("a closed listener answers lookups %v, want 1 and 2, which waited", asked)
		}
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Second)
		defer cancel()
		dialing := p.dial(ctx, p.ud())
		var m mad.SIDRREQ
		_, _ = m.Decode(p.sent(mad.AttributeSIDRREQ)[0].bytes)
		p.strangerSends(&mad.SIDRREP{Header: mad.NewCM(mad.AttributeSIDRREP, 1), RequestID: m.RequestID, QPN: 66})
		if o := <-dialing; !errors.Is(o.err, context.DeadlineExceeded) {
			t.Errorf("Dial = %v after a stranger's answer", o.err)
		}
	})
}
