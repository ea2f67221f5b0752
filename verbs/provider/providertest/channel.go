package providertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

func channelRules() []rule {
	const needs = provider.CapRC | provider.CapChannel
	return []rule{
		{"armed", needs, checkArmed},
		{"solicited", needs, checkSolicited},
		{"failure-is-solicited", needs, checkFailureSolicited},
		{"wider-counts", needs, checkWiderCounts},
		{"two-queues", needs, checkTwoQueues},
		{"misuse", needs, checkChannelMisuse},
		{"wait-ends", needs, checkChannelWaitEnds},
		{"closed-queue", needs, checkClosedQueue},
		{"close-while-used", needs, checkChannelBusy},
		{"loop", needs, checkChannelLoop},
		{"waiters", needs, checkChannelWaiters},
	}
}

func (c *check) channel(d provider.Device) provider.CompletionChannel {
	creator, ok := d.(provider.ChannelCreator)
	if !ok {
		c.fatalf("%s is no ChannelCreator", d.Name())
	}
	ch, err := creator.CreateChannel()
	c.must(err)
	c.closeLater("channel", ch)
	return ch
}

// channelPair is a connection whose receiving end b has a channel for both of its queues.
type channelPair struct {
	c  *check
	ch provider.CompletionChannel
	a  *end
	b  *end
}

func (c *check) channelPair() *channelPair {
	p := &channelPair{c: c, ch: c.channel(c.pair.B.Device)}
	config := provider.CQConfig{Channel: p.ch}
	p.a, p.b = c.end(c.pair.A, shape{}), c.end(c.pair.B, shape{sends: config, receives: config})
	c.connect(p.a, p.b, c.link())
	for id := range uint64(10) {
		p.b.postReceive(p.b.room(id, 0, 8))
	}
	return p
}

// send sends a message to b; when it returns, the requester's request has completed.
func (p *channelPair) send(solicited bool) {
	wr := p.a.request(1, provider.SendOpSend, 8, p.b)
	if solicited {
		wr.Flags |= provider.SendSolicited
	}
	p.a.post(wr)
	p.c.expect("SEND", p.a.sent(1), success(1, 1)...)
}

func (p *channelPair) arm(q provider.CompletionQueue, solicited bool) {
	if err := q.Arm(solicited); err != nil {
		p.c.fatalf("Arm(%t) = %v", solicited, err)
	}
}

// drain polls everything that a queue has.
func (p *channelPair) drain(q provider.CompletionQueue) (got int) {
	var wcs [16]provider.WorkCompletion
	for {
		n, err := q.Poll(wcs[:])
		p.c.must(err)
		if got += n; n == 0 {
			return got
		}
	}
}

// event reports an event that is missing.
func (p *channelPair) event(what string, want provider.CompletionQueue) {
	ctx, cancel := p.c.patience()
	defer cancel()
	if q, err := p.ch.Wait(ctx); err != nil || q != want {
		p.c.errorf("%s: event of %v, %v; want one of %v", what, q, err, want)
	}
}

// noEvent reports an event that must not come.
func (p *channelPair) noEvent(what string) {
	ctx, cancel := context.WithTimeout(context.Background(), p.c.options.Quiet)
	defer cancel()
	if q, err := p.ch.Wait(ctx); err == nil || !errors.Is(err, context.DeadlineExceeded) {
		p.c.errorf("%s: event of %v, %v; want none", what, q, err)
	}
}

// checkArmed checks that a queue has an event for the next completion, if it is armed, and one only
// (ibv_req_notify_cq: one shot).
func checkArmed(c *check) {
	p := c.channelPair()
	p.send(true)
	p.noEvent("a queue that was never armed")
	c.eventually(func() bool { return p.drain(p.b.receives) == 1 })
	p.arm(p.b.receives, false)
	p.noEvent("an armed queue without completions")
	p.send(false)
	p.event("an armed queue", p.b.receives)
	p.send(false)
	p.noEvent("a queue whose event was taken")
	p.drain(p.b.receives)
	p.arm(p.b.receives, false)
	p.send(false)
	p.event("a queue that was armed again", p.b.receives)
}

// checkSolicited checks that a queue armed for solicited completions ignores others
// (ibv_req_notify_cq; section 11.4.2.2).
func checkSolicited(c *check) {
	p := c.channelPair()
	p.arm(p.b.receives, true)
	p.send(false)
	p.noEvent("SEND without the flag")
	p.send(true)
	p.event("SEND with the flag", p.b.receives)
	p.drain(p.b.receives)
	p.arm(p.b.sends, true)
	p.a.postReceive(p.a.room(1, 0, 8))
	wr := p.b.request(1, provider.SendOpSend, 8, p.a)
	wr.Flags |= provider.SendSolicited
	p.b.post(wr)
	p.a.received(1)
	p.noEvent("a successful send completion, which is never solicited")
	if c.has(provider.CapImmediate) {
		p.arm(p.b.receives, true)
		write := p.a.request(2, provider.SendOpWriteImmediate, 8, p.b)
		write.Flags |= provider.SendSolicited
		p.a.post(write)
		p.event("WRITE with immediate with the flag", p.b.receives)
	}
}

// checkFailureSolicited checks that a completion with an error counts as solicited
// (ibv_req_notify_cq).
func checkFailureSolicited(c *check) {
	p := c.channelPair()
	p.arm(p.b.receives, true)
	p.b.fail()
	p.event("flushed receive requests", p.b.receives)
	p.arm(p.b.sends, true)
	p.b.post(provider.SendRequest{ID: 1})
	p.event("a flushed send request", p.b.sends)
	if got := p.drain(p.b.receives); got != 10 {
		c.errorf("%d receive requests were flushed, want 10", got)
	}
}

// checkWiderCounts checks two calls of Arm before the event: the wider one counts (section
// 11.4.2.2).
func checkWiderCounts(c *check) {
	for _, order := range [][2]bool{{true, false}, {false, true}} {
		p := c.channelPair()
		p.arm(p.b.receives, order[0])
		p.arm(p.b.receives, order[1])
		p.send(false)
		p.event(fmt.Sprintf("Arm(%t) and Arm(%t)", order[0], order[1]), p.b.receives)
		p.noEvent("a second event of the two calls")
	}
}

// checkTwoQueues checks that each queue of a channel has its own events.
func checkTwoQueues(c *check) {
	p := c.channelPair()
	p.arm(p.b.receives, false)
	p.arm(p.b.sends, false)
	p.send(false)
	p.event("the queue of receives", p.b.receives)
	p.noEvent("the queue of sends, which has no completion")
	p.b.post(p.b.request(1, provider.SendOpWrite, 8, p.a))
	p.event("the queue of sends", p.b.sends)
	p.drain(p.b.receives)
	p.drain(p.b.sends)
	p.arm(p.b.receives, false)
	p.arm(p.b.sends, false)
	p.send(false)
	p.b.post(p.b.request(1, provider.SendOpWrite, 8, p.a))
	ctx, cancel := c.patience()
	defer cancel()
	x, err1 := p.ch.Wait(ctx)
	y, err2 := p.ch.Wait(ctx)
	if err := errors.Join(err1, err2); err != nil || x == y {
		c.errorf("events of %v and %v, %v; want one of each queue", x, y, err)
	}
}

// checkChannelMisuse checks Wait on a queue of a channel and Arm on a queue without.
func checkChannelMisuse(c *check) {
	p := c.channelPair()
	var wcs [1]provider.WorkCompletion
	_, err := p.b.receives.Wait(context.Background(), wcs[:])
	c.wantError("Wait on a queue of a channel", err, nil)
	c.wantError("Arm of a queue without a channel", p.a.sends.Arm(false), nil)
	if len(c.devices()) == 2 {
		c.wantError("CreateCQ with a channel of another device",
			tryCQ(c, p.a.at.Device, provider.CQConfig{Channel: p.ch}), nil)
	}
}

// checkChannelWaitEnds checks that Wait of a channel ends with its context and with Close.
func checkChannelWaitEnds(c *check) {
	ch := c.channel(c.pair.A.Device)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := ch.Wait(canceled)
	c.wantError("Wait with a context that was canceled", err, context.Canceled)
	ctx, cancel := context.WithTimeout(context.Background(), c.options.Quiet)
	defer cancel()
	_, err = ch.Wait(ctx)
	c.wantError("Wait with a context that expires", err, context.DeadlineExceeded)
	ended := make(chan error, 2)
	for range 2 {
		go func() { _, err := ch.Wait(context.Background()); ended <- err }()
	}
	c.quiet()
	c.must(ch.Close())
	for range 2 {
		c.wantError("Wait on a channel that is closed", <-ended, provider.ErrClosed)
	}
	c.must(ch.Close())
	_, err = ch.Wait(context.Background())
	c.wantError("Wait after Close", err, provider.ErrClosed)
	c.wantError("CreateCQ with a closed channel", tryCQ(c, c.pair.A.Device, provider.CQConfig{Channel: ch}), nil)
}

// checkClosedQueue checks that the event of a queue that is closed isn't returned.
func checkClosedQueue(c *check) {
	p := c.channelPair()
	p.arm(p.b.receives, false)
	p.arm(p.b.sends, false)
	p.send(false)
	p.b.post(p.b.request(1, provider.SendOpWrite, 8, p.a))
	c.quiet()
	c.must(p.b.qp.Close())
	c.must(p.b.receives.Close())
	p.event("the queue that is open", p.b.sends)
	p.noEvent("the queue that is closed")
	c.wantError("Arm of a queue that is closed", p.b.receives.Arm(false), provider.ErrClosed)
}

// checkChannelBusy checks that a channel can't be closed while queues use it, and works on.
func checkChannelBusy(c *check) {
	p := c.channelPair()
	c.wantError("Close of a channel with queues", p.ch.Close(), provider.ErrBusy)
	p.arm(p.b.receives, false)
	p.send(false)
	p.event("after Close has failed", p.b.receives)
}

// checkChannelLoop checks the loop of a program: arm, poll once more, wait (ibv_get_cq_event,
// example). No completion is missed while messages come at any time.
func checkChannelLoop(c *check) {
	n := c.shorter(200, 50)
	p := c.channelPair()
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := c.patience()
		defer cancel()
		got := 0
		var wcs [4]provider.WorkCompletion
		for got < n {
			if err := p.b.receives.Arm(false); err != nil {
				ended <- err
				return
			}
			k, err := p.b.receives.Poll(wcs[:])
			if err == nil && k == 0 {
				_, err = p.ch.Wait(ctx)
			}
			for range k {
				got++
				_, err = p.b.qp.PostReceive([]provider.ReceiveRequest{p.b.room(0, 0, 8)})
			}
			if err != nil {
				ended <- fmt.Errorf("after %d messages: %w", got, err)
				return
			}
		}
		ended <- nil
	}()
	for i := range n {
		p.send(false)
		time.Sleep(time.Duration(i%5) * 20 * time.Microsecond)
	}
	c.must(<-ended)
}

// checkChannelWaiters checks that events that come together wake as many goroutines.
func checkChannelWaiters(c *check) {
	p := c.channelPair()
	p.arm(p.b.receives, false)
	p.arm(p.b.sends, false)
	got := make(chan provider.CompletionQueue, 2)
	for range 2 {
		go func() {
			ctx, cancel := c.patience()
			defer cancel()
			q, err := p.ch.Wait(ctx)
			if err != nil {
				c.errorf("Wait = %v", err)
			}
			got <- q
		}()
	}
	c.quiet()
	p.b.fail()
	p.b.post(provider.SendRequest{})
	if x, y := <-got, <-got; x == y {
		c.errorf("two goroutines got the event of one queue")
	}
}
