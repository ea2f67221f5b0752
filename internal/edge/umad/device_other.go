//go:build !linux

package umad

import (
	"errors"
	"fmt"
)

// Open returns an error that matches [errors.ErrUnsupported]: only Linux has user MAD devices.
func Open(p Port) (*Conn, error) {
	return nil, fmt.Errorf("open %s: user MAD devices require Linux: %w", p, errors.ErrUnsupported)
}
