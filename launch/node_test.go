package launch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// The functions of this file build snapshots by hand, one port a device unless a
// test adds some.

func gidOf(addr string) ib.GID { return ib.GIDFromAddr(netip.MustParseAddr(addr)) }

// entries makes a GID table: "v1 fe80::1", "v2 10.0.0.1", "v2 10.0.0.1 vlan5", or "-" for a gap.
func entries(netdev string, specs ...string) (list []inventory.GIDEntry, size int) {
	for i, spec := range specs {
		fields := strings.Fields(spec)
		if fields[0] == "-" {
			continue
		}
		kind := map[string]inventory.GIDType{
			"v1": inventory.GIDTypeRoCEv1, "v2": inventory.GIDTypeRoCEv2, "ib": inventory.GIDTypeIB,
			"?": inventory.GIDTypeUnknown,
		}[fields[0]]
		e := inventory.GIDEntry{Index: i, GID: gidOf(fields[1]), Type: kind, Netdev: netdev}
		if len(fields) > 2 {
			e.Netdev = fields[2]
		}
		list = append(list, e)
	}
	return list, len(specs)
}

func device(name string, p inventory.Port) inventory.Device {
	d := inventory.Device{
		Name: name, Path: "/sys/class/infiniband/" + name, NodeType: inventory.NodeTypeCA, Driver: "mlx5_core",
	}
	return addPort(d, p)
}

func addPort(d inventory.Device, p inventory.Port) inventory.Device {
	if p.Number == 0 {
		p.Number = len(d.Ports) + 1
	}
	p.Path = fmt.Sprintf("%s/ports/%d", d.Path, p.Number)
	d.Ports = append(d.Ports, p)
	return d
}

// rocePort has the usual table for each address (link-local v1, v2, address v1, v2)
// unless specs give another one.
func rocePort(netdev string, specs ...string) inventory.Port {
	list, size := entries(netdev, specs...)
	p := inventory.Port{
		State: inventory.PortStateActive, LinkLayer: inventory.LinkLayerEthernet, Transport: inventory.TransportRoCEv2,
		Netdev: netdev, Role: inventory.RoleCompute, Rate: &inventory.Rate{GbPerSecond: 400}, GIDs: list,
		GIDTableSize: size,
	}
	return p
}

func usual(addr string) []string {
	return []string{"v1 fe80::1", "v2 fe80::1", "v1 " + addr, "v2 " + addr}
}

func roce(name, netdev, addr string) inventory.Device {
	return device(name, rocePort(netdev, usual(addr)...))
}

func ibPort() inventory.Port {
	list, size := entries("", "ib fe80::b83f:d203:a5:1000")
	return inventory.Port{
		State: inventory.PortStateActive, LinkLayer: inventory.LinkLayerInfiniBand,
		Transport: inventory.TransportInfiniBand, Role: inventory.RoleCompute, Rate: &inventory.Rate{GbPerSecond: 400},
		GIDs: list, GIDTableSize: size,
	}
}

func node(devices ...inventory.Device) inventory.Snapshot {
	s := inventory.Snapshot{Schema: inventory.Schema, Devices: devices}
	for _, d := range devices {
		for _, p := range d.Ports {
			if p.Netdev != "" && s.Netdev(p.Netdev) == nil {
				s = withNetdev(s, inventory.Netdev{Name: p.Netdev, RDMADevice: d.Name, RDMAPort: p.Number})
			}
		}
	}
	return s
}

func withNetdev(s inventory.Snapshot, n inventory.Netdev) inventory.Snapshot {
	n.Path, n.AdminUp, n.OperState = "/sys/class/net/"+n.Name, true, "up"
	if n.Type == 0 {
		n.Type = inventory.ARPHRDEther
	}
	for i := range s.Netdevs {
		if s.Netdevs[i].Name == n.Name {
			s.Netdevs[i] = n
			return s
		}
	}
	s.Netdevs = append(s.Netdevs, n)
	return s
}

// withDefault adds a network device that has the default route.
func withDefault(s inventory.Snapshot, netdev string) inventory.Snapshot {
	if s.Netdev(netdev) == nil {
		s = withNetdev(s,
			inventory.Netdev{Name: netdev, Addresses: []netip.Prefix{netip.MustParsePrefix("192.168.1.5/24")}})
	}
	s.Host.DefaultRoutes = append(s.Host.DefaultRoutes,
		inventory.DefaultRoute{Family: "ipv4", Netdev: netdev, Gateway: "192.168.1.1"})
	return s
}

// edit changes the only port of a device.
func edit(d inventory.Device, change func(d *inventory.Device, p *inventory.Port)) inventory.Device {
	d.Ports = slices.Clone(d.Ports)
	change(&d, &d.Ports[0])
	return d
}
