package ibverbs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// channel implements [provider.CompletionChannel].
type channel struct {
	object
	d    *openDevice
	file *eventFile

	mu sync.Mutex // held while an event is read and acknowledged: the library then uses its queue
}

// CreateChannel implements [provider.ChannelCreator].
func (d *openDevice) CreateChannel() (provider.CompletionChannel, error) {
	ch, err := d.newChannel()
	if err != nil {
		return nil, err
	}
	return ch, nil
}

func (d *openDevice) newChannel() (*channel, error) {
	const op = "create completion channel"
	ch := &channel{d: d, object: object{what: "completion channel"}}
	err := d.create(op, &ch.object, ch, 0, []*object{&d.root}, func() (uintptr, int) {
		addr, errno := d.calls.createChannel.CallErrno(d.c.addr)
		return addr, int(errno)
	})
	if err != nil {
		return nil, err
	}
	ch.file, err = newEventFile(peek[cChannel](ch.addr).FD, d.name+" completion channel")
	if err != nil {
		ch.closed.Store(true)
		return nil, errors.Join(err, d.destroy(&ch.object, ch, d.calls.destroyChannel, &d.root))
	}
	return ch, nil
}

// next reads and acknowledges one event and returns the address of its queue, or 0. The caller
// holds a lock that keeps the queue open.
func (ch *channel) next() (uintptr, int) {
	cq, errno := callGetCQEvent(ch.d.calls.getCQEvent, ch.addr)
	if errno != 0 {
		return 0, errno
	}
	_, _ = ch.d.calls.ackCQEvents.CallErrno(cq, 1) // returns void
	return cq, 0
}

// drain reads the events of a queue's own channel; mu is the queue's.
func (ch *channel) drain(mu sync.Locker) error {
	mu.Lock()
	defer mu.Unlock()
	for !ch.closed.Load() {
		if _, errno := ch.next(); errno != 0 {
			return ch.failed(errno)
		}
	}
	return nil // the queue is closed too, which Poll reports
}

// failed returns the error of next, nil if there is no event.
func (ch *channel) failed(errno int) error {
	if errno == int(syscall.EAGAIN) || errno == int(syscall.EINTR) {
		return nil
	}
	return ch.d.failed("wait on completion channel", errno, 0)
}

// Wait implements [provider.CompletionChannel].
func (ch *channel) Wait(ctx context.Context) (provider.CompletionQueue, error) {
	const what = "an event of a completion channel"
	var q *completionQueue
	var err error
	waitErr := ch.file.wait(ctx, what, func() bool {
		q, err = ch.take()
		return q != nil || err != nil
	})
	switch {
	case err != nil:
		return nil, err
	case waitErr != nil:
		return nil, waitErr
	}
	return q, nil
}

// take returns the queue of the next event, or nil if there is none.
func (ch *channel) take() (*completionQueue, error) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	for {
		if ch.closed.Load() {
			return nil, fmt.Errorf("wait on completion channel: %w", provider.ErrClosed)
		}
		addr, errno := ch.next()
		if errno != 0 {
			return nil, ch.failed(errno)
		}
		ch.d.mu.Lock()
		q, ok := ch.d.objects[addr].(*completionQueue)
		ch.d.mu.Unlock()
		if ok {
			return q, nil
		}
	}
}

// Close implements [provider.CompletionChannel].
func (ch *channel) Close() error {
	first, err := ch.d.shut(&ch.object)
	if err != nil || !first {
		return err
	}
	ch.file.close()
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return ch.d.destroy(&ch.object, ch, ch.d.calls.destroyChannel, &ch.d.root)
}
