package cm

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// fakeQP is a queue pair with nothing but states.
type fakeQP struct {
	provider.QueuePair
	qpn  ib.QPN
	kind provider.QPType

	mu    sync.Mutex
	state provider.QPState
	attr  provider.QPAttributes
	fail  provider.QPState // Modify to it is an error; RESET: none
}

func (q *fakeQP) QPN() ib.QPN           { return q.qpn }
func (q *fakeQP) Type() provider.QPType { return q.kind }

func (q *fakeQP) State() provider.QPState {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state
}

func (q *fakeQP) Query() (provider.QPAttributes, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.attr, nil
}

func (q *fakeQP) Modify(attr provider.QPAttributes) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := provider.CheckTransition(q.kind, q.state, attr); err != nil {
		return err
	}
	if q.fail != provider.QPStateReset && attr.State == q.fail {
		return fmt.Errorf("modify to %v fails", attr.State)
	}
	q.attr.Merge(attr)
	q.state = attr.State
	return nil
}

// faults are those of a wire; probabilities from 0 to 1.
type faults struct {
	loss, duplicate float64
	delay, jitter   time.Duration
	// drop, if not nil, reports whether a message is lost.
	drop func(from, to netip.Addr, m []byte) bool
}

// wire connects agents.
type wire struct {
	faults
	mu     sync.Mutex
	rand   *rand.Rand
	agents map[netip.Addr]*Agent
	cut    map[netip.Addr]bool // vanished
	sent   map[mad.Attribute]int
	tap    func(from, to netip.Addr, m []byte)
}

func newWire(seed uint64, f faults) *wire {
	return &wire{
		faults: f, rand: rand.New(rand.NewPCG(seed, 1)), agents: map[netip.Addr]*Agent{}, cut: map[netip.Addr]bool{},
		sent: map[mad.Attribute]int{},
	}
}

// lockedRand is a source of random numbers for an agent.
type lockedRand struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (l *lockedRand) Read(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range b {
		b[i] = byte(l.r.Uint32())
	}
	return len(b), nil
}

// agent adds an agent.
func (w *wire) agent(t testing.TB, addr string, mtu ib.MTU) *Agent {
	t.Helper()
	ip := netip.MustParseAddr(addr)
	a, err := New(Config{
		Name: "roce@" + addr, Addr: ip, MTU: mtu, MaxReads: 16,
		Send:  func(to netip.Addr, m []byte) { w.send(ip, to, m) },
		Clock: clock.System,
		Rand:  &lockedRand{r: rand.New(rand.NewPCG(w.rand.Uint64(), 2))},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.agents[ip] = a
	w.mu.Unlock()
	return a
}

// send sends a message with the faults of the wire.
func (w *wire) send(from, to netip.Addr, m []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[mad.Attribute(binary.BigEndian.Uint16(m[16:]))]++
	if w.tap != nil {
		w.tap(from, to, m)
	}
	copies := 1
	switch p := w.rand.Float64(); {
	case w.cut[from] || w.cut[to] || p < w.loss || w.drop != nil && w.drop(from, to, m):
		return
	case p < w.loss+w.duplicate:
		copies = 2
	}
	for range copies {
		delay := w.delay
		if w.jitter > 0 {
			delay += time.Duration(w.rand.Int64N(int64(w.jitter)))
		}
		b := append([]byte(nil), m...)
		a := w.agents[to]
		if a == nil {
			return
		}
		clock.System.AfterFunc(delay, func() { a.Receive(from, b) })
	}
}

// count returns how many messages of a kind were sent.
func (w *wire) count(a mad.Attribute) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent[a]
}

// leftovers reports what an agent still keeps.
func (a *Agent) leftovers() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.conns)+len(a.incoming)+len(a.remotes)+len(a.locals)+len(a.lookups) == 0 {
		return ""
	}
	return fmt.Sprintf("%d connections, %d incoming, %d remote and %d local queue pairs, %d lookups", len(a.conns),
		len(a.incoming), len(a.remotes), len(a.locals), len(a.lookups))
}
