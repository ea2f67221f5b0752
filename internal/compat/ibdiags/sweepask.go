package ibdiags

import (
	"context"
	"errors"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Limits of querying many performance agents at once.
const (
	agentRetries = 2 // 3 tries, as libibmad
	agentAtOnce  = 4 // outstanding requests to one agent: management processors are slow
)

var (
	errNoLID  = errors.New("no LID: no subnet manager has assigned one")
	errGaveUp = errors.New("the agent stopped answering")
)

// agentRequest is one request to a performance agent.
type agentRequest struct {
	lid       ib.LID
	method    mad.Method
	attribute mad.Attribute
	data      []byte
	done      func(data []byte, err error) // data is the answer's, valid until done returns
}

// agents queries many performance agents, with several outstanding requests: the source of an
// engine. A done function may add requests.
type agents struct {
	engine  *fabric.Engine
	timeout time.Duration

	ready   []*agentRequest // to send, the next one first
	waiting map[ib.LID][]*agentRequest
	active  map[ib.LID]int
	silent  map[ib.LID]bool
	flight  []*agentRequest // by ID
	free    []int           // IDs that are not in use
}

// agents returns an agents that uses the run's transport; window 0: the transport's limit.
func (r *run) agents(window int) *agents {
	return &agents{
		engine: fabric.NewEngine(r.transport, window), timeout: r.timeout,
		waiting: map[ib.LID][]*agentRequest{}, active: map[ib.LID]int{}, silent: map[ib.LID]bool{},
	}
}

// get requests an attribute of a port.
func (a *agents) get(lid ib.LID, attribute mad.Attribute, port uint8, done func(data []byte, err error)) {
	a.add(&agentRequest{lid: lid, method: mad.MethodGet, attribute: attribute, data: []byte{0, port}, done: done})
}

func (a *agents) add(q *agentRequest) { a.ready = append(a.ready, q) }

// run returns when all requests are answered or given up, or with the error of the context or the
// transport.
func (a *agents) run(ctx context.Context) error {
	_, err := a.engine.Run(ctx, a, time.Time{})
	return err
}

// Next implements fabric.Source. Requests that can't succeed end at once.
func (a *agents) Next(r *fabric.Request) bool {
	for len(a.ready) > 0 {
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
			r.ID = a.open(q)
			q.write(r)
			r.Timeout, r.Retries = a.timeout, agentRetries
			return true
		}
	}
	return false
}

// open assigns an ID to a request.
func (a *agents) open(q *agentRequest) int {
	if n := len(a.free); n > 0 {
		id := a.free[n-1]
		a.free = a.free[:n-1]
		a.flight[id] = q
		return id
	}
	a.flight = append(a.flight, q)
	return len(a.flight) - 1
}

func (q *agentRequest) write(r *fabric.Request) {
	packet := mad.NewPerformanceMAD(q.method, q.attribute, 0)
	copy(packet.Data[:], q.data)
	packet.Append(r.MAD[:0])
	r.Address = fabric.Address{LID: q.lid, QPN: 1, QKey: fabric.QKeyGSI}
}

// Done implements fabric.Source: it releases requests that wait for the same agent.
func (a *agents) Done(r *fabric.Reply) {
	q := a.flight[r.ID]
	a.flight[r.ID] = nil
	a.free = append(a.free, r.ID)
	a.active[q.lid]--
	if r.Answer == nil {
		a.silent[q.lid] = true
	}
	waiting := a.waiting[q.lid]
	if len(waiting) > 0 {
		a.ready = append(a.ready, waiting[0])
		a.waiting[q.lid] = waiting[1:]
		if a.silent[q.lid] {
			a.ready = append(a.ready, waiting[1:]...)
			delete(a.waiting, q.lid)
		}
	}
	if r.Err != nil {
		q.done(nil, r.Err)
		return
	}
	q.done(r.Answer.MAD[performanceDataOffset:], nil)
}

// performanceDataOffset is the offset of the attribute in packets of performance management.
const performanceDataOffset = 64
