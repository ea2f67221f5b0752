package source

import (
	"cmp"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// FromSnapshot returns the node of a snapshot.
func FromSnapshot(snap inventory.Snapshot, origin string) Node {
	name := snap.Host.Name
	if name == "" {
		name = strings.TrimSuffix(path.Base(origin), ".tar.gz")
	}
	n := Node{
		Name: name, CardsKnown: true, Origins: []string{origin}, RDMAMode: string(snap.Host.NetnsMode),
		Taken: snap.Taken, HardwareIDs: hardwareIDs(&snap),
	}
	for i := range snap.Cards {
		if c := &snap.Cards[i]; c.VF == nil {
			n.PFs = append(n.PFs, fromCard(&snap, c))
		}
	}
	for i := range snap.Netdevs {
		for _, p := range snap.Netdevs[i].Addresses {
			n.addAddress(p)
		}
	}
	n.sort()
	return n
}

// addAddress adds an address, unless it is a loopback or link-local address.
func (n *Node) addAddress(p netip.Prefix) {
	if a := p.Addr(); p.IsValid() && !a.IsLoopback() && !a.IsLinkLocalUnicast() && !slices.Contains(n.Addresses, p) {
		n.Addresses = append(n.Addresses, p)
	}
}

// hardwareIDs returns IDs that no other machine has: PCI addresses with the GUIDs of their devices,
// or the MAC addresses of their network devices: "0000:3b:00.0 b83f:d203:00a5:1000". It ignores
// VFs, whose addresses are random and may move between machines.
func hardwareIDs(snap *inventory.Snapshot) []string {
	var ids []string
	for i := range snap.Devices {
		if d := &snap.Devices[i]; d.NodeGUID != nil && *d.NodeGUID != (ib.GUID{}) && d.PCI != nil && d.VF == nil {
			ids = append(ids, d.PCI.Address+" "+d.NodeGUID.String())
		}
	}
	for i := range snap.Cards {
		for _, name := range snap.Cards[i].Netdevs {
			if nd := snap.Netdev(name); nd != nil && nd.Type == inventory.ARPHRDEther && nd.Address != "" &&
				snap.Cards[i].VF == nil {
				ids = append(ids, snap.Cards[i].PCI.Address+" "+nd.Address)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func fromCard(snap *inventory.Snapshot, c *inventory.Card) PF {
	pf := PF{
		Address: c.PCI.Address, Vendor: hex(c.PCI.VendorID), DeviceID: hex(c.PCI.DeviceID), Driver: c.PCI.Driver,
		NUMANode: c.PCI.NUMANode,
	}
	if c.SRIOV != nil {
		pf.NumVFs, pf.TotalVFs, pf.VFsKnown = c.SRIOV.NumVFs, c.SRIOV.TotalVFs, true
		for _, vf := range c.SRIOV.VFs {
			guid := ""
			if vf.PortGUID != nil {
				guid = vf.PortGUID.String()
			}
			pf.VFGUIDs = append(pf.VFGUIDs, guid)
			pf.addVFDevice(snap, vf.Address)
			pf.VFMTUs = append(pf.VFMTUs, netdevMTU(snap, vf.Address))
		}
	}
	if len(c.Netdevs) > 0 {
		pf.Netdev = c.Netdevs[0]
		if nd := snap.Netdev(pf.Netdev); nd != nil {
			pf.MTU = nd.MTU
			pf.LinkType = linkTypeOf(nd.Type)
		}
	}
	for _, name := range c.Devices {
		if d := snap.Device(name); d != nil && len(d.Ports) > 0 && d.SMIOf == "" {
			pf.addPort(d, &d.Ports[0])
			break
		}
	}
	return pf
}

// netdevMTU returns the MTU of the network device at a PCI address, 0 if there is none.
func netdevMTU(snap *inventory.Snapshot, address string) int {
	for i := range snap.Netdevs {
		if nd := &snap.Netdevs[i]; address != "" && nd.PCI == address {
			return nd.MTU
		}
	}
	return 0
}

// addVFDevice adds the device ID of a VF.
func (p *PF) addVFDevice(snap *inventory.Snapshot, address string) {
	for i := range snap.Cards {
		if c := &snap.Cards[i]; address != "" && c.PCI.Address == address {
			if id := hex(c.PCI.DeviceID); !slices.Contains(p.VFDeviceIDs, id) {
				p.VFDeviceIDs = append(p.VFDeviceIDs, id)
			}
		}
	}
}

func (p *PF) addPort(d *inventory.Device, port *inventory.Port) {
	p.RDMADevice, p.Rail, p.Role = d.Name, port.Rail, string(port.Role)
	switch port.LinkLayer {
	case inventory.LinkLayerInfiniBand:
		p.LinkType = LinkIB
	case inventory.LinkLayerEthernet:
		p.LinkType = LinkETH
	}
	if p.Netdev == "" {
		p.Netdev = port.Netdev
	}
	if f := port.Fabric; f != nil {
		p.Fabric = &Fabric{SubnetPrefix: fmt.Sprint(f.SubnetPrefix), SMLID: uint16(f.SMLID)}
	}
}

// Link types in the form of a SriovNetworkNodeState.
const (
	LinkETH = "ETH" // Ethernet
	LinkIB  = "IB"  // InfiniBand
)

func linkTypeOf(arphrd int) string {
	switch arphrd {
	case inventory.ARPHRDInfiniBand:
		return LinkIB
	case inventory.ARPHRDEther:
		return LinkETH
	}
	return ""
}

func hex(id inventory.PCIID) string { return fmt.Sprintf("%04x", uint16(id)) }

// FromNodeState returns the node of a SriovNetworkNodeState.
func FromNodeState(state k8s.SriovNetworkNodeState, origin string) Node {
	n := Node{
		Name: state.Metadata.Name, CardsKnown: true, Origins: []string{origin}, RDMAMode: state.Status.System.RdmaMode,
		SyncStatus: state.Status.SyncStatus, SyncError: state.Status.LastSyncError, State: &state,
	}
	for _, i := range state.Status.Interfaces {
		pf := PF{
			Address: strings.ToLower(i.PciAddress), Vendor: strings.ToLower(i.Vendor),
			DeviceID: strings.ToLower(i.DeviceID), Netdev: i.Name, AltNames: i.AltNames,
			LinkType: strings.ToUpper(i.LinkType), MTU: i.Mtu, Driver: i.Driver, NumVFs: i.NumVfs, TotalVFs: i.TotalVfs,
			VFsKnown: true, ESwitchMode: i.ESwitchMode, ExternallyManaged: i.ExternallyManaged,
		}
		for _, vf := range i.VFs {
			pf.VFGUIDs, pf.VFMTUs = append(pf.VFGUIDs, vf.GUID), append(pf.VFMTUs, vf.Mtu)
			if vf.DeviceID != "" && !slices.Contains(pf.VFDeviceIDs, vf.DeviceID) {
				pf.VFDeviceIDs = append(pf.VFDeviceIDs, vf.DeviceID)
			}
		}
		n.PFs = append(n.PFs, pf)
	}
	n.sort()
	return n
}

// FromNode returns the node of a Node object, which contains no cards.
func FromNode(node k8s.Node, origin string) Node {
	n := Node{
		Name: node.Metadata.Name, Labels: map[string]string{}, LabelOrigins: map[string]string{},
		Origins: []string{origin},
	}
	ranges := node.Spec.PodCIDRs
	if len(ranges) == 0 {
		ranges = []string{node.Spec.PodCIDR}
	}
	for _, text := range ranges {
		if p, err := netip.ParsePrefix(text); err == nil {
			n.PodCIDRs = append(n.PodCIDRs, p.Masked())
		}
	}
	for key, value := range node.Metadata.Labels {
		n.Labels[key], n.LabelOrigins[key] = value, origin
	}
	for _, a := range node.Status.Addresses {
		if addr, err := netip.ParseAddr(a.Address); err == nil {
			n.addAddress(netip.PrefixFrom(addr, addr.BitLen()))
		}
	}
	if node.Status.Allocatable != nil {
		n.Allocatable = node.Status.Allocatable
	}
	return n
}

func (n *Node) sort() {
	slices.SortStableFunc(n.PFs, func(a, b PF) int { return cmp.Compare(a.Address, b.Address) })
}
