package roce

import (
	"context"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// channel collects the completion queues with an event, each once.
type channel struct {
	queue[*completionQueue]
	e    *Engine
	done chan struct{} // closed by Close

	closed bool // guarded by e.mu, as is users
	users  int  // queues that use this channel
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
	return newChannel(e), nil
}

func newChannel(e *Engine) *channel {
	return &channel{e: e, queue: queue[*completionQueue]{wake: newWakeup()}, done: make(chan struct{})}
}

// Wait implements [provider.CompletionChannel].
func (c *channel) Wait(ctx context.Context) (provider.CompletionQueue, error) {
	for {
		select {
		case <-c.done:
			return nil, fmt.Errorf("wait on completion channel: %w", provider.ErrClosed)
		default:
		}
		if q, ok := c.next(); ok {
			return q, nil
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
	if !c.closed {
		c.closed = true
		c.e.channels--
		close(c.done)
	}
	return nil
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
