package cm

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/internal/testkit/race"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

var runs = flag.Int("runs", 10000, "random runs of TestRandom")

// TestRandom connects two to five peers at random over a bad network: whatever happens, both ends
// of a connection end alike, connected with each other or not at all.
func TestRandom(t *testing.T) {
	n := *runs
	if race.Enabled || testing.Short() {
		n = min(n, 500)
	}
	var total stats
	for seed := range uint64(n) {
		synctest.Test(t, func(t *testing.T) {
			r := newRandomRun(t, seed)
			r.run()
			total.add(&r.stats)
		})
		if t.Failed() {
			t.Fatalf("failed with seed %d", seed)
		}
	}
	t.Logf("%d runs: %+v", n, total)
	// The runs must not be trivial.
	if total.connected < n || total.refused < n/4 || total.abandoned < n/20 || total.ended < n/4 {
		t.Errorf("%d runs: %+v", n, total)
	}
}

// stats count what happened in runs.
type stats struct{ connected, refused, abandoned, ended int }

func (s *stats) add(o *stats) {
	s.connected += o.connected
	s.refused += o.refused
	s.abandoned += o.abandoned
	s.ended += o.ended
}

// randomRun is one run.
type randomRun struct {
	t      *testing.T
	wire   *wire
	agents []*Agent
	work   sync.WaitGroup

	mu    sync.Mutex
	rand  *rand.Rand
	next  ib.QPN
	ends  map[ib.QPN]*connEnd // that are connected, by queue pair
	stats stats
}

// connEnd is one end of a connection.
type connEnd struct {
	c  provider.Connection
	qp *fakeQP
}

func newRandomRun(t *testing.T, seed uint64) *randomRun {
	t.Helper()
	source := rand.New(rand.NewPCG(seed, 3))
	f := faults{
		loss: source.Float64() * 0.2, duplicate: source.Float64() * 0.2,
		delay:  time.Duration(source.IntN(2000)) * time.Microsecond,
		jitter: time.Duration(source.IntN(300)) * time.Millisecond,
	}
	r := &randomRun{t: t, wire: newWire(seed, f), rand: source, next: 16, ends: map[ib.QPN]*connEnd{}}
	for i := range 2 + source.IntN(4) {
		r.agents = append(r.agents, r.wire.agent(t, fmt.Sprintf("10.0.1.%d", i+1), ib.MTU4096))
	}
	return r
}

// chance returns a random number below n.
func (r *randomRun) chance(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rand.IntN(n)
}

func (r *randomRun) qp() *fakeQP {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	return &fakeQP{qpn: r.next}
}

func (r *randomRun) run() {
	var listeners []provider.Listener
	for i, a := range r.agents {
		if i > 1 && r.chance(5) == 0 {
			continue // nobody listens here
		}
		l, err := a.Listen(context.Background(), netip.AddrPortFrom(a.addr, 7174),
			provider.ListenOptions{Backlog: 1 + r.chance(3)})
		if err != nil {
			r.t.Fatal(err)
		}
		listeners = append(listeners, l)
		r.work.Go(func() { r.serve(l) })
	}
	for range 1 + r.chance(6) {
		from, to := r.agents[r.chance(len(r.agents))], r.agents[r.chance(len(r.agents))]
		r.work.Go(func() { r.dial(from, to) })
	}
	time.Sleep(10 * time.Minute)
	r.compare()
	for _, l := range listeners {
		_ = l.Close()
	}
	r.mu.Lock()
	for _, e := range r.ends {
		r.work.Go(func() { _ = e.c.Disconnect(context.Background()) })
	}
	r.mu.Unlock()
	time.Sleep(10 * time.Minute)
	for _, a := range r.agents {
		if left := a.leftovers(); left != "" {
			r.t.Errorf("%s keeps %s", a.name, left)
		}
		_ = a.Close()
	}
	r.work.Wait()
}

// serve answers the requests of a listener.
func (r *randomRun) serve(l provider.Listener) {
	for {
		request, err := l.Next(context.Background())
		if err != nil {
			return
		}
		r.work.Go(func() { r.answer(request) })
	}
}

func (r *randomRun) answer(request provider.ConnectionRequest) {
	ctx, cancel := context.Background(), func() {}
	switch r.chance(20) {
	case 0, 1:
		_ = request.Reject([]byte("no"))
		return
	case 2, 3, 4:
		time.Sleep(time.Duration(r.chance(5000)) * time.Millisecond)
	case 5:
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.chance(400))*time.Millisecond)
	}
	defer cancel()
	qp := r.qp()
	c, err := request.Accept(ctx, qp, options(""))
	r.note(c, qp, err)
}

func (r *randomRun) dial(from, to *Agent) {
	time.Sleep(time.Duration(r.chance(2000)) * time.Millisecond)
	ctx, cancel := context.Background(), func() {}
	if r.chance(10) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.chance(1500))*time.Millisecond)
	}
	defer cancel()
	qp := r.qp()
	c, err := from.Dial(ctx, qp, netip.AddrPortFrom(to.addr, 7174), options(""))
	r.mu.Lock()
	switch {
	case err == nil:
		r.stats.connected++
	case ctx.Err() != nil:
		r.stats.abandoned++
	default:
		r.stats.refused++
	}
	r.mu.Unlock()
	r.note(c, qp, err)
}

// note notes an end of a connection, and may end it later.
func (r *randomRun) note(c provider.Connection, qp *fakeQP, err error) {
	if err != nil {
		if s := qp.State(); s == provider.QPStateRTS || s == provider.QPStateRTR {
			r.t.Errorf("queue pair %v is in state %v after %v", qp.qpn, s, err)
		}
		return
	}
	r.mu.Lock()
	r.ends[qp.qpn] = &connEnd{c, qp}
	r.mu.Unlock()
	if r.chance(4) == 0 {
		time.Sleep(time.Duration(r.chance(3000)) * time.Millisecond)
		_ = c.Close()
		r.mu.Lock()
		r.stats.ended++
		r.mu.Unlock()
	}
}

// compare compares the ends.
func (r *randomRun) compare() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for qpn, e := range r.ends {
		ended := false
		select {
		case <-e.c.Done():
			ended = true
		default:
		}
		if want := map[bool]provider.QPState{
			false: provider.QPStateRTS,
			true:  provider.QPStateError,
		}[ended]; e.qp.state != want {
			r.t.Errorf("queue pair %v of a connection is in state %v, ended %t", qpn, e.qp.state, ended)
		}
		if ended {
			continue
		}
		peer := r.ends[e.qp.attr.DestQPN]
		if peer == nil || peer.c.Err() != nil || peer.qp.attr.DestQPN != qpn ||
			peer.qp.attr.SendPSN != e.qp.attr.ReceivePSN || peer.c.Remote() != e.c.Local() &&
			peer.c.Local() != e.c.Remote() {
			r.t.Errorf("queue pair %v is connected to %v, which is not connected to it: %+v", qpn, e.qp.attr.DestQPN,
				peer)
		}
	}
}
