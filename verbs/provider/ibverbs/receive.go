package ibverbs

import (
	"fmt"
	"sync"

	"github.com/rdmakit/rdmakit/internal/edge/dl"
	"github.com/rdmakit/rdmakit/verbs/provider"
)

// receives is the memory for receive requests that are posted together.
type receives struct {
	mu       sync.Mutex // held while C posts; guards everything below
	wrs      []cRecvWR
	sges     []cSGE // segments for each request
	bad      []uintptr
	segments int // of a request
}

func (r *receives) init(a *arena, depth, segments int) {
	n := min(depth, maxPost)
	r.segments = segments
	r.wrs, r.sges, r.bad = carve[cRecvWR](a, n), carve[cSGE](a, n*segments), carve[uintptr](a, 1)
}

// build converts request i of a batch, apart from its ticket.
func (r *receives) build(pd *domain, i int, wr *provider.ReceiveRequest) error {
	c, sges := &r.wrs[i], r.sges[i*r.segments:(i+1)*r.segments]
	used, _, err := pd.convertSegments(sges, wr.Segments, true)
	if err != nil {
		return err
	}
	// libsiw takes a request without segments for an invalid one (push_recv_wqe of rdma-core 44).
	if used == 0 && len(sges) > 0 && pd.d.transport == provider.TransportTypeIWARP {
		sges[0], used = cSGE{}, 1
	}
	*c = cRecvWR{NumSGE: int32(used)}
	if used > 0 {
		c.SGList = at(sges, 0)
	}
	return nil
}

// post posts the first count requests to the queue at addr, and returns how many the driver has
// taken, with its errno.
func (r *receives) post(f dl.Func, addr uintptr, count int) (taken, errno int) {
	for i := range count - 1 {
		r.wrs[i].Next = at(r.wrs, i+1)
	}
	r.wrs[count-1].Next, r.bad[0] = 0, 0
	errno = errnoOf(f.Call3(addr, at(r.wrs, 0), at(r.bad, 0)), 0)
	if errno == 0 {
		return count, 0
	}
	return takenOf(r.wrs, r.bad[0], count, errno), errno
}

// receiver is the receive queue of a queue pair.
type receiver struct {
	ring
	receives
}

func (r *receiver) init(a *arena, depth, segments int) {
	r.ring.init(depth)
	r.receives.init(a, depth, segments)
}

// receiveError adds the request to an error, unless it is back-pressure.
func receiveError(what string, wrs []provider.ReceiveRequest, err error) error {
	if err == provider.ErrQueueFull || len(wrs) == 0 { //nolint:errorlint // it is never wrapped
		return err
	}
	return fmt.Errorf("post receive %d to %s: %w", wrs[0].ID, what, err)
}

// PostReceive implements [provider.QueuePair].
func (qp *queuePair) PostReceive(wrs []provider.ReceiveRequest) (n int, err error) {
	r := &qp.recv
	r.mu.Lock()
	defer r.mu.Unlock()
	if qp.srq != nil {
		return 0, fmt.Errorf("post receive to %s: it has a shared receive queue: post there", qp.what)
	}
	if err := qp.postable(provider.QPStateInit); err != nil {
		return 0, receiveError(qp.what, wrs, err)
	}
	for n < len(wrs) {
		batch := min(len(wrs)-n, len(r.wrs), r.room())
		if batch == 0 {
			return n, provider.ErrQueueFull
		}
		taken, err := qp.postReceives(wrs[n : n+batch])
		n += taken
		if err != nil {
			return n, receiveError(qp.what, wrs[n:], err)
		}
	}
	return n, nil
}

// postReceives posts one batch, and returns how many requests were posted.
func (qp *queuePair) postReceives(wrs []provider.ReceiveRequest) (int, error) {
	r := &qp.recv
	count, failed := 0, error(nil)
	for i := range wrs {
		if failed = r.build(qp.pd, i, &wrs[i]); failed != nil {
			break
		}
		r.wrs[i].WRID = r.put(i, wrs[i].ID)
		count++
	}
	if count == 0 {
		return 0, failed
	}
	r.ring.post(count)
	taken, errno := r.receives.post(qp.d.inline.postRecv, qp.addr, count)
	r.ring.post(taken - count)
	if errno != 0 {
		return taken, qp.d.postError("post receive", errno)
	}
	return taken, failed
}
