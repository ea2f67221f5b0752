package kernel

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/ethtool"
	"github.com/rdmakit/rdmakit/internal/edge/sff"
	"github.com/rdmakit/rdmakit/inventory"
)

// ethtoolSettings asks for the statistics and settings of the network devices of cards.
func ethtoolSettings(now func() time.Time) facts.Collector {
	return facts.Collector{
		Kind: facts.KindEthtool, Source: "ethtool: SIOCETHTOOL, generic netlink",
		Cost: "seven requests for each network device, of which the statistics ask the firmware",
		Collect: func(ctx context.Context, s *inventory.Snapshot, f *facts.Facts) {
			f.Ethtool = facts.Read(now, func() ([]facts.Ethtool, error) {
				one := func(ctx context.Context, socket *ethtool.Socket, name string) facts.Ethtool {
					return settings(ctx, socket, name)
				}
				late := func(name string) facts.Ethtool {
					return facts.Ethtool{Netdev: name, Errors: []string{noAnswer}}
				}
				return ask(ctx, cardNetdevs(s, false), one, late)
			})
		},
	}
}

// ethtoolModules reads the transceivers and cables of the ports of cards.
func ethtoolModules(now func() time.Time) facts.Collector {
	return facts.Collector{
		Kind: facts.KindModules, Source: "ethtool: the module's EEPROM",
		Cost:      "up to six reads over the module's I²C bus for each port",
		Privilege: "CAP_NET_ADMIN",
		Collect: func(ctx context.Context, s *inventory.Snapshot, f *facts.Facts) {
			f.Modules = facts.Read(now, func() ([]facts.Module, error) {
				one := func(ctx context.Context, socket *ethtool.Socket, name string) answer {
					m, err := socket.Module(ctx, name)
					return answer{name, m, err}
				}
				late := func(name string) answer { return answer{name, sff.Module{}, errors.New(noAnswer)} }
				list, err := ask(ctx, cardNetdevs(s, true), one, late)
				if err != nil {
					return nil, err
				}
				return modules(list)
			})
		},
	}
}

// noAnswer is the error about a network device that a faulty card blocks.
const noAnswer = "the driver did not answer in time"

// ask opens a socket and calls a function for all network devices side by side. The socket stays
// open if one of them still uses it.
func ask[T any](
	ctx context.Context, names []string, one func(context.Context, *ethtool.Socket, string) T, late func(string) T,
) ([]T, error) {
	if len(names) == 0 {
		return nil, facts.Absent("the node has no network device of a card")
	}
	socket, err := ethtool.Open()
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, facts.Absent("%v", err)
	}
	if err != nil {
		return nil, err
	}
	list, complete := each(ctx, netdevTime, names, func(ctx context.Context, name string) T {
		return one(ctx, socket, name)
	}, late)
	if complete {
		err = socket.Close()
	}
	return list, err
}

// source is what settings asks.
type source interface {
	Driver(netdev string) (string, error)
	Stats(netdev string) (map[string]uint64, error)
	Pause(netdev string) (ethtool.Pause, error)
	Rings(netdev string) (ethtool.Rings, error)
	FEC(ctx context.Context, netdev string) (ethtool.FEC, error)
	LinkMode(ctx context.Context, netdev string) (ethtool.LinkMode, error)
}

// settings asks for all parts. One that the driver doesn't support is left out; what needs more
// privilege and any other error are listed.
func settings(ctx context.Context, from source, name string) facts.Ethtool {
	e := facts.Ethtool{Netdev: name}
	known := func(what string, err error) bool {
		text := what + ": "
		if cause := (*ethtool.Error)(nil); errors.As(err, &cause) {
			text += cause.Err.Error()
		} else if err != nil {
			text += err.Error()
		}
		switch {
		case err == nil:
			return true
		case errors.Is(err, errors.ErrUnsupported):
		case errors.Is(err, fs.ErrPermission):
			e.Denied = append(e.Denied, text)
		default:
			e.Errors = append(e.Errors, text)
		}
		return false
	}
	driver, err := from.Driver(name)
	if known(facts.EthtoolDriver, err) {
		e.Driver = driver
	}
	stats, err := from.Stats(name)
	if known(facts.EthtoolStatistics, err) {
		e.Stats = stats
	}
	pause, err := from.Pause(name)
	if known(facts.EthtoolPause, err) {
		e.Pause = (*facts.Pause)(&pause)
	}
	rings, err := from.Rings(name)
	if known(facts.EthtoolRings, err) {
		e.Rings = (*facts.Rings)(&rings)
	}
	fec, err := from.FEC(ctx, name)
	if known(facts.EthtoolFEC, err) {
		e.FEC = &facts.FEC{Active: fec.Active, Configured: fec.Configured, Auto: fec.Auto}
	}
	mode, err := from.LinkMode(ctx, name)
	if known(facts.EthtoolLinkMode, err) {
		e.Mode = &facts.LinkMode{
			Mbps: mode.Mbps, Lanes: mode.Lanes, Duplex: mode.Duplex, Autoneg: mode.Autoneg,
			Advertised: mode.Advertised, Peer: mode.Peer,
		}
	}
	return e
}

// answer is what a network device reported about its module.
type answer struct {
	netdev string
	module sff.Module
	err    error
}

// modules converts the answers. Network devices without a module are left out.
func modules(answers []answer) ([]facts.Module, error) {
	list := []facts.Module{}
	var denied []facts.Module
	for _, a := range answers {
		switch {
		case errors.Is(a.err, errors.ErrUnsupported) && a.module.Type == "":
		case errors.Is(a.err, fs.ErrPermission):
			denied = append(denied, moduleOf(a))
		default:
			list = append(list, moduleOf(a))
		}
	}
	switch {
	case len(denied) > 0 && len(list) == 0:
		return nil, facts.Denied(
			"root (CAP_NET_ADMIN) would show temperature, voltage and optical power of the modules")
	case len(list) == 0:
		return nil, facts.Absent("no network device of a card has a pluggable module")
	}
	return append(list, denied...), nil
}

func moduleOf(a answer) facts.Module {
	m := facts.Module{
		Netdev: a.netdev, Type: a.module.Type, Vendor: a.module.Vendor, PartNumber: a.module.PartNumber,
		Serial: a.module.Serial, Revision: a.module.Revision, Passive: a.module.Passive,
		RXmW: a.module.RX, TXmW: a.module.TX,
	}
	if a.err != nil {
		m.Error = a.err.Error()
	}
	if r := a.module.Temperature; r != nil {
		m.Celsius = r.Value
		if l := r.Limits; plausible(l) {
			m.HighAlarm, m.HighWarning = l.HighAlarm, l.HighWarning
		}
	}
	if r := a.module.Voltage; r != nil {
		m.Volts = r.Value
		if l := r.Limits; plausible(l) {
			m.VoltsLow, m.VoltsHigh = l.LowAlarm, l.HighAlarm
		}
	}
	if l := a.module.RXLimits; plausible(l) {
		m.RXLow, m.RXHigh = l.LowAlarm, l.HighAlarm
	}
	if l := a.module.TXLimits; plausible(l) {
		m.TXLow, m.TXHigh = l.LowAlarm, l.HighAlarm
	}
	return m
}

// plausible reports whether limits can be compared with: some modules have zeros or nonsense there.
func plausible(l *sff.Limits) bool { return l != nil && l.HighAlarm > l.LowAlarm }
