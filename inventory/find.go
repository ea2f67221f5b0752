package inventory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FindError reports that a name doesn't identify a device.
type FindError struct {
	Name string // the device, the network device, or the unknown name
	// Port is the port number that the device doesn't have, nil if none was given.
	Port *string
	// Netdev reports whether Name is a network device without an RDMA device.
	Netdev bool
}

// Error implements error.
func (e *FindError) Error() string {
	switch {
	case e.Port != nil:
		return fmt.Sprintf("device %s has no port %q", e.Name, *e.Port)
	case e.Netdev:
		return fmt.Sprintf("network device %s has no RDMA device", e.Name)
	}
	return fmt.Sprintf("no RDMA device %q", e.Name)
}

// Find returns the device that is identified by its name (mlx5_0), one of its ports (mlx5_0:2), its
// network device (ens1np0, or a member of its bond), or its PCI address (0000:18:00.0, 18:00.0).
// port is the port number, or 0 if name doesn't select a port. The error is a *[FindError].
func (s *Snapshot) Find(name string) (d *Device, port int, err error) {
	if d := s.Device(name); d != nil {
		return d, 0, nil
	}
	base, number, hasPort := strings.Cut(name, ":")
	if d := s.Device(base); d != nil && hasPort {
		port, err := strconv.Atoi(number)
		if err != nil || !slices.ContainsFunc(d.Ports, func(p Port) bool { return p.Number == port }) {
			return nil, 0, &FindError{Name: base, Port: &number}
		}
		return d, port, nil
	}
	if netdev := s.Netdev(name); netdev != nil {
		if bond := s.Netdev(netdev.Master); s.Device(netdev.RDMADevice) == nil && bond != nil && bond.RDMADevice != "" {
			netdev = bond // with LAG the members share the RDMA device of the bond
		}
		if d := s.Device(netdev.RDMADevice); d != nil {
			return d, netdev.RDMAPort, nil
		}
		return nil, 0, &FindError{Name: netdev.Name, Netdev: true}
	}
	for i := range s.Devices {
		if pci := s.Devices[i].PCI; pci != nil && (pci.Address == name || pci.Address == "0000:"+name) {
			return &s.Devices[i], 0, nil
		}
	}
	return nil, 0, &FindError{Name: name}
}

// Uses reports whether the network device is that of the port or of one of its GIDs. Two software
// devices may use the same one.
func (p *Port) Uses(netdev string) bool {
	return p.Netdev == netdev || slices.ContainsFunc(p.GIDs, func(g GIDEntry) bool { return g.Netdev == netdev })
}
