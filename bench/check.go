package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Check checks a configuration on a device, as far as that is possible without a peer: it creates
// all that the test needs, and frees it. Call it before a server waits, and before a client uses up
// a server's only connection.
func Check(ctx context.Context, device *verbs.Device, cfg Config) error {
	err := check(ctx, device, cfg)
	if err != nil {
		err = fmt.Errorf("%v with %s: %w", cfg.Test, device.Name(), err)
	}
	return err
}

func check(ctx context.Context, device *verbs.Device, cfg Config) error {
	cfg, port, mtu, err := prepare(ctx, device, cfg)
	if err != nil {
		return err
	}
	r, err := newRig(device, cfg, port, perftest.Agreed{Hello: hello(mtu)})
	if err != nil {
		return err
	}
	return r.close()
}

// local is the local port of a test.
type local struct {
	verbs.PortAttributes
	gid ib.GID // the GID at Config.GIDIndex
}

// prepare returns the configuration with its defaults, the port, and the MTU to
// propose.
func prepare(ctx context.Context, device *verbs.Device, cfg Config) (Config, local, ib.MTU, error) {
	given := cfg.Size
	cfg, err := cfg.normalized()
	if err != nil {
		return cfg, local{}, 0, err
	}
	if err := checkConnector(device, cfg.RDMACM); err != nil {
		return cfg, local{}, 0, err
	}
	if err := cfg.checkIWARP(device); err != nil {
		return cfg, local{}, 0, err
	}
	port := local{}
	if port.PortAttributes, err = device.Port(ctx, cfg.Port); err != nil {
		return cfg, port, 0, err
	}
	if port.State != provider.PortStateActive {
		return cfg, port, 0, &PortStateError{Device: device.Name(), Port: cfg.Port, State: port.State}
	}
	if port.gid, err = findGID(ctx, device, &port, cfg); err != nil {
		return cfg, port, 0, err
	}
	mtu := port.ActiveMTU
	if cfg.MTU > mtu {
		return cfg, port, 0, fmt.Errorf("MTU %d is more than the %d of the port", cfg.MTU, mtu)
	} else if cfg.MTU != 0 {
		mtu = cfg.MTU
	}
	if cfg.QPType == verbs.QPTypeUD {
		if given > int(mtu) && !cfg.AllSizes {
			return cfg, port, 0, &DatagramSizeError{Size: given, MTU: mtu}
		}
		cfg.fitDatagrams(int(mtu))
	}
	return cfg, port, mtu, nil
}

// DatagramSizeError is the error for a size that a message of a queue pair of type UD can't have.
type DatagramSizeError struct {
	Size int    // in bytes
	MTU  ib.MTU // largest size
}

// Error implements error.
func (e *DatagramSizeError) Error() string {
	return fmt.Sprintf("size %d: a datagram holds at most %d bytes, the MTU", e.Size, e.MTU)
}

// PortStateError is the error for a port that is not active: it transfers nothing.
type PortStateError struct {
	Device string          // name of the device
	Port   int             // counted from 1
	State  verbs.PortState // anything but active
}

// Error implements error.
func (e *PortStateError) Error() string {
	return fmt.Sprintf("port %d is %v, not %v", e.Port, e.State, provider.PortStateActive)
}

// Hints returns what to look at.
func (e *PortStateError) Hints() []string {
	return []string{"rdmactl show " + e.Device + " shows the link; on InfiniBand a subnet manager activates it, " +
		"on Ethernet it is active while its network device is up"}
}

// findGID returns the GID at the index of the configuration.
func findGID(ctx context.Context, device *verbs.Device, port *local, cfg Config) (ib.GID, error) {
	if cfg.GIDIndex == NoGID {
		if port.LinkLayer != provider.LinkLayerInfiniBand {
			return ib.GID{}, fmt.Errorf("port %d is %v and needs a GID index", cfg.Port, port.LinkLayer)
		}
		return ib.GID{}, nil
	}
	gids, err := device.GIDs(ctx, cfg.Port)
	if err != nil {
		return ib.GID{}, err
	}
	i := slices.IndexFunc(gids, func(e verbs.GIDEntry) bool { return e.Index == cfg.GIDIndex })
	if i < 0 {
		const text = "GID index %d: port %d has no such GID, but %s"
		return ib.GID{}, noGIDError(fmt.Sprintf(text, cfg.GIDIndex, cfg.Port, gidIndexes(gids)))
	}
	return gids[i].GID, nil
}

// noGIDError is the error for an index without a GID; it matches [fs.ErrNotExist].
type noGIDError string

func (e noGIDError) Error() string { return string(e) }

// Is reports whether target is fs.ErrNotExist.
func (e noGIDError) Is(target error) bool { return target == fs.ErrNotExist }

// gidIndexes names the indexes of a table's GIDs.
func gidIndexes(gids []verbs.GIDEntry) string {
	var list []string
	for _, e := range gids {
		list = append(list, strconv.Itoa(e.Index))
	}
	switch len(list) {
	case 0:
		return "no GID at all"
	case 1:
		return "GID index " + list[0]
	}
	return "GID indexes " + strings.Join(list, ", ")
}

// ErrEcho is the error for a peer that returns the address of our own queue pair.
var ErrEcho = errors.New("the other end echoes what it receives: it is not perftest")

// checkPeers rejects impossible peers.
func (r *run) checkPeers() error {
	type address struct {
		lid ib.LID
		gid ib.GID
		qpn ib.QPN
	}
	own := make(map[address]bool, len(r.own))
	for _, d := range r.own {
		own[address{d.LID, d.GID, d.QPN}] = true
	}
	for _, d := range r.peers {
		if d.QPN == 0 && r.cfg.RDMACM == RDMACMExchange {
			return &PairingError{Own: RDMACMExchange.does(), Theirs: "the peer " + RDMACMConnect.does()}
		}
		if own[address{d.LID, d.GID, d.QPN}] {
			return ErrEcho
		}
	}
	return nil
}
