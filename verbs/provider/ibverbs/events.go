package ibverbs

import (
	"context"
	"encoding/binary"
	"fmt"
	"syscall"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// NextEvent implements [provider.EventSource].
func (d *openDevice) NextEvent(ctx context.Context) (provider.Event, error) {
	var event provider.Event
	var ok bool
	var err error
	waitErr := d.async.wait(ctx, "an event of "+d.name, func() bool {
		event, ok, err = d.takeEvent()
		return ok || err != nil
	})
	if err == nil {
		err = waitErr
	}
	if err != nil {
		return provider.Event{}, err
	}
	return event, nil
}

// takeEvent reads and acknowledges events until it has one to return; ok is false if there is none.
func (d *openDevice) takeEvent() (event provider.Event, ok bool, err error) {
	d.gate.Lock()
	defer d.gate.Unlock()
	for {
		if d.root.closed.Load() {
			return event, false, fmt.Errorf("wait for events of %s: %w", d.name, provider.ErrClosed)
		}
		c := new(cAsyncEvent)
		ret, errno := callWith(d.calls.getAsyncEvent, d.c.addr, c, 0)
		switch errno = errnoOf(ret, errno); errno {
		case 0:
		case int(syscall.EAGAIN), int(syscall.EINTR):
			return event, false, nil
		default:
			return event, false, d.failed("wait for events", errno, 0)
		}
		event, ok = d.event(c)
		callAck(d.calls.ackAsyncEvent, c)
		if ok {
			return event, true, nil
		}
	}
}

// event converts an event. It reports false if its object is closed.
func (d *openDevice) event(c *cAsyncEvent) (event provider.Event, ok bool) {
	event.Type = provider.EventType(c.EventType)
	switch event.Type {
	case provider.EventDeviceFatal:
		return event, true
	case provider.EventPortActive, provider.EventPortError, provider.EventLIDChange, provider.EventPKeyChange,
		provider.EventSMChange, provider.EventClientReregister, provider.EventGIDChange:
		event.Port = int(int32(binary.NativeEndian.Uint32(c.Element[:4])))
		return event, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch o := d.objects[uintptr(binary.NativeEndian.Uint64(c.Element[:]))].(type) {
	case *completionQueue:
		o.overrun.Store(event.Type == provider.EventCQError)
		event.ID = o.id
	case *queuePair:
		switch event.Type {
		case provider.EventQPFatal, provider.EventQPRequestError, provider.EventQPAccessError:
			o.state.Store(uint32(provider.QPStateError))
		}
		event.ID, event.QPN = o.id, o.qpn
	case *sharedQueue:
		event.ID = o.id
	default:
		return event, false
	}
	return event, true
}
