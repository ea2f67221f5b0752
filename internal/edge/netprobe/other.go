//go:build !linux

package netprobe

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

// PathMTU is supported on Linux only.
func PathMTU(context.Context, string, netip.Addr, netip.Addr, int) (int, error) {
	return 0, errors.ErrUnsupported
}

// Owners is supported on Linux only.
func Owners(context.Context, string, netip.Addr, time.Duration) ([]net.HardwareAddr, error) {
	return nil, errors.ErrUnsupported
}

// Rejected is supported on Linux only.
func Rejected(context.Context, string, netip.AddrPort, netip.AddrPort, []byte) (*Rejection, error) {
	return nil, errors.ErrUnsupported
}
