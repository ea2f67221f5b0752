package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// hello is the message that each end sends to the other before they connect.
type hello struct {
	Remote verbs.Remote // queue pair number, first PSN, address
	MTU    ib.MTU       // largest MTU of the port

	// From the client: number of round trips and message size.
	Rounds, Size int
}

// control is the TCP connection between the two ends. Each message is a line of JSON.
type control struct {
	conn net.Conn
	r    *bufio.Reader
}

// errHungUp is the error if the peer has closed the TCP connection; only the peer knows the cause.
var errHungUp = errors.New("the peer closed the connection")

// maxLine is the maximum length of a message from the peer, which is not trusted.
const maxLine = 1024

func newControl(ctx context.Context, conn net.Conn) *control {
	context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends a pending read
	return &control{conn: conn, r: bufio.NewReaderSize(conn, maxLine)}
}

// exchange sends mine to the peer and returns the peer's message.
func exchange[T any](ctx context.Context, c *control, mine T) (theirs T, err error) {
	line, err := json.Marshal(mine)
	if err != nil {
		return theirs, err
	}
	if _, err := c.conn.Write(append(line, '\n')); err != nil {
		return theirs, cause(ctx, fmt.Errorf("%w: %w", errHungUp, err))
	}
	line, err = c.r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return theirs, fmt.Errorf("read from the peer: line longer than %d bytes", maxLine)
	case err != nil:
		return theirs, cause(ctx, fmt.Errorf("%w: %w", errHungUp, err))
	}
	if err := json.Unmarshal(line, &theirs); err != nil {
		return theirs, fmt.Errorf("read from the peer: %w", err)
	}
	return theirs, nil
}

// step waits until both ends have reached the named step.
func step(ctx context.Context, c *control, name string) error {
	theirs, err := exchange(ctx, c, name)
	if err == nil && theirs != name {
		err = fmt.Errorf("the peer is at step %q, not %q", theirs, name)
	}
	return err
}

// cause returns the cause if ctx has ended, otherwise err.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// listen listens for clients until ctx ends.
func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	return l, nil
}
