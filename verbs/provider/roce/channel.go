package roce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// channel collects the events of completion queues.
type channel struct {
	e    *Engine
	wake chan struct{} // holds one token while there may be an event
	done chan struct{} // closed by Close

	mu     sync.Mutex
	ready  []*completionQueue // with an event, each once
	closed bool
	users  int // queues that use this channel; guarded by e.mu
}

// armedFor is what the program has armed a completion queue for.
type armedFor uint8

const (
	armedForNone armedFor = iota
	armedForSolicited
	armedForAny
)

// CreateChannel implements [provider.ChannelCreator].
func (e *Engine) CreateChannel() (provider.CompletionChannel, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fmt.Errorf("create completion channel of %s: %w", e.name, provider.ErrClosed)
	}
	e.channels++
	return &channel{e: e, wake: make(chan struct{}, 1), done: make(chan struct{})}, nil
}

// add adds the event of a queue, which is no longer armed and so adds no other one.
func (c *channel) add(q *completionQueue) {
	c.mu.Lock()
	c.ready = append(c.ready, q)
	c.mu.Unlock()
	c.signal()
}

// remove drops the event of a queue that is closed.
func (c *channel) remove(q *completionQueue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = slices.DeleteFunc(c.ready, func(other *completionQueue) bool { return other == q })
}

// signal wakes one waiter, which wakes the next one.
func (c *channel) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// next removes the oldest event, or returns nil if there is none.
func (c *channel) next() (q *completionQueue, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, fmt.Errorf("wait on completion channel: %w", provider.ErrClosed)
	case len(c.ready) == 0:
		return nil, nil
	}
	q = c.ready[0]
	c.ready[0] = nil
	if c.ready = c.ready[1:]; len(c.ready) > 0 {
		c.signal()
	} else {
		c.ready = nil
	}
	return q, nil
}

// Wait implements [provider.CompletionChannel].
func (c *channel) Wait(ctx context.Context) (provider.CompletionQueue, error) {
	for {
		if q, err := c.next(); err != nil || q != nil {
			return q, err
		}
		c.e.delayedAcks.send()
		select {
		case <-c.wake:
		case <-c.done:
		case <-ctx.Done():
			return nil, waitError(ctx, "an event of a completion channel")
		}
	}
}

// Close implements [provider.CompletionChannel].
func (c *channel) Close() error {
	c.e.mu.Lock()
	defer c.e.mu.Unlock()
	if c.users > 0 {
		return fmt.Errorf("close completion channel: %d completion queues: %w", c.users, provider.ErrBusy)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		c.e.channels--
		close(c.done)
	}
	return nil
}

// isClosed reports whether Close has been called.
func (c *channel) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Arm implements provider.CompletionQueue.
func (q *completionQueue) Arm(solicited bool) error {
	if q.channel == nil {
		return errors.New("arm completion queue: the queue has no channel (CQConfig.Channel)")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return fmt.Errorf("arm completion queue: %w", provider.ErrClosed)
	case q.overrun:
		return fmt.Errorf("arm completion queue: %w", provider.ErrOverrun)
	case !solicited:
		q.armed = armedForAny
	case q.armed == armedForNone:
		q.armed = armedForSolicited
	}
	return nil
}

// notify adds an event to the channel if the program has armed the queue for a completion like
// this one. q.mu is held.
func (q *completionQueue) notify(solicited bool) {
	if q.armed == armedForAny || q.armed == armedForSolicited && solicited {
		q.armed = armedForNone
		q.channel.add(q)
	}
}
