package checks

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func rocePeer() doctor.Check {
	return doctor.Check{
		ID: "roce-peer", Title: "peer that RoCE packets don't reach", Severity: doctor.OutcomeFail,
		Group: doctor.GroupAddressing, Numbers: []int{71}, Needs: doctor.NeedDevices,
		Facts: []facts.Kind{facts.KindProbe}, Reads: []string{portFiles("state")},
		Explanation: prose.Join(`
			A switch or a packet filter can drop UDP port 4791 alone: ping and TCP work, and RoCE
			connections time out. This node's connection manager asks that of the peer for a service
			that nobody has; the refusal shows that RoCE packets arrive and come back. Datagrams with
			such a message show ICMP errors of filters and closed ports. Silence is not judged: a
			filter may drop the packets, or the peer may have no connection manager (module rdma_cm).`),
		Remedy: "Accept UDP port 4791 in all filters on the way, and load rdma_cm at the peer.",
		Sources: []string{
			"InfiniBand Architecture Specification, section 12.11 (service ID resolution) and annex A17",
			"drivers/infiniband/core/cm.c (cm_sidr_req_handler)", "RFC 792 and RFC 1812, section 5.2.7",
		},
		Run: runRoCEPeer,
	}
}

func runRoCEPeer(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	for _, p := range in.Facts.Probe.Value {
		switch {
		case p.RoCE == nil:
		case p.RoCE.Answered:
			good = append(good, roceEvidence(p, "answer of the connection manager"))
		default:
			findings = append(findings, noRoCEAnswer(in, p))
		}
	}
	switch {
	case len(findings) == 0 && len(good) == 0:
		return []doctor.Finding{
			doctor.NotApplicable(doctor.ObjectNode, "no peer was probed from a RoCE v2 port (--probe)"),
		}
	case len(good) > 0 && worst(findings).Compare(doctor.OutcomeInfo) <= 0:
		text := "RoCE packets are answered on " + english.Count(len(good), "way")
		return append([]doctor.Finding{doctor.Passed(doctor.ObjectNode, text, good...)}, findings...)
	}
	return findings
}

func roceEvidence(p facts.Probe, value string) doctor.Evidence {
	return doctor.Evidence{
		Path: fmt.Sprintf("UDP port %d of %v by %s", rocePort, p.Peer, quote(p.Netdev)), Value: value,
	}
}

// noRoCEAnswer returns the finding for a peer whose connection manager didn't answer.
func noRoCEAnswer(in *doctor.Input, p facts.Probe) doctor.Finding {
	r, object := p.RoCE, netdevObject(in.Snapshot, p.Netdev)
	device := in.Snapshot.Device(r.Device)
	software := device != nil && device.Software != ""
	icmp := icmpText(r.ICMPType, r.ICMPCode)
	switch {
	case r.Error != "":
		return doctor.Unknown(object, "%s", printable(r.Error))
	case r.RejectedBy.IsValid() && !rejects(r.ICMPType, r.ICMPCode):
		f := doctor.Unknown(object, "%v can't be reached by %s", p.Peer, p.Netdev)
		f.Evidence = []doctor.Evidence{roceEvidence(p, fmt.Sprintf("%s from %v", icmp, r.RejectedBy))}
		return f
	case r.Filtered && software:
		return doctor.Finding{
			Outcome: doctor.OutcomeFail, Object: object,
			Summary:  fmt.Sprintf("the packet filter of this node drops RoCE packets to %v", p.Peer),
			Evidence: []doctor.Evidence{roceEvidence(p, "operation not permitted")},
			Actions:  []doctor.Action{doctor.Shell("nft list ruleset")},
		}
	case r.Filtered: // packets of a card don't pass the filter
		return doctor.Unknown(object, "%v answers no RoCE packet of %s%s; more can't be asked, because this node's "+
			"packet filter drops datagrams of programs", p.Peer, p.Netdev, whyNotAsked(r))
	case r.RejectedBy == p.Peer && r.ICMPType == icmpUnreachable && r.ICMPCode == icmpPort:
		return doctor.Finding{
			Outcome: doctor.OutcomeWarn, Object: object,
			Summary: fmt.Sprintf("packets to %v arrive, but nothing there receives RoCE (UDP port %d), or a filter "+
				"rejects it", p.Peer, rocePort),
			Evidence: []doctor.Evidence{roceEvidence(p, icmp)},
			Actions: []doctor.Action{
				doctor.Note("on %v: rdma link shows whether the network device with this address has a RoCE device, "+
					"nft list ruleset whether a rule rejects UDP port %d", p.Peer, rocePort),
			},
		}
	case r.RejectedBy.IsValid():
		to := ""
		if r.RejectedBy != p.Peer {
			to = " to " + p.Peer.String()
		}
		return doctor.Finding{
			Outcome: doctor.OutcomeFail, Object: object,
			Summary:  fmt.Sprintf("%v rejects RoCE packets (UDP port %d)%s: %s", r.RejectedBy, rocePort, to, icmp),
			Evidence: []doctor.Evidence{roceEvidence(p, fmt.Sprintf("%s from %v", icmp, r.RejectedBy))},
			Actions: []doctor.Action{
				doctor.Note("accept UDP port %d in the packet filter of %v", rocePort, r.RejectedBy),
			},
		}
	}
	return roceSilence(p, object)
}

// roceSilence returns the finding for a peer of which nothing came back.
func roceSilence(p facts.Probe, object string) doctor.Finding {
	f := doctor.Unknown(object, "%v answers neither RoCE packets%s nor echo requests of %s", p.Peer,
		whyNotAsked(p.RoCE), p.Netdev)
	switch {
	case p.PathMTU > 0 && p.RoCE.AskError != "":
		f = doctor.Unknown(object, "whether %v answers RoCE packets of %s is unknown%s; nothing rejects them, and "+
			"echo requests are answered", p.Peer, p.Netdev, whyNotAsked(p.RoCE))
	case p.PathMTU > 0:
		f = doctor.Unknown(object, "%v answers echo requests of %s but no RoCE packet: a filter drops UDP port %d, or "+
			"the peer has no RoCE device or connection manager", p.Peer, p.Netdev, rocePort)
	}
	f.Evidence = []doctor.Evidence{roceEvidence(p, "no answer, no ICMP error")}
	f.Actions = []doctor.Action{
		doctor.Note("run rdmactl connect on both nodes: it finds the stage at which a connection fails"),
	}
	return f
}

// whyNotAsked returns why the connection manager could not ask, in parentheses.
func whyNotAsked(r *facts.ProbeRoCE) string {
	if r.AskError == "" {
		return ""
	}
	return " (" + printable(r.AskError) + ")"
}

// ICMP's destination unreachable, and its code for a closed port (RFC 792).
const icmpUnreachable, icmpPort = 3, 3

// rejects reports whether an ICMP error means that a machine refuses packets, and not that there is
// no way to the peer.
func rejects(kind, code uint8) bool {
	switch code {
	case 0, 1, 4, 5, 6, 7, 8, 11, 12: // no route, no neighbour, too large, unknown, for this type of service
		return false
	}
	return kind == icmpUnreachable
}

// icmpText names an ICMP error by RFC 792 and RFC 1812, section 5.2.7.1.
func icmpText(kind, code uint8) string {
	words := map[uint8]string{
		0: "network unreachable", 1: "host unreachable", 2: "protocol unreachable", icmpPort: "port unreachable",
		9: "network prohibited", 10: "host prohibited", 13: "communication prohibited",
	}
	number := fmt.Sprintf("ICMP type %d, code %d", kind, code)
	if text := words[code]; text != "" && kind == icmpUnreachable {
		return text + " (" + number + ")"
	}
	return number
}
