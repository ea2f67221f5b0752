//go:build !linux

package ibsim

import (
	"context"
	"errors"
	"fmt"
)

// Server requires Linux.
type Server struct{}

// Listen returns an error that matches [errors.ErrUnsupported].
func Listen(c ServerConfig, _ Backend) (*Server, error) {
	return nil, fmt.Errorf("serve %s: abstract unix sockets require Linux: %w", c, errors.ErrUnsupported)
}

// Serve returns an error that matches [errors.ErrUnsupported].
func (*Server) Serve(context.Context) error { return errors.ErrUnsupported }

// Send returns an error that matches [errors.ErrUnsupported].
func (*Server) Send(int, *Packet) error { return errors.ErrUnsupported }

// Close does nothing.
func (*Server) Close() error { return nil }
