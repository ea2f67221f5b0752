package ibsimd

import (
	"container/heap"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/ibsim"
)

// maxDelayed is how many delayed packets a client may have: then nothing more is read from it.
const maxDelayed = 4096

// delayLine delivers packets to one client later.
type delayLine struct {
	deliver func(*ibsim.Packet)
	wake    chan struct{} // a packet is due earlier than the others
	room    chan struct{} // a packet has been delivered
	closed  chan struct{}
	end     func()
	group   *sync.WaitGroup // of the goroutine that delivers, which the first packet starts

	mu      sync.Mutex
	queue   delayedPackets
	order   uint64
	started bool
}

func newDelayLine(group *sync.WaitGroup, deliver func(*ibsim.Packet)) *delayLine {
	d := &delayLine{
		deliver: deliver, group: group, closed: make(chan struct{}),
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
	d.end = sync.OnceFunc(func() { close(d.closed) })
	return d
}

// add delivers a copy of the packet after some time. If there are too many, it waits.
func (d *delayLine) add(p *ibsim.Packet, after time.Duration) {
	at := time.Now().Add(after)
	for {
		d.mu.Lock()
		if len(d.queue) < maxDelayed {
			break
		}
		d.mu.Unlock()
		select {
		case <-d.room:
		case <-d.closed:
			return
		}
	}
	defer d.mu.Unlock()
	d.order++
	heap.Push(&d.queue, delayedPacket{at, d.order, *p})
	if !d.started {
		d.started = true
		d.group.Go(d.run)
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// close drops the packets that have not been delivered. It doesn't wait for one that is being
// delivered.
func (d *delayLine) close() { d.end() }

func (d *delayLine) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		p, wait := d.next()
		if p != nil {
			d.deliver(p)
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-d.wake:
		case <-d.closed:
			return
		}
	}
}

// next returns the packet that is due, or how long to wait for one.
func (d *delayLine) next() (*ibsim.Packet, time.Duration) {
	select {
	case <-d.closed:
		return nil, 0
	default:
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		return nil, time.Hour
	}
	if wait := time.Until(d.queue[0].at); wait > 0 {
		return nil, wait
	}
	one, _ := heap.Pop(&d.queue).(delayedPacket)
	select {
	case d.room <- struct{}{}:
	default:
	}
	return &one.packet, 0
}

// delayedPacket is a packet that is not delivered yet.
type delayedPacket struct {
	at     time.Time
	order  uint64
	packet ibsim.Packet
}

// delayedPackets implements heap.Interface: the earliest packet first, then the first one added.
type delayedPackets []delayedPacket

func (q delayedPackets) Len() int { return len(q) }

func (q delayedPackets) Less(i, j int) bool {
	if c := q[i].at.Compare(q[j].at); c != 0 {
		return c < 0
	}
	return q[i].order < q[j].order
}

func (q delayedPackets) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *delayedPackets) Push(x any) {
	if p, ok := x.(delayedPacket); ok {
		*q = append(*q, p)
	}
}

// Pop implements heap.Interface.
func (q *delayedPackets) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
