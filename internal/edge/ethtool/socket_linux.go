package ethtool

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	ethnl "github.com/mdlayher/ethtool"
	"github.com/mdlayher/netlink"
	"github.com/safchain/ethtool"

	"github.com/rdmakit/rdmakit/internal/edge/genl"
)

// Socket asks the kernel about network devices of the namespace in which it was opened.
type Socket struct {
	ioctl  *ethtool.Ethtool
	modes  *ethnl.Client // nil before Linux 5.6
	kernel genl.Client
}

// Open opens the sockets. Without the kernel's ethtool over netlink, FEC and link modes are not
// supported.
func Open() (*Socket, error) {
	ioctl, err := ethtool.NewEthtool()
	if err != nil {
		return nil, fmt.Errorf("ethtool: open a socket: %w", err)
	}
	modes, _ := ethnl.New() // an older kernel
	return &Socket{ioctl: ioctl, modes: modes}, nil
}

// Close closes the sockets. It may be called once; no call may be under way.
func (s *Socket) Close() error {
	s.ioctl.Close()
	if s.modes != nil {
		return s.modes.Close()
	}
	return nil
}

// Driver returns the name of a device's driver: "mlx5_core".
func (s *Socket) Driver(netdev string) (string, error) {
	name, err := s.ioctl.DriverName(netdev)
	return name, fail("driver", netdev, err)
}

// Stats returns the driver's statistics (ethtool -S). None is an error that matches
// [errors.ErrUnsupported].
func (s *Socket) Stats(netdev string) (map[string]uint64, error) {
	stats, err := s.ioctl.Stats(netdev)
	if err == nil && len(stats) == 0 {
		err = syscall.EOPNOTSUPP
	}
	return stats, fail("statistics", netdev, err)
}

// Pause returns the settings of global flow control.
func (s *Socket) Pause(netdev string) (Pause, error) {
	p, err := s.ioctl.GetPause(netdev)
	return Pause{p.RxPause != 0, p.TxPause != 0, p.Autoneg != 0}, fail("pause", netdev, err)
}

// Rings returns the sizes of the descriptor rings.
func (s *Socket) Rings(netdev string) (Rings, error) {
	r, err := s.ioctl.GetRing(netdev)
	return Rings{r.RxPending, r.RxMaxPending, r.TxPending, r.TxMaxPending}, fail("rings", netdev, err)
}

// LinkMode returns the speed of a device's link and the modes of both ends.
func (s *Socket) LinkMode(ctx context.Context, netdev string) (m LinkMode, err error) {
	if s.modes == nil {
		return m, fail("link mode", netdev, errNoNetlink())
	}
	defer guard("link mode", netdev, &err)
	got, err := s.modes.LinkMode(ethnl.Interface{Name: netdev})
	if err != nil {
		return m, fail("link mode", netdev, cause(err))
	}
	m.Autoneg = got.Autoneg == ethnl.AutonegOn
	if speed := got.SpeedMegabits; speed > 0 && int64(speed) < 1<<31 { // otherwise SPEED_UNKNOWN
		m.Mbps = uint32(speed)
	}
	switch got.Duplex {
	case ethnl.Full:
		m.Duplex = "full"
	case ethnl.Half:
		m.Duplex = "half"
	}
	for _, mode := range got.Ours {
		m.Advertised = append(m.Advertised, mode.Name)
	}
	for _, mode := range got.Peer {
		m.Peer = append(m.Peer, mode.Name)
	}
	m.Lanes, err = s.lanes(ctx, netdev)
	return m, fail("link mode", netdev, err)
}

// eeprom returns the memory of a module in one piece (ETHTOOL_GMODULEEEPROM).
func (s *Socket) eeprom(netdev string) ([]byte, error) { return s.ioctl.ModuleEeprom(netdev) }

func errNoNetlink() error {
	return fmt.Errorf("the kernel has no ethtool over netlink (Linux 5.6): %w", errors.ErrUnsupported)
}

// guard makes an error of a panic: the library panics at answers that it doesn't expect, such as
// link modes newer than its table.
func guard(op, netdev string, err *error) {
	if v := recover(); v != nil {
		*err = fail(op, netdev, fmt.Errorf("invalid answer: %v", v))
	}
}

// cause returns the kernel's error without the wrappers of the libraries.
func cause(err error) error {
	if ne, ok := errors.AsType[*netlink.OpError](err); ok {
		return ne.Err
	}
	return err
}
