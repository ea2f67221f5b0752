package ibverbs

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// sharedQueue implements [provider.SharedReceiveQueue].
type sharedQueue struct {
	object
	pd       *domain
	id       uint64 // of the program
	capacity cSRQAttr
	arena    *arena
	pool     pool
	receives
}

// CreateSRQ implements [provider.SRQCreator].
func (pd *domain) CreateSRQ(cfg provider.SRQConfig) (provider.SharedReceiveQueue, error) {
	const op = "create shared receive queue"
	d := pd.d
	if !d.caps.Has(provider.CapSRQ) {
		return nil, d.notSupported(op)
	}
	err := check(
		limit{"requests", cfg.MaxWR, int(d.attr.MaxSRQWR)}, limit{"segments", cfg.MaxSegments, int(d.attr.MaxSRQSGE)},
		limit{"limit", cfg.Limit, int(d.attr.MaxSRQWR)},
	)
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", op, d.name, err)
	}
	q := &sharedQueue{pd: pd, id: cfg.ID, object: object{what: "shared receive queue"}}
	init := cSRQInitAttr{Attr: cSRQAttr{
		MaxWR:  uint32(cmp.Or(cfg.MaxWR, min(defaultRequests, int(d.attr.MaxSRQWR)))),
		MaxSGE: uint32(cmp.Or(cfg.MaxSegments, 1)),
	}}
	err = d.create(op, &q.object, q, 0, []*object{&pd.object}, func() (uintptr, int) {
		return callWith(d.calls.createSRQ, pd.addr, &init, 0)
	})
	if err != nil {
		return nil, err
	}
	q.capacity = init.Attr
	if err := q.prepare(); err != nil {
		q.closed.Store(true)
		return nil, errors.Join(fmt.Errorf("%s on %s: %w", op, d.name, err), q.destroy())
	}
	if cfg.Limit != 0 {
		if err := q.setLimit(cfg.Limit); err != nil {
			return nil, errors.Join(err, q.Close())
		}
	}
	return q, nil
}

// prepare asks for the capacity, allocates the memory of requests and registers the work queue. A
// failure leaves neither.
func (q *sharedQueue) prepare() (err error) {
	// ibv_create_srq need not report what was granted: rxe of Linux 6.1 doesn't. libsiw does, and
	// has no ibv_query_srq.
	var granted cSRQAttr
	if err := q.query(&granted); err != nil && !errors.Is(err, provider.ErrNotSupported) {
		return err
	}
	q.capacity.MaxWR = max(q.capacity.MaxWR, granted.MaxWR)
	if q.capacity.MaxWR == 0 {
		return errors.New("the driver has granted no requests")
	}
	n := min(int(q.capacity.MaxWR), maxPost)
	segments := int(q.capacity.MaxSGE)
	q.arena, err = newArena(room[cRecvWR](n) + room[cSGE](n*segments) + room[uintptr](1))
	if err != nil {
		return err
	}
	q.init(q.arena, n, segments)
	if q.pool.id, err = q.pd.d.queues.add(&q.pool); err != nil {
		q.arena.free()
	}
	return err
}

// PostReceive implements [provider.SharedReceiveQueue].
func (q *sharedQueue) PostReceive(wrs []provider.ReceiveRequest) (n int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed.Load() {
		return 0, receiveError(q.what, wrs, provider.ErrClosed)
	}
	for n < len(wrs) {
		taken, err := q.postBatch(wrs[n : n+min(len(wrs)-n, len(q.wrs))])
		n += taken
		if err != nil {
			return n, receiveError(q.what, wrs[n:], err)
		}
	}
	return n, nil
}

// postBatch posts one batch, and returns how many requests were posted.
func (q *sharedQueue) postBatch(wrs []provider.ReceiveRequest) (int, error) {
	count, failed := 0, error(nil)
	for i := range wrs {
		if failed = q.build(q.pd, i, &wrs[i]); failed != nil {
			break
		}
		q.wrs[i].WRID = q.pool.put(wrs[i].ID)
		count++
	}
	if count == 0 {
		return 0, failed
	}
	taken, errno := q.post(q.pd.d.inline.postSRQRecv, q.addr, count)
	for i := taken; i < count; i++ {
		_, _ = q.pool.complete(uint32(q.wrs[i].WRID))
	}
	if errno != 0 {
		return taken, q.pd.d.postError("post receive", errno)
	}
	return taken, failed
}

// SetLimit implements [provider.SharedReceiveQueue].
func (q *sharedQueue) SetLimit(limit int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed.Load() {
		return fmt.Errorf("set limit of %s: %w", q.what, provider.ErrClosed)
	}
	return q.setLimit(limit)
}

func (q *sharedQueue) setLimit(n int) error {
	const op = "set limit of shared receive queue"
	d := q.pd.d
	if err := check(limit{"limit", n, int(q.capacity.MaxWR)}); err != nil {
		return fmt.Errorf("%s on %s: %w", op, d.name, err)
	}
	attr := cSRQAttr{SRQLimit: uint32(n)}
	ret, errno := callWith(d.calls.modifySRQ, q.addr, &attr, maskSRQLimit)
	if errno = errnoOf(ret, errno); errno != 0 {
		return d.failed(op, errno, 0)
	}
	return nil
}

// Query implements [provider.SharedReceiveQueue].
func (q *sharedQueue) Query() (provider.SRQConfig, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed.Load() {
		return provider.SRQConfig{}, fmt.Errorf("query %s: %w", q.what, provider.ErrClosed)
	}
	attr := new(cSRQAttr)
	if err := q.query(attr); err != nil {
		return provider.SRQConfig{}, err
	}
	return provider.SRQConfig{
		MaxWR: int(attr.MaxWR), MaxSegments: int(attr.MaxSGE), Limit: int(attr.SRQLimit), ID: q.id,
	}, nil
}

// query asks the device for the attributes.
func (q *sharedQueue) query(attr *cSRQAttr) error {
	ret, errno := callWith(q.pd.d.calls.querySRQ, q.addr, attr, 0)
	if errno = errnoOf(ret, errno); errno != 0 {
		return q.pd.d.failed("query "+q.what, errno, 0)
	}
	return nil
}

// Close implements [provider.SharedReceiveQueue].
func (q *sharedQueue) Close() error {
	first, err := q.pd.d.shut(&q.object)
	if err != nil || !first {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.destroy(); err != nil {
		return err
	}
	q.pd.d.queues.remove(q.pool.id)
	q.arena.free()
	return nil
}

// destroy destroys the device's queue.
func (q *sharedQueue) destroy() error {
	return q.pd.d.destroy(&q.object, q, q.pd.d.calls.destroySRQ, &q.pd.object)
}
