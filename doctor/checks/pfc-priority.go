package checks

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func pfcPriority() doctor.Check {
	return doctor.Check{
		ID: "pfc-priority", Title: "priority flow control that differs or covers too much",
		Severity: doctor.OutcomeFail, Group: doctor.GroupQoS, Numbers: []int{50}, Needs: doctor.NeedDevices,
		Facts: []facts.Kind{facts.KindDCB},
		Thresholds: []doctor.Threshold{{
			Name: "lossless-priorities-warn", Value: 2, Unit: "",
			What:   "priorities with PFC, more than which is a warning",
			Source: "SONiC's default fabrics have 2 (3 and 4), NVIDIA's guides 1; to be calibrated",
		}},
		Explanation: prose.Join(`
			PFC stops the sender of one priority before a buffer overflows. It works only if both
			ends of every link have it on the same priority; a port without it drops, and one with
			another priority pauses the wrong traffic. Each lossless priority takes receive buffer,
			and pauses spread: management traffic on a lossless priority can stall the fabric.
			Without PFC RoCE runs lossy: that is a valid design with congestion control, and a cause
			of bad performance without it.`),
		Remedy:  "Enable PFC on the same one priority on all cards and switch ports, in a maintenance window.",
		Sources: []string{"IEEE 802.1Q, clause 36 (priority-based flow control)", "linux/dcbnl.h (struct ieee_pfc)"},
		Run:     runPFCPriority,
	}
}

func runPFCPriority(_ context.Context, in *doctor.Input) []doctor.Finding {
	list, why := qosPorts(in)
	if len(list) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s", why)}
	}
	r := &qosReport{}
	var known, off []qosPort
	for _, p := range list {
		mask, _, err := p.lossless(in)
		switch {
		case err != nil:
			r.because(p.portRef, err)
		default:
			known = append(known, p)
			if mask == 0 {
				off = append(off, p)
			}
		}
	}
	groups := groupBy(known, func(p qosPort) uint8 { return p.dcb.PFC.Enabled })
	if len(groups) > 1 {
		return r.differing(groups)
	}
	if len(off) > 0 {
		r.add(allLossy(off))
		return r.done("")
	}
	for _, p := range known {
		p.judgePFC(r, int(in.Threshold("lossless-priorities-warn")))
	}
	return r.done("with PFC on one priority")
}

// differing reports the ports that don't have the setting of the others.
func (r *qosReport) differing(groups []group[uint8, qosPort]) []doctor.Finding {
	usual, first := groups[0], 1
	if !majority(groups) {
		first = 0
	}
	for _, g := range groups[first:] {
		for _, p := range g.members {
			f := doctor.Finding{
				Outcome: doctor.OutcomeFail, Object: p.object(),
				Evidence: []doctor.Evidence{p.kernel("pfc", pfcText(g.value))},
				Summary: fmt.Sprintf("PFC of %s is on %s, but other compute ports of this node differ",
					p.net.Name, priorityNames(g.value)),
				Actions: []doctor.Action{doctor.Note("find out which setting the switches have; then")},
			}
			if first == 1 {
				f.Summary = fmt.Sprintf("PFC of %s is on %s, but on %s on %d others of this node", p.net.Name,
					priorityNames(g.value), priorityNames(usual.value), len(usual.members))
				f.Evidence = append(f.Evidence, usual.members[0].kernel("pfc", pfcText(usual.value)))
			}
			f.Actions = append(f.Actions, setPFC(p, usual.value))
			r.add(f)
		}
	}
	if first == 1 {
		for _, p := range usual.members {
			r.pass(p, p.kernel("pfc", pfcText(usual.value)))
		}
	}
	return r.done("with the same PFC: on %s", priorityNames(usual.value))
}

func setPFC(p qosPort, mask uint8) doctor.Action {
	return others("dcb pfc set dev %s prio-pfc %s", quote(p.net.Name), pfcText(mask))
}

// allLossy is no fault: many fabrics rely on congestion control only.
func allLossy(off []qosPort) doctor.Finding {
	f := doctor.Finding{
		Outcome: doctor.OutcomeInfo, Object: doctor.ObjectNode,
		Summary: fmt.Sprintf("PFC is off on %s: RoCE runs lossy, and the fabric drops packets under congestion "+
			"unless ECN and congestion control keep its queues short", english.Count(len(off), "RoCE port")),
		Actions: []doctor.Action{
			doctor.Note("nothing if the fabric is meant to be lossy; if bandwidth falls under load, look at " +
				"retransmissions (out_of_sequence, packet_seq_err) and at the switches' drops, and set up PFC " +
				"or ECN on " +
				"all nodes and switches"),
		},
	}
	for _, p := range off {
		f.Evidence = append(f.Evidence, p.kernel("pfc", pfcText(0)))
	}
	return f
}

func (p qosPort) judgePFC(r *qosReport, most int) {
	mask := p.dcb.PFC.Enabled
	ev := p.kernel("pfc", pfcText(mask))
	n := bits.OnesCount8(mask)
	if n == 1 {
		r.pass(p, ev)
		return
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomeInfo, Object: p.object(), Evidence: []doctor.Evidence{ev},
		Summary: fmt.Sprintf("PFC of %s is on %s", p.net.Name, priorityNames(mask)),
	}
	if n > most {
		f.Outcome = doctor.OutcomeWarn
		f.Summary += ": more lossless priorities than buffers are meant for"
		f.Actions = []doctor.Action{
			doctor.Note("keep PFC on the priority of RoCE only, the same as on the switch"),
			others("dcb pfc set dev %s prio-pfc all:off YOUR_PRIORITY:on", quote(p.net.Name)),
		}
	}
	r.add(f)
}
