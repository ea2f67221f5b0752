package checks

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// ipRail is an active RoCE port for jobs and the addresses of its network device whose prefix
// length says which subnet it is in.
type ipRail struct {
	portRef
	netdev *inventory.Netdev
	addrs  []netip.Prefix // IPv4
	addrs6 []netip.Prefix // IPv6
}

// ipRails returns the rails of a node, one for each network device.
func ipRails(s *inventory.Snapshot) []ipRail {
	var rails []ipRail
	for p := range ports(s) {
		n := p.netdev(s)
		if p.port.Role != inventory.RoleCompute || !p.roce() || !p.active() || n == nil || p.handedOut(s) ||
			slices.ContainsFunc(rails, func(r ipRail) bool { return r.netdev == n }) {
			continue
		}
		r := ipRail{portRef: p, netdev: n}
		for _, a := range n.Addresses {
			switch {
			case a.Addr().IsLinkLocalUnicast() || a.IsSingleIP():
			case a.Addr().Is4():
				r.addrs = append(r.addrs, a)
			default:
				r.addrs6 = append(r.addrs6, a)
			}
		}
		rails = append(rails, r)
	}
	return rails
}

// inVRF reports whether the rail has routing tables of its own, as member of a VRF.
func (r ipRail) inVRF(s *inventory.Snapshot) bool {
	m := s.Netdev(r.netdev.Master)
	return m != nil && m.Kind == "vrf"
}

// shares returns the other rails that have an address in one of the rail's subnets.
func (r ipRail) shares(s *inventory.Snapshot, rails []ipRail) []portRef {
	var others []portRef
	for _, o := range rails {
		if o.netdev == r.netdev || o.inVRF(s) || r.inVRF(s) {
			continue
		}
		if slices.ContainsFunc(r.addrs, func(a netip.Prefix) bool {
			return slices.ContainsFunc(o.addrs, func(b netip.Prefix) bool { return a.Masked() == b.Masked() })
		}) {
			others = append(others, o.portRef)
		}
	}
	return others
}

// neighbourIn returns an address of the subnet that none of the node's devices has, such as a peer
// has; false if there is none.
func neighbourIn(s *inventory.Snapshot, subnet netip.Prefix) (netip.Addr, bool) {
	a := subnet.Masked().Addr()
	if subnet.Bits() < 31 {
		a = a.Next() // not the network's own
	}
	for range 64 {
		if !subnet.Contains(a) {
			break
		}
		if !ownsAddress(s, a) {
			return a, true
		}
		a = a.Next()
	}
	return netip.Addr{}, false
}

func ownsAddress(s *inventory.Snapshot, a netip.Addr) bool {
	return slices.ContainsFunc(s.Netdevs, func(n inventory.Netdev) bool {
		return slices.ContainsFunc(n.Addresses, func(p netip.Prefix) bool { return p.Addr() == a })
	})
}

// confFiles returns the pattern for a setting of all network devices on IPv4.
func confFiles(name string) string { return "/" + sysfs.ProcIPv4Conf + "/*/" + name }

// confMax returns a setting as the kernel uses it: the larger one of all devices and of one
// (IN_DEV_MAXCONF in include/linux/inetdevice.h).
func confMax(in *doctor.Input, netdev, name string) (int, []doctor.Evidence, error) {
	larger := 0
	var evidence []doctor.Evidence
	for _, of := range []string{"all", netdev} {
		file := path.Join(sysfs.ProcIPv4Conf, of, name)
		text, err := in.Facts.Files.Text(file)
		if err != nil {
			return 0, nil, err
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, nil, fmt.Errorf("/%s: %q is not a number", file, printable(text))
		}
		larger = max(larger, n)
		evidence = append(evidence, doctor.Evidence{Path: "/" + file, Value: text})
	}
	return larger, evidence, nil
}

// confKey is the name of a setting for sysctl, where a slash stands for a dot in a name.
func confKey(netdev, name string) string {
	return "net.ipv4.conf." + strings.ReplaceAll(netdev, ".", "/") + "." + name
}

// addressEvidence is an address as `ip` shows it.
func addressEvidence(n *inventory.Netdev, a netip.Prefix) doctor.Evidence {
	if a.Addr().Is6() {
		return doctor.Evidence{Path: "ip -6 address show dev " + quote(n.Name), Value: a.String()}
	}
	return doctor.Evidence{Path: "ip -4 address show dev " + quote(n.Name), Value: a.String()}
}
