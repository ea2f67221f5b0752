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

// Probe returns a collector that asks peers: how large packets may be on the way to them, and who
// answers for their addresses and for those of this node's rails. It is not among [Collectors],
// because it sends packets to other machines.
func Probe(now func() time.Time, peers []netip.Addr) facts.Collector {
	return facts.Collector{
		Kind: facts.KindProbe, Source: "ICMP echo without fragmentation, ARP", Cost: "a few packets to each peer, 1 " +
			"to 10 s",
		Privilege: "CAP_NET_RAW for ARP", Live: true, Limit: time.Minute,
		Collect: func(ctx context.Context, s *inventory.Snapshot, f *facts.Facts) {
			f.Probe = facts.Read(now, func() ([]facts.Probe, error) { return probeAll(ctx, s, peers) })
		},
	}
}

func probeAll(ctx context.Context, s *inventory.Snapshot, peers []netip.Addr) ([]facts.Probe, error) {
	probes := planProbes(s, peers)
	if len(probes) == 0 {
		return nil, facts.Absent("no RoCE port with an IPv4 address, and no device that leads to the peers")
	}
	var wg sync.WaitGroup
	for i := range probes {
		wg.Go(func() { probeOne(ctx, s.Netdev(probes[i].Netdev), &probes[i]) })
	}
	wg.Wait()
	return probes, nil
}

// planProbes returns what is to be asked: each peer by the devices of RoCE ports in whose subnet it
// is, or else by all of them; and the own address of each.
func planProbes(s *inventory.Snapshot, peers []netip.Addr) []facts.Probe {
	var own []facts.Probe
	subnets := map[int]netip.Prefix{}
	for _, p := range s.Ports() {
		n := s.Netdev(p.Netdev)
		if n == nil || p.LinkLayer != inventory.LinkLayerEthernet || !n.Usable() ||
			slices.ContainsFunc(own, func(o facts.Probe) bool { return o.Netdev == n.Name }) {
			continue
		}
		for _, a := range n.Addresses {
			if a.Addr().Is4() && a.Bits() < 32 {
				subnets[len(own)] = a.Masked()
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
				out = append(out, facts.Probe{Peer: peer, Netdev: o.Netdev, Source: o.Source, Asked: in})
			}
		}
	}
	return append(out, own...)
}

func probeOne(ctx context.Context, n *inventory.Netdev, p *facts.Probe) {
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
	size, err := netprobe.PathMTU(ctx, p.Netdev, p.Source, p.Peer, n.MTU)
	p.PathMTU, p.Tried = size, n.MTU
	if err != nil {
		p.Error = err.Error()
	}
}
