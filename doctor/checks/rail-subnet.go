package checks

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func railSubnet() doctor.Check {
	return doctor.Check{
		ID:       "rail-subnet",
		Title:    "several RoCE rails in one IP subnet",
		Severity: doctor.OutcomeFail,
		Group:    doctor.GroupAddressing,
		Numbers:  []int{66},
		Needs:    doctor.NeedDevices,
		Uses:     []facts.Kind{facts.KindProbe, facts.KindRoutes},
		Reads: []string{
			portFiles("state"), // and the addresses from rtnetlink
			confFiles("arp_ignore"), confFiles("arp_announce"), confFiles("arp_filter"),
		},
		Explanation: prose.Join(`
			By default Linux answers ARP for each of its addresses on every device of the subnet
			(arp_ignore=0), and sends all packets to a subnet through one device. RDMA traffic of
			one rail then arrives on another, or the address of a rail can't be resolved. With a
			subnet for each rail, or with arp_ignore and arp_announce set and a route for each
			source address, that does not happen. Some clouds configure it like that. On IPv6 a device
			answers for its own addresses only, but what the kernel sends to the subnet leaves by one
			device too, unless there is a route for each source address.`),
		Remedy: "Give each rail a subnet of its own, or set arp_ignore=1 and arp_announce=2 and use policy routing.",
		Sources: []string{
			"Documentation/networking/ip-sysctl.rst (arp_ignore, arp_announce: the larger of all and the device)",
			"net/ipv4/arp.c (arp_ignore, arp_filter, arp_solicit)",
			"net/ipv6/ndisc.c (ndisc_recv_ns: the target is an address of the device)",
		},
		Run: runRailSubnet,
	}
}

func runRailSubnet(_ context.Context, in *doctor.Input) []doctor.Finding {
	rails := slices.DeleteFunc(ipRails(in.Snapshot), func(r ipRail) bool { return r.inVRF(in.Snapshot) })
	known := 0
	groups := map[netip.Prefix][]ipRail{}
	var order []netip.Prefix
	for _, r := range rails {
		if len(r.addrs)+len(r.addrs6) > 0 {
			known++
		}
		for _, a := range slices.Concat(r.addrs, r.addrs6) {
			subnet := a.Masked()
			if slices.ContainsFunc(groups[subnet], func(o ipRail) bool { return o.netdev == r.netdev }) {
				continue
			}
			if groups[subnet] == nil {
				order = append(order, subnet)
			}
			groups[subnet] = append(groups[subnet], r)
		}
	}
	switch {
	case len(rails) < 2:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "fewer than two active RoCE rails")}
	case known < 2:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"fewer than two rails have an IP address whose prefix length is known")}
	}
	var findings []doctor.Finding
	for _, subnet := range order {
		switch members := groups[subnet]; {
		case len(members) < 2:
		case subnet.Addr().Is6():
			findings = append(findings, judgeSubnet6(in, subnet, members)...)
		default:
			findings = append(findings, judgeSubnet(in, subnet, members)...)
		}
	}
	if len(findings) == 0 {
		findings = append(findings, doctor.Passed(doctor.ObjectNode, fmt.Sprintf("%s in %s; none answers for another",
			english.Count(known, "rail"), english.Count(len(order), "subnet"))))
	}
	return findings
}

// judgeSubnet returns the findings for rails that share a subnet; none if each answers for itself.
func judgeSubnet(in *doctor.Input, subnet netip.Prefix, members []ipRail) []doctor.Finding {
	f := doctor.Finding{Outcome: doctor.OutcomeWarn, Object: doctor.ObjectNode}
	refs := make([]portRef, 0, len(members))
	for _, m := range members {
		refs = append(refs, m.portRef)
		i := slices.IndexFunc(m.addrs, func(a netip.Prefix) bool { return a.Masked() == subnet })
		f.Evidence = append(f.Evidence, addressEvidence(m.netdev, m.addrs[i]))
	}
	f.Summary = fmt.Sprintf("%s are in one subnet, %v: %s", english.Count(len(members), "rail"), subnet, objects(refs,
		4))
	f.Actions = []doctor.Action{
		doctor.Note("a subnet for each rail, or on every node:"),
		doctor.Sysctl("net.ipv4.conf.all.arp_ignore", "1"),
		doctor.Sysctl("net.ipv4.conf.all.arp_announce", "2"),
		doctor.Note("and a routing table for each source address (ip rule add from ADDRESS table N)"),
	}
	if seen := observedFlux(in, subnet, members); seen != "" {
		f.Outcome, f.Summary = doctor.OutcomeFail, f.Summary+"; "+seen
		return []doctor.Finding{f}
	}
	var answers, announces []string
	var others []doctor.Finding
	var unknown error
	for _, m := range members {
		ignore, ignored, err := confMax(in, m.netdev.Name, "arp_ignore")
		announce, announced, err2 := confMax(in, m.netdev.Name, "arp_announce")
		if err == nil {
			err = err2
		}
		if err != nil {
			if errors.Is(err, facts.ErrAbsent) {
				f.Outcome, unknown = doctor.OutcomeInfo, err // their answers aren't known
			} else {
				others = append(others, doctor.Because(m.object(), err))
			}
			continue
		}
		if filter, _, err := confMax(in, m.netdev.Name, "arp_filter"); ignore == 0 && (err != nil || filter == 0) {
			answers = append(answers, m.netdev.Name)
			f.Evidence = append(f.Evidence, ignored...)
		} else if announce < 2 {
			announces = append(announces, m.netdev.Name)
			f.Evidence = append(f.Evidence, announced...)
		}
	}
	switch {
	case len(answers) > 0:
		f.Outcome = doctor.OutcomeWarn
		f.Summary += fmt.Sprintf("; with arp_ignore 0 %s answer ARP for addresses of the other rails",
			english.List(answers, 4))
	case len(announces) > 0:
		f.Outcome = doctor.OutcomeWarn
		f.Summary += fmt.Sprintf("; with arp_announce below 2 %s may announce addresses of the other rails",
			english.List(announces, 4))
	case f.Outcome != doctor.OutcomeInfo:
		return others
	default:
		f.Summary += "; whether they answer for each other is not known: " + unknown.Error()
	}
	return append(others, f)
}

// judgeSubnet6 returns the finding for rails that share an IPv6 subnet; none if packets of each
// leave by its own device.
func judgeSubnet6(in *doctor.Input, subnet netip.Prefix, members []ipRail) []doctor.Finding {
	f := doctor.Finding{Outcome: doctor.OutcomeInfo, Object: doctor.ObjectNode}
	var refs []portRef
	var ways []doctor.Evidence
	undecided := !in.Facts.Routes.Known()
	for _, m := range members {
		i := slices.IndexFunc(m.addrs6, func(a netip.Prefix) bool { return a.Masked() == subnet })
		refs = append(refs, m.portRef)
		f.Evidence = append(f.Evidence, addressEvidence(m.netdev, m.addrs6[i]))
		peer, ok := neighbourIn(in.Snapshot, m.addrs6[i])
		if !ok || undecided {
			continue
		}
		flow := facts.Flow{From: m.addrs6[i].Addr(), To: peer}
		hops, err := in.Facts.Routes.Value.Lookup(flow)
		if errors.Is(err, facts.ErrUndecided) {
			undecided = true
		} else if err != nil || strays(hops, m.netdev.Name) != "" {
			ways = append(ways, wayEvidence(flow, hops, err))
		}
	}
	f.Summary = fmt.Sprintf("%s are in one IPv6 subnet, %v: %s", english.Count(len(members), "rail"), subnet,
		objects(refs, 4))
	f.Actions = []doctor.Action{
		doctor.Note("a subnet for each rail, or a routing table for each source address (ip -6 rule add from ADDRESS " +
			"table N)"),
	}
	switch {
	case len(ways) > 0:
		f.Outcome, f.Evidence = doctor.OutcomeWarn, append(f.Evidence, ways...)
		f.Summary += fmt.Sprintf("; packets of %s leave by another device", english.Count(len(ways), "rail"))
	case undecided:
		f.Summary += "; by which device their packets leave is not known"
	default:
		return nil
	}
	return []doctor.Finding{f}
}

// observedFlux returns in words that one rail answered ARP for the address of another, as the probe
// saw it; "" if it did not.
func observedFlux(in *doctor.Input, subnet netip.Prefix, members []ipRail) string {
	if !in.Facts.Probe.Known() {
		return ""
	}
	for _, p := range in.Facts.Probe.Value {
		owner := slices.IndexFunc(members, func(m ipRail) bool {
			return slices.ContainsFunc(m.addrs, func(a netip.Prefix) bool {
				return a.Addr() == p.Peer &&
					subnet.Contains(p.Peer)
			})
		})
		if owner < 0 {
			continue
		}
		for _, m := range members {
			if m.netdev != members[owner].netdev && m.netdev.Address != members[owner].netdev.Address &&
				slices.ContainsFunc(p.Owners, func(mac string) bool {
					return strings.EqualFold(mac,
						m.netdev.Address)
				}) {
				return fmt.Sprintf("%s answers ARP for %v, the address of %s", m.netdev.Name, p.Peer,
					members[owner].netdev.Name)
			}
		}
	}
	return ""
}
