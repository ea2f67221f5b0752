package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func dscpLossless() doctor.Check {
	return doctor.Check{
		ID: "dscp-lossless", Title: "RoCE packets beside the lossless priority", Severity: doctor.OutcomeFail,
		Group: doctor.GroupQoS, Numbers: []int{49}, Needs: doctor.NeedDevices,
		Facts:      []facts.Kind{facts.KindDCB},
		Uses:       []facts.Kind{facts.KindEnvironment},
		Reads:      append(mapFiles(), classFiles()...),
		Thresholds: []doctor.Threshold{roceDSCP()},
		Explanation: prose.Join(`
			The port's map gives each DSCP a priority, and PFC protects only the priorities on which
			it is enabled. Packets with another priority are dropped under congestion, and RoCE
			retransmits from the lost packet on: bandwidth falls to a fraction, and queue pairs fail
			with exceeded retries while the fabric looks well configured.`),
		Remedy: "Let jobs use a DSCP of the lossless priority (NCCL_IB_TC, UCX_IB_TRAFFIC_CLASS and " +
			"NVSHMEM_IB_TRAFFIC_CLASS are DSCP times 4), or change PFC and the map on all cards and switches together.",
		Sources: []string{
			"IEEE 802.1Q, clauses 36 (PFC) and D.2.12 (APP)", "mlx5: en_dcbnl.c",
			"NCCL: NCCL_IB_TC; UCX: IB_TRAFFIC_CLASS", "Broadcom, bnxt_setupcc.sh (roce_dscp)",
		},
		Run: runDSCPLossless,
	}
}

func runDSCPLossless(_ context.Context, in *doctor.Input) []doctor.Finding {
	return eachQoSPort(in, "with RoCE packets on a lossless priority", func(r *qosReport, p qosPort) {
		mask, pfc, err := p.lossless(in)
		if err == nil && mask == 0 {
			err = facts.Absent("no priority is lossless (check pfc-priority)")
		}
		if err != nil {
			r.because(p.portRef, err)
			return
		}
		mode, trusted, err := p.trust(in)
		if err == nil && mode == "pcp" {
			err = facts.Absent("the port trusts the VLAN's priority, not DSCP (check roce-trust)")
		}
		if err != nil {
			r.because(p.portRef, err)
			return
		}
		c, err := p.class(in)
		if err != nil {
			r.because(p.portRef, err)
			return
		}
		prio, err := p.dscpMap(in)
		if err != nil {
			r.because(p.portRef, err)
			return
		}
		evidence := append([]doctor.Evidence{pfc, trusted}, c.ev...)
		if got := prio[c.dscp()&63]; mask>>got&1 == 0 {
			r.add(p.besideLossless(c, got, mask, prio, evidence))
			return
		}
		r.pass(p, evidence...)
	})
}

// besideLossless is a fault if a setting of this host gives packets that DSCP. If it is only
// assumed it is a note: the environment of jobs may set another one.
func (p qosPort) besideLossless(
	c class, got, mask uint8, prio [64]uint8, ev []doctor.Evidence,
) doctor.Finding {
	f := doctor.Finding{Outcome: doctor.OutcomeFail, Object: p.object(), Evidence: ev}
	if !c.sure {
		f.Outcome = doctor.OutcomeInfo
	}
	f.Summary = fmt.Sprintf("RoCE packets with DSCP %d (%s) have priority %d on %s, which is lossy: PFC is on %s",
		c.dscp(), c.where, got, p.net.Name, priorityNames(mask))
	var dscps []int
	for d, v := range prio {
		if mask>>v&1 != 0 {
			dscps = append(dscps, d)
		}
	}
	if len(dscps) == 0 {
		f.Summary += "; no DSCP has a lossless priority"
		f.Actions = []doctor.Action{
			others("dcb app add dev %s dscp-prio %d:%d", quote(p.net.Name), c.dscp(), facts.Priorities(mask)[0]),
		}
		return f
	}
	best := dscps[0]
	if slices.Contains(dscps, 26) {
		best = 26
	}
	f.Summary += ", for DSCP " + ranges(dscps)
	if !c.sure {
		f.Summary += "; jobs must set one of these (NCCL sends DSCP 0 unless NCCL_IB_TC is set)"
	}
	tc := best<<2 | 2
	switch {
	case c.forced:
		f.Actions = append(f.Actions, doctor.Note("the driver forces the class: write %d to %s, after comparing with "+
			"the switches", tc, c.ev[0].Path))
	default:
		f.Actions = append(f.Actions, doctor.Note("let jobs use DSCP %d: NCCL_IB_TC=%d UCX_IB_TRAFFIC_CLASS=%d "+
			"NVSHMEM_IB_TRAFFIC_CLASS=%d", best, tc, tc, tc))
	}
	f.Actions = append(f.Actions,
		doctor.Note("or, if the switches protect priority %d instead, on all nodes", got),
		others("dcb pfc set dev %s prio-pfc all:off %d:on", quote(p.net.Name), got))
	return f
}

// ranges prints sorted numbers: "24 to 31", "5", "1, 3 to 5".
func ranges(list []int) string {
	var words []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if i == j {
			words = append(words, fmt.Sprint(list[i]))
		} else {
			words = append(words, fmt.Sprintf("%d to %d", list[i], list[j]))
		}
		i = j + 1
	}
	return strings.Join(words, ", ")
}
