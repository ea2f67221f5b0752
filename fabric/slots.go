package fabric

import (
	"encoding/binary"
	"time"
)

// slot is a request in progress.
type slot struct {
	Request

	number     uint16
	generation uint16
	live       bool
	inWindow   bool
	waits      bool // in Engine.retry
	busy       bool // a try was answered with mad.StatusBusy
	foreign    bool // an answer to a try didn't match the request
	tries      int  // sent so far
	reported   int  // tries that the transport has reported as lost

	first   time.Duration           // the first try, since the engine's start
	sent    [maxTries]time.Duration // each try
	overdue time.Duration           // when the next try is due, or the request is given up
	begun   time.Duration           // how long to wait for a further answer; 0: none has arrived
	timer   time.Duration           // when its timer fires; earlier timers are stale
}

// Transaction IDs: the try in 4 bits, the slot in 16, the slot's generation in 12. Each try has a
// different ID, so that a kernel that matches answers with requests keeps all tries open, and so
// that the round trip of each try is known. The number of slots bounds the requests that wait for a
// late answer: there may be as many as a sweep has nodes.
const (
	tidTryBits        = 4
	tidSlotBits       = 16
	tidGenerationBits = 32 - tidTryBits - tidSlotBits

	maxTries = 1 << tidTryBits
	// leastSlots are used in turn, so that an ID is not used again for millions of requests.
	leastSlots = 1024
)

// slots holds the requests in progress and their timers.
type slots struct {
	salt  uint32 // added to each ID
	all   []*slot
	free  fifo[uint16]
	spare *slot // reserved, not opened
	live  int
	timer []timer // a heap, the earliest first
}

// firstTransaction is different for each engine, so that answers to an earlier engine of the
// transport, and requests of it that a kernel still holds open, are not mistaken for those of this
// one. The multiplier (2^32 divided by the golden ratio) spreads times that are close together.
func firstTransaction(now time.Time) uint32 {
	const multiplier = 0x9e3779b1
	return uint32(now.UnixNano()) * multiplier &^ (maxTries - 1)
}

// transaction returns the ID of a try.
func (s *slots) transaction(q *slot, try int) uint32 {
	code := uint32(q.generation)<<(tidTryBits+tidSlotBits) | uint32(q.number)<<tidTryBits | uint32(try)
	return code + s.salt
}

// reserve returns the slot that open will use, with an empty request; nil if none is free.
func (s *slots) reserve() *slot {
	switch {
	case s.spare != nil:
	case s.free.len() > 0 && len(s.all) >= leastSlots:
		s.spare = s.all[s.free.pop()]
	case len(s.all) < 1<<tidSlotBits:
		s.spare = &slot{number: uint16(len(s.all))}
		s.all = append(s.all, s.spare)
	default:
		return nil
	}
	s.spare.Request = Request{}
	return s.spare
}

// open opens the reserved slot.
func (s *slots) open() {
	q := s.spare
	s.spare = nil
	q.generation = (q.generation + 1) & (1<<tidGenerationBits - 1)
	q.live, q.inWindow, q.waits, q.busy = true, false, false, false
	q.tries, q.reported, q.timer, q.begun = 0, 0, 0, 0
	s.live++
}

// close frees the slot; answers that still arrive are late.
func (s *slots) close(q *slot) {
	q.live = false
	s.live--
	s.free.push(q.number)
}

// find returns the live request with a transaction ID, and the try that the ID belongs to.
func (s *slots) find(id uint32) (*slot, int) {
	code := id - s.salt
	number := code >> tidTryBits & (1<<tidSlotBits - 1)
	if int(number) >= len(s.all) {
		return nil, 0
	}
	q, try := s.all[number], int(code&(maxTries-1))
	if !q.live || uint32(q.generation) != code>>(tidTryBits+tidSlotBits) || try >= q.tries {
		return nil, 0
	}
	return q, try
}

// setTransaction writes the low 32 bits of the transaction ID; the transport sets the others.
func setTransaction(d *Datagram, id uint32) {
	const transactionOffset = 8
	binary.BigEndian.PutUint64(d.MAD[transactionOffset:], uint64(id))
}

// timer is the time at which a request must be checked.
type timer struct {
	when               time.Duration
	number, generation uint16
}

// wakeAt sets the request's timer: due returns the request at that time if it is still live. An
// earlier timer is canceled.
func (s *slots) wakeAt(q *slot, when time.Duration) {
	q.timer = when
	s.timer = append(s.timer, timer{when, q.number, q.generation})
	for i := len(s.timer) - 1; i > 0; {
		parent := (i - 1) / 2
		if s.timer[parent].when <= s.timer[i].when {
			break
		}
		s.timer[parent], s.timer[i] = s.timer[i], s.timer[parent]
		i = parent
	}
}

// due returns a request whose timer has fired, or nil.
func (s *slots) due(now time.Duration) *slot {
	for len(s.timer) > 0 {
		a := s.timer[0]
		q := s.all[a.number]
		stale := !q.live || q.generation != a.generation || q.timer != a.when
		if !stale && a.when > now {
			return nil
		}
		s.dropTimer()
		if !stale {
			return q
		}
	}
	return nil
}

// dropTimer removes the earliest timer.
func (s *slots) dropTimer() {
	last := len(s.timer) - 1
	s.timer[0] = s.timer[last]
	s.timer = s.timer[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child+1 < last && s.timer[child+1].when < s.timer[child].when {
			child++
		}
		if child >= last || s.timer[i].when <= s.timer[child].when {
			return
		}
		s.timer[i], s.timer[child] = s.timer[child], s.timer[i]
		i = child
	}
}

// next returns when the next timer fires; false if there is none.
func (s *slots) next() (time.Duration, bool) {
	if len(s.timer) == 0 {
		return 0, false
	}
	return s.timer[0].when, true
}
