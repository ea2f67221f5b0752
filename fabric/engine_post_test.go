package fabric_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// query returns a request of subnet administration.
func query(lid ib.LID, method mad.Method) fabric.Request {
	p := mad.NewSA(method, mad.AttributeNodeRecord, 0, 0)
	to := fabric.Address{LID: lid, QPN: 1, QKey: fabric.QKeyGSI}
	r := fabric.Request{Address: to, Timeout: time.Second, Retries: 2}
	p.Append(r.MAD[:0])
	return r
}

// TestEnginePost sends a datagram that has no answer during a request. A transport that is full for
// 300 ms gets it afterwards, also if the request has ended meanwhile; one that stays full doesn't
// keep Run.
func TestEnginePost(t *testing.T) {
	const ackLID = 7
	for full, want := range map[time.Duration]int{0: 1, 300 * time.Millisecond: 1, time.Hour: 0} {
		synctest.Test(t, func(t *testing.T) {
			var s *scripted
			s = newScripted(func(lid ib.LID, _ int, d fabric.Datagram) {
				if lid == ackLID {
					if d.Timeout != 0 || d.MAD[15] != 0xab {
						t.Errorf("posted datagram has timeout %v, transaction %x", d.Timeout, d.MAD[8:16])
					}
					return
				}
				s.answer(d, 2*time.Second)
			})
			e := fabric.NewEngine(s, 4)
			r := query(1, mad.MethodGet)
			r.Timeout, r.Retries = 5*time.Second, -1
			r.More = func(*fabric.Datagram) (time.Duration, bool) {
				s.shut = full > 0
				time.AfterFunc(full, func() { s.shut = false })
				ack := fabric.Datagram{Address: fabric.Address{LID: ackLID}, Timeout: time.Second}
				ack.MAD[15] = 0xab
				if err := e.Post(&ack); err != nil {
					t.Error(err)
				}
				return 0, false
			}
			if _, err := e.Do(t.Context(), &r); err != nil {
				t.Error(err)
			}
			took := time.Since(s.start) - 2*time.Second
			if s.tries[ackLID] != want || took > full+20*time.Millisecond && took > 1100*time.Millisecond {
				t.Errorf("full for %v: sent %d times after %v, want %d", full, s.tries[ackLID], took, want)
			}
			if n := e.Traffic(); n.Sent != 1+want {
				t.Errorf("full for %v: %d sent, want %d", full, n.Sent, 1+want)
			}
		})
	}
	e := fabric.NewEngine(failing{}, 4)
	if err := e.Post(new(fabric.Datagram)); !errors.Is(err, errBroken) {
		t.Errorf("Post to a broken transport = %v", err)
	}
}

var errBroken = errors.New("broken")

// failing is a transport that can't send.
type failing struct{ *scripted }

func (failing) Send([]fabric.Datagram) (int, error) { return 0, errBroken }

// TestEngineMoreWait: More says how long the next answer may take, the request isn't sent again,
// and a report of loss doesn't end it.
func TestEngineMoreWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *scripted
		s = newScripted(func(_ ib.LID, try int, d fabric.Datagram) {
			if try > 1 {
				t.Error("sent again after the answer has begun")
			}
			s.answer(d, 500*time.Millisecond)
			s.lost(d, 600*time.Millisecond)
			s.answer(d, 7*time.Second)
		})
		e := fabric.NewEngine(s, 1)
		r, answers := query(1, mad.MethodGetTable), 0
		r.More = func(*fabric.Datagram) (time.Duration, bool) { answers++; return 8 * time.Second, answers < 3 }
		reply, err := e.Do(t.Context(), &r)
		var gaveUp *fabric.NoAnswerError
		if !errors.As(err, &gaveUp) || answers != 2 || time.Since(s.start) != 15*time.Second || reply.Tries != 1 {
			t.Errorf("Do = %v after %d answers and %v, want given up 8 s after the second", err, answers,
				time.Since(s.start))
		}
	})
}

// TestEngineAnswerWhileRetryWaits: the transport reports two requests as lost, and only one fits
// into the window again; the answer to the other begins meanwhile, which ends its tries.
func TestEngineAnswerWhileRetryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *scripted
		var first [3]fabric.Datagram
		s = newScripted(func(lid ib.LID, try int, d fabric.Datagram) {
			now := time.Since(s.start)
			switch {
			case try == 1:
				first[lid] = d
				s.lost(d, 600*time.Millisecond)
			case lid == 1 && try == 2:
				s.answer(first[2], now+time.Millisecond)
				s.answer(first[2], now+1500*time.Millisecond)
				s.answer(d, now+500*time.Millisecond)
			default:
				t.Errorf("LID %d is sent for the %dth time", lid, try)
			}
		})
		e := fabric.NewEngine(s, 1)
		a := ask(query(1, mad.MethodGetTable), query(2, mad.MethodGetTable))
		answers := 0
		a.requests[1].More = func(*fabric.Datagram) (time.Duration, bool) {
			answers++
			return 2 * time.Second, answers < 2
		}
		if _, err := e.Run(t.Context(), a, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if a.replies[0].Err != nil || a.replies[1].Err != nil || answers != 2 {
			t.Errorf("replies %v, %v after %d answers", a.replies[0].Err, a.replies[1].Err, answers)
		}
	})
}

// TestEngineQueries: a query of subnet administration isn't sent early again, and another modifier
// in its answer doesn't matter.
func TestEngineQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *scripted
		s = newScripted(func(_ ib.LID, _ int, d fabric.Datagram) {
			d.MAD[23]++
			s.answer(d, 900*time.Millisecond)
		})
		r := query(1, mad.MethodGet)
		reply, err := fabric.NewEngine(s, 1).Do(t.Context(), &r)
		if err != nil || reply.Tries != 1 {
			t.Errorf("Do = %v after %d tries, want 1", err, reply.Tries)
		}
	})
}
