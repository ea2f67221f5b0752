package checks

import (
	"context"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func ccAlgorithm() doctor.Check {
	return doctor.Check{
		ID: "cc-algorithm", Title: "congestion control of another kind than the other ports'",
		Severity: doctor.OutcomeWarn, Group: doctor.GroupQoS, Numbers: []int{59}, Needs: doctor.NeedDevices,
		Reads: []string{broadcomFiles("cc_mode")},
		Explanation: prose.Join(`
			Senders with different algorithms of congestion control share a queue unfairly: the ones
			that react more slowly take the bandwidth, and a collective waits for the others. Only
			Broadcom's driver shows its algorithm in a file; on NVIDIA's cards it is in the firmware
			(mlxreg, register PPCC).`),
		Remedy:  "Set the same algorithm on all ports of all nodes.",
		Sources: []string{"Broadcom, bnxt_setupcc.sh (cc_mode)"},
		Run:     runCCAlgorithm,
	}
}

func runCCAlgorithm(_ context.Context, in *doctor.Input) []doctor.Finding {
	type mode struct {
		qosPort
		value int
		ev    doctor.Evidence
	}
	list, why := qosPorts(in)
	if len(list) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s", why)}
	}
	r := &qosReport{}
	var known []mode
	for _, p := range list {
		n, ev, err := p.broadcom(in, "cc_mode")
		switch {
		case errors.Is(err, facts.ErrAbsent):
			r.because(p.portRef, facts.Absent("no file tells the algorithm (only Broadcom's driver has one, cc_mode)"))
		case err != nil:
			r.because(p.portRef, err)
		default:
			known = append(known, mode{p, n, ev})
		}
	}
	groups := groupBy(known, func(m mode) int { return m.value })
	for i, g := range groups {
		for _, m := range g.members {
			if len(groups) == 1 || i == 0 && majority(groups) {
				r.pass(m.qosPort, m.ev)
				continue
			}
			other := groups[0]
			if i == 0 {
				other = groups[1]
			}
			r.add(doctor.Finding{
				Outcome: doctor.OutcomeWarn, Object: m.object(), Evidence: []doctor.Evidence{m.ev, other.members[0].ev},
				Summary: fmt.Sprintf("cc_mode of %s is %d, that of %s is %d", m.object(), m.value,
					other.members[0].object(), other.value),
				Actions: []doctor.Action{
					doctor.Note("on all nodes, with the mode that the fabric was tuned for:"),
					{Do: doctor.DoWrite, Risk: doctor.RiskOthers, Object: m.ev.Path, Value: fmt.Sprint(other.value)},
				},
			})
		}
	}
	return r.done("with the same congestion control")
}
