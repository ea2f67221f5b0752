package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// noConnector is why a device can't be used for connections by address.
const noConnector = "this version has no connection manager for it"

// connects reports whether a device finds and connects peers by their address.
func connects(d *verbs.Device) bool { return d.Capabilities().Has(verbs.CapConnector) }

// ConnectorRequest says which device [OpenConnector] opens.
type ConnectorRequest struct {
	Name   string     // of the device; "" chooses it
	Local  netip.Addr // an address of the device; the zero Addr and an unspecified one are any
	Remote netip.Addr // the peer; the zero Addr is any
}

// OpenConnector opens a device that connects peers by their address, as librdmacm does: the one
// with a name; or the one with an address; or the one that the route to a peer begins at; or else
// the first one. Devices of the kernel come before engines. why names the device that was chosen
// and those that were skipped; it is "" if Name is given.
func OpenConnector(ctx context.Context, want ConnectorRequest) (device *verbs.Device, why string, err error) {
	if want.Name != "" {
		o := newOpener()
		o.connector = true // iWARP devices, too
		device, _, err = o.open(ctx, want.Name)
		if err == nil && !connects(device) {
			err = Exitf(ExitNotFound, "open device %s: %s: %w", want.Name, noConnector, verbs.ErrNotSupported)
			err = errors.Join(WithHints(err, engineHint), device.Close())
			device = nil
		}
		return device, "", err
	}
	o := newOpener()
	o.node, o.connector = localNode(ctx), true
	local := want.Local.Unmap()
	reason := "which has the address " + local.String()
	if !local.IsValid() || local.IsUnspecified() {
		if !want.Remote.IsValid() || want.Remote.IsUnspecified() {
			return o.first(ctx)
		}
		if local, err = routeSource(ctx, want.Remote); err != nil {
			return nil, "", err
		}
		reason = fmt.Sprintf("from whose address %v the route to %v leads", local, want.Remote)
	}
	device, skipped, err := o.at(ctx, local)
	if errors.Is(err, syscall.EADDRINUSE) && !want.Local.IsValid() && (local == want.Remote || local.IsLoopback()) {
		// The peer is this machine, and its engine has the address: any other can reach it.
		if near := o.loopback(ctx, want.Remote); near != nil {
			return near, "the peer is this machine: using " + near.Name(), nil
		}
	}
	if err != nil {
		return nil, "", err
	}
	return device, "no device was given: using " + device.Name() + ", " + reason + skipped.String(), nil
}

// RouteError is the error of a peer that this machine has no route to.
type RouteError struct {
	To  netip.Addr
	Err error
}

// Error implements error.
func (e *RouteError) Error() string { return fmt.Sprintf("find the route to %v: %v", e.To, e.Err) }

// Unwrap returns the cause.
func (e *RouteError) Unwrap() error { return e.Err }

// Hints says what shows the routes, or that a link-local address doesn't say where it is.
func (e *RouteError) Hints() []string {
	if hints := ZoneHints(e.To.WithZone("").String()); hints != nil {
		return hints
	}
	return []string{fmt.Sprintf("ip route get %v shows the route of this machine", e.To)}
}

// routeSource returns the address that the kernel sends from to reach another one: it connects a
// UDP socket, which sends nothing.
func routeSource(ctx context.Context, to netip.Addr) (netip.Addr, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", netip.AddrPortFrom(to, rocev2.Port).String())
	if err != nil {
		return netip.Addr{}, &RouteError{to, err}
	}
	defer conn.Close()
	from, err := netip.ParseAddrPort(conn.LocalAddr().String())
	return from.Addr().Unmap(), err
}

// at opens the device with an address: that of the kernel, or the engine.
func (o *opener) at(ctx context.Context, addr netip.Addr) (*verbs.Device, *skips, error) {
	skipped := &skips{}
	if name := deviceAt(o.node, addr); name != "" && o.loads {
		device, err := verbs.Open(ctx, name, o.kernel...)
		switch {
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		case err != nil:
			skipped.add(cause(err), err, name)
		case connects(device):
			return device, skipped, nil
		default:
			skipped.add(noConnector, device.Close(), name)
		}
	} else if name != "" {
		skipped.add("rdmactl-static has no libibverbs", nil, name)
	}
	device, err := verbs.Open(ctx, roce.Prefix+addr.String(), o.engines...)
	if err != nil {
		hints := []string{o.devicesHint(ctx)}
		if text := skipped.String(); text != "" {
			hints = append(hints, text[len("; "):])
		}
		return nil, nil, WithHints(err, hints...)
	}
	return device, skipped, nil
}

// loopback opens an engine at a free loopback address other than the peer's; nil if none can be
// opened.
func (o *opener) loopback(ctx context.Context, peer netip.Addr) *verbs.Device {
	const most = 8 // programs that ping their own machine at the same time
	for addr := netip.AddrFrom4([4]byte{127, 0, 0, 1}); addr.As4()[3] <= most && peer.Is4(); addr = addr.Next() {
		if addr == peer {
			continue
		}
		if device, err := verbs.Open(ctx, roce.Prefix+addr.String(), o.engines...); err == nil {
			return device
		}
	}
	return nil
}

// deviceAt returns the device of the kernel with an address: in the GID table of a port, or on the
// port's network device; "" if there is none. The zone of an address is a network device.
func deviceAt(node *inventory.Snapshot, addr netip.Addr) string {
	zone := addr.Zone()
	addr = addr.WithZone("")
	for i := range node.Devices {
		for k := range node.Devices[i].Ports {
			if netdev := node.Devices[i].Ports[k].Netdev; zone != "" && netdev != zone {
				continue
			}
			if slices.ContainsFunc(node.Devices[i].Ports[k].GIDs,
				func(e inventory.GIDEntry) bool { return e.GID.Addr() == addr }) {
				return node.Devices[i].Name
			}
		}
	}
	for i := range node.Netdevs {
		dev := &node.Netdevs[i]
		if dev.RDMADevice != "" && (zone == "" || zone == dev.Name) && slices.ContainsFunc(dev.Addresses,
			func(p netip.Prefix) bool { return p.Addr().WithZone("") == addr }) {
			return dev.RDMADevice
		}
	}
	return ""
}

// ZoneHints explains that a link-local IPv6 address without a network device can't be reached; nil
// if host is none.
func ZoneHints(host string) []string {
	addr, err := netip.ParseAddr(host)
	if err != nil || !addr.Is6() || !addr.IsLinkLocalUnicast() || addr.Zone() != "" {
		return nil
	}
	return []string{fmt.Sprintf("a link-local address needs the network device of this machine that leads there: "+
		"%v%%NETDEV", addr), "ip -6 route show table all lists the network devices with fe80::/64"}
}

// PeerError says why a word can't be the name or address of a peer: it is an address with a port,
// or a device.
func PeerError(peer string) error {
	if _, err := netip.ParseAddrPort(peer); err == nil {
		return WithHints(fmt.Errorf("%q has a port", peer), "--port PORT gives the port")
	}
	if strings.Contains(peer, "@") {
		return WithHints(fmt.Errorf("%q is a device", peer), "-d DEVICE is the device of this end; then comes the "+
			"name or address of the other end")
	}
	return nil
}
