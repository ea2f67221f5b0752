package checks

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func dcbxPeer() doctor.Check {
	return doctor.Check{
		ID: "dcbx-peer", Title: "flow control other than the switch's", Severity: doctor.OutcomeFail,
		Group: doctor.GroupQoS, Numbers: []int{60}, Needs: doctor.NeedDevices,
		Facts: []facts.Kind{facts.KindDCB},
		Explanation: prose.Join(`
			The switch announces its flow control with LLDP (DCBX). If it has PFC on another priority
			than the card, or not at all, one side sends pauses that the other ignores: packets are
			dropped in one direction, or traffic of another priority is paused.`),
		Remedy: "Set PFC to the same priority on both ends, or let the card take over the switch's setting (willing).",
		Sources: []string{
			"IEEE 802.1Q, clause 38 and annex D.2.10 (DCBX, PFC configuration TLV)",
			"linux/dcbnl.h: DCB_ATTR_IEEE_PEER_PFC, DCB_ATTR_IEEE_PEER_ETS",
		},
		Run: runDCBXPeer,
	}
}

func runDCBXPeer(_ context.Context, in *doctor.Input) []doctor.Finding {
	return eachQoSPort(in, "whose switch announces the same flow control", func(r *qosReport, p qosPort) {
		mask, pfc, err := p.lossless(in)
		if err != nil {
			r.because(p.portRef, err)
			return
		}
		peer := p.dcb.PeerPFC
		if peer == nil || peer.Enabled == 0 && peer.Capacity == 0 {
			r.because(p.portRef, cmp.Or(p.dcb.State(), facts.Absent("the driver doesn't know what the switch "+
				"announces; a daemon may (lldptool -t -n -i NETDEV -V PFC)")))
			return
		}
		theirs := p.kernel("peer-pfc", pfcText(peer.Enabled))
		if peer.Enabled != mask {
			r.add(doctor.Finding{
				Outcome: doctor.OutcomeFail, Object: p.object(), Evidence: []doctor.Evidence{pfc, theirs},
				Summary: fmt.Sprintf("PFC of %s is on %s, but the switch has it on %s", p.net.Name,
					priorityNames(mask), priorityNames(peer.Enabled)),
				Actions: []doctor.Action{
					doctor.Note("decide which end is right; for the switch's setting:"), setPFC(p, peer.Enabled),
				},
			})
			return
		}
		if f, ok := p.peerETS(); ok {
			r.add(f)
			return
		}
		r.pass(p, pfc, theirs)
	})
}

// peerETS compares the traffic classes of the lossless priorities: with different ones a pause
// stops other traffic, too. Shares of bandwidth may differ.
func (p qosPort) peerETS() (doctor.Finding, bool) {
	ours, peer := p.dcb.ETS, p.dcb.PeerETS
	if ours == nil || peer == nil || *peer == (facts.ETS{}) {
		return doctor.Finding{}, false
	}
	for _, prio := range facts.Priorities(p.dcb.PFC.Enabled) {
		for other := range 8 {
			together := ours.PriorityTC[other] == ours.PriorityTC[prio]
			if other == prio || together == (peer.PriorityTC[other] == peer.PriorityTC[prio]) {
				continue
			}
			where := map[bool]string{true: "the card", false: "the switch"}[together]
			return doctor.Finding{
				Outcome: doctor.OutcomeWarn, Object: p.object(),
				Evidence: []doctor.Evidence{
					p.kernel("ets", fmt.Sprint("prio-tc ", ours.PriorityTC)),
					p.kernel("peer-ets", fmt.Sprint("prio-tc ", peer.PriorityTC)),
				},
				Summary: fmt.Sprintf("%s puts priority %d into the traffic class of the lossless priority %d of %s, "+
					"the other end doesn't", where, other, prio, p.net.Name),
				Actions: []doctor.Action{
					doctor.Note("map priorities to traffic classes alike on both ends"),
					others("dcb ets set dev %s prio-tc YOUR_MAP", quote(p.net.Name)),
				},
			}, true
		}
	}
	return doctor.Finding{}, false
}
