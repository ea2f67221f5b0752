package inventory

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// correlate connects the objects that were read separately: ports with network
// devices, VFs with PFs, cards with devices, GPUs with ports.
func (s *scanner) correlate() {
	s.findSMI()
	for d, p := range s.snap.Ports() {
		p.Netdev = s.portNetdev(d, p)
		s.linkNetdev(d, p)
		if p.LinkLayer == LinkLayerEthernet {
			p.ActiveMTU = s.activeMTU(d, p)
		}
		p.GPUs = s.gpuDistances(d)
	}
	s.addressesFromGIDs()
	s.joinVFs()
	s.joinCards()
}

// findSMI finds the devices that have only ports for subnet management. On kernels or recordings
// that don't say so, such a device shares its PCI function with another one that has what it lacks.
func (s *scanner) findSMI() {
	for i := range s.snap.Devices {
		d := &s.snap.Devices[i]
		for _, l := range s.live.Devices {
			if l.Name == d.Name {
				d.SMIOf = l.SMIOf
			}
		}
		if d.SMIOf != "" || d.PCI == nil || d.VF != nil {
			continue
		}
		for j := range s.snap.Devices {
			if main := &s.snap.Devices[j]; i != j && main.PCI != nil && main.PCI.Address == d.PCI.Address &&
				main.VF == nil && !strings.HasPrefix(main.Name, "smi") && isSMI(d, main) {
				d.SMIOf = main.Name
				break
			}
		}
	}
}

// isSMI reports whether d, on the PCI function of main, has no uverbs, but the subnet
// management that main doesn't have; without has_smi the name tells.
func isSMI(d, main *Device) bool {
	smi := func(d *Device, want bool) bool {
		return len(d.Ports) > 0 && !slices.ContainsFunc(d.Ports, func(p Port) bool {
			return p.LinkLayer != LinkLayerInfiniBand || p.HasSMI == nil || *p.HasSMI != want
		})
	}
	told := slices.ContainsFunc(d.Ports, func(p Port) bool { return p.HasSMI != nil })
	return !d.hasUverbs() && (smi(d, true) && smi(main, false) || !told && strings.HasPrefix(d.Name, "smi"))
}

// hasUverbs reports whether the kernel has a uverbs device for d.
func (d *Device) hasUverbs() bool {
	return slices.ContainsFunc(d.Chars, func(c CharDevice) bool { return strings.HasPrefix(c.Name, "uverbs") })
}

// Ports iterates over all ports with their devices, in order.
func (s *Snapshot) Ports() iter.Seq2[*Device, *Port] {
	return func(yield func(*Device, *Port) bool) {
		for i := range s.Devices {
			for j := range s.Devices[i].Ports {
				if !yield(&s.Devices[i], &s.Devices[i].Ports[j]) {
					return
				}
			}
		}
	}
}

// Netdev returns the network device with the given name, or nil if there is none.
func (s *Snapshot) Netdev(name string) *Netdev {
	i := slices.IndexFunc(s.Netdevs, func(n Netdev) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Netdevs[i]
}

// Device returns the RDMA device with the given name, or nil if there is none.
func (s *Snapshot) Device(name string) *Device {
	i := slices.IndexFunc(s.Devices, func(d Device) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Devices[i]
}

// portNetdev finds the network device of a port: the one that nldev reports; otherwise
// the network device of the GIDs; otherwise the one with the same PCI function and port
// number. On InfiniBand it is the IPoIB device with the port's GUID.
func (s *scanner) portNetdev(d *Device, p *Port) string {
	for _, l := range s.live.Devices {
		for _, lp := range l.Ports {
			if l.Name == d.Name && lp.Number == p.Number && lp.Netdev != "" {
				return s.bondOfPort(p, lp.Netdev)
			}
		}
	}
	if p.LinkLayer == LinkLayerInfiniBand {
		return s.ipoibNetdev(p)
	}
	if name := s.gidNetdev(p); name != "" {
		return name
	}
	if d.Parent != "" {
		return d.Parent
	}
	return s.pciNetdev(d, p)
}

// bondOfPort returns the bond of a network device if the GID table has the bond: with
// LAG, nldev of some kernels reports one of the members for mlx5.
func (s *scanner) bondOfPort(p *Port, netdev string) string {
	n := s.snap.Netdev(netdev)
	if n == nil {
		return netdev
	}
	bond := s.snap.bondOf(*n)
	if bond != nil && slices.ContainsFunc(p.GIDs, func(g GIDEntry) bool { return g.Netdev == bond.Name }) {
		return bond.Name
	}
	return netdev
}

// ipoibNetdev compares bytes 12 to 19 of the IPoIB address with the port's GUID, which
// is the interface identifier of GID 0. Child interfaces (ib0.8001) have the same GUID;
// the parent is the one on the PCI function.
func (s *scanner) ipoibNetdev(p *Port) string {
	if len(p.GIDs) == 0 || p.GIDs[0].Index != 0 {
		return ""
	}
	best := ""
	for _, n := range s.snap.Netdevs {
		if n.IPoIB == nil || [8]byte(p.GIDs[0].GID[8:]) != n.IPoIB.PortGUID {
			continue
		}
		if best == "" || n.Lower == "" && n.Bus == BusPCI && !strings.Contains(n.Name, ".") {
			best = n.Name
		}
	}
	return best
}

// gidNetdev returns the first network device in the GID table that has no lower device:
// VLAN and macvlan devices have separate GIDs in the table.
func (s *scanner) gidNetdev(p *Port) string {
	for _, g := range p.GIDs {
		if g.Netdev == "" {
			continue
		}
		if n := s.snap.Netdev(g.Netdev); n == nil || n.Lower == "" {
			return g.Netdev
		}
	}
	for _, g := range p.GIDs {
		if g.Netdev != "" {
			return g.Netdev
		}
	}
	return ""
}

func (s *scanner) pciNetdev(d *Device, p *Port) string {
	if d.PCI == nil {
		return ""
	}
	for _, n := range s.snap.Netdevs {
		if n.PCI != d.PCI.Address || n.Kind == kindRepresentor {
			continue
		}
		// dev_port counts ports from 0; older drivers use dev_id.
		if port := cmp.Or(deref(n.DevPort), deref(n.DevID)); port == p.Number-1 {
			return n.Name
		}
	}
	return ""
}

// linkNetdev sets the RDMA port of the port's network device and of those of its GIDs.
func (s *scanner) linkNetdev(d *Device, p *Port) {
	mark := func(name string) {
		if n := s.snap.Netdev(name); n != nil && n.RDMADevice == "" {
			n.RDMADevice, n.RDMAPort = d.Name, p.Number
		}
	}
	mark(p.Netdev)
	for _, g := range p.GIDs {
		mark(g.Netdev)
	}
}

// addressesFromGIDs fills in addresses if rtnetlink reported none: every IP address of a
// RoCE network device is a GID of its port.
func (s *scanner) addressesFromGIDs() {
	if len(s.live.Links) > 0 {
		return
	}
	for _, p := range s.snap.Ports() {
		for _, g := range p.GIDs {
			n := s.snap.Netdev(g.Netdev)
			if n == nil || g.Type != GIDTypeRoCEv2 {
				continue
			}
			a := g.GID.Addr()
			prefix := netip.PrefixFrom(a, a.BitLen())
			if !slices.Contains(n.Addresses, prefix) {
				n.Addresses = append(n.Addresses, prefix)
			}
		}
	}
}

// joinVFs adds the VF settings from rtnetlink to the PFs, and finds the RDMA devices of
// PFs and VFs.
func (s *scanner) joinVFs() {
	byAddress := map[string]string{}
	for _, d := range s.snap.Devices {
		if d.PCI != nil && (d.VF == nil || !d.VF.SubFunction) {
			byAddress[d.PCI.Address] = d.Name
		}
	}
	for i := range s.snap.Devices {
		if vf := s.snap.Devices[i].VF; vf != nil {
			vf.ParentDevice = byAddress[vf.ParentAddress]
			vf.Index = s.vfIndex(vf.ParentAddress, s.snap.Devices[i].PCI.Address)
		}
	}
	for _, f := range s.pci {
		if f == nil || f.sriov == nil {
			continue
		}
		live := s.liveVFs(f.Address)
		for i := range f.sriov.VFs {
			vf := &f.sriov.VFs[i]
			vf.Device = byAddress[vf.Address]
			if j := slices.IndexFunc(live, func(l LiveVF) bool { return l.Index == vf.Index }); j >= 0 {
				vf.VFSettings = live[j].VFSettings
			}
		}
	}
}

// vfIndex returns the index of a VF from the links of its PF, or nil if the PF isn't visible.
func (s *scanner) vfIndex(pf, vf string) *int {
	f := s.function(pf)
	if f == nil || f.sriov == nil {
		return nil
	}
	for _, v := range f.sriov.VFs {
		if v.Address == vf {
			return new(v.Index)
		}
	}
	return nil
}

// liveVFs returns the VFs that rtnetlink reports for the PF at a PCI address.
func (s *scanner) liveVFs(addr string) []LiveVF {
	for _, n := range s.snap.Netdevs {
		if n.PCI != addr {
			continue
		}
		for _, l := range s.live.Links {
			if l.Name == n.Name && len(l.VFs) > 0 {
				return l.VFs
			}
		}
	}
	return nil
}

func (s *scanner) joinCards() {
	for i := range s.snap.Cards {
		c := &s.snap.Cards[i]
		for _, d := range s.snap.Devices {
			if d.PCI != nil && d.PCI.Address == c.PCI.Address {
				c.Devices = append(c.Devices, d.Name)
			}
		}
		for _, n := range s.snap.Netdevs {
			if n.PCI == c.PCI.Address {
				c.Netdevs = append(c.Netdevs, n.Name)
			}
		}
		if f := s.pci[c.PCI.Address]; f != nil && f.physfn != "" {
			c.VF = &VFInfo{ParentAddress: f.physfn, Index: s.vfIndex(f.physfn, c.PCI.Address)}
		}
	}
}

// rxeOverhead is the number of bytes that rxe reserves for headers in the MTU of the network
// device (RXE_MAX_HDR_LENGTH in drivers/infiniband/sw/rxe/rxe_hdr.h; seen on 6.1).
const rxeOverhead = 80

// activeMTU derives the active MTU of an Ethernet port from the MTU of its network
// device like the drivers: RoCE cards with iboe_get_mtu, rxe with its own maximum header
// length, and iWARP from the whole MTU (ib_mtu_int_to_enum).
func (s *scanner) activeMTU(d *Device, p *Port) ib.MTU {
	n := s.snap.Netdev(p.Netdev)
	if n == nil || n.MTU == 0 {
		return 0
	}
	switch {
	case p.Transport == TransportEFA || p.Transport == TransportERDMA || p.Transport == TransportUnknown:
		return 0
	case d.Software == "rxe":
		return max(ib.MTUFit(n.MTU-rxeOverhead), ib.MTU256)
	case p.Transport == TransportIWARP:
		return max(ib.MTUFit(n.MTU), ib.MTU256)
	}
	return ib.MTUFromNetdev(n.MTU)
}

// gpuDistances returns the distances of a device to all GPUs, nearest first.
func (s *scanner) gpuDistances(d *Device) []GPUDistance {
	if d.PCI == nil {
		return nil
	}
	var out []GPUDistance
	for _, g := range s.snap.GPUs {
		out = append(out, GPUDistance{GPU: g.Index, Distance: Distance(d.PCI, &g.PCI)})
	}
	slices.SortStableFunc(out, func(a, b GPUDistance) int { return cmp.Compare(a.Distance, b.Distance) })
	return out
}

// Distance returns the distance of two PCI functions, from the bridges above them and
// their NUMA nodes. A PCI Express switch counts as one bridge, as in nvidia-smi and NCCL.
func Distance(a, b *PCI) PCIDistance {
	common := 0
	for common < len(a.Chain) && common < len(b.Chain) && a.Chain[common] == b.Chain[common] {
		common++
	}
	switch {
	case len(a.Chain) == 0 || len(b.Chain) == 0:
		return PCIDistanceUnknown
	case common == 0 && sameNUMANode(a, b):
		return PCIDistanceNODE
	case common == 0:
		return PCIDistanceSYS
	case common == 1 && strings.HasPrefix(a.Chain[0], "pci"):
		return PCIDistancePHB
	// Below the common bridge, a switch has one downstream port per function.
	case len(a.Chain)-common <= 1 && len(b.Chain)-common <= 1:
		return PCIDistancePIX
	}
	return PCIDistancePXB
}

// sameNUMANode reports whether both functions have the same NUMA node, or both have none, as on
// machines with one node.
func sameNUMANode(a, b *PCI) bool {
	if a.NUMANode == nil || b.NUMANode == nil {
		return a.NUMANode == nil && b.NUMANode == nil
	}
	return *a.NUMANode == *b.NUMANode
}
