package ibverbs

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// A request's wr_id is a ticket: the ID of its work queue in the upper half, its position there in
// the lower one. A completion thus leads to its work queue, whose entry holds the program's ID,
// even if the completion failed, when only wr_id, status and qp_num are valid. The ID of a queue is
// its index in the table and a count of the queues that had this index before, so that a driver
// that returns completions of destroyed queue pairs does no harm.
const (
	indexBits  = 20
	indexMask  = 1<<indexBits - 1
	maxQueues  = 1 << indexBits
	halfTicket = 32
)

// workQueue is the place of requests: a send queue, a receive queue or a shared receive queue.
type workQueue interface {
	// complete frees the entry at a position and returns the program's ID. ok is false if there is
	// no request at this position.
	complete(position uint32) (id uint64, ok bool)
}

// queueTable finds work queues by their IDs. Readers take no lock.
type queueTable struct {
	list atomic.Pointer[[]tableEntry]

	mu   sync.Mutex // for writers
	free []uint32   // indices without a queue, the oldest first
}

type tableEntry struct {
	queue workQueue // nil if the index is free
	id    uint32
}

// add adds a queue and returns its ID.
func (t *queueTable) add(q workQueue) (uint32, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []tableEntry
	if p := t.list.Load(); p != nil {
		list = slices.Clone(*p)
	}
	var id uint32
	if len(t.free) > 0 {
		index := t.free[0]
		t.free = t.free[1:]
		id = list[index].id + 1<<indexBits
		list[index] = tableEntry{q, id}
	} else {
		if len(list) == maxQueues {
			return 0, errors.New("too many queues")
		}
		id = uint32(len(list))
		list = append(list, tableEntry{q, id})
	}
	t.list.Store(&list)
	return id, nil
}

// remove removes the queue with an ID.
func (t *queueTable) remove(id uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.Clone(*t.list.Load())
	list[id&indexMask].queue = nil
	t.free = append(t.free, id&indexMask)
	t.list.Store(&list)
}

// complete frees the entry of a ticket and returns the program's ID.
func (t *queueTable) complete(ticket uint64) (id uint64, ok bool) {
	list := t.list.Load()
	owner := uint32(ticket >> halfTicket)
	index := int(owner & indexMask)
	if list == nil || index >= len(*list) {
		return 0, false
	}
	e := (*list)[index]
	if e.queue == nil || e.id != owner {
		return 0, false
	}
	return e.queue.complete(uint32(ticket))
}

// ring is a work queue whose requests complete in order: that of one queue pair. A request occupies
// an entry until its completion is polled, or that of a later request.
type ring struct {
	id    uint32
	depth uint32
	ids   []uint64 // of the program, by position modulo the length, a power of two

	// A poster stores ids[posted] before posted, which a poller loads before it reads ids; and the
	// reverse for retired.
	posted, retired atomic.Uint32

	late *lateEntries // nil if no request completes after a later one
}

// lateEntries are those of requests that may complete after later ones: READs on siw, which
// completes other requests when TCP has them. Their entries, and those after them, stay occupied.
type lateEntries struct {
	mu      sync.Mutex
	pending []bool // by position modulo the length of ids
	end     uint32 // the position after the last one that has completed
}

// allowLate makes READs complete after later requests.
func (r *ring) allowLate() {
	r.late = &lateEntries{pending: make([]bool, len(r.ids))}
}

// expectLate notes whether the entry that put took may complete after later ones.
func (r *ring) expectLate(ticket uint64, late bool) {
	if r.late == nil {
		return
	}
	r.late.mu.Lock()
	defer r.late.mu.Unlock()
	r.late.pending[uint32(ticket)%uint32(len(r.ids))] = late
}

// completeLate is complete where requests may complete after later ones.
func (r *ring) completeLate(position uint32) (uint64, bool) {
	l := r.late
	l.mu.Lock()
	defer l.mu.Unlock()
	retired, size := r.retired.Load(), uint32(len(r.ids))
	if position-retired >= r.posted.Load()-retired {
		return 0, false // of a request before a reset
	}
	id := r.ids[position%size]
	l.pending[position%size] = false
	if l.end-retired > size || position+1-retired > l.end-retired {
		l.end = position + 1
	}
	next := retired
	for next != l.end && !l.pending[next%size] {
		next++
	}
	return id, r.retired.CompareAndSwap(retired, next) // fails if clear came in between
}

func (r *ring) init(depth int) {
	size := 1
	for size < depth {
		size *= 2
	}
	r.depth, r.ids = uint32(depth), make([]uint64, size)
}

// room returns the number of free entries.
func (r *ring) room() int { return int(r.depth - (r.posted.Load() - r.retired.Load())) }

// put takes the entry that is n after the last posted one, and returns its ticket. Its position is
// valid after post.
func (r *ring) put(n int, id uint64) (ticket uint64) {
	position := r.posted.Load() + uint32(n)
	r.ids[position%uint32(len(r.ids))] = id
	return uint64(r.id)<<halfTicket | uint64(position)
}

// post adds n entries, or removes them if the device didn't take them.
func (r *ring) post(n int) { r.posted.Add(uint32(n)) }

// clear frees all entries: the queue pair has been reset.
func (r *ring) clear() { r.retired.Store(r.posted.Load()) }

// complete implements workQueue.
func (r *ring) complete(position uint32) (uint64, bool) {
	if r.late != nil {
		return r.completeLate(position)
	}
	retired := r.retired.Load()
	if position-retired >= r.posted.Load()-retired {
		return 0, false // of a request before a reset
	}
	id := r.ids[position%uint32(len(r.ids))]
	return id, r.retired.CompareAndSwap(retired, position+1) // fails if clear came in between
}

// pool is a work queue whose requests complete in any order: a shared one. Only the device knows
// when it is full: a queue pair that is destroyed may keep requests that it has taken.
type pool struct {
	id uint32

	mu   sync.Mutex
	ids  []uint64 // of the program
	used []bool
	free []uint32 // positions
}

// put takes an entry and returns its ticket.
func (p *pool) put(id uint64) (ticket uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		p.free = append(p.free, uint32(len(p.ids)))
		p.ids, p.used = append(p.ids, 0), append(p.used, false)
	}
	position := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	p.ids[position], p.used[position] = id, true
	return uint64(p.id)<<halfTicket | uint64(position)
}

// complete implements workQueue.
func (p *pool) complete(position uint32) (uint64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if int(position) >= len(p.ids) || !p.used[position] {
		return 0, false
	}
	p.used[position] = false
	p.free = append(p.free, position)
	return p.ids[position], true
}

var _ = [...]workQueue{(*ring)(nil), (*pool)(nil)}

// postError returns the error of a function that posts requests.
func (d *openDevice) postError(op string, errno int) error {
	if errno == int(syscall.ENOMEM) {
		return provider.ErrQueueFull
	}
	return d.failed(op, errno, 0)
}

// takenOf returns how many of the first count requests a driver has taken that returned an errno
// and bad, the address of the first one that it didn't take; 0 if it names none.
func takenOf[T any](wrs []T, bad uintptr, count, errno int) int {
	if n := indexOf(wrs, bad); n >= 0 && n <= count {
		return n
	}
	switch errno {
	case int(syscall.EOPNOTSUPP), int(syscall.ENOSYS), unknownErrno:
		return 0 // the device has no such function: that of libibverbs returns EOPNOTSUPP and names none
	}
	return count // the driver has put them into the queue, but couldn't tell the device
}
