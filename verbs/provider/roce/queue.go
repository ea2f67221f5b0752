package roce

import (
	"slices"
	"sync"
)

// wakeup wakes goroutines that wait for a condition: it holds one token while the condition may
// hold.
type wakeup chan struct{}

func newWakeup() wakeup { return make(wakeup, 1) }

// signal wakes one waiter. If the condition may hold for another one, that waiter calls it again.
func (w wakeup) signal() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// queue is a list that goroutines take from, the oldest first, and wait for with wake.
type queue[T any] struct {
	wake wakeup
	mu   sync.Mutex
	list []T
}

// add adds an item.
func (q *queue[T]) add(item T) {
	q.mu.Lock()
	q.list = append(q.list, item)
	q.mu.Unlock()
	q.wake.signal()
}

// remove drops items.
func (q *queue[T]) remove(drop func(T) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = slices.DeleteFunc(q.list, drop)
}

// next removes the oldest item, and wakes another waiter if there are more.
func (q *queue[T]) next() (item T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		return item, false
	}
	item = q.list[0]
	if q.list = slices.Delete(q.list, 0, 1); len(q.list) > 0 {
		q.wake.signal()
	}
	return item, true
}
