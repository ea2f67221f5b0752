package checks

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/ib"
)

func pathMTU() doctor.Check {
	return doctor.Check{
		ID: "path-mtu", Title: "way to a peer that drops large packets", Severity: doctor.OutcomeFail,
		Group: doctor.GroupAddressing, Numbers: []int{65}, Needs: doctor.NeedDevices,
		Facts: []facts.Kind{facts.KindProbe}, Reads: []string{portFiles("state"), netFiles("mtu")},
		Explanation: prose.Join(`
			RoCE packets are never fragmented. If a switch on the way, or the peer, takes smaller
			packets than the MTU of this node's device, small messages arrive and large ones get
			lost without an error: connections are made, and then time out ("transport retry counter
			exceeded"). TCP shows the same as a connection that hangs.`),
		Remedy: "Set the same MTU on the network devices of all nodes, and a larger one (9216) on all switch ports.",
		Sources: []string{
			"ip(7), IP_MTU_DISCOVER", "InfiniBand Architecture Specification, annex A17 (RoCE v2: don't fragment)",
			"report: NVIDIA/nccl issue 1524",
		},
		Run: runPathMTU,
	}
}

func runPathMTU(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	for _, p := range in.Facts.Probe.Value {
		if p.Own {
			continue
		}
		object := netdevObject(in.Snapshot, p.Netdev)
		evidence := doctor.Evidence{
			Path: fmt.Sprintf("ping -M do -I %s %v", quote(p.Netdev), p.Peer), Value: fmt.Sprintf("%d of %d bytes",
				p.PathMTU, p.Tried),
		}
		switch {
		case p.Error != "":
			findings = append(findings, doctor.Unknown(object, "%s", printable(p.Error)))
		case p.PathMTU == 0:
			findings = append(findings, doctor.Unknown(object,
				"%v answers no echo request from %s: it can't be reached, or a filter drops them", p.Peer, p.Netdev))
		case p.PathMTU >= p.Tried:
			good = append(good, evidence)
		default:
			findings = append(findings, narrowPath(p, object, evidence))
		}
	}
	switch {
	case len(findings) == 0 && len(good) == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "no peer was probed (--probe)")}
	case len(good) > 0 && worst(findings).Compare(doctor.OutcomeInfo) <= 0:
		text := fmt.Sprintf("packets as large as the device takes arrive on %s", english.Count(len(good), "way"))
		return append([]doctor.Finding{doctor.Passed(doctor.ObjectNode, text, good...)}, findings...)
	}
	return findings
}

// netdevObject returns the RDMA port of a network device, or the device itself.
func netdevObject(s *inventory.Snapshot, netdev string) string {
	for p := range ports(s) {
		if p.port.Netdev == netdev {
			return p.object()
		}
	}
	return netdev
}

func narrowPath(p facts.Probe, object string, evidence doctor.Evidence) doctor.Finding {
	f := doctor.Finding{
		Outcome: doctor.OutcomeWarn, Object: object, Evidence: []doctor.Evidence{evidence},
		Summary: fmt.Sprintf("packets to %v get lost above %d bytes, but %s sends up to %d", p.Peer, p.PathMTU,
			p.Netdev, p.Tried),
		Actions: []doctor.Action{
			doctor.Note("set the MTU of all switch ports on the way to 9216, and of %v to %d", p.Peer, p.Tried),
			doctor.Note("until then: ip link set %s mtu %d", quote(p.Netdev), p.PathMTU),
		},
	}
	if sends, arrive := ib.MTUFromNetdev(p.Tried), ib.MTUFromNetdev(p.PathMTU); arrive < sends {
		f.Outcome = doctor.OutcomeFail
		f.Summary += fmt.Sprintf(": RoCE uses an MTU of %d, and only %d fits", sends, arrive)
	}
	return f
}
