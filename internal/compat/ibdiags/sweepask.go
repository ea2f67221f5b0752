package ibdiags

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Limits of querying many performance agents at once.
const (
	agentTries    = 3                     // as libibmad
	agentTimeout  = time.Second           // of one try, as libibmad
	agentPatience = 50 * time.Millisecond // after that, a request no longer delays others
	agentOverdue  = 1024                  // requests that may be overdue at once
	agentAtOnce   = 4                     // outstanding requests to one agent: management processors are slow
	firstTID      = 1 << 31               // different from those of the sweep before
)

var (
	errNoLID    = errors.New("no LID: no subnet manager has assigned one")
	errGaveUp   = errors.New("the agent stopped answering")
	errNoAnswer = fabric.ErrNoAnswer
)

// agentRequest is one request to a performance agent.
type agentRequest struct {
	lid       ib.LID
	method    mad.Method
	attribute mad.Attribute
	data      []byte
	done      func(data []byte, err error) // data is the answer's, valid until done returns

	tid      uint32 // of the last try
	tries    int
	sent     time.Time // time of the last try
	inWindow bool
}

// agents queries many performance agents, with several outstanding requests. A done function may
// add requests.
type agents struct {
	transport fabric.Transport
	window    int
	timeout   time.Duration

	ready   []*agentRequest // to send, the next one first
	waiting map[ib.LID][]*agentRequest
	active  map[ib.LID]int
	silent  map[ib.LID]bool
	flight  map[uint32]*agentRequest
	inside  int // number of requests in the window
	tid     uint32
	outbox  []fabric.Datagram
	inbox   [32]fabric.Datagram
}

// agents returns an agents that uses the run's transport; window 0: the transport's limit.
func (r *run) agents(window int) *agents {
	a := &agents{
		transport: r.transport, window: window, timeout: r.timeout, tid: firstTID,
		waiting: map[ib.LID][]*agentRequest{}, active: map[ib.LID]int{}, silent: map[ib.LID]bool{},
		flight: map[uint32]*agentRequest{},
	}
	if a.window == 0 {
		a.window = defaultWindow
		if w, ok := r.transport.(interface{ Window() int }); ok {
			a.window = w.Window()
		}
	}
	if a.timeout == 0 {
		a.timeout = agentTimeout
	}
	return a
}

// get requests an attribute of a port.
func (a *agents) get(lid ib.LID, attribute mad.Attribute, port uint8, done func(data []byte, err error)) {
	a.add(&agentRequest{lid: lid, method: mad.MethodGet, attribute: attribute, data: []byte{0, port}, done: done})
}

func (a *agents) add(q *agentRequest) { a.ready = append(a.ready, q) }

// run returns when all requests are answered or given up, or with the error of the context or the
// transport.
func (a *agents) run(ctx context.Context) error {
	for {
		now := time.Now()
		a.expire(now)
		a.fill(now)
		if len(a.flight) == 0 {
			return nil
		}
		if err := a.flush(); err != nil {
			return err
		}
		n, err := a.transport.Receive(ctx, a.inbox[:], a.deadline(now))
		for i := range n {
			a.receive(&a.inbox[i])
		}
		if err != nil {
			return err
		}
	}
}

// fill sends as many requests as the window allows. Requests that can't succeed end at once.
func (a *agents) fill(now time.Time) {
	for len(a.ready) > 0 && a.inside < a.window && len(a.flight) < agentOverdue {
		q := a.ready[0]
		a.ready = a.ready[1:]
		switch {
		case q.lid == 0:
			q.done(nil, errNoLID)
		case a.silent[q.lid]:
			q.done(nil, errGaveUp)
		case a.active[q.lid] >= agentAtOnce:
			a.waiting[q.lid] = append(a.waiting[q.lid], q)
		default:
			a.active[q.lid]++
			a.send(q, now)
		}
	}
}

func (a *agents) send(q *agentRequest, now time.Time) {
	delete(a.flight, q.tid)
	a.tid++
	q.tid, q.sent = a.tid, now
	q.tries++
	if !q.inWindow {
		q.inWindow = true
		a.inside++
	}
	a.flight[q.tid] = q
	packet := mad.NewPerformanceMAD(q.method, q.attribute, uint64(q.tid))
	copy(packet.Data[:], q.data)
	d := fabric.Datagram{Address: fabric.Address{LID: q.lid, QPN: 1, QKey: fabric.QKeyGSI}, Timeout: a.timeout}
	packet.Append(d.MAD[:0])
	a.outbox = append(a.outbox, d)
}

func (a *agents) flush() error {
	if len(a.outbox) == 0 {
		return nil
	}
	n, err := a.transport.Send(a.outbox)
	n = max(0, min(n, len(a.outbox)))
	a.outbox = a.outbox[:copy(a.outbox, a.outbox[n:])]
	return err
}

// expire checks the outstanding requests: it frees their place in the window, sends them again, or
// gives them up.
func (a *agents) expire(now time.Time) {
	for _, q := range a.flight {
		age := now.Sub(q.sent)
		switch {
		case age < min(agentPatience, a.timeout):
		case age < a.timeout:
			a.leaveWindow(q)
		default:
			a.lost(q, now)
		}
	}
}

func (a *agents) leaveWindow(q *agentRequest) {
	if q.inWindow {
		q.inWindow = false
		a.inside--
	}
}

// lost sends a request again, or gives it up.
func (a *agents) lost(q *agentRequest, now time.Time) {
	a.leaveWindow(q)
	if q.tries < agentTries {
		a.send(q, now)
		return
	}
	a.silent[q.lid] = true
	a.end(q, nil, fmt.Errorf("%w to %d tries", errNoAnswer, q.tries))
}

// end closes a request, and releases those that wait for the same agent.
func (a *agents) end(q *agentRequest, data []byte, err error) {
	a.leaveWindow(q)
	delete(a.flight, q.tid)
	a.active[q.lid]--
	waiting := a.waiting[q.lid]
	if len(waiting) > 0 {
		a.ready = append(a.ready, waiting[0])
		a.waiting[q.lid] = waiting[1:]
		if a.silent[q.lid] {
			a.ready = append(a.ready, waiting[1:]...)
			delete(a.waiting, q.lid)
		}
	}
	q.done(data, err)
}

// deadline is when the loop must continue even if nothing is received.
func (a *agents) deadline(now time.Time) time.Time {
	if len(a.outbox) > 0 {
		return now.Add(time.Millisecond)
	}
	return now.Add(min(agentPatience, a.timeout))
}

func (a *agents) receive(d *fabric.Datagram) {
	var h mad.Header
	h.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	q := a.flight[uint32(h.TransactionID)]
	switch {
	case q == nil:
	case d.Lost:
		a.lost(q, time.Now())
	case !h.Method.IsResponse() || h.MgmtClass != mad.ClassPerformance || h.AttributeID != q.attribute:
	case h.Result()&mad.StatusBusy != 0: // sent again after the timeout
	case h.Result() != 0:
		a.end(q, nil, &fabric.StatusError{Status: h.Result()})
	default:
		a.end(q, d.MAD[performanceDataOffset:], nil)
	}
}

// performanceDataOffset is the offset of the attribute in packets of performance management.
const performanceDataOffset = 64
