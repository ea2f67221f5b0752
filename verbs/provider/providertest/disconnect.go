package providertest

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// ended waits until a connection has ended, and checks why.
func (c *check) ended(what string, conn provider.Connection, e *end, want error) {
	select {
	case <-conn.Done():
	case <-time.After(c.wait):
		c.errorf("%s: not done", what)
		return
	}
	if err := conn.Err(); !errors.Is(err, want) {
		c.errorf("%s: Err() = %v, want %v", what, err, want)
	}
	if s := e.state(); s != provider.QPStateError {
		c.errorf("%s: queue pair in state %v, want ERR", what, s)
	}
}

// checkDisconnect checks that both ends of a connection learn that it has ended.
func checkDisconnect(c *check, which int) {
	a, b := c.ends(shape{})
	x, y := c.join(a, b, c.offer(), c.offer())
	c.exchange(a, b)
	mine, theirs, atMine, atTheirs := x, y, a, b
	if which == 1 {
		mine, theirs, atMine, atTheirs = y, x, b, a
	}
	atTheirs.postReceive(atTheirs.room(8, 0, 64))
	ctx, cancel := c.patience()
	defer cancel()
	c.must(mine.Disconnect(ctx))
	c.ended("the end that disconnects", mine, atMine, provider.ErrClosed)
	c.ended("the other end", theirs, atTheirs, io.EOF)
	c.expect("receive request of the other end", atTheirs.received(1), done{8, provider.WCFlushed})
	c.must(mine.Disconnect(ctx))
	c.must(theirs.Disconnect(ctx))
	c.must(theirs.Close())
	if err := theirs.Err(); !errors.Is(err, io.EOF) {
		c.errorf("Err() after Close = %v, want the first reason, EOF", err)
	}
}

// checkConnectionClose checks that Close ends a connection, without waiting for the peer.
func checkConnectionClose(c *check) {
	a, b := c.ends(shape{})
	x, y := c.join(a, b, c.offer(), c.offer())
	c.must(x.Close())
	c.ended("the closed end", x, a, provider.ErrClosed)
	c.ended("the other end", y, b, io.EOF)
	c.must(a.qp.Close())
}

// checkConnectionsTwice checks that Close may be called again.
func checkConnectionsTwice(c *check) {
	a, b := c.ends(shape{})
	l := c.listen(provider.ListenOptions{})
	x, y := c.join(a, b, c.offer(), c.offer())
	for range 2 {
		c.must(errors.Join(l.Close(), x.Close(), y.Close()))
	}
	c.must(x.Disconnect(context.Background()))
}

// checkNextEnds checks that Next returns when its context ends and when the listener is closed.
func checkNextEnds(c *check) {
	l := c.listen(provider.ListenOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := l.Next(ctx)
	c.wantError("Next with a context that has ended", err, context.Canceled)
	ctx, cancel = context.WithTimeout(context.Background(), c.options.Quiet)
	defer cancel()
	_, err = l.Next(ctx)
	c.wantError("Next with a deadline", err, context.DeadlineExceeded)
	result := make(chan error, 1)
	go func() {
		_, err := l.Next(context.Background())
		result <- err
	}()
	c.quiet()
	c.must(l.Close())
	c.wantError("Next of a listener that is being closed", <-result, provider.ErrClosed)
	_, err = l.Next(context.Background())
	c.wantError("Next of a closed listener", err, provider.ErrClosed)
}

// checkDialEnds checks that Dial returns when its context ends, and that the device can be closed
// then.
func checkDialEnds(c *check) {
	a, _ := c.ends(shape{})
	l := c.listen(provider.ListenOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got := <-c.dial(ctx, a.qp, l.Addr(), c.offer())
	c.wantError("Dial with a context that has ended", got.err, context.Canceled)
	ctx, cancel = context.WithTimeout(context.Background(), 2*c.options.Quiet)
	defer cancel()
	result := c.dial(ctx, a.qp, l.Addr(), c.offer())
	select {
	case got = <-result:
		c.wantError("Dial of a listener that doesn't answer", got.err, context.DeadlineExceeded)
	case <-time.After(c.wait):
		c.errorf("Dial doesn't return when its context ends")
	}
	c.must(l.Close())
	if !c.eventually(func() bool { return a.qp.Close() == nil }) {
		c.errorf("after a Dial that was given up: %v", a.qp.Close())
	}
}

// checkClosedListener checks that closing a listener rejects the requests that Next hasn't
// returned.
func checkClosedListener(c *check) {
	a, _ := c.ends(shape{})
	l := c.listen(provider.ListenOptions{})
	ctx, cancel := c.patience()
	defer cancel()
	result := c.dial(ctx, a.qp, l.Addr(), c.offer())
	c.quiet()
	c.must(l.Close())
	got := <-result
	if _, ok := errors.AsType[*provider.RejectedError](got.err); !ok {
		c.errorf("Dial of a listener that was closed = %v, want a RejectedError", got.err)
	}
}

// checkSeveralRequests checks that requests wait for Next, and that each leads to its own peer.
func checkSeveralRequests(c *check) {
	const n = 3
	l := c.listen(provider.ListenOptions{})
	ctx, cancel := c.patience()
	defer cancel()
	var dialers, acceptors [n]*end
	var results [n]<-chan dialed
	for i := range n {
		dialers[i], acceptors[i] = c.ends(shape{})
		options := c.offer()
		options.PrivateData = []byte{byte(i) + 1}
		results[i] = c.dial(ctx, dialers[i].qp, l.Addr(), options)
	}
	for range n {
		r := c.next(l)
		data := r.Options().PrivateData
		if len(data) == 0 || data[0] < 1 || data[0] > n {
			c.fatalf("private data %x, want 1 to %d", data, n)
		}
		i := data[0] - 1
		y, err := r.Accept(ctx, acceptors[i].qp, c.offer())
		c.must(err)
		c.closeLater("accepted connection", y)
	}
	for i := range n {
		got := <-results[i]
		c.must(got.err)
		c.closeLater("dialed connection", got.conn)
		dialers[i].peer, acceptors[i].peer = acceptors[i], dialers[i]
		c.exchange(dialers[i], acceptors[i])
	}
}
