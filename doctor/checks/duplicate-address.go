package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func duplicateAddress() doctor.Check {
	return doctor.Check{
		ID: "duplicate-address", Title: "IP address that several machines answer for", Severity: doctor.OutcomeFail,
		Group: doctor.GroupAddressing, Numbers: []int{69}, Needs: doctor.NeedDevices,
		Facts: []facts.Kind{facts.KindProbe}, Reads: []string{portFiles("state"), netFiles("address")},
		Explanation: prose.Join(`
			If two devices answer ARP for one address, packets go to the one that answered last:
			connections break at random, and RoCE packets reach a card that has no such queue pair.
			Two machines may have the same address, or one machine answers on a second rail
			(arp_ignore=0 where several rails are in one subnet).`),
		Remedy: "Find the machines by their MAC addresses in the switch's table, and change one address; if both " +
			"belong to one machine, set arp_ignore=1 and arp_announce=2 there.",
		Sources: []string{"RFC 5227 (address conflict detection by ARP)", "net/ipv4/arp.c (arp_process)"},
		Run:     runDuplicateAddress,
	}
}

func runDuplicateAddress(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	for _, p := range in.Facts.Probe.Value {
		object := netdevObject(in.Snapshot, p.Netdev)
		evidence := doctor.Evidence{
			Path: fmt.Sprintf("arping -D -I %s %v", quote(p.Netdev), p.Peer), Value: strings.Join(p.Owners, ", "),
		}
		switch {
		case p.ARPError != "" && strings.Contains(p.ARPError, "not permitted"):
			findings = append(findings, doctor.NeedsPrivilege(object, "root could ask by ARP who has %v", p.Peer))
			continue
		case p.ARPError != "":
			findings = append(findings, doctor.Unknown(object, "%s", printable(p.ARPError)))
			continue
		case !p.Asked:
			continue // behind a router
		}
		allowed := 1
		if p.Own {
			allowed = 0
		}
		if len(p.Owners) <= allowed {
			if evidence.Value == "" {
				evidence.Value = "no answer"
			}
			good = append(good, evidence)
			continue
		}
		findings = append(findings, duplicate(in.Snapshot, p, object, evidence))
	}
	switch {
	case len(findings) == 0 && len(good) == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "no address was asked for by ARP (--probe)")}
	case len(good) > 0 && worst(findings).Compare(doctor.OutcomeInfo) <= 0:
		text := english.Count(len(good), "address") + " without a second owner"
		return append([]doctor.Finding{doctor.Passed(doctor.ObjectNode, text, good...)}, findings...)
	}
	return findings
}

func duplicate(s *inventory.Snapshot, p facts.Probe, object string, evidence doctor.Evidence) doctor.Finding {
	f := doctor.Finding{
		Outcome: doctor.OutcomeFail, Object: object, Evidence: []doctor.Evidence{evidence},
		Summary: fmt.Sprintf("%s answer for %v", english.Count(len(p.Owners), "MAC address"), p.Peer),
		Actions: []doctor.Action{doctor.Note("look up these MAC addresses in the switch's table: %s", evidence.Value)},
	}
	if !p.Own {
		return f
	}
	var rails []string
	for _, mac := range p.Owners {
		i := slices.IndexFunc(s.Netdevs, func(n inventory.Netdev) bool { return strings.EqualFold(n.Address, mac) })
		if i < 0 {
			f.Summary = fmt.Sprintf("another machine (%s) answers for %v, the address of %s", mac, p.Peer, p.Netdev)
			return f
		}
		rails = append(rails, s.Netdevs[i].Name)
	}
	f.Outcome = doctor.OutcomeInfo
	f.Summary = fmt.Sprintf("this node answers for %v, the address of %s, on %s too: see rail-subnet", p.Peer, p.Netdev,
		english.List(rails, 3))
	return f
}
