//go:build !linux

package ethtool

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/rdmakit/rdmakit/internal/edge/genl"
)

// Socket asks the kernel about network devices; only Linux has ethtool.
type Socket struct {
	kernel genl.Client
}

func unsupported() error { return fmt.Errorf("ethtool on %s: %w", runtime.GOOS, errors.ErrUnsupported) }

// Open returns an error.
func Open() (*Socket, error) { return nil, unsupported() }

// Close does nothing.
func (s *Socket) Close() error { return nil }

// Driver returns an error.
func (s *Socket) Driver(string) (string, error) { return "", unsupported() }

// Stats returns an error.
func (s *Socket) Stats(string) (map[string]uint64, error) { return nil, unsupported() }

// Pause returns an error.
func (s *Socket) Pause(string) (Pause, error) { return Pause{}, unsupported() }

// Rings returns an error.
func (s *Socket) Rings(string) (Rings, error) { return Rings{}, unsupported() }

// LinkMode returns an error.
func (s *Socket) LinkMode(context.Context, string) (LinkMode, error) {
	return LinkMode{}, unsupported()
}

func (s *Socket) eeprom(string) ([]byte, error) { return nil, unsupported() }
