package fabric_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// asking is a source of a fixed list of requests, and keeps the results by ID.
type asking struct {
	requests []fabric.Request
	replies  map[int]fabric.Reply
	times    map[int]time.Time // of the results
	foreign  int
}

func ask(requests ...fabric.Request) *asking {
	for i := range requests {
		requests[i].ID = i
	}
	return &asking{requests: requests, replies: map[int]fabric.Reply{}, times: map[int]time.Time{}}
}

// Next implements fabric.Source.
func (a *asking) Next(r *fabric.Request) bool {
	if len(a.requests) == 0 {
		return false
	}
	*r, a.requests = a.requests[0], a.requests[1:]
	return true
}

// Done implements fabric.Source.
func (a *asking) Done(r *fabric.Reply) {
	if _, twice := a.replies[r.ID]; twice {
		panic(fmt.Sprintf("request %d has ended twice", r.ID))
	}
	a.replies[r.ID], a.times[r.ID] = *r, time.Now()
}

// Foreign takes answers to other requests.
func (a *asking) Foreign(int, *mad.Header) { a.foreign++ }

// nodeInfo returns a request on a directed route.
func nodeInfo(ports ...uint8) fabric.Request {
	path, err := mad.NewPath(ports...)
	if err != nil {
		panic(err)
	}
	var r fabric.Request
	smp := mad.NewDirectedSMP(mad.MethodGet, mad.AttributeNodeInfo, 0, 0, &path)
	smp.Append(r.MAD[:0])
	r.Address = fabric.Address{LID: mad.LIDPermissive}
	return r
}

// portCounters returns a request by LID.
func portCounters(lid ib.LID, method mad.Method) fabric.Request {
	r := fabric.Request{Address: fabric.Address{LID: lid, QPN: 1, QKey: fabric.QKeyGSI}}
	p := mad.NewPerformanceMAD(method, mad.AttributePortCounters, 0)
	p.Data[1] = 1
	p.Append(r.MAD[:0])
	return r
}

// sendTimes records when each transaction was sent, by the destination's LID.
type sendTimes struct {
	fabric.Transport
	start time.Time
	ids   map[uint32]bool
	at    map[ib.LID][]time.Duration
}

func watch(t fabric.Transport) *sendTimes {
	return &sendTimes{t, time.Now(), map[uint32]bool{}, map[ib.LID][]time.Duration{}}
}

func (s *sendTimes) Send(batch []fabric.Datagram) (int, error) {
	n, err := s.Transport.Send(batch)
	for i := range n {
		var h mad.Header
		h.Decode(batch[i].MAD[:]) //nolint:errcheck // long enough
		if id := uint32(h.TransactionID); s.ids[id] {
			return i, fmt.Errorf("transaction ID 0x%x is used twice", id)
		}
		s.ids[uint32(h.TransactionID)] = true
		lid := batch[i].Address.LID
		s.at[lid] = append(s.at[lid], time.Since(s.start))
	}
	return n, err
}

// TestEngineDeadDoesNotBlock has a window of one request, and a dead node before the others.
func TestEngineDeadDoesNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 6, 0)
		net.Delay = roundTrip
		net.Node("host1").Dead = true
		start := time.Now()
		a := ask(nodeInfo(), nodeInfo(1, 2), nodeInfo(1, 3), nodeInfo(1, 2), nodeInfo(1, 4), nodeInfo(1, 5))
		e := fabric.NewEngine(net.Transport("host0"), 1)
		if idle, err := e.Run(t.Context(), a, time.Time{}); !idle || err != nil {
			t.Fatalf("Run = %v, %v", idle, err)
		}
		for id := range 6 {
			r, took := a.replies[id], a.times[id].Sub(start)
			if dead := id == 1 || id == 3; dead != errors.Is(r.Err, fabric.ErrNoAnswer) || dead != (took >= patience) ||
				!dead && took > time.Second || took > patience+time.Second {
				t.Errorf("request %d: %v after %v", id, r.Err, took)
			}
		}
		if n := e.Traffic(); n.Window != 1 || n.Retries != 6 {
			t.Errorf("traffic = %+v, want a window of 1 and 6 retries", n)
		}
	})
}

// TestEngineSpreadsTries checks when the tries to a dead node are sent, and those to a node that
// was slow before; a request that writes is not repeated early.
func TestEngineSpreadsTries(t *testing.T) {
	for _, tt := range []struct {
		name    string
		method  mad.Method
		slow    time.Duration // of an answer before; 0: none
		timeout time.Duration
		first   [2]time.Duration // bounds of the second try
		last    [2]time.Duration // bounds of the last try
		end     time.Duration
	}{
		{
			"dead", mad.MethodGet, 0, 0,
			[2]time.Duration{200 * time.Millisecond, 300 * time.Millisecond},
			[2]time.Duration{time.Second, 3 * time.Second},
			patience,
		},
		{
			"slow before", mad.MethodGet, 2 * time.Second, 0,
			[2]time.Duration{2 * time.Second, 7 * time.Second},
			[2]time.Duration{12 * time.Second, 18 * time.Second},
			24 * time.Second,
		},
		{
			"write", mad.MethodSet, 0, 0,
			[2]time.Duration{time.Second, time.Second},
			[2]time.Duration{3 * time.Second, 3 * time.Second},
			patience,
		},
		{
			"fixed", mad.MethodGet, 2 * time.Second, 100 * time.Millisecond,
			[2]time.Duration{50 * time.Millisecond, 100 * time.Millisecond},
			[2]time.Duration{200 * time.Millisecond, 300 * time.Millisecond},
			400 * time.Millisecond,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := subnet.FatTree(1, 3, 0)
				host := net.Node("host1")
				e := fabric.NewEngine(net.Transport("host0"), 8)
				var peer fabric.Peer
				if tt.slow > 0 {
					host.Delay = tt.slow
					r := portCounters(host.LIDs[1], mad.MethodGet)
					r.Peer = &peer
					if reply, err := e.Do(t.Context(), &r); err != nil || reply.RoundTrip != tt.slow {
						t.Fatalf("Do = %v after %v", err, reply.RoundTrip)
					}
				}
				host.Dead = true
				w := watch(net.Transport("host0"))
				r := portCounters(host.LIDs[1], tt.method)
				r.Timeout, r.Peer = tt.timeout, &peer
				_, err := fabric.NewEngine(w, 8).Do(t.Context(), &r)
				at := w.at[host.LIDs[1]]
				if !errors.Is(err, fabric.ErrNoAnswer) || len(at) != 4 || at[1] < tt.first[0] || at[1] > tt.first[1] ||
					at[3] < tt.last[0] || at[3] > tt.last[1] || time.Since(w.start) != tt.end {
					t.Errorf("tries at %v, then %v after %v; want the second %v, the last %v, the end %v",
						at, err, time.Since(w.start), tt.first, tt.last, tt.end)
				}
			})
		})
	}
}

// TestEngineMeasuresEachTry has an answer to the first try after others were sent: the round trip
// is that of the first.
func TestEngineMeasuresEachTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 3, 0)
		net.Node("host1").Delay = 900 * time.Millisecond
		e := fabric.NewEngine(net.Transport("host0"), 8)
		r := nodeInfo(1, 2)
		reply, err := e.Do(t.Context(), &r)
		if err != nil || reply.RoundTrip != 900*time.Millisecond || reply.Tries < 2 {
			t.Errorf("Do = %v after %v and %d tries, want 900ms and several tries", err, reply.RoundTrip, reply.Tries)
		}
		reply, err = e.Do(t.Context(), &r) // the engine knows the destination
		if err != nil || reply.Tries != 1 {
			t.Errorf("second Do = %v after %d tries, want one", err, reply.Tries)
		}
	})
}

// TestEngineRefused lets the transport refuse many addresses at once.
func TestEngineRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 3, 0)
		host := net.Node("host1")
		var list []fabric.Request
		for range 100 {
			list = append(list, portCounters(99, mad.MethodGet))
		}
		list = append(list, portCounters(host.LIDs[1], mad.MethodGet))
		a := ask(list...)
		e := fabric.NewEngine(&subnet.Refuser{Transport: net.Transport("host0"), LID: 99}, 8)
		start := time.Now()
		if idle, err := e.Run(t.Context(), a, time.Time{}); !idle || err != nil {
			t.Fatalf("Run = %v, %v", idle, err)
		}
		for id, r := range a.replies {
			if id < 100 && (!errors.Is(r.Err, fabric.ErrRefused) || !errors.Is(r.Err, syscall.EINVAL)) ||
				id == 100 && r.Err != nil {
				t.Errorf("request %d: %v", id, r.Err)
			}
		}
		if len(a.replies) != 101 || time.Since(start) > time.Second {
			t.Errorf("%d results after %v, want 101 at once", len(a.replies), time.Since(start))
		}
	})
}

// TestEngineMore takes several answers to one request.
func TestEngineMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 3, 0)
		net.Node("host1").Lie = func(*fabric.Datagram) int { return 3 }
		for want, last := range map[error]int{nil: 3, fabric.ErrNoAnswer: 4} {
			e := fabric.NewEngine(net.Transport("host0"), 8)
			r, answers, start := nodeInfo(1, 2), 0, time.Now()
			r.More = func(*fabric.Datagram) (time.Duration, bool) { answers++; return 0, answers < last }
			if _, err := e.Do(t.Context(), &r); !errors.Is(err, want) || answers != 3 || e.Traffic().Sent != 1 {
				t.Errorf("Do until answer %d = %v after %d answers and %d datagrams, want %v, 3 and 1",
					last, err, answers, e.Traffic().Sent, want)
			}
			if took := time.Since(start); want != nil && took < time.Second {
				t.Errorf("the fourth answer was awaited for %v", took)
			}
		}
	})
}

// TestEngineDropsOthers has answers that don't match: another attribute, a duplicate, an answer to
// a request that was abandoned.
func TestEngineDropsOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 4, 0)
		net.Delay = roundTrip
		e := fabric.NewEngine(net.Transport("host0"), 8)
		net.Node("host1").Lie = func(d *fabric.Datagram) int { d.MAD[17] = 0x33; return 1 }
		net.Node("host2").Lie = func(*fabric.Datagram) int { return 2 }
		net.Node("host3").Delay = 50 * time.Millisecond
		a := ask(nodeInfo(1, 2), nodeInfo(1, 3))
		a.requests[0].Timeout = 50 * time.Millisecond
		if _, err := e.Run(t.Context(), a, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(a.replies[0].Err, fabric.ErrNoAnswer) || a.replies[1].Err != nil || a.foreign != 4 {
			t.Errorf("replies %v, %v, %d foreign", a.replies[0].Err, a.replies[1].Err, a.foreign)
		}
		if n := e.Traffic(); n.Late != 1 || n.Foreign != 4 || n.Answers != 1 {
			t.Errorf("traffic = %+v, want a duplicate that is late", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		r := nodeInfo(1, 4)
		if _, err := e.Do(ctx, &r); !errors.Is(err, context.DeadlineExceeded) || e.Outstanding() != 0 ||
			e.InWindow() != 0 {
			t.Errorf("Do = %v with %d outstanding, %d in the window", err, e.Outstanding(), e.InWindow())
		}
		r = nodeInfo(1, 3)
		time.Sleep(time.Second)
		if reply, err := e.Do(t.Context(), &r); err != nil || e.Traffic().Late != 3 { // and one more duplicate
			t.Errorf("Do = %v, %v, traffic %+v", reply, err, e.Traffic())
		}
	})
}

// TestEngineIDs sends more requests than there are generations of one slot.
func TestEngineIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 2, 0)
		w := watch(net.Transport("host0"))
		e := fabric.NewEngine(w, 4)
		const requests = 20_000
		list := slices.Repeat([]fabric.Request{nodeInfo(1)}, requests)
		a := ask(list...)
		if _, err := e.Run(t.Context(), a, time.Time{}); err != nil || len(w.ids) != requests {
			t.Errorf("Run = %v with %d transaction IDs, want %d", err, len(w.ids), requests)
		}
		time.Sleep(10 * time.Microsecond)
		other := fabric.NewEngine(w, 4) // begins with other IDs, or w returns an error
		if _, err := other.Run(t.Context(), ask(list[:100]...), time.Time{}); err != nil {
			t.Error(err)
		}
	})
}

// answering answers each datagram at once, without allocating.
type answering struct {
	queue [64]fabric.Datagram
	n     int
}

func (a *answering) Send(batch []fabric.Datagram) (int, error) {
	n := copy(a.queue[a.n:], batch)
	for i := a.n; i < a.n+n; i++ {
		a.queue[i].MAD[3] |= byte(mad.MethodResponse)
	}
	a.n += n
	return n, nil
}

func (a *answering) Receive(_ context.Context, batch []fabric.Datagram, _ time.Time) (int, error) {
	n := copy(batch, a.queue[:a.n])
	copy(a.queue[:], a.queue[n:a.n])
	a.n -= n
	return n, nil
}

func (*answering) Close() error { return nil }

// endless repeats one request.
type endless struct {
	request fabric.Request
	left    int
}

// Next implements fabric.Source.
func (e *endless) Next(r *fabric.Request) bool {
	if e.left == 0 {
		return false
	}
	e.left--
	*r = e.request
	return true
}

// Done implements fabric.Source.
func (e *endless) Done(*fabric.Reply) {}

// TestEngineAllocates checks that requests don't allocate once the slots exist.
func TestEngineAllocates(t *testing.T) {
	e := fabric.NewEngine(&answering{}, 32)
	source := &endless{request: nodeInfo(1)}
	source.request.Peer = new(fabric.Peer)
	run := func() {
		source.left = 1000
		if idle, err := e.Run(t.Context(), source, time.Time{}); !idle || err != nil {
			t.Fatalf("Run = %v, %v", idle, err)
		}
	}
	for range 20 {
		run()
	}
	if got := testing.AllocsPerRun(20, run); got > 10 {
		t.Errorf("1000 requests allocate %v times, want almost never", got)
	}
}
