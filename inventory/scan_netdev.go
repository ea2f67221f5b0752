package inventory

import (
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

const iffUp = 1 // IFF_UP (include/uapi/linux/if.h)

// representor matches the phys_port_name of representors of VFs and sub-functions (pf0vf3,
// c1pf0sf7), which can't be used for RDMA.
var representor = regexp.MustCompile(`^(c\d+)?pf\d+(vf|sf)\d+$`)

const kindRepresentor = "representor"

func (s *scanner) scanNetdevs() {
	for _, name := range s.root.List(sysfs.ClassNet) {
		r, ok := s.root.Dir(path.Join(sysfs.ClassNet, name))
		if !ok {
			continue // bonding_masters is a file, and a link may be broken
		}
		s.snap.Netdevs = append(s.snap.Netdevs, s.readNetdev(r, name))
		r.Close()
	}
	s.addLinks()
	for i := range s.snap.Netdevs {
		n := &s.snap.Netdevs[i]
		n.DefaultRoute = slices.ContainsFunc(s.snap.Host.DefaultRoutes,
			func(d DefaultRoute) bool { return d.Netdev == n.Name })
	}
}

func (s *scanner) readNetdev(r *sysfs.Reader, name string) Netdev {
	n := Netdev{
		Name: name, Path: s.root.Path(path.Join(sysfs.ClassNet, name)),
		Index: int(deref(r.Uint("ifindex", 32))), Type: int(deref(r.Uint("type", 16))),
		Address: r.String("address"), MTU: int(deref(r.Uint("mtu", 32))),
		OperState: r.String("operstate"), Kind: devType(r.String("uevent")),
		Master: r.LinkBase("master"),
	}
	if v := r.Int("speed"); v != nil && *v > 0 { // -1: no link, or a virtual device
		n.SpeedMbps = v
	}
	if v := r.Uint("carrier", 1); v != nil {
		up := *v == 1
		n.Carrier = &up
	}
	if v := r.Uint("flags", 32); v != nil {
		n.AdminUp = *v&iffUp != 0
	} else {
		n.AdminUp = n.OperState == "up" || n.Carrier != nil // only a device that is up has a carrier, or none
		n.AdminUnknown = !n.AdminUp
	}
	if v := r.Uint("dev_port", 32); v != nil {
		n.DevPort = new(int(*v))
	}
	if v := r.Uint("dev_id", 32); v != nil {
		n.DevID = new(int(*v))
	}
	if n.Type == ARPHRDInfiniBand {
		n.IPoIB = s.ipoib(r, n.Address)
	}
	if mode, ok := r.Text("bonding/mode"); ok {
		mode, _, _ = strings.Cut(mode, " ") // "802.3ad 4"
		n.Bond, n.Kind = &Bond{Mode: mode, Slaves: strings.Fields(r.String("bonding/slaves"))}, "bond"
	}
	if representor.MatchString(r.String("phys_port_name")) {
		n.Kind = kindRepresentor
	}
	s.netdevBus(&n)
	if n.Bus == BusVirtual && n.Bond == nil && n.Kind != "bridge" {
		n.Lower = lowerDevice(r)
	}
	return n
}

// netdevBus determines the bus of a network device from the resolved path of its class link.
func (s *scanner) netdevBus(n *Netdev) {
	n.Bus = BusVirtual
	resolved, err := sysfs.Resolve(s.root.FS(), path.Join(sysfs.ClassNet, n.Name))
	if err != nil || strings.Contains(resolved, "/devices/virtual/") {
		return
	}
	n.Driver = s.root.LinkBase(path.Join(sysfs.ClassNet, n.Name, "device/driver"))
	if n.SpeedMbps == nil {
		n.SpeedMbps = s.thunderboltSpeed(resolved)
	}
	parts := strings.Split(resolved, "/")
	addr := lastPCIAddress(parts)
	switch {
	case slices.ContainsFunc(parts, isUSBNode):
		n.Bus = BusUSB
	case slices.ContainsFunc(parts, isThunderboltNode) || strings.HasPrefix(n.Driver, "thunderbolt"):
		n.Bus = BusThunderbolt
	case slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, "virtio") }):
		n.Bus = BusVirtio
	case addr != "":
		n.Bus = BusPCI
	default:
		n.Bus = BusOther
	}
	if n.Bus != BusPCI && n.Bus != BusVirtio {
		return // the PCI function in the path is the USB or Thunderbolt controller
	}
	n.PCI = addr
	if f := s.function(addr); addr != "" && f != nil {
		n.Vendor, n.Product = f.Vendor, f.Product
		if n.Driver == "" {
			n.Driver = f.Driver
		}
	}
}

// thunderboltSpeed returns the speed of the link of a Thunderbolt network device, whose
// driver doesn't report it: speed per lane times lanes of the parent XDomain
// (Documentation/ABI/testing/sysfs-bus-thunderbolt). It returns nil for other devices.
func (s *scanner) thunderboltSpeed(resolved string) *int {
	domain, _, ok := strings.Cut(resolved, "/net/")
	if !ok || !slices.ContainsFunc(strings.Split(domain, "/"), isThunderboltNode) {
		return nil
	}
	peer := path.Dir(domain)
	text, ok := s.root.Text(path.Join(peer, "rx_speed"))
	lanes := s.root.Uint(path.Join(peer, "rx_lanes"), 8)
	if !ok || lanes == nil {
		return nil
	}
	number, _, _ := strings.Cut(text, " ") // "20.0 Gb/s"
	speed, err := strconv.ParseFloat(number, 64)
	if err != nil || speed < 0 || speed > 1000 {
		return nil
	}
	return new(int(speed * 1000 * float64(*lanes)))
}

// lowerDevice returns the lower device of a VLAN or macvlan, from its link lower_NAME.
func lowerDevice(r *sysfs.Reader) string {
	for _, name := range r.List(".") {
		if lower, ok := strings.CutPrefix(name, "lower_"); ok {
			return lower
		}
	}
	return ""
}

var (
	usbNode         = regexp.MustCompile(`^usb\d+$`)
	thunderboltNode = regexp.MustCompile(`^domain\d+$`)
)

func isUSBNode(p string) bool         { return usbNode.MatchString(p) }
func isThunderboltNode(p string) bool { return thunderboltNode.MatchString(p) }

func lastPCIAddress(parts []string) string {
	for _, p := range slices.Backward(parts) {
		if pciAddress.MatchString(p) {
			return p
		}
	}
	return ""
}

// devType returns DEVTYPE of a uevent file: vlan, bond, bridge, wlan …
func devType(uevent string) string {
	for line := range strings.Lines(uevent) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "DEVTYPE="); ok {
			return v
		}
	}
	return ""
}

func (s *scanner) ipoib(r *sysfs.Reader, address string) *IPoIBAddress {
	a, err := ParseIPoIBAddress(address)
	if err != nil {
		r.Fail("address", err)
		return nil
	}
	return &a
}

// ParseIPoIBAddress decodes the 20 colon-separated bytes of an IPoIB link-layer
// address (RFC 4391 section 9.1.1).
func ParseIPoIBAddress(s string) (IPoIBAddress, error) {
	b, err := hex.DecodeString(strings.ReplaceAll(s, ":", ""))
	if err != nil || len(b) != 20 {
		return IPoIBAddress{}, fmt.Errorf("parse ipoib address %q: not 20 colon-separated bytes", s)
	}
	gid := ib.GID(b[4:])
	return IPoIBAddress{
		Flags: b[0], QPN: ib.QPN(uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])),
		SubnetPrefix: gid.SubnetPrefix(), PortGUID: ib.GUID(b[12:]),
	}, nil
}

// addLinks adds the data from rtnetlink: kind, lower device, addresses.
func (s *scanner) addLinks() {
	for _, l := range s.live.Links {
		i := slices.IndexFunc(s.snap.Netdevs, func(n Netdev) bool { return n.Name == l.Name })
		if i < 0 {
			continue
		}
		n := &s.snap.Netdevs[i]
		n.Addresses = l.Addresses
		if l.Kind != "" {
			n.Kind = l.Kind
		}
		if n.Lower == "" {
			n.Lower = l.Lower
		}
	}
}
