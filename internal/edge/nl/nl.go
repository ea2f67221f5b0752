// Package nl has what the edges that talk to the kernel over netlink share: [Do] limits a
// conversation by a context, and [Fields] decodes attributes.
package nl

import (
	"context"
	"errors"
	"time"
)

// Conn is a netlink socket: *netlink.Conn, *genetlink.Conn.
type Conn interface {
	SetDeadline(t time.Time) error
	Close() error
}

// Do opens a socket, talks over it and closes it. It always returns when ctx is done: the kernel
// handles a request within the sender's system call, where deadlines have no effect, and a faulty
// card can block that for minutes. The goroutine that talks owns the socket, and ends when the
// system call returns. Errors are those of dial, talk and Close, and ctx.Err().
func Do[C Conn, T any](ctx context.Context, dial func() (C, error), talk func(C) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	conn, err := dial() // on this goroutine, because the calling thread determines the namespace
	if err != nil {
		return none, err
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := talk(conn)
		done <- result{v, errors.Join(err, conn.Close())}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		// Wakes a waiting receive; an error means that it has ended anyway.
		_ = conn.SetDeadline(time.Unix(1, 0))
		return none, ctx.Err()
	}
}
