package rdmanl

import (
	"context"
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"

	"github.com/rdmakit/rdmakit/internal/edge/nl"
)

// Client queries the running kernel. Its zero value is ready to use and safe for
// concurrent use; it needs no Close.
type Client struct {
	// dial opens a socket of a netlink family; nil means a kernel socket. Tests set it.
	dial func(family int) (*netlink.Conn, error)
}

// request is one request to the kernel.
type request struct {
	op, object string // for errors
	family     int
	typ        netlink.HeaderType
	flags      netlink.HeaderFlags // in addition to netlink.Request
	body       []byte
}

// dumpTries is how often a list is read if it changes during the dump.
const dumpTries = 4

// dump reads a list, and reads it again if it has changed during the dump. After the
// last try it returns the list with ErrInconsistent.
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

// get requests one object and returns the body of the response.
func (c Client) get(ctx context.Context, q request) ([]byte, error) {
	msgs, err := c.exchange(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(msgs) == 0 {
		return nil, opError(q, errors.New("no response"))
	}
	return msgs[0].Data, nil
}

// exchange sends a request over a new socket and returns all messages of the response, or an error
// when ctx is done.
func (c Client) exchange(ctx context.Context, q request) ([]netlink.Message, error) {
	dial := c.dial
	if dial == nil {
		dial = dialKernel
	}
	msgs, err := nl.Do(ctx, func() (*netlink.Conn, error) { return dial(q.family) },
		func(conn *netlink.Conn) ([]netlink.Message, error) {
			return conn.Execute(netlink.Message{
				Header: netlink.Header{Type: q.typ, Flags: q.flags | netlink.Request},
				Data:   q.body,
			})
		})
	return msgs, refine(q, err)
}

// refine converts an error of the socket into one of this package.
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

// collect decodes each message of a list. Partly decoded messages are kept; the error
// joins err and the decoding errors, which contain the index of the message.
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
