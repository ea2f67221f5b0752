package roce

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// receives is a queue of receive requests, of one queue pair or shared by several.
type receives struct {
	pd *domain
	// taken counts the requests that a queue pair has taken and whose completions have not been
	// polled: they still occupy the queue.
	taken atomic.Int32

	mu         sync.Mutex
	ring       []receiveEntry
	head, tail uint64 // count all requests; indices into ring modulo its length
	limit      int    // of a shared queue, see SetLimit; 0 is none
	closed     bool   // a shared queue
}

// receiveEntry is a receive request.
type receiveEntry struct {
	id       uint64
	segments []provider.Segment
	length   int
}

// init makes the ring, whose segments are those of slab.
func (q *receives) init(pd *domain, slab []provider.Segment, depth, segments int) {
	q.pd, q.ring = pd, make([]receiveEntry, depth)
	for i := range q.ring {
		q.ring[i].segments, slab = slab[:0:segments], slab[segments:]
	}
}

func (q *receives) at(i uint64) *receiveEntry { return &q.ring[i%uint64(len(q.ring))] }

// full reports whether the queue accepts no more requests. q.mu is held.
func (q *receives) full() bool { return int(q.tail-q.head)+int(q.taken.Load()) >= len(q.ring) }

// add puts a request into the queue. q.mu is held.
func (q *receives) add(wr *provider.ReceiveRequest) error {
	switch {
	case q.closed:
		return provider.ErrClosed
	case q.full():
		return provider.ErrQueueFull
	}
	e := q.at(q.tail)
	if len(wr.Segments) > cap(e.segments) {
		return fmt.Errorf("%d segments, at most %d", len(wr.Segments), cap(e.segments))
	}
	length := 0
	for i, seg := range wr.Segments {
		if err := q.pd.checkSegment(i, seg, true); err != nil {
			return err
		}
		length += seg.Length
	}
	e.id, e.length = wr.ID, length
	e.segments = append(e.segments[:0], wr.Segments...)
	q.tail++
	return nil
}

// take moves the oldest request to e, whose segments have room for it. It reports false if there is
// none, and whether so few are left that the program must be notified.
func (q *receives) take(e *receiveEntry) (ok, low bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.head == q.tail {
		return false, false
	}
	oldest := q.at(q.head)
	e.id, e.length, e.segments = oldest.id, oldest.length, append(e.segments[:0], oldest.segments...)
	q.head++
	q.taken.Add(1)
	if low = int(q.tail-q.head) < q.limit; low {
		q.limit = 0
	}
	return true, low
}

// clear drops all requests; they don't complete.
func (q *receives) clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.head, q.tail = 0, 0
}

// postReceives adds requests one by one; to names the queue in errors.
func postReceives(
	wrs []provider.ReceiveRequest, to fmt.Stringer, add func(*provider.ReceiveRequest) error,
) (int, error) {
	for i := range wrs {
		switch err := add(&wrs[i]); {
		case errors.Is(err, provider.ErrQueueFull):
			return i, err
		case err != nil:
			return i, fmt.Errorf("post receive %d to %v: %w", wrs[i].ID, to, err)
		}
	}
	return len(wrs), nil
}

// PostReceive implements provider.QueuePair.
func (qp *queuePair) PostReceive(wrs []provider.ReceiveRequest) (n int, err error) {
	qp.mu.Lock()
	defer qp.mu.Unlock()
	qp.receives.mu.Lock()
	defer qp.receives.mu.Unlock()
	return postReceives(wrs, qp, qp.enqueueReceive)
}

// String returns the name in errors.
func (qp *queuePair) String() string { return fmt.Sprintf("qp %v", qp.qpn) }

func (qp *queuePair) enqueueReceive(wr *provider.ReceiveRequest) error {
	switch {
	case qp.closed:
		return provider.ErrClosed
	case qp.shared != nil:
		return errors.New("the queue pair takes from a shared receive queue: post there")
	case qp.state == provider.QPStateReset:
		return errors.New("queue pair is in state RESET")
	case qp.state == provider.QPStateError:
		return qp.flushReceive(wr.ID)
	}
	return qp.receives.add(wr)
}

// flushReceive completes a request that is posted in state ERR.
func (qp *queuePair) flushReceive(id uint64) error {
	q := qp.receives
	if q.full() {
		return provider.ErrQueueFull
	}
	q.taken.Add(1)
	qp.completeReceive(provider.WorkCompletion{ID: id, Status: provider.WCFlushed, Op: provider.WCReceive}, false)
	return nil
}

// takeReceive takes the receive request of the message that is being received, and reports whether
// there is one.
func (qp *queuePair) takeReceive() bool {
	r := &qp.resp
	if r.holding { // of a message that was dropped
		return true
	}
	ok, low := qp.receives.take(&r.held)
	r.holding = ok
	if low {
		qp.e.events.add(qp.shared, provider.Event{Type: provider.EventSRQLimit, ID: qp.shared.id})
	}
	return ok
}

// endReceive completes the receive request that was taken.
func (qp *queuePair) endReceive(wc provider.WorkCompletion, solicited bool) {
	r := &qp.resp
	wc.ID = r.held.id
	r.holding, r.completed = false, true
	qp.completeReceive(wc, solicited)
}

// completeReceive adds an entry to the completion queue; solicited reports whether the sender has
// asked for an event.
func (qp *queuePair) completeReceive(wc provider.WorkCompletion, solicited bool) {
	wc.QPN = qp.qpn
	if !qp.recvCQ.push(wc, &qp.receives.taken, solicited) && qp.state != provider.QPStateError {
		qp.fail()
	}
}

// flushReceives completes the requests of the queue pair with status flushed. Those of a shared
// queue stay there for other queue pairs.
func (qp *queuePair) flushReceives() {
	r := &qp.resp
	for r.holding || qp.shared == nil && qp.takeReceive() {
		qp.endReceive(provider.WorkCompletion{Status: provider.WCFlushed, Op: provider.WCReceive}, false)
	}
}

// dropReceives drops the requests of the queue pair; they don't complete.
func (qp *queuePair) dropReceives() {
	if r := &qp.resp; r.holding {
		r.holding = false
		qp.receives.taken.Add(-1)
	}
	if qp.shared == nil {
		qp.receives.clear()
	}
}

// sharedReceives is a shared receive queue.
type sharedReceives struct {
	receives
	id       uint64 // of the program
	segments int    // of a request
	// Guarded by e.mu:
	users   int // queue pairs
	removed bool
}

// maxShared is how many shared receive queues an engine has at most.
const maxShared = 1 << 12

// CreateSRQ implements provider.SRQCreator.
func (d *domain) CreateSRQ(cfg provider.SRQConfig) (provider.SharedReceiveQueue, error) {
	q, err := d.newSRQ(cfg)
	if err != nil {
		return nil, fmt.Errorf("create shared receive queue of %s: %w", d.e.name, err)
	}
	return q, nil
}

func (d *domain) newSRQ(cfg provider.SRQConfig) (*sharedReceives, error) {
	depth, segments := cmp.Or(cfg.MaxWR, defaultDepth), cmp.Or(cfg.MaxSegments, 1)
	switch {
	case depth < 0 || depth > maxDepth:
		return nil, fmt.Errorf("depth %d is not in 0 to %d", depth, maxDepth)
	case segments < 0 || segments > maxSegments:
		return nil, fmt.Errorf("%d segments of a request are not in 0 to %d", segments, maxSegments)
	}
	q := &sharedReceives{id: cfg.ID, segments: segments}
	q.init(d, make([]provider.Segment, depth*segments), depth, segments)
	if err := q.SetLimit(cfg.Limit); err != nil {
		return nil, err
	}
	d.e.mu.Lock()
	defer d.e.mu.Unlock()
	switch {
	case d.closed || d.e.closed:
		return nil, fmt.Errorf("protection domain: %w", provider.ErrClosed)
	case d.e.shared >= maxShared:
		return nil, fmt.Errorf("the device already has %d shared receive queues", maxShared)
	}
	d.users++
	d.e.shared++
	return q, nil
}

// String returns the name in errors.
func (q *sharedReceives) String() string { return "shared receive queue" }

// PostReceive implements provider.SharedReceiveQueue.
func (q *sharedReceives) PostReceive(wrs []provider.ReceiveRequest) (n int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return postReceives(wrs, q, q.add)
}

// SetLimit implements provider.SharedReceiveQueue. The limit is compared when a queue pair takes a
// request (kernel: rxe_resp.c, get_srq_wqe).
func (q *sharedReceives) SetLimit(limit int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return fmt.Errorf("set limit of shared receive queue: %w", provider.ErrClosed)
	case limit < 0 || limit > len(q.ring):
		return fmt.Errorf("set limit of shared receive queue: %d is not in 0 to %d", limit, len(q.ring))
	}
	q.limit = limit
	return nil
}

// Query implements provider.SharedReceiveQueue.
func (q *sharedReceives) Query() (provider.SRQConfig, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return provider.SRQConfig{}, fmt.Errorf("query shared receive queue: %w", provider.ErrClosed)
	}
	return provider.SRQConfig{MaxWR: len(q.ring), MaxSegments: q.segments, Limit: q.limit, ID: q.id}, nil
}

// Close implements provider.SharedReceiveQueue.
func (q *sharedReceives) Close() error {
	e := q.pd.e
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case q.removed:
		return nil
	case q.users > 0:
		return fmt.Errorf("close shared receive queue: %d queue pairs: %w", q.users, provider.ErrBusy)
	}
	q.removed = true
	q.pd.users--
	e.shared--
	e.events.forget(q)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.ring = true, nil
	return nil
}
