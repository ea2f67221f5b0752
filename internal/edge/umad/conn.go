package umad

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// device is an open umadN.
type device interface {
	ioctl(request uintptr, argument []byte) error
	// write hands over one MAD; EAGAIN is back-pressure.
	write(b []byte) error
	// read calls try, and again whenever there may be something to read, until it says that it is
	// done, or the deadline (os.ErrDeadlineExceeded), or the context's end.
	read(ctx context.Context, deadline time.Time, try func(read func([]byte) (int, error)) (done bool)) error
	close() error
}

// Conn is an open user MAD device.
type Conn struct {
	port   Port
	device device
	old    bool // the kernel knows only REGISTER_AGENT
	agents int

	out [headerLen + MADLen]byte
	in  []byte

	packets []Packet // of the Receive under way
	n       int
	err     error
	try     func(read func([]byte) (int, error)) bool
}

func newConn(p Port, d device) *Conn {
	c := &Conn{port: p, device: d, in: make([]byte, headerLen+MADLen)}
	c.try = c.tryReceive
	return c
}

// Port returns which port the connection leads to.
func (c *Conn) Port() Port { return c.port }

// Register makes the kernel send and receive MADs of a class for this connection, and returns the
// agent's number, which packets carry.
func (c *Conn) Register(a Agent) (uint32, error) {
	fail := func(err error) (uint32, error) {
		return 0, fmt.Errorf("register agent for class 0x%02x at %s: %w", a.Class, c.port, err)
	}
	mask, err := a.mask()
	if err != nil {
		return fail(err)
	}
	if c.agents >= MaxAgents {
		return fail(fmt.Errorf("the connection has %d agents already", MaxAgents))
	}
	if !c.old {
		argument := a.request2(mask)
		err := c.device.ioctl(IB_USER_MAD_REGISTER_AGENT2, argument)
		if err == nil {
			c.agents++
			return binary.NativeEndian.Uint32(argument), nil
		}
		if !errors.Is(err, syscall.ENOTTY) || c.agents > 0 {
			return fail(err)
		}
		// Before Linux 3.18: the header's layout with a P_Key index has to be asked for, and first.
		if err := c.device.ioctl(IB_USER_MAD_ENABLE_PKEY, nil); err != nil {
			return fail(fmt.Errorf("enable p_key index: %w", err))
		}
		c.old = true
	}
	argument := a.request(mask)
	if err := c.device.ioctl(IB_USER_MAD_REGISTER_AGENT, argument); err != nil {
		return fail(err)
	}
	c.agents++
	return binary.NativeEndian.Uint32(argument), nil
}

// Send hands packets to the kernel and returns how many it took; fewer than all without error
// is back-pressure.
func (c *Conn) Send(packets []Packet) (int, error) {
	for i := range packets {
		switch err := c.device.write(packets[i].appendTo(c.out[:0])); {
		case err == nil:
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.ENOBUFS):
			return i, nil
		default:
			return i, fmt.Errorf("send mad at %s: %w", c.port, err)
		}
	}
	return len(packets), nil
}

// Receive waits for the first packet until the deadline, takes what else is there, and returns the
// count; 0 and no error at the deadline. A zero deadline waits forever.
func (c *Conn) Receive(ctx context.Context, packets []Packet, deadline time.Time) (int, error) {
	c.packets, c.n, c.err = packets, 0, nil
	err := c.device.read(ctx, deadline, c.try)
	c.packets = nil
	switch {
	case ctx.Err() != nil:
		return c.n, context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return c.n, nil
	case err == nil:
		err = c.err
	}
	if err != nil {
		return c.n, fmt.Errorf("receive mad at %s: %w", c.port, err)
	}
	return c.n, nil
}

// maxMessage bounds what a longer message than a MAD makes the buffer grow to.
const maxMessage = 1 << 20

func (c *Conn) tryReceive(read func([]byte) (int, error)) bool {
	for c.n < len(c.packets) {
		n, err := read(c.in)
		switch {
		case err == nil:
			if err := c.packets[c.n].decode(c.in[:n]); err != nil {
				c.err = err
				return true
			}
			c.n++
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return c.n > 0
		case errors.Is(err, syscall.ENOSPC) && len(c.in) < maxMessage:
			// A message of several segments: it stays in the kernel's queue until the buffer
			// has room.
			c.in = make([]byte, maxMessage)
		default:
			c.err = err
			return true
		}
	}
	return true
}

// Close closes the device: its agents end, and a Receive that waits returns an error that matches
// [os.ErrClosed], as do later calls. A second Close does nothing.
func (c *Conn) Close() error { return c.device.close() }
