package checks

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func rpFilter() doctor.Check {
	return doctor.Check{
		ID: "rp-filter", Title: "reverse path filter that drops packets of a rail", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupAddressing, Numbers: []int{67}, Needs: doctor.NeedDevices,
		Uses:  []facts.Kind{facts.KindRoutes},
		Reads: []string{portFiles("state"), confFiles("rp_filter")},
		Explanation: prose.Join(`
			With rp_filter=1 Linux drops a packet, and ignores an ARP request, if its own packets to
			that sender would leave by another device. Where several rails are in one subnet, that
			is so for all rails but one: peers can't resolve their addresses, and RoCE connections
			time out. RDMA packets themselves bypass the filter. Where each rail has a subnet, only
			TCP and rdma_cm between different rails are concerned.`),
		Remedy: "Set rp_filter to 2 (loose) or 0 for the rails; the larger of all and the device's own value is in " +
			"force.",
		Sources: []string{
			"Documentation/networking/ip-sysctl.rst (rp_filter)", "net/ipv4/fib_frontend.c (fib_validate_source)",
			"net/ipv4/arp.c (arp_process asks the route of the sender)",
		},
		Run: runRPFilter,
	}
}

func runRPFilter(_ context.Context, in *doctor.Input) []doctor.Finding {
	rails := ipRails(in.Snapshot)
	if len(rails) < 2 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "fewer than two active RoCE rails")}
	}
	var findings []doctor.Finding
	var good []doctor.Evidence
	passed := 0
	for _, r := range rails {
		value, evidence, err := confMax(in, r.netdev.Name, "rp_filter")
		switch {
		case err != nil:
			findings = append(findings, doctor.Because(r.netdev.Name, err))
		case value != 1 || r.wayBack(in):
			good, passed = append(good, evidence...), passed+1
		default:
			findings = append(findings, strictRail(in, r, rails, evidence))
		}
	}
	findings = mergeAbsent(findings)
	if passed > 0 && worst(findings).Compare(doctor.OutcomeInfo) <= 0 {
		text := english.Count(passed, "rail") + " whose filter lets packets of peers in"
		findings = append([]doctor.Finding{doctor.Passed(doctor.ObjectNode, text, good...)}, findings...)
	}
	return findings
}

// wayBack reports whether answers to all subnets of the node's rails leave by the rail, so that the
// strict filter drops nothing. It is false if the routes aren't known.
func (r ipRail) wayBack(in *doctor.Input) bool {
	if !in.Facts.Routes.Known() || len(r.addrs) == 0 || r.inVRF(in.Snapshot) {
		return false
	}
	for _, o := range ipRails(in.Snapshot) {
		for _, subnet := range o.addrs {
			peer, ok := neighbourIn(in.Snapshot, subnet)
			if ok && !r.leavesBy(in.Facts.Routes.Value, peer, "") {
				return false
			}
		}
	}
	return true
}

// leavesBy reports whether packets from the rail's first address to a peer leave by the rail.
func (r ipRail) leavesBy(routing facts.Routing, peer netip.Addr, output string) bool {
	hops, err := routing.Lookup(facts.Flow{From: r.addrs[0].Addr(), To: peer, Output: output})
	if err != nil {
		return false
	}
	for _, hop := range hops {
		if hop.Netdev != r.netdev.Name {
			return false
		}
	}
	return true
}

func strictRail(in *doctor.Input, r ipRail, rails []ipRail, evidence []doctor.Evidence) doctor.Finding {
	f := doctor.Finding{
		Outcome: doctor.OutcomeInfo, Object: r.netdev.Name, Evidence: evidence,
		Summary: fmt.Sprintf("rp_filter is 1 (strict): packets of other rails' peers to %s are dropped", r.netdev.Name),
		Actions: []doctor.Action{
			doctor.Sysctl(confKey(r.netdev.Name, "rp_filter"), "2"),
			doctor.Note("and in a file of /etc/sysctl.d, so that it stays"),
		},
	}
	if others := r.shares(in.Snapshot, rails); len(others) > 0 {
		f.Outcome = doctor.OutcomeWarn
		f.Summary = fmt.Sprintf("rp_filter is 1 (strict), and %s is in the subnet of %s: requests of peers are "+
			"dropped on "+
			"all but one of these rails", r.netdev.Name, objects(others, 3))
	}
	return f
}
