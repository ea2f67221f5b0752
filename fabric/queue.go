package fabric

// nodeState is the state of a node during the sweep.
type nodeState struct {
	node     *Node
	queue    fifo[task]
	underWay int
	listed   bool // in agenda.ready
	misses   int  // requests given up since its last answer
	silent   bool // given up as a whole
	peer     Peer // its round trips

	// performance is the node's performance agent, which may fail separately, because it is reached
	// by LID. nil: not queried yet.
	performance *nodeState
	// waiting are the ports whose counters are requested once the agent's capabilities are known;
	// nil from then on.
	waiting []uint16
	told    bool
	// manager is the node's subnet manager, and vendor its agent for vendor-specific attributes:
	// they may fail separately too.
	manager, vendor *nodeState
	// known is the node in an earlier sweep; nil if it may be a different node, or there is no
	// earlier sweep.
	known *Node
	// key is the M_Key with which the node answered; keys are those of an adapter's ports, by their
	// numbers, because each port has its own.
	key  uint64
	keys map[uint8]uint64
}

// silentAfter is how many requests in a row, retries included, a node may leave unanswered before
// it is queried no more.
const silentAfter = 2

// agenda holds the tasks that are still to be done. Requests that find nodes come first, because
// they show early which cables are already known from their other end. Then the known nodes take
// turns.
type agenda struct {
	perNode int
	explore fifo[task]
	ready   fifo[*nodeState]
	pending int
}

// add plans a task, unless its node was given up, which is listed as unreached already.
func (a *agenda) add(t task) {
	if t.kind != kindNode && t.owner.silent {
		return
	}
	a.pending++
	if t.kind == kindNode {
		a.explore.push(t)
		return
	}
	t.owner.queue.push(t)
	a.list(t.owner)
}

// list adds a node to those that can be queried, if it can be.
func (a *agenda) list(n *nodeState) {
	if n.listed || n.silent || n.queue.len() == 0 || n.underWay >= a.limit(n) {
		return
	}
	n.listed = true
	a.ready.push(n)
}

// limit is how many requests to a node may be outstanding: only one while one is overdue.
func (a *agenda) limit(n *nodeState) int {
	if n.peer.Overdue() {
		return 1
	}
	return a.perNode
}

// next returns the next task; false if no request can be sent now.
func (a *agenda) next() (task, bool) {
	if a.explore.len() > 0 {
		a.pending--
		return a.explore.pop(), true
	}
	for a.ready.len() > 0 {
		n := a.ready.pop()
		n.listed = false
		if n.silent || n.queue.len() == 0 || n.underWay >= a.limit(n) {
			continue
		}
		a.pending--
		t := n.queue.pop()
		n.underWay++
		a.list(n)
		return t, true
	}
	return task{}, false
}

// done must be called when a request from next has ended.
func (a *agenda) done(t task) {
	if t.kind != kindNode {
		t.owner.underWay--
		a.list(t.owner)
	}
}

// drop empties a node's queue and returns how many tasks it held.
func (a *agenda) drop(n *nodeState) int {
	k := n.queue.len()
	a.pending -= k
	n.queue = fifo[task]{}
	return k
}

// fifo is a queue that releases its memory once it is empty.
type fifo[T any] struct {
	items []T
	head  int
}

func (f *fifo[T]) len() int { return len(f.items) - f.head }

func (f *fifo[T]) push(v T) { f.items = append(f.items, v) }

// pop removes the oldest element; the queue must not be empty.
func (f *fifo[T]) pop() T {
	v := f.items[f.head]
	f.head++
	switch {
	case f.head == len(f.items):
		f.items, f.head = f.items[:0], 0
	case f.head >= 1024 && f.head*2 >= len(f.items):
		n := copy(f.items, f.items[f.head:])
		clear(f.items[n:])
		f.items, f.head = f.items[:n], 0
	}
	return v
}
