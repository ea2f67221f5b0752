package cm

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestAbandonedAnswer: a duplicate of a request that this end has accepted and then refused gets
// the reason of the refusal again.
func TestAbandonedAnswer(t *testing.T) {
	play(t, func(p *played) {
		l := p.listens(provider.ListenOptions{})
		defer l.Close()
		p.sends(p.requested())
		ctx, cancel := context.WithTimeout(p.t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := nextRequest(p.t, l).Accept(ctx, p.qp(), provider.ConnectOptions{}); err == nil {
			t.Fatal("Accept succeeded")
		}
		var first, second mad.REJ
		_, _ = first.Decode(p.sent(mad.AttributeREJ)[0].bytes)
		p.sends(p.drep(first.LocalCommID))
		p.sends(p.requested())
		p.want("duplicate", mad.AttributeREJ, 2)
		if list := p.sent(mad.AttributeREJ); len(list) == 2 {
			_, _ = second.Decode(list[1].bytes)
		}
		if first.Reason != mad.RejectConsumer || second.Reason != first.Reason {
			t.Errorf("reasons %v and %v, want %v twice", first.Reason, second.Reason, mad.RejectConsumer)
		}
	})
}

// TestTwiceDialed: a program dials twice with a queue pair; the connection that is rejected doesn't
// take the other one out of the tables.
func TestTwiceDialed(t *testing.T) {
	play(t, func(p *played) {
		qp := p.qp()
		first := p.dial(p.t.Context(), qp)
		rejected := p.req().LocalCommID
		second := p.dial(p.t.Context(), qp)
		p.sends(p.rej(rejected, mad.RejectConsumer))
		if o := <-first; o.err == nil {
			t.Error("Dial succeeded")
		}
		p.sends(p.rep())
		if o := <-second; o.err != nil {
			t.Fatal(o.err)
		}
		p.a.QueuePairClosed(qp.qpn)
		synctest.Wait()
		p.want("closed", mad.AttributeDREQ, 1)
		p.sends(p.drep(p.req().LocalCommID))
	})
}

// TestSameQueuePair: two requests with the same queue pair wait. The one that is rejected doesn't
// take the other one out of the tables: a third request finds it stale.
func TestSameQueuePair(t *testing.T) {
	play(t, func(p *played) {
		l := p.listens(provider.ListenOptions{})
		defer l.Close()
		first, second, third := p.requested(), p.requested(), p.requested()
		second.LocalCommID, third.LocalCommID = peerID+1, peerID+2
		p.sends(first)
		p.sends(second)
		if err := nextRequest(p.t, l).Reject(nil); err != nil {
			t.Error(err)
		}
		accepting := acceptOne(l, p.qp(), provider.ConnectOptions{})
		synctest.Wait()
		p.want("accepted", mad.AttributeREP, 1)
		p.sends(third)
		p.want("stale", mad.AttributeREJ, 2)
		if o := <-accepting; !errors.Is(o.err, errStale) {
			t.Errorf("Accept = %v", o.err)
		}
	})
}
