package roce

import (
	"container/heap"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
)

// timers run the timeouts of all queue pairs of an engine with one timer of its clock. They are a
// heap, not a wheel: the times reach from an RNR delay of 10 µs to a timeout of 2.4 hours, and a
// queue pair sets its timer at most once a timeout, since progress only moves its deadline.
type timers struct {
	clock clock.Clock
	timer clock.Timer

	mu     sync.Mutex
	list   alarms
	firing time.Time // when timer fires; zero if it is not set
}

// alarm is the timer of a queue pair. It is guarded by the mu of timers.
type alarm struct {
	at    time.Time
	index int // in the list, counted from 1; 0 if it is not set
}

func (s *timers) init(c clock.Clock) {
	s.clock = c
	s.timer = c.AfterFunc(time.Hour, s.fired)
	s.timer.Stop()
}

// set calls expired of a queue pair at a time, instead of at the one set before.
func (s *timers) set(qp *queuePair, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	qp.alarm.at = at
	if qp.alarm.index == 0 {
		heap.Push(&s.list, qp)
	} else {
		heap.Fix(&s.list, qp.alarm.index-1)
	}
	s.start()
}

// remove ensures that expired isn't called, unless it is about to be.
func (s *timers) remove(qp *queuePair) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if qp.alarm.index != 0 {
		heap.Remove(&s.list, qp.alarm.index-1)
	}
}

// start sets the clock's timer for the earliest alarm, unless it fires before that.
func (s *timers) start() {
	if len(s.list) == 0 {
		return
	}
	if at := s.list[0].alarm.at; s.firing.IsZero() || at.Before(s.firing) {
		s.firing = at
		s.timer.Reset(max(0, at.Sub(s.clock.Now())))
	}
}

// fired runs when the clock's timer fires.
func (s *timers) fired() {
	var due []*queuePair
	s.mu.Lock()
	s.firing = time.Time{}
	for now := s.clock.Now(); len(s.list) > 0 && !s.list[0].alarm.at.After(now); {
		qp, _ := heap.Pop(&s.list).(*queuePair)
		due = append(due, qp)
	}
	s.start()
	s.mu.Unlock()
	for _, qp := range due {
		qp.expired()
	}
}

// stop ends the clock's timer.
func (s *timers) stop() { s.timer.Stop() }

// alarms is a heap, the earliest first.
type alarms []*queuePair

func (a alarms) Len() int { return len(a) }

func (a alarms) Less(i, j int) bool { return a[i].alarm.at.Before(a[j].alarm.at) }

func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].alarm.index, a[j].alarm.index = i+1, j+1
}

// Push adds a queue pair, for package heap.
func (a *alarms) Push(x any) {
	qp, _ := x.(*queuePair)
	*a = append(*a, qp)
	qp.alarm.index = len(*a)
}

// Pop removes the last queue pair, for package heap.
func (a *alarms) Pop() any {
	old := *a
	qp := old[len(old)-1]
	old[len(old)-1], *a = nil, old[:len(old)-1]
	qp.alarm.index = 0
	return qp
}
