package roce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// Prefix begins the names of these devices: roce@ADDRESS or roce@NETDEV.
const Prefix = "roce@"

// Provider opens engines on addresses of this machine. The zero value is ready.
type Provider struct {
	// Root is the root folder of the machine's files; "" is "/". Tests set another one.
	Root string
}

// Name implements [provider.Provider].
func (Provider) Name() string { return "roce" }

// Open starts an engine on the address that follows "roce@" in name, or on the first address
// of the network device named there: IPv4 before IPv6, and link-local addresses only if there is no
// other. If there is no such address, the error matches [fs.ErrNotExist].
//
// The zone of a link-local IPv6 address (fe80::1%eth0) may be left out if one network device has
// the address.
//
// The error is a [PortTakenError] if UDP port 4791 is in use, and a [CardError] if the network
// device belongs to a RoCE card; both have hints.
func (p Provider) Open(_ context.Context, name string) (provider.Device, error) {
	addr, netdev, err := find(name)
	if err != nil {
		return nil, err
	}
	files, done := p.node()
	defer done()
	if files != nil {
		if card := cardOf(files, netdev.Name); card != "" {
			return nil, &CardError{Name: name, Netdev: netdev.Name, Device: card}
		}
	}
	conn, err := udpio.Listen(netip.AddrPortFrom(addr, rocev2.Port), udpio.Options{})
	if err != nil {
		return nil, bindError(files, name, addr, err)
	}
	mtu := ib.MTUFromNetdev(netdev.MTU)
	if mtu == 0 {
		_ = conn.Close()
		return nil, fmt.Errorf("%s: MTU %d of %s is too small for RoCE", name, netdev.MTU, netdev.Name)
	}
	return New(Config{
		Name: name, Conn: conn, Addr: addr, MTU: mtu,
		OpenSender: func(port uint16) (PacketSender, error) { return conn.Sender(port) },
	})
}

// Address returns the address of the engine that [Provider.Open] opens for a name: names with the
// same address are those of one engine.
func Address(name string) (netip.Addr, error) {
	addr, _, err := find(name)
	return addr, err
}

// Subnet returns the subnet of the address of the engine that [Provider.Open] opens for a name; the
// zero Prefix if the address has none.
func Subnet(name string) (netip.Prefix, error) {
	addr, netdev, err := find(name)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netdev.subnet(addr), nil
}

// subnet returns the subnet of an address of n, or the zero Prefix.
func (n *netdev) subnet(addr netip.Addr) netip.Prefix {
	for _, p := range n.addrs {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits())
		if p.Addr() == addr.WithZone("") && !p.IsSingleIP() {
			return p.Masked()
		}
	}
	return netip.Prefix{}
}

// find resolves the name of a device to its address and network device.
func find(name string) (netip.Addr, *netdev, error) {
	where, ok := strings.CutPrefix(name, Prefix)
	if !ok {
		return netip.Addr{}, nil, &provider.NameError{Name: name, Form: Prefix + "ADDRESS or " + Prefix + "NETDEV"}
	}
	list, err := netdevs()
	if err != nil {
		return netip.Addr{}, nil, fmt.Errorf("%s: %w", name, err)
	}
	return locate(list, where)
}

// Devices implements [provider.Provider]: one engine for each network device that is up and has an
// address, in the order of the system: those with a link-local IPv4 address after the others, the
// loopback device last. Devices with nothing but a link-local IPv6 address, such as those of
// containers, are left out; Open accepts their names.
func (Provider) Devices(context.Context) ([]provider.DeviceInfo, error) {
	list, err := netdevs()
	if err != nil {
		return nil, err
	}
	var out []provider.DeviceInfo
	for _, name := range names(list) {
		out = append(out, provider.DeviceInfo{
			Name: name, Provider: Provider{}.Name(), NodeType: provider.NodeTypeCA,
			Transport: provider.TransportTypeInfiniBand, Software: true, Capabilities: capabilities,
		})
	}
	return out, nil
}

// LinkLocalDevices returns the names of the engines that [Provider.Devices] leaves out: on network
// devices that are up, with nothing but a link-local IPv6 address. It returns nil if the network
// devices can't be listed.
func LinkLocalDevices() []string {
	list, _ := netdevs() // nil with an error
	return linkLocalNames(list)
}

func linkLocalNames(list []netdev) (out []string) {
	for i := range list {
		if best := list[i].best(); list[i].Flags&net.FlagUp != 0 && best.Is6() && best.IsLinkLocalUnicast() {
			out = append(out, Prefix+list[i].Name)
		}
	}
	return out
}

// Netdev returns the name of the network device with an address of this machine. If there is none,
// the error matches [fs.ErrNotExist].
func Netdev(addr netip.Addr) (string, error) {
	_, netdev, err := find(Prefix + addr.String())
	if err != nil {
		return "", err
	}
	return netdev.Name, nil
}

func names(list []netdev) []string {
	var out, local, loopback []string
	for i := range list {
		n := &list[i]
		best := n.best()
		switch name := Prefix + n.Name; {
		case !best.IsValid() || n.Flags&net.FlagUp == 0:
		case n.Flags&net.FlagLoopback != 0:
			loopback = append(loopback, name)
		case !best.IsLinkLocalUnicast():
			out = append(out, name)
		case best.Is4():
			local = append(local, name)
		}
	}
	return slices.Concat(out, local, loopback)
}

// node opens the machine's files, or returns nil if they can't be opened. done closes them.
func (p Provider) node() (n node, done func()) {
	root, err := sysfs.OpenRoot(cmp.Or(p.Root, "/"))
	if err != nil {
		return nil, func() {}
	}
	return root, func() { _ = root.Close() }
}

// netdev is a network device and its addresses.
type netdev struct {
	net.Interface
	addrs []netip.Prefix
}

// netdevs lists the network devices of this machine.
func netdevs() ([]netdev, error) {
	list, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var out []netdev
	for _, i := range list {
		addrs, err := i.Addrs()
		if err != nil {
			continue // the network device has disappeared
		}
		n := netdev{Interface: i}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				n.addrs = append(n.addrs, p)
			}
		}
		out = append(out, n)
	}
	return out, nil
}

// noDeviceError is the error for a name that is no device of this machine, or for a port that an
// engine doesn't have; it matches [fs.ErrNotExist], whose text would speak of a file.
type noDeviceError string

func (e noDeviceError) Error() string { return string(e) }

// Is reports whether target is fs.ErrNotExist.
func (e noDeviceError) Is(target error) bool { return target == fs.ErrNotExist }

// locate resolves where, an address or the name of a network device, to an address and its
// network device. A link-local IPv6 address has the name of the device as its zone. The error
// matches fs.ErrNotExist.
func locate(list []netdev, where string) (netip.Addr, *netdev, error) {
	if where == "" {
		return netip.Addr{}, nil, noDeviceError("no address and no network device follows " + Prefix)
	}
	if want, err := netip.ParseAddr(where); err == nil {
		return locateAddr(list, want.Unmap())
	}
	i := slices.IndexFunc(list, func(n netdev) bool { return n.Name == where })
	if i < 0 {
		return netip.Addr{}, nil, noDeviceError(where + ": no such network device")
	}
	best := list[i].best()
	if !best.IsValid() {
		return netip.Addr{}, nil, noDeviceError(where + ": no IP address")
	}
	return best, &list[i], nil
}

// best returns the address that an engine on a network device uses; the zero Addr if it has none.
func (n *netdev) best() netip.Addr {
	rank := func(a netip.Addr) (r int) {
		if a.IsLinkLocalUnicast() {
			r += 2
		}
		if a.Is6() {
			r++
		}
		return r
	}
	var best netip.Addr
	for _, p := range n.addrs {
		if a := p.Addr().Unmap(); !best.IsValid() || rank(a) < rank(best) {
			best = a
		}
	}
	return n.zoned(best)
}

// zoned adds the zone to a link-local IPv6 address of n.
func (n *netdev) zoned(a netip.Addr) netip.Addr {
	if a.Is6() && a.IsLinkLocalUnicast() {
		return a.WithZone(n.Name)
	}
	return a
}

// locateAddr finds the network device of an address. The zone of a link-local IPv6 address is the
// name of a network device or its index, and without it no other device may have the address.
func locateAddr(list []netdev, want netip.Addr) (netip.Addr, *netdev, error) {
	var found []*netdev
	for i := range list {
		n := &list[i]
		if zone := want.Zone(); zone != "" && zone != n.Name && zone != strconv.Itoa(n.Index) {
			continue
		}
		if slices.ContainsFunc(n.addrs, func(p netip.Prefix) bool {
			got := p.Addr().Unmap().WithZone("")
			return got == want.WithZone("") || got.IsLoopback() && want.IsLoopback() && p.Masked().Contains(want)
		}) {
			found = append(found, n)
		}
	}
	if len(found) == 0 {
		return netip.Addr{}, nil, noDeviceError(want.String() + ": no such address of this machine")
	}
	addr := found[0].zoned(want)
	if len(found) > 1 && addr.Zone() != "" {
		return netip.Addr{}, nil, noDeviceError(fmt.Sprintf("%v: an address of %s and of %s: %s%v names one of them",
			want, found[0].Name, found[1].Name, Prefix, addr))
	}
	return addr, found[0], nil
}

// bindError adds the owner of the port to an error of binding the socket.
func bindError(n node, name string, addr netip.Addr, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		e := &PortTakenError{Name: name, Addr: addr, Err: err}
		if n != nil {
			e.Owner = portOwner(n, addr.WithZone(""))
		}
		return e
	}
	return fmt.Errorf("%s: %w", name, err)
}

// PortTakenError reports that UDP port 4791 of the address is in use: by another engine, or by
// the kernel's rxe, which binds it on all addresses of the initial network namespace.
type PortTakenError struct {
	Name  string     // of the device to open
	Addr  netip.Addr // where the port is in use
	Owner string     // description of the owner; "" if unknown
	Err   error      // error of the system call
}

// Error implements error.
func (e *PortTakenError) Error() string {
	owner := e.Owner
	if owner == "" {
		owner = "another engine or by the kernel's rdma_rxe"
	}
	return fmt.Sprintf("%s: UDP port %d of %v is taken by %s: %v",
		e.Name, rocev2.Port, e.Addr, owner, syscall.EADDRINUSE)
}

// Unwrap returns the cause.
func (e *PortTakenError) Unwrap() error { return e.Err }

// Hints returns what the user can do.
func (e *PortTakenError) Hints() []string {
	if strings.Contains(e.Owner, "rxe") && !strings.Contains(e.Owner, "another engine") {
		return []string{"use the device of rdma_rxe (rdma link shows its name), or run in another network " +
			"namespace, or unload rdma_rxe"}
	}
	if strings.Contains(e.Owner, "(process ") {
		return []string{"stop that program, or use another address of this machine: each address has one engine, " +
			"in one program"}
	}
	return []string{
		"ss -ulpn 'sport = 4791' shows the process that uses the port; if it shows none, the kernel does",
		"use another address of this machine (one engine per address), or stop the other program",
		"if rdma_rxe is loaded, use its device (rdma link), or run in another network namespace",
	}
}

// CardError reports that the network device with the address belongs to a RoCE card, which
// handles packets for UDP port 4791 in hardware: a socket receives nothing.
type CardError struct {
	Name   string // of the device to open
	Netdev string // network device with the address
	Device string // the card's RDMA device
}

// Error implements error.
func (e *CardError) Error() string {
	return fmt.Sprintf("%s: network device %s belongs to the RoCE card %s, which takes UDP port %d in hardware",
		e.Name, e.Netdev, e.Device, rocev2.Port)
}

// Unwrap makes it match [provider.ErrNotSupported].
func (e *CardError) Unwrap() error { return provider.ErrNotSupported }

// Hints returns what the user can do.
func (e *CardError) Hints() []string {
	return []string{"use the card itself: " + e.Device, "or use an address of a network device without RDMA"}
}
