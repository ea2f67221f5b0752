//go:build !linux

package udpio

import (
	"errors"
	"fmt"
	"net/netip"
)

// Conn is a UDP socket.
type Conn struct{}

var errUnsupported = fmt.Errorf("batches of UDP datagrams require Linux: %w", errors.ErrUnsupported)

// Listen returns [errors.ErrUnsupported].
func Listen(netip.AddrPort, Options) (*Conn, error) { return nil, errUnsupported }

// Addr returns the local address.
func (c *Conn) Addr() netip.AddrPort { return netip.AddrPort{} }

// Offload returns false.
func (c *Conn) Offload() (gso, gro bool) { return false, false }

// Sender returns [errors.ErrUnsupported].
func (c *Conn) Sender(uint16) (*Conn, error) { return nil, errUnsupported }

// ReceiveBuffer returns 0.
func (c *Conn) ReceiveBuffer() int { return 0 }

// Read returns [errors.ErrUnsupported].
func (c *Conn) Read(Handler) error { return errUnsupported }

// Poll returns [errors.ErrUnsupported].
func (c *Conn) Poll(Handler) (bool, error) { return false, errUnsupported }

// Resume does nothing.
func (c *Conn) Resume() {}

// Write returns [errors.ErrUnsupported].
func (c *Conn) Write(list []Outbound) ([]Outbound, error) { return list, errUnsupported }

// WaitWritable returns [errors.ErrUnsupported].
func (c *Conn) WaitWritable() error { return errUnsupported }

// Close does nothing.
func (c *Conn) Close() error { return nil }
