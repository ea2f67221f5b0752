package checks

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func railSubnet() doctor.Check {
	return doctor.Check{
		ID:       "rail-subnet",
		Title:    "several RoCE rails in one IP subnet",
		Severity: doctor.OutcomeInfo,
		Group:    doctor.GroupAddressing,
		Needs:    doctor.NeedDevices,
		Reads:    []string{portFiles("state")}, // and the addresses from rtnetlink
		Explanation: prose.Join(`
			By default Linux answers ARP for each of its addresses on every device of the subnet
			(arp_ignore=0), and sends all packets to a subnet through one device. RDMA traffic of
			one rail then arrives on another, or the address of a rail can't be resolved. With a
			subnet for each rail, or with arp_ignore and arp_announce set and a route for each
			source address, that does not happen. Some clouds configure it like that.`),
		Remedy:  "Give each rail a subnet of its own, or set arp_ignore=1 and arp_announce=2 and use policy routing.",
		Sources: []string{"Documentation/networking/ip-sysctl.rst (arp_ignore, arp_announce)"},
		Run:     runRailSubnet,
	}
}

func runRailSubnet(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	bySubnet := map[netip.Prefix][]portRef{}
	var order []netip.Prefix
	rails, known := 0, 0
	for p := range ports(s) {
		n := p.netdev(s)
		if p.port.Role != inventory.RoleCompute || !p.roce() || !p.active() || n == nil {
			continue
		}
		rails++
		seen := false
		for _, a := range n.Addresses {
			subnet := a.Masked()
			if !a.Addr().Is4() || a.Bits() == a.Addr().BitLen() || a.Addr().IsLinkLocalUnicast() ||
				slices.ContainsFunc(bySubnet[subnet], func(q portRef) bool { return q.port.Netdev == p.port.Netdev }) {
				continue // says nothing, or not for the first time
			}
			if bySubnet[subnet] == nil {
				order = append(order, subnet)
			}
			bySubnet[subnet], seen = append(bySubnet[subnet], p), true
		}
		if seen {
			known++
		}
	}
	var findings []doctor.Finding
	for _, subnet := range order {
		members := bySubnet[subnet]
		if len(members) < 2 {
			continue
		}
		f := doctor.Finding{
			Outcome: doctor.OutcomeInfo, Object: doctor.ObjectNode,
			Summary: fmt.Sprintf("%s are in one subnet, %v: %s", english.Count(len(members), "rail"), subnet,
				objects(members, 4)),
			Remedy: []string{
				"# a subnet for each rail, or on every node:",
				"sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2",
				"# and a routing table for each source address (ip rule add from ADDRESS table N)",
			},
		}
		for _, p := range members {
			n := p.netdev(s)
			f.Evidence = append(f.Evidence, doctor.Evidence{
				Path: "ip -4 address show dev " + quote(n.Name), Value: addressIn(n, subnet),
			})
		}
		findings = append(findings, f)
	}
	switch {
	case len(findings) > 0:
		return findings
	case rails < 2:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "fewer than two active RoCE rails")}
	case known < 2:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"fewer than two rails have an IPv4 address whose prefix length is known")}
	}
	return []doctor.Finding{doctor.Passed(doctor.ObjectNode,
		fmt.Sprintf("%s in %s", english.Count(known, "rail"), english.Count(len(order), "subnet")))}
}

func addressIn(n *inventory.Netdev, subnet netip.Prefix) string {
	for _, a := range n.Addresses {
		if a.Masked() == subnet {
			return a.String()
		}
	}
	return subnet.String()
}
