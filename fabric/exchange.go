package fabric

import (
	"errors"
	"math"
	"time"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// retry names a request that may have ended meanwhile.
type retry struct {
	q          *slot
	generation uint16
}

// longestTimeout is the longest time that a kernel can be told to wait.
const longestTimeout = math.MaxInt32 * time.Millisecond

// deadline is when Run must continue even if nothing is received; zero: never.
func (e *Engine) deadline(now time.Duration, until time.Time) time.Time {
	end, ok := e.slots.next()
	if pause := now + time.Millisecond; len(e.outbox) > 0 && (!ok || pause < end) {
		end, ok = pause, true
	}
	if when := e.start.Add(end); ok && (until.IsZero() || when.Before(until)) {
		return when
	}
	return until
}

// expire handles requests whose timer has fired: first they free their place in the window, then
// they are sent again, and finally they are given up.
func (e *Engine) expire(source Source, now time.Duration) {
	for q := e.slots.due(now); q != nil; q = e.slots.due(now) {
		limit := q.first + e.patience(q)
		switch {
		case q.waits: // the transport has reported the loss already
		case q.inWindow && now < q.overdue:
			e.leaveWindow(q)
			e.slots.wakeAt(q, q.overdue)
		case q.tries <= q.Retries:
			e.leaveWindow(q)
			q.Peer.overdue = true
			if q.Peer.trips.samples > 0 {
				e.pace.lost(now)
			}
			e.again(q)
		case now < limit: // the destination has turned out to be slower than expected
			e.leaveWindow(q)
			e.slots.wakeAt(q, limit)
		default:
			e.giveUp(source, q, now)
		}
	}
}

// again schedules one more try of a request, to be sent as soon as the window allows. A loss that
// both the timer and the transport report counts once.
func (e *Engine) again(q *slot) {
	if !q.waits {
		q.waits = true
		e.retry.push(retry{q, q.generation})
	}
}

func (e *Engine) leaveWindow(q *slot) {
	if q.inWindow {
		q.inWindow = false
		e.inWindow--
	}
}

// fill puts as many requests into the outbox as the window allows: retries first, then new ones. It
// reports whether it has put any.
func (e *Engine) fill(source Source, now time.Duration) (some bool) {
	for e.pace.allows(e.inWindow) {
		if e.retry.len() > 0 {
			if r := e.retry.pop(); r.q.live && r.q.generation == r.generation && r.q.waits {
				e.traffic.Retries++
				e.send(r.q, now)
				some = true
			}
			continue
		}
		q := e.slots.reserve()
		if q == nil || !source.Next(&q.Request) {
			return some
		}
		e.slots.open()
		q.Retries = retriesOf(q.Retries)
		if q.Peer == nil {
			q.Peer = e.peerOf(&q.Request)
		}
		q.first = now
		e.send(q, now)
		some = true
	}
	return some
}

// send puts the next try of a request into the outbox.
func (e *Engine) send(q *slot, now time.Duration) {
	limit := e.patience(q)
	e.addressing.Apply(&q.Address, mad.Class(q.MAD[classOffset]))
	d := Datagram{Address: q.Address, MAD: q.MAD}
	setTransaction(&d, e.slots.transaction(q, q.tries))
	// The transport is more patient than the engine, because a kernel drops an answer that comes
	// after the time that it was given.
	d.Timeout = min(max(0, q.first+limit-now)+limit, longestTimeout)
	e.outbox = append(e.outbox, d)
	q.sent[q.tries] = now
	q.tries++
	q.inWindow, q.waits = true, false
	e.inWindow++
	e.traffic.Window = max(e.traffic.Window, e.inWindow)
	wait := e.wait(q, limit, now)
	q.overdue = now + wait
	e.slots.wakeAt(q, now+min(e.pace.release(), wait))
}

// wait returns how long to wait for the answer to the last try: first as long as the round trips of
// the destination let expect, then longer and longer, so that the tries are spread over the whole
// time until the request is given up. A request that changes something is not repeated early, but
// at equal intervals, and so is a query of subnet administration, whose answers take time.
func (e *Engine) wait(q *slot, limit, now time.Duration) time.Duration {
	left := max(0, q.first+limit-now)
	further := q.Retries + 1 - q.tries
	if further <= 0 {
		return left
	}
	even := left / time.Duration(further+1)
	if mad.Method(q.MAD[methodOffset]) != mad.MethodGet || mad.Class(q.MAD[classOffset]) == mad.ClassSA {
		return even
	}
	wait := e.timeout(q.Peer)
	if q.tries > 1 {
		growth := float64(limit) / float64(wait)
		wait = time.Duration(float64(wait) * math.Pow(growth, float64(q.tries-1)/float64(q.Retries)))
	}
	return min(wait, even)
}

// flush sends as much of the outbox as the transport accepts.
func (e *Engine) flush(source Source) error {
	for len(e.outbox) > 0 {
		n, err := e.transport.Send(e.outbox)
		n = max(0, min(n, len(e.outbox)))
		e.traffic.Sent += n
		if n > 0 {
			e.addressing.Accepted(&e.outbox[n-1].Address)
		}
		refused := errors.Is(err, ErrRefused) && n < len(e.outbox)
		switch {
		case refused && e.addressing.AddGRH(&e.outbox[n].Address, err):
			err = nil
		case refused:
			e.refused(source, &e.outbox[n], err)
			n, err = n+1, nil
		}
		e.outbox = e.outbox[:copy(e.outbox, e.outbox[n:])]
		if err != nil {
			return err
		}
		if !refused {
			if rest := len(e.outbox); rest > 0 {
				e.pace.full(e.inWindow - rest)
			}
			return nil
		}
	}
	return nil
}

// refused ends the request that the transport can't send, for example because the address is
// unreachable.
func (e *Engine) refused(source Source, d *Datagram, err error) {
	var h mad.Header
	h.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	if q, try := e.slots.find(uint32(h.TransactionID)); q != nil && try == q.tries-1 {
		e.finish(source, q, Reply{Err: err})
	}
}

// receive handles one datagram.
func (e *Engine) receive(source Source, d *Datagram, now time.Duration) {
	var h mad.Header
	h.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	q, try := e.slots.find(uint32(h.TransactionID))
	switch {
	case d.Lost && q != nil && try == q.tries-1:
		e.lost(source, q, now)
		return
	case !d.Lost && !h.Method.IsResponse():
		return // a request to this node
	case d.Lost || q == nil:
		e.traffic.Late++
		return
	case !q.matches(&h, d):
		e.traffic.Foreign++
		q.foreign = true
		if f, ok := source.(foreigner); ok {
			other := h // h itself would be allocated for each datagram
			f.Foreign(q.ID, &other)
		}
		return
	}
	e.traffic.Answers++
	if h.Result()&mad.StatusBusy != 0 {
		q.busy = true
		return // it is sent again after its timeout
	}
	roundTrip := now - q.sent[try]
	e.pace.answered(roundTrip)
	q.Peer.answered(roundTrip)
	if result := h.Result(); result != 0 {
		e.finish(source, q, Reply{Answer: d, Err: &StatusError{Status: result}, RoundTrip: roundTrip})
		return
	}
	e.learn(q, &h, d)
	if q.More != nil {
		if wait, more := q.More(d); more {
			e.goOn(q, wait, now)
			return
		}
	}
	e.finish(source, q, Reply{Answer: d, RoundTrip: roundTrip})
}

// goOn waits for a further answer to a request. As the answer has begun, the request is not sent
// again.
func (e *Engine) goOn(q *slot, wait, now time.Duration) {
	e.leaveWindow(q)
	q.first, q.Retries, q.waits = now, q.tries-1, false
	if q.begun = wait; wait == 0 {
		q.begun = e.patience(q)
	}
	q.overdue = now + q.begun
	e.slots.wakeAt(q, q.overdue)
}

// attributeOffset is the offset of the attribute in packets of subnet and performance management.
const attributeOffset = 64

// Offsets of the class and the method in the header.
const classOffset, methodOffset = 1, 3

// matches reports whether a response answers the request. Subnet administration may return another
// modifier, which most of its attributes don't have.
func (q *slot) matches(h *mad.Header, d *Datagram) bool {
	var asked mad.Header
	asked.Decode(q.MAD[:]) //nolint:errcheck // a MAD is long enough
	return h.MgmtClass == asked.MgmtClass && h.AttributeID == asked.AttributeID &&
		(h.AttributeModifier == asked.AttributeModifier || h.MgmtClass == mad.ClassSA) &&
		(asked.Method != mad.MethodGet || h.Method == mad.MethodGetResp) &&
		(q.Accept == nil || q.Accept(&q.MAD, &d.MAD))
}

// lost handles a request that the transport returned as lost; once its answer has begun, that is an
// acknowledgement, or a late report about another try.
func (e *Engine) lost(source Source, q *slot, now time.Duration) {
	if q.begun > 0 {
		e.traffic.Late++
		return
	}
	e.leaveWindow(q)
	q.reported++
	if q.tries <= q.Retries {
		e.again(q)
		return
	}
	e.giveUp(source, q, now)
}

func (e *Engine) giveUp(source Source, q *slot, now time.Duration) {
	err := &NoAnswerError{
		Tries: q.tries, After: (now - q.first).Round(time.Millisecond), Reported: q.reported == q.tries,
		Busy: q.busy, Foreign: q.foreign,
	}
	if q.Address.QPN != 0 && e.addressing != nil {
		err.Sent = new(e.addressing.Sent(&q.Address))
	}
	e.finish(source, q, Reply{Err: err})
}

// end closes a request.
func (e *Engine) end(q *slot) {
	e.leaveWindow(q)
	e.slots.close(q)
}

// finish closes a request and passes on its result.
func (e *Engine) finish(source Source, q *slot, r Reply) {
	r.ID, r.Tries = q.ID, q.tries
	e.end(q)
	e.reply = r
	source.Done(&e.reply)
}
