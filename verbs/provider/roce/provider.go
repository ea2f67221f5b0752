package roce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
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
// of the network device named there: IPv4 before global IPv6. If there is no such address, the
// error matches [fs.ErrNotExist].
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
// address, in the order of the system, the loopback device last.
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

func names(list []netdev) []string {
	var out, loopback []string
	for _, n := range list {
		if _, _, err := locate([]netdev{n}, n.Name); err != nil || n.Flags&net.FlagUp == 0 {
			continue
		}
		if n.Flags&net.FlagLoopback != 0 {
			loopback = append(loopback, Prefix+n.Name)
			continue
		}
		out = append(out, Prefix+n.Name)
	}
	return append(out, loopback...)
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
// network device. The error matches fs.ErrNotExist.
func locate(list []netdev, where string) (netip.Addr, *netdev, error) {
	if where == "" {
		return netip.Addr{}, nil, noDeviceError("no address and no network device follows " + Prefix)
	}
	want, err := netip.ParseAddr(where)
	isAddr := err == nil
	for i := range list {
		best := netip.Addr{}
		for _, p := range list[i].addrs {
			got := p.Addr().Unmap()
			loopback := got.IsLoopback() && isAddr && want.IsLoopback() && p.Masked().Contains(want)
			switch {
			case isAddr && (got == want.Unmap() || loopback):
				return want.Unmap(), &list[i], nil
			case list[i].Name == where && !got.IsLinkLocalUnicast() && (!best.IsValid() || best.Is6() && got.Is4()):
				best = got
			}
		}
		if best.IsValid() {
			return best, &list[i], nil
		}
		if list[i].Name == where {
			return netip.Addr{}, nil, noDeviceError(where + ": no IP address")
		}
	}
	kind := "network device"
	if isAddr {
		kind = "address of this machine"
	}
	return netip.Addr{}, nil, noDeviceError(where + ": no such " + kind)
}

// bindError adds the owner of the port to an error of binding the socket.
func bindError(n node, name string, addr netip.Addr, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		e := &PortTakenError{Name: name, Addr: addr, Err: err}
		if n != nil {
			e.Owner = portOwner(n, addr)
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
