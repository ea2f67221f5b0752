//go:build !linux

package ibsim

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Conn is the connection of one client to a simulated subnet; it requires Linux.
type Conn struct{}

// Dial returns an error that matches [errors.ErrUnsupported].
func Dial(_ context.Context, c Config) (*Conn, error) {
	return nil, fmt.Errorf("join %s: abstract unix sockets require Linux: %w", c, errors.ErrUnsupported)
}

// Node returns "".
func (*Conn) Node() string { return "" }

// IsSM returns false.
func (*Conn) IsSM() bool { return false }

// PKeys returns nothing.
func (*Conn) PKeys(context.Context) (table [64]byte, err error) { return table, errors.ErrUnsupported }

// Send does nothing.
func (*Conn) Send([]Packet) (int, error) { return 0, errors.ErrUnsupported }

// Receive does nothing.
func (*Conn) Receive(context.Context, []Packet, time.Time) (int, error) {
	return 0, errors.ErrUnsupported
}

// Close does nothing.
func (*Conn) Close() error { return nil }
