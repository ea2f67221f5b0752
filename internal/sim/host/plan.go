package host

import (
	"fmt"
	"net/netip"
)

// port is a network port with its PCI function, network device and, on an RDMA
// card, RDMA device.
type port struct {
	card     Card
	function *function
	layer    LinkLayer
	rate     int
	mtu      int
	netdev   string
	device   string // RDMA device, "" for a card without RDMA
	number   int    // of the RDMA device on the node, as assigned by the kernel
	index    int    // of the network device on the node
	id       int    // part of GUIDs and MAC addresses: unique on the node
	firmware string
	gids     int
	address  netip.Prefix // of the network device; invalid: none
	gateway  netip.Addr   // of a default route over it
	rail     int          // -1 for other cards and virtual functions
	pf       *port        // physical function of a virtual function
	vf       int          // index of the virtual function
	link     linkState
	lid      int
	prefix   string
}

// LIDs of emulated fabrics: the switch of the subnet manager has 1. Rails have LIDs below
// nicLID, other InfiniBand cards those from nicLID on.
const (
	smLID    = 1
	firstLID = 16
	nicLID   = 0xa000
	lastLID  = 0xbfff // end of the unicast range
)

// linkState is the state of a port's link.
type linkState uint8

const (
	linkActive linkState = iota
	linkInit             // up, waiting for a subnet manager
	linkDown
)

// plan lists all ports in the order in which the kernel finds them on the PCI buses:
// rails, their virtual functions, then the other cards. Virtual functions are enabled
// later, so their RDMA devices have the last numbers.
func (b *builder) plan() {
	n := b.Rails * (1 + b.VFs)
	for _, nic := range b.NICs {
		n += max(1, nic.Functions)
	}
	b.ports = make([]port, 0, n) // never reallocated, since pf points into it
	for r := range b.Rails {
		b.ports = append(b.ports, b.railPort(r))
	}
	for r := range b.Rails {
		for v := range b.VFs {
			b.ports = append(b.ports, b.vfPort(r, v))
		}
	}
	for i, nic := range b.NICs {
		for f := range max(1, nic.Functions) {
			b.ports = append(b.ports, b.nicPort(i, f, nic))
		}
	}
	b.number()
}

// number assigns the numbers of RDMA and network devices.
func (b *builder) number() {
	devices, netdevs := 0, 1 // 1 is lo
	for _, vf := range []bool{false, true} {
		for i := range b.ports {
			p := &b.ports[i]
			if (p.pf != nil) != vf {
				continue
			}
			netdevs++
			p.index = netdevs
			if p.card.Module != "" {
				p.device = p.card.Prefix + itoa(devices)
				p.number = devices
				devices++
			}
		}
	}
}

func (b *builder) railPort(r int) port {
	p := port{
		card: b.Card, layer: b.LinkLayer, rate: b.Rate, mtu: b.MTU, netdev: b.railNetdev(r), id: r,
		firmware: b.Firmware, gids: b.GIDs, address: b.railAddress(r), rail: r, lid: firstLID + b.Node*b.Rails + r,
		prefix: b.Prefix,
	}
	if b.LinkLayer == InfiniBand {
		p.address = netip.Prefix{} // IPoIB is not set up
	}
	if b.has(SmallMTU, r) {
		p.mtu = 1500
	}
	if b.has(NoAddress, r) {
		p.address = netip.Prefix{}
	}
	if b.has(SlowLink, r) {
		p.rate /= 2
	}
	if b.has(OldFirmware, r) {
		p.firmware = oldFirmware
	}
	if b.has(NoSM, r) {
		p.link = linkInit
	}
	if b.has(NoLink, r) {
		p.link = linkDown
	}
	return p
}

// railAddress returns the address of a rail. As in rail-optimized fabrics, each rail is a separate
// network.
func (b *builder) railAddress(r int) netip.Prefix {
	n := b.Node + 10
	if b.IPv6 {
		return netip.PrefixFrom(
			netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0x01, byte(r), 14: byte(n >> 8), 15: byte(n)}), 64)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(100 + r), byte(n >> 8), byte(n)}), 16)
}

func (b *builder) vfPort(r, v int) port {
	pf := &b.ports[r]
	p := *pf
	p.card.Model, p.card.Device = pf.card.Model+" Virtual Function", 0x101e
	p.pf, p.vf, p.rail = pf, v, -1
	p.id = maxRails + maxNICs*8 + r*maxVFs + v
	p.netdev = fmt.Sprintf("%sv%d", pf.netdev, v)
	p.address = netip.Prefix{}
	p.gids = min(p.gids, 128)
	return p
}

func (b *builder) nicPort(i, f int, nic NIC) port {
	p := port{
		card: nic.Card, layer: nic.LinkLayer, rate: nic.Rate, mtu: nic.MTU, netdev: fmt.Sprintf(nic.Netdev, f+1),
		id: maxRails + i*8 + f, firmware: nic.Card.Firmware, gids: b.GIDs, rail: -1, prefix: b.Prefix,
		lid: nicLID + b.Node*maxNICs + i,
	}
	if p.layer == "" {
		p.layer = Ethernet
	}
	if p.rate == 0 {
		p.rate = nic.Card.Rate
	}
	if p.mtu == 0 {
		p.mtu = 1500
	}
	if f > 0 {
		p.link = linkDown
		return p
	}
	if nic.Network.IsValid() {
		a := nic.Network.Addr().As4()
		n := int(a[2])<<8 + int(a[3]) + b.Node
		p.address = netip.PrefixFrom(netip.AddrFrom4([4]byte{a[0], a[1], byte(n >> 8), byte(n)}), nic.Network.Bits())
	}
	p.gateway = nic.Gateway
	return p
}

// mac returns the hardware address of a port: the vendor's prefix, then 13 bits of the
// node number and 11 of the port number, XORed with a constant.
func (b *builder) mac(p *port) [6]byte {
	v := (uint32(b.Node)<<11 | uint32(p.id)) ^ 0xa51000
	return [6]byte{0xb8, 0x3f, 0xd2, byte(v >> 16), byte(v >> 8), byte(v)}
}

// guid returns the GUID that mlx5 derives from a MAC address.
func (b *builder) guid(p *port) string {
	m := b.mac(p)
	return fmt.Sprintf("%02x%02x:%02x03:00%02x:%02x%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// eui64 returns the interface identifier of a MAC address (RFC 4291 appendix A), as half a GID.
func (b *builder) eui64(p *port) string {
	m := b.mac(p)
	return fmt.Sprintf("%02x%02x:%02xff:fe%02x:%02x%02x", m[0]^2, m[1], m[2], m[3], m[4], m[5])
}

func (b *builder) macText(p *port) string {
	m := b.mac(p)
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}
