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
	// write writes one MAD; EAGAIN is back-pressure.
	write(b []byte) error
	// read calls try whenever there may be data to read, until it returns true, the deadline passes
	// (os.ErrDeadlineExceeded), or the context ends.
	read(ctx context.Context, deadline time.Time, try func(read func([]byte) (int, error)) (done bool)) error
	close() error
}

// Conn is an open user MAD device.
type Conn struct {
	port   Port
	device device
	old    bool // the kernel supports only REGISTER_AGENT
	agents int

	out [headerLen + MADLen]byte
	in  []byte

	packets []Packet // argument of the current Receive
	n       int
	err     error
	try     func(read func([]byte) (int, error)) bool
}

func newConn(p Port, d device) *Conn {
	c := &Conn{port: p, device: d, in: make([]byte, headerLen+MADLen)}
	c.try = c.tryReceive
	return c
}

// Port returns the port of the connection.
func (c *Conn) Port() Port { return c.port }

// Register makes the kernel send and receive MADs of a class for this connection, and returns the
// agent's number for [Packet].
func (c *Conn) Register(a Agent) (uint32, error) {
	fail := func(err error) (uint32, error) {
		return 0, fmt.Errorf("register agent for class 0x%02x at %s: %w", a.Class, c.port, err)
	}
	mask, err := a.mask()
	if err != nil {
		return fail(err)
	}
	if c.agents >= MaxAgents {
		return fail(fmt.Errorf("the connection already has %d agents", MaxAgents))
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
		// Before Linux 3.18: the header layout with a P_Key index must be enabled first.
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

// Send sends packets and returns how many the kernel accepted; fewer than all without an error
// means back-pressure.
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

// Receive waits for the first packet until the deadline, reads the other available packets, and
// returns their number; at the deadline 0 and no error. A zero deadline means no limit.
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

// maxMessage is the maximum length of a message with its header: enough for the records of all
// unicast LIDs.
const maxMessage = 64 << 20

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
			// A message of several segments: it stays in the kernel's queue until it is read
			// with a larger buffer. The header has the length of both.
			length := binary.NativeEndian.Uint32(c.in[lengthOffset:])
			c.in = make([]byte, min(maxMessage, max(2*len(c.in), int(length))))
		default:
			c.err = err
			return true
		}
	}
	return true
}

// Close closes the device and unregisters its agents. A waiting Receive, and later calls, return an
// error that matches [os.ErrClosed]. A second Close does nothing.
func (c *Conn) Close() error { return c.device.close() }
