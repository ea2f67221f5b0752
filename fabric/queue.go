package fabric

// nodeState is what the sweep keeps of a node while it runs.
type nodeState struct {
	node     *Node
	queue    fifo[task]
	underWay int
	listed   bool // in agenda.ready
	suspect  bool // a question to it is overdue: one at a time from now on
	misses   int  // questions given up since its last answer
	silent   bool // given up as a whole

	// performance is the node's other agent: it may be silent by itself, since it is reached by
	// LID. nil: not asked yet.
	performance *nodeState
	// waiting are the ports whose counters are asked for once the agent has told what it can do;
	// nil from then on.
	waiting []uint16
	told    bool
	// manager is the subnet manager's side of the node, and vendor the one with the vendor's own
	// attributes: they may be silent by themselves too.
	manager, vendor *nodeState
	// known is what an earlier sweep saw of the node; nil when it may be another, or none is given.
	known *Node
}

// silentAfter is how many questions in a row a node leaves unanswered, retries included, before it
// is asked nothing more.
const silentAfter = 2

// agenda is what is still to be asked. Nodes to find come first: that shows early which cables are
// known from their other end. Then the known nodes take turns.
type agenda struct {
	perNode int
	explore fifo[task]
	ready   fifo[*nodeState]
	pending int
}

// add plans a task, unless its node was given up: then the list of the unreached tells already.
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

// list puts a node among those that can be asked, if it can.
func (a *agenda) list(n *nodeState) {
	if n.listed || n.silent || n.queue.len() == 0 || n.underWay >= a.limit(n) {
		return
	}
	n.listed = true
	a.ready.push(n)
}

func (a *agenda) limit(n *nodeState) int {
	if n.suspect {
		return 1
	}
	return a.perNode
}

// next takes the next task; false when nothing can be asked now.
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

// done is to be called when a question that next gave out has ended.
func (a *agenda) done(t task) {
	if t.kind != kindNode {
		t.owner.underWay--
		a.list(t.owner)
	}
}

// drop empties a node's queue and returns how many tasks it had.
func (a *agenda) drop(n *nodeState) int {
	k := n.queue.len()
	a.pending -= k
	n.queue = fifo[task]{}
	return k
}

// fifo is a queue that gives its memory back once it is empty.
type fifo[T any] struct {
	items []T
	head  int
}

func (f *fifo[T]) len() int { return len(f.items) - f.head }

func (f *fifo[T]) push(v T) { f.items = append(f.items, v) }

// pop takes the oldest; the queue is not empty.
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
