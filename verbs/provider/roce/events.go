package roce

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// maxEvents is how many events are kept for a program that doesn't take them.
const maxEvents = 1024

// event is an asynchronous event and the object that it is about: a queue pair, a completion queue
// or a shared receive queue.
type event struct {
	provider.Event
	of any
}

// events are the asynchronous events that the program has not taken.
type events struct {
	queue[event]
	lost int // dropped since the last one in list
}

// add adds an event of an object. If there are too many, the new one is dropped and counted.
func (s *events) add(of any, e provider.Event) {
	s.mu.Lock()
	if len(s.list) < maxEvents {
		e.Lost, s.lost = s.lost, 0
		s.list = append(s.list, event{e, of})
	} else {
		s.lost++
	}
	s.mu.Unlock()
	s.wake.signal()
}

// forget drops the events of an object that is closed. What was lost before them stays counted.
func (s *events) forget(of any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lost, kept := 0, s.list[:0]
	for _, e := range s.list {
		lost += e.Lost
		if e.of != of {
			e.Lost, lost = lost, 0
			kept = append(kept, e)
		}
	}
	clear(s.list[len(kept):])
	s.list = kept
	s.lost += lost
}

// NextEvent implements [provider.EventSource]. An engine has events of queue pairs that fail for a
// request of their peer, of the first packet of a connection, and of completion queues that
// overrun. It doesn't watch its network device.
func (e *Engine) NextEvent(ctx context.Context) (provider.Event, error) {
	for {
		if got, ok := e.events.next(); ok {
			return got.Event, nil
		}
		select {
		case <-e.events.wake:
		case <-e.done:
			return provider.Event{}, fmt.Errorf("wait for events of %s: %w", e.name, provider.ErrClosed)
		case <-ctx.Done():
			return provider.Event{}, waitError(ctx, "an event of "+e.name)
		}
	}
}

// failEvent returns the event of a queue pair that fails with a NAK to its peer (specification
// volume 1, section 11.6.3.2; kernel: do_class_ac_error and do_class_d1e_error in rxe_resp.c).
func failEvent(code ib.Syndrome) provider.EventType {
	switch code {
	case ib.SyndromeNAKInvalidRequest:
		return provider.EventQPRequestError
	case ib.SyndromeNAKRemoteAccess:
		return provider.EventQPAccessError
	}
	return provider.EventQPFatal
}
