package kernel

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/netprobe"
	"github.com/rdmakit/rdmakit/inventory"
)

// arpWait is how long answers to ARP may take.
const arpWait = 500 * time.Millisecond

// ProbeSource is what the collector of peers needs.
type ProbeSource struct {
	Now   func() time.Time
	Peers []netip.Addr
	// Ask asks the connection manager of a peer through an RDMA device, from an address of the
	// device, and reports whether it answered, which includes a refusal. An error whose method
	// Timeout returns true is that of a peer that doesn't answer.
	Ask func(ctx context.Context, device string, source, peer netip.Addr) (answered bool, err error)
}

// Probe returns a collector that asks peers: how large packets may be on the way to them, who
// answers for their addresses and for those of this node's rails, and whether they answer packets
// of RoCE v2. It is not among [Collectors], because it sends packets to other machines.
func Probe(source ProbeSource) facts.Collector {
	return facts.Collector{
		Kind: facts.KindProbe, Source: "ICMP echo without fragmentation, ARP, messages of RoCE's connection manager",
		Cost: "a few packets to each peer, 1 to 20 s", Privilege: "CAP_NET_RAW for ARP", Live: true, Limit: time.Minute,
		Collect: func(ctx context.Context, s *inventory.Snapshot, f *facts.Facts) {
			f.Probe = facts.Read(source.Now, func() ([]facts.Probe, error) { return source.all(ctx, s) })
		},
	}
}

func (source ProbeSource) all(ctx context.Context, s *inventory.Snapshot) ([]facts.Probe, error) {
	probes := planProbes(s, source.Peers)
	if len(probes) == 0 {
		return nil, facts.Absent("no RoCE port with an IPv4 address, and no device that leads to the peers")
	}
	var wg sync.WaitGroup
	for i := range probes {
		wg.Go(func() { source.one(ctx, s, &probes[i]) })
	}
	wg.Wait()
	return probes, nil
}

// planProbes returns what is to be asked: each peer by the devices of RoCE ports in whose subnet it
// is, or else by all of them; and the own address of each.
func planProbes(s *inventory.Snapshot, peers []netip.Addr) []facts.Probe {
	var own []facts.Probe
	subnets, devices := map[int]netip.Prefix{}, map[int]string{}
	for d, p := range s.Ports() {
		n := s.Netdev(p.Netdev)
		if n == nil || p.LinkLayer != inventory.LinkLayerEthernet || !n.Usable() ||
			slices.ContainsFunc(own, func(o facts.Probe) bool { return o.Netdev == n.Name }) {
			continue
		}
		for _, a := range n.Addresses {
			if a.Addr().Is4() && a.Bits() < 32 {
				subnets[len(own)] = a.Masked()
				if p.Transport == inventory.TransportRoCEv2 {
					devices[len(own)] = d.Name
				}
				own = append(own, facts.Probe{Peer: a.Addr(), Netdev: n.Name, Source: a.Addr(), Own: true, Asked: true})
				break
			}
		}
	}
	var out []facts.Probe
	for _, peer := range peers {
		near := false
		for i := range own {
			near = near || subnets[i].Contains(peer)
		}
		for i, o := range own {
			if in := subnets[i].Contains(peer); in || !near {
				probe := facts.Probe{Peer: peer, Netdev: o.Netdev, Source: o.Source, Asked: in}
				if devices[i] != "" {
					probe.RoCE = &facts.ProbeRoCE{Device: devices[i]}
				}
				out = append(out, probe)
			}
		}
	}
	return append(out, own...)
}

func (source ProbeSource) one(ctx context.Context, s *inventory.Snapshot, p *facts.Probe) {
	if p.Asked {
		macs, err := netprobe.Owners(ctx, p.Netdev, p.Peer, arpWait)
		for _, mac := range macs {
			p.Owners = append(p.Owners, mac.String())
		}
		if err != nil {
			p.Asked, p.ARPError = false, err.Error()
		}
	}
	if p.Own {
		return
	}
	mtu := s.Netdev(p.Netdev).MTU
	size, err := netprobe.PathMTU(ctx, p.Netdev, p.Source, p.Peer, mtu)
	p.PathMTU, p.Tried = size, mtu
	if err != nil {
		p.Error = err.Error()
	}
	if p.RoCE != nil {
		device := s.Device(p.RoCE.Device)
		source.roce(ctx, device != nil && device.Software != "", p)
	}
}
