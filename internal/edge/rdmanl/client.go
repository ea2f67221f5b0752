package rdmanl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mdlayher/netlink"
)

// Client asks the running kernel. Its zero value is ready for use, by several
// goroutines at a time; there is nothing to close.
type Client struct {
	// dial opens a socket of a netlink family; nil means the kernel's. Tests set it.
	dial func(family int) (*netlink.Conn, error)
}

// request is one question to the kernel.
type request struct {
	op, object string // for errors
	family     int
	typ        netlink.HeaderType
	flags      netlink.HeaderFlags // beside netlink.Request
	body       []byte
}

// dumpTries bounds how often a list is read again because it changed meanwhile.
const dumpTries = 4

// dump reads a list, again if it changed meanwhile. After the last try it
// returns what it has, with ErrInconsistent.
func (c Client) dump(ctx context.Context, q request) ([]netlink.Message, error) {
	q.flags |= netlink.Dump
	for try := 1; ; try++ {
		msgs, err := c.exchange(ctx, q)
		if err != nil || !interrupted(msgs) {
			return msgs, err
		}
		if try == dumpTries {
			return msgs, opError(q, ErrInconsistent)
		}
	}
}

func interrupted(msgs []netlink.Message) bool {
	for _, m := range msgs {
		if m.Header.Flags&netlink.DumpInterrupted != 0 {
			return true
		}
	}
	return false
}

// get asks for one object and returns the body of the answer.
func (c Client) get(ctx context.Context, q request) ([]byte, error) {
	msgs, err := c.exchange(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(msgs) == 0 {
		return nil, opError(q, errors.New("no answer"))
	}
	return msgs[0].Data, nil
}

// exchange sends a request over a socket of its own and returns all messages of
// the answer. It returns when ctx is done, come what may: the kernel handles a
// request while the sender waits in its system call, where no deadline reaches
// it, and a sick card can keep a port query there for minutes. The goroutine
// below owns the socket, and ends once the kernel lets go of it.
func (c Client) exchange(ctx context.Context, q request) ([]netlink.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, opError(q, err)
	}
	dial := c.dial
	if dial == nil {
		dial = dialKernel
	}
	// On this goroutine, because the calling thread decides on the namespace.
	conn, err := dial(q.family)
	if err != nil {
		return nil, refine(q, err)
	}
	type result struct {
		msgs []netlink.Message
		err  error
	}
	done := make(chan result, 1)
	go func() {
		msgs, err := conn.Execute(netlink.Message{
			Header: netlink.Header{Type: q.typ, Flags: q.flags | netlink.Request},
			Data:   q.body,
		})
		done <- result{msgs, errors.Join(err, conn.Close())}
	}()
	select {
	case r := <-done:
		return r.msgs, refine(q, r.err)
	case <-ctx.Done():
		// Wakes a receive that waits; an error would mean that it has ended anyway.
		_ = conn.SetDeadline(time.Unix(1, 0))
		return nil, opError(q, ctx.Err())
	}
}

// refine turns an error of the socket into one of this package.
func refine(q request, err error) error {
	if err == nil {
		return nil
	}
	if q.family == NETLINK_RDMA {
		if missing, remedy := rdmaMissing(err); missing != "" {
			return &NotSupportedError{
				Feature: featureRDMANetlink, Requires: missing, Remedy: remedy,
				Err: errors.Unwrap(opError(q, err)),
			}
		}
	}
	return opError(q, err)
}

// collect decodes each message of a list. What decodes in part is kept; the
// error joins err and the complaints, which name the message by its place.
func collect[T any](q request, msgs []netlink.Message, err error, decode func([]byte) (T, error)) ([]T, error) {
	out, errs := make([]T, 0, len(msgs)), []error{err}
	for i, m := range msgs {
		v, err := decode(m.Data)
		if err != nil {
			errs = append(errs, opError(q, fmt.Errorf("message %d: %w", i, err)))
		}
		if !errors.Is(err, errIncomplete) {
			out = append(out, v)
		}
	}
	return out, errors.Join(errs...)
}
