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

// hello is what each end tells the other before they connect.
type hello struct {
	Remote verbs.Remote // queue pair, first packet number, address
	MTU    ib.MTU       // the largest that the port takes

	// From the client: the work to do.
	Rounds, Size int
}

// control is the TCP connection beside the queue pairs. Each message is a line of JSON.
type control struct {
	conn net.Conn
	r    *bufio.Reader
}

// errHungUp is what an end sees whose peer has ended, for a reason that the peer knows.
var errHungUp = errors.New("the peer hung up")

// maxLine bounds a message of a peer that may be anybody.
const maxLine = 1024

func newControl(ctx context.Context, conn net.Conn) *control {
	context.AfterFunc(ctx, func() { _ = conn.Close() }) // wakes whoever reads
	return &control{conn: conn, r: bufio.NewReaderSize(conn, maxLine)}
}

// exchange tells the peer mine and returns what it tells.
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
		return theirs, fmt.Errorf("hear from the peer: a line of more than %d bytes", maxLine)
	case err != nil:
		return theirs, cause(ctx, fmt.Errorf("%w: %w", errHungUp, err))
	}
	if err := json.Unmarshal(line, &theirs); err != nil {
		return theirs, fmt.Errorf("hear from the peer: %w", err)
	}
	return theirs, nil
}

// step waits until both ends are at the same point of the program.
func step(ctx context.Context, c *control, name string) error {
	theirs, err := exchange(ctx, c, name)
	if err == nil && theirs != name {
		err = fmt.Errorf("the peer is at %q, not at %q", theirs, name)
	}
	return err
}

// cause returns why ctx ended, where that explains err.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// listen waits for clients until ctx ends.
func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	return l, nil
}
