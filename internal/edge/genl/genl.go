// Package genl sends requests to families of generic netlink, for the edges that use them.
//
//	var kernel genl.Client
//	msgs, err := kernel.Execute(ctx, genl.Request{
//		Op: "devlink health reporter dump", Family: "devlink", Version: 1, Command: 52, Dump: true,
//	})
//	if errors.Is(err, errors.ErrUnsupported) { … } // the kernel has no such family
//
// # Concurrency
//
// A [Client] has no socket: each call opens one in the network namespace of the calling thread and
// closes it, so calls may run concurrently. A context limits each call even if the kernel doesn't
// return from a driver; the goroutine that waits for the kernel then ends when it returns.
//
// # Limits
//
// Asking for a family that is not registered makes the kernel try to load a module of that name.
package genl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"

	"github.com/rdmakit/rdmakit/internal/edge/nl"
)

// Client queries the running kernel. Its zero value is ready to use and safe for concurrent use; it
// needs no Close.
type Client struct {
	// Dial opens a socket; nil means a kernel socket. Tests set it.
	Dial func() (*genetlink.Conn, error)

	interrupted func() bool // tests set it: whether the list changed
}

// Request is one request to the kernel.
type Request struct {
	Op, Object string // for errors: "ethtool module EEPROM get", "eth0"
	Family     string // "ethtool", "devlink"
	Version    uint8
	Command    uint8
	Dump       bool
	Body       []byte // attributes
}

// OpError is an error of a call: "devlink health reporter dump: operation not permitted". Err is
// usually a [syscall.Errno], so that [errors.Is] matches [fs.ErrPermission] and
// [errors.ErrUnsupported].
type OpError struct {
	Op, Object string
	Detail     string // the kernel's message (extended acknowledgement), usually ""
	Err        error
}

// Error returns operation, object, the kernel's message and the cause.
func (e *OpError) Error() string {
	s := e.Op
	if e.Object != "" {
		s += " " + e.Object
	}
	if e.Detail != "" {
		s += ": " + strings.TrimRight(e.Detail, ".")
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// ErrInconsistent is matched by the error of a list that changed during every attempt to read it.
var ErrInconsistent = errors.New("changed while it was read")

// dumpTries is how often a list is read if it changes during the dump.
const dumpTries = 4

// Execute sends a request and returns the attributes of each message of the response. A list that
// changes while it is read is read again; after the last try it is returned with an error that
// matches [ErrInconsistent]. The error matches [errors.ErrUnsupported] if the kernel has no such
// family.
func (c Client) Execute(ctx context.Context, q Request) ([][]byte, error) {
	for try := 1; ; try++ {
		a, err := c.exchange(ctx, q)
		if err != nil {
			return nil, q.fail(err)
		}
		if c.interrupted != nil {
			a.interrupted = c.interrupted()
		}
		if !a.interrupted {
			return a.bodies, nil
		}
		if try == dumpTries {
			return a.bodies, q.fail(ErrInconsistent)
		}
	}
}

// answer is the response to a request.
type answer struct {
	bodies      [][]byte
	interrupted bool // the list changed while it was read
}

// exchange sends a request over a new socket, and returns an error when ctx is done.
func (c Client) exchange(ctx context.Context, q Request) (answer, error) {
	dial := c.Dial
	if dial == nil {
		dial = dialKernel
	}
	return nl.Do(ctx, dial, func(conn *genetlink.Conn) (a answer, err error) {
		defer func() {
			if v := recover(); v != nil { // the library panics at answers that no kernel gives
				err = fmt.Errorf("invalid answer: %v", v)
			}
		}()
		return run(conn, q)
	})
}

func run(conn *genetlink.Conn, q Request) (a answer, err error) {
	family, err := conn.GetFamily(q.Family)
	if errors.Is(err, fs.ErrNotExist) {
		return a, fmt.Errorf("the kernel has no generic netlink family %q: %w", q.Family, errors.ErrUnsupported)
	}
	if err != nil {
		return a, fmt.Errorf("find the family: %w", err)
	}
	flags := netlink.Request
	if q.Dump {
		flags |= netlink.Dump
	}
	m := genetlink.Message{
		Header: genetlink.Header{Command: q.Command, Version: q.Version}, Data: q.Body,
	}
	sent, err := conn.Send(m, family.ID, flags)
	if err != nil {
		return a, err
	}
	msgs, raw, err := conn.Receive()
	if err != nil {
		return a, err
	}
	if err := netlink.Validate(sent, raw); err != nil {
		return a, err
	}
	for i, msg := range msgs {
		a.interrupted = a.interrupted || raw[i].Header.Flags&netlink.DumpInterrupted != 0
		a.bodies = append(a.bodies, msg.Data)
	}
	return a, nil
}

// fail returns an OpError with the cause of err, without the wrappers of the netlink library.
func (q Request) fail(err error) error {
	e := &OpError{Op: q.Op, Object: q.Object, Err: err}
	if ne, ok := errors.AsType[*netlink.OpError](err); ok {
		e.Detail, e.Err = ne.Message, ne.Err
	}
	if se, ok := errors.AsType[*os.SyscallError](e.Err); ok {
		e.Err = se.Err
	}
	return e
}
