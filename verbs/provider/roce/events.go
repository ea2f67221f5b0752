package roce

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// maxEvents is how many events are kept for a program that doesn't take them.
const maxEvents = 1024

// events are the asynchronous events that the program has not taken.
type events struct {
	wake chan struct{} // holds one token while there may be an event
	mu   sync.Mutex
	list []provider.Event
	lost int // dropped since the last one in list
}

// add adds an event. If there are too many, the new one is dropped and counted.
func (s *events) add(e provider.Event) {
	s.mu.Lock()
	if len(s.list) < maxEvents {
		e.Lost, s.lost = s.lost, 0
		s.list = append(s.list, e)
	} else {
		s.lost++
	}
	s.mu.Unlock()
	s.signal()
}

// signal wakes one waiter, which wakes the next one.
func (s *events) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// remove drops the events of an object that is closed.
func (s *events) remove(of func(provider.Event) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, of)
}

// next removes the oldest event.
func (s *events) next() (e provider.Event, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		return e, false
	}
	e = s.list[0]
	if s.list = s.list[1:]; len(s.list) > 0 {
		s.signal()
	}
	return e, true
}

// NextEvent implements [provider.EventSource]. An engine has events of queue pairs that fail for a
// request of their peer, of the first packet of a connection, and of completion queues that
// overrun. It doesn't watch its network device.
func (e *Engine) NextEvent(ctx context.Context) (provider.Event, error) {
	for {
		if event, ok := e.events.next(); ok {
			return event, nil
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
