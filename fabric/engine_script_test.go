package fabric_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// scripted is a transport whose answers a test schedules. The LID of a request is its name.
type scripted struct {
	on    func(lid ib.LID, try int, d fabric.Datagram)
	start time.Time
	tries map[ib.LID]int
	queue []scriptedAnswer // in any order
	waits time.Duration    // the shortest time that a datagram's Timeout reached beyond limit
	limit time.Duration
	shut  bool // accepts no datagram
}

type scriptedAnswer struct {
	at time.Duration
	d  fabric.Datagram
}

func newScripted(on func(lid ib.LID, try int, d fabric.Datagram)) *scripted {
	return &scripted{on: on, start: time.Now(), tries: map[ib.LID]int{}, limit: patience, waits: time.Hour}
}

// answer schedules an answer to a datagram, and lost the report that there is none.
func (s *scripted) answer(d fabric.Datagram, at time.Duration) {
	d.MAD[3] |= byte(mad.MethodResponse)
	s.queue = append(s.queue, scriptedAnswer{at, d})
}

func (s *scripted) lost(d fabric.Datagram, at time.Duration) {
	d.Lost = true
	s.queue = append(s.queue, scriptedAnswer{at, d})
}

func (s *scripted) Send(batch []fabric.Datagram) (int, error) {
	if s.shut {
		return 0, nil
	}
	for i := range batch {
		lid := batch[i].Address.LID
		s.tries[lid]++
		s.waits = min(s.waits, time.Since(s.start)+batch[i].Timeout-s.limit)
		s.on(lid, s.tries[lid], batch[i])
	}
	return len(batch), nil
}

func (s *scripted) Receive(_ context.Context, batch []fabric.Datagram, deadline time.Time) (int, error) {
	end := deadline.Sub(s.start)
	next := -1
	for i, a := range s.queue {
		if a.at <= end && (next < 0 || a.at < s.queue[next].at) {
			next = i
		}
	}
	if next < 0 {
		time.Sleep(time.Until(deadline))
		return 0, nil
	}
	time.Sleep(s.queue[next].at - time.Since(s.start))
	batch[0] = s.queue[next].d
	s.queue = append(s.queue[:next], s.queue[next+1:]...)
	return 1, nil
}

func (*scripted) Close() error { return nil }

// TestEngineLossWhileWaiting has four requests that are overdue at once, which halves the window:
// two of them wait to be sent again. A loss that the transport reports then doesn't repeat one of
// them once more, and an answer ends the other.
func TestEngineLossWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *scripted
		var first [5]fabric.Datagram
		want := map[ib.LID]int{1: 2, 2: 2, 3: 2, 4: 2}
		again := 0
		s = newScripted(func(lid ib.LID, try int, d fabric.Datagram) {
			now := time.Since(s.start)
			switch {
			case lid > 4: // before, to know the round trips
				s.answer(d, now)
				return
			case try == 1:
				first[lid] = d
				return
			}
			s.answer(d, now+20*time.Millisecond)
			if again++; again != 2 {
				return
			}
			var waiting []ib.LID
			for other := ib.LID(1); other <= 4; other++ {
				if s.tries[other] == 1 {
					waiting = append(waiting, other)
				}
			}
			if len(waiting) != 2 {
				t.Fatalf("%v wait after two were sent again, want two", waiting)
			}
			s.lost(first[waiting[0]], now+100*time.Microsecond)
			s.answer(first[waiting[1]], now+100*time.Microsecond)
			want[waiting[1]] = 1
		})
		e := fabric.NewEngine(s, 4)
		var peer fabric.Peer
		list := make([]fabric.Request, 10)
		for i := range list {
			list[i] = portCounters(ib.LID(5+i), mad.MethodGet)
			list[i].Peer = &peer
		}
		if _, err := e.Run(t.Context(), ask(list...), time.Time{}); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			list[i] = portCounters(ib.LID(1+i), mad.MethodGet)
			list[i].Peer = &peer
		}
		a := ask(list[:4]...)
		if _, err := e.Run(t.Context(), a, time.Time{}); err != nil {
			t.Fatal(err)
		}
		for id, r := range a.replies {
			if lid := ib.LID(1 + id); r.Err != nil || r.Tries != want[lid] || s.tries[lid] != want[lid] {
				t.Errorf("request %d: %v after %d tries, %d sent, want %d", id, r.Err, r.Tries, s.tries[lid], want[lid])
			}
		}
		if e.InWindow() != 0 || e.Traffic().Retries != 3 {
			t.Errorf("%d in the window, traffic %+v, want 3 retries", e.InWindow(), e.Traffic())
		}
	})
}

// TestEngineReports lets the transport report losses: of each try at once, and of a try after the
// next was sent.
func TestEngineReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *scripted
		var first fabric.Datagram
		s = newScripted(func(lid ib.LID, try int, d fabric.Datagram) {
			switch {
			case lid == 1:
				s.lost(d, time.Since(s.start))
			case try == 1:
				first = d
			case try == 2:
				s.lost(first, time.Since(s.start)+time.Millisecond)
			}
		})
		e := fabric.NewEngine(s, 4)
		r := portCounters(1, mad.MethodGet)
		_, err := e.Do(t.Context(), &r)
		if !errors.Is(err, fabric.ErrNoAnswer) || err.Error() != "the transport reports no answer to 4 tries" ||
			time.Since(s.start) > time.Millisecond {
			t.Errorf("losses of each try: %v after %v", err, time.Since(s.start))
		}
		r = portCounters(2, mad.MethodGet)
		r.Retries = 1
		start := time.Now()
		_, err = e.Do(t.Context(), &r)
		if want := "no answer to 2 tries in 4s"; err == nil || err.Error() != want || time.Since(start) != patience {
			t.Errorf("loss of the first of two tries: %v after %v, want %s", err, time.Since(start), want)
		}
	})
}

// TestEngineMoreAnswers has answers that come one after the other for longer than the patience.
func TestEngineMoreAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *scripted
		s = newScripted(func(_ ib.LID, _ int, d fabric.Datagram) {
			for i := range 4 {
				s.answer(d, time.Duration(1+i)*3*time.Second/2)
			}
		})
		e := fabric.NewEngine(s, 4)
		r, answers := portCounters(1, mad.MethodSet), 0
		r.Retries = -1
		r.More = func(*fabric.Datagram) (time.Duration, bool) { answers++; return 0, answers < 4 }
		if _, err := e.Do(t.Context(), &r); err != nil || answers != 4 || time.Since(s.start) != 6*time.Second {
			t.Errorf("Do = %v with %d answers after %v, want 4 after 6s", err, answers, time.Since(s.start))
		}
	})
}

// TestEngineOverdue follows a destination that is late.
func TestEngineOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var peer fabric.Peer
		var s *scripted
		s = newScripted(func(_ ib.LID, try int, d fabric.Datagram) {
			if try == 2 {
				if !peer.Overdue() {
					t.Error("a destination whose request is sent again is not overdue")
				}
				s.answer(d, time.Since(s.start)+time.Millisecond)
			}
		})
		r := portCounters(1, mad.MethodGet)
		r.Peer = &peer
		if _, err := fabric.NewEngine(s, 4).Do(t.Context(), &r); err != nil || peer.Overdue() {
			t.Errorf("Do = %v, then overdue %v", err, peer.Overdue())
		}
	})
}

// TestEngineTransportIsMorePatient checks the time that the transport is given: a kernel drops
// answers that come later.
func TestEngineTransportIsMorePatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(func(ib.LID, int, fabric.Datagram) {})
		r := portCounters(1, mad.MethodGet)
		_, err := fabric.NewEngine(s, 4).Do(t.Context(), &r)
		if !errors.Is(err, fabric.ErrNoAnswer) || s.tries[1] != 4 || s.waits <= 0 {
			t.Errorf("Do = %v after %d tries; the transport waits %v longer, want more than 0",
				err, s.tries[1], s.waits)
		}
		// -t of the applets allows more than a kernel's 32 bits of milliseconds.
		r.Timeout = 20 * 24 * time.Hour
		s = newScripted(func(_ ib.LID, _ int, d fabric.Datagram) {
			if d.Timeout <= 0 || d.Timeout > (1<<31-1)*time.Millisecond {
				t.Errorf("the transport is to wait %v", d.Timeout)
			}
			s.answer(d, time.Since(s.start))
		})
		if _, err := fabric.NewEngine(s, 4).Do(t.Context(), &r); err != nil {
			t.Error(err)
		}
	})
}

// TestEngineForgetsUnsent has a transport that accepts nothing until the request is given up: it is
// not sent later.
func TestEngineForgetsUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *scripted
		s = newScripted(func(_ ib.LID, _ int, d fabric.Datagram) { s.answer(d, time.Since(s.start)) })
		s.shut = true
		e := fabric.NewEngine(s, 4)
		r := portCounters(1, mad.MethodGet)
		if _, err := e.Do(t.Context(), &r); !errors.Is(err, fabric.ErrNoAnswer) {
			t.Errorf("Do = %v, want no answer", err)
		}
		s.shut = false
		r = portCounters(2, mad.MethodGet)
		if _, err := e.Do(t.Context(), &r); err != nil || s.tries[1] != 0 || s.tries[2] != 1 {
			t.Errorf("Do = %v, sent %v, want the second request only", err, s.tries)
		}
	})
}

// TestEngineMatches rejects answers about something else.
func TestEngineMatches(t *testing.T) {
	for name, change := range map[string]func(d *fabric.Datagram){
		"class":     func(d *fabric.Datagram) { d.MAD[1] = byte(mad.ClassSA) },
		"attribute": func(d *fabric.Datagram) { d.MAD[17]++ },
		"modifier":  func(d *fabric.Datagram) { d.MAD[23]++ }, "method": func(d *fabric.Datagram) { d.MAD[3]++ },
		"port": func(d *fabric.Datagram) { d.MAD[65]++ },
	} {
		synctest.Test(t, func(t *testing.T) {
			var s *scripted
			s = newScripted(func(_ ib.LID, _ int, d fabric.Datagram) {
				s.answer(d, time.Millisecond)
				change(&s.queue[len(s.queue)-1].d)
				s.answer(d, 2*time.Millisecond)
			})
			r := portCounters(1, mad.MethodGet)
			r.Accept = func(request, answer *[mad.Len]byte) bool { return request[65] == answer[65] }
			e := fabric.NewEngine(s, 4)
			if reply, err := e.Do(t.Context(), &r); err != nil || e.Traffic().Foreign != 1 ||
				reply.RoundTrip != 2*time.Millisecond {
				t.Errorf("another %s: Do = %v after %v, traffic %+v, want the second answer",
					name, err, reply.RoundTrip, e.Traffic())
			}
		})
	}
}

// TestEngineBackPressure has a transport that accepts three requests at once.
func TestEngineBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 2, 0)
		net.Delay, net.Queue = time.Millisecond, 3
		list := make([]fabric.Request, 500)
		for i := range list {
			list[i] = nodeInfo(1)
		}
		e := fabric.NewEngine(net.Transport("host0"), 64)
		if _, err := e.Run(t.Context(), ask(list...), time.Time{}); err != nil || e.Traffic().Window > 16 {
			t.Errorf("Run = %v, traffic %+v, want a small window", err, e.Traffic())
		}
	})
}

// TestEngineKnowsDestinations has a slow host, and a dead one behind another port of the same
// switch, which costs the usual patience.
func TestEngineKnowsDestinations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 4, 0)
		net.Node("host1").Delay, net.Node("host2").Dead = 2*time.Second, true
		e := fabric.NewEngine(net.Transport("host0"), 4)
		r := nodeInfo(1, 2)
		for range 3 {
			if _, err := e.Do(t.Context(), &r); err != nil {
				t.Error(err)
			}
		}
		for range 100 {
			r = nodeInfo(1)
			if _, err := e.Do(t.Context(), &r); err != nil {
				t.Error(err)
			}
		}
		start := time.Now()
		r = nodeInfo(1, 3)
		if _, err := e.Do(t.Context(), &r); !errors.Is(err, fabric.ErrNoAnswer) || time.Since(start) != patience {
			t.Errorf("dead host: %v after %v, want %v", err, time.Since(start), patience)
		}
	})
}
