// Package ethtool queries the running kernel for the statistics and settings of network devices,
// and for their pluggable modules. It only reads.
//
//	s, err := ethtool.Open()
//	defer s.Close()
//	stats, err := s.Stats("eth0")
//	if errors.Is(err, errors.ErrUnsupported) { … } // the driver has none
//	module, err := s.Module(ctx, "eth0")
//
// Errors name the operation and the device. They match [errors.ErrUnsupported] if the driver
// doesn't support the operation or the device has no such part, and [fs.ErrPermission] if the
// process may not ask.
//
// # Concurrency
//
// A [Socket] may be used by several goroutines until it is closed. Calls other than Module have no
// time limit: the kernel handles them in the system call, and a faulty card can block one for
// minutes.
//
// # Limits
//
// Statistics, pause and rings come from the ioctl, which needs no privileges; reading a module
// needs CAP_NET_ADMIN. The names of statistics are not unique with some drivers; the last one
// counts.
package ethtool

import (
	"context"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/internal/edge/sff"
)

// Pause are the settings of global flow control (ethtool -a).
type Pause struct {
	RX, TX, Autoneg bool
}

// Rings are sizes of descriptor rings (ethtool -g).
type Rings struct {
	RX, RXMax, TX, TXMax uint32
}

// FEC is forward error correction (ethtool --show-fec).
type FEC struct {
	Active     string   // "RS", "BaseR", "LLRS", "Off"; "" while there is no link
	Configured []string // the same names, and "Auto"; nil for none of them
	Auto       bool
}

// LinkMode is the speed of a link, and the modes that both ends offer.
type LinkMode struct {
	Mbps             uint32 // 0 if unknown
	Lanes            uint32 // 0 if unknown
	Duplex           string // "full", "half", "" if unknown
	Autoneg          bool
	Advertised, Peer []string // 100000baseCR4/Full, …
}

// Error is an error of a query.
type Error struct {
	Op, Netdev string
	Err        error
}

// Error returns operation, device and cause: "ethtool pause eth0: operation not supported".
func (e *Error) Error() string { return fmt.Sprintf("ethtool %s %s: %v", e.Op, e.Netdev, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func fail(op, netdev string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{op, netdev, err}
}

// Module reads and decodes the pluggable module or cable of a device. It asks page by page, and on
// kernels before 5.13 for the whole memory at once, which clears latched flags of the module. If
// only some pages can be read, both results are set. The error matches [errors.ErrUnsupported] if
// the device has no module.
func (s *Socket) Module(ctx context.Context, netdev string) (sff.Module, error) {
	m, err := sff.Decode(s.pages(ctx, netdev))
	if m.Type == "" && errors.Is(err, errors.ErrUnsupported) && ctx.Err() == nil {
		dump, err2 := s.eeprom(netdev)
		if err2 != nil {
			return m, fail("module", netdev, err2)
		}
		m, err = sff.Decode(sff.Linear(dump))
	}
	return m, fail("module", netdev, err)
}
