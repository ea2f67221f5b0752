package checks

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func roceTrust() doctor.Check {
	return doctor.Check{
		ID: "roce-trust", Title: "RoCE port that ignores DSCP", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupQoS, Numbers: []int{48}, Needs: doctor.NeedDevices,
		Uses:  []facts.Kind{facts.KindDCB},
		Reads: []string{netFiles("qos/trust")},
		Explanation: prose.Join(`
			A port takes the priority of a packet either from the DSCP of its IP header or from the
			tag of its VLAN (pcp). RoCE v2 packets are usually untagged: a port that trusts pcp puts
			all of them on one priority, whatever class the program asked for, and PFC on another
			priority does not protect them.`),
		Remedy: "Trust DSCP on all ports of the fabric, cards and switches, if the fabric has a lossless priority.",
		Sources: []string{
			"mlx5: en_dcbnl.c (mlx5e_dcbnl_ieee_setapp: entries for DSCP switch the trust state)",
			"mlnx-tools, mlnx_qos (qos/trust, or the APP table)", "IEEE 802.1Q, clause D.2.12",
		},
		Run: runRoCETrust,
	}
}

func runRoCETrust(_ context.Context, in *doctor.Input) []doctor.Finding {
	return eachQoSPort(in, "trust DSCP", func(r *qosReport, p qosPort) {
		if p.port.Transport == inventory.TransportRoCEv1 {
			r.because(p.portRef, facts.Absent("packets of RoCE v1 have no DSCP"))
			return
		}
		mode, ev, err := p.trust(in)
		switch {
		case err != nil:
			r.because(p.portRef, err)
		case mode != "pcp":
			r.pass(p, ev)
		default:
			r.add(p.trustsPCP(in, ev))
		}
	})
}

// trustsPCP returns a warning only if there is a lossless priority that untagged packets miss.
func (p qosPort) trustsPCP(in *doctor.Input, ev doctor.Evidence) doctor.Finding {
	f := doctor.Finding{Outcome: doctor.OutcomeInfo, Object: p.object(), Evidence: []doctor.Evidence{ev}}
	mask, pfc, err := p.lossless(in)
	if err == nil {
		f.Evidence = append(f.Evidence, pfc)
	}
	tagged := ""
	for _, n := range in.Snapshot.Netdevs {
		if n.Lower == p.net.Name && n.Kind == "vlan" {
			tagged = n.Name
		}
	}
	switch {
	case err != nil:
		f.Summary = fmt.Sprintf("%s trusts the VLAN's priority (pcp), not DSCP; whether PFC is on is not "+
			"known", p.net.Name)
	case mask == 0:
		f.Summary = fmt.Sprintf("%s trusts the VLAN's priority (pcp), and no priority is lossless, as from the "+
			"factory: "+
			"RoCE runs lossy, and DSCP makes no difference in the card", p.net.Name)
	case tagged != "":
		f.Summary = fmt.Sprintf("%s trusts the VLAN's priority (pcp): only packets of a VLAN, such as %s, can use the "+
			"lossless %s", p.net.Name, tagged, priorityNames(mask))
	case mask&1 != 0:
		f.Summary = fmt.Sprintf("%s trusts the VLAN's priority (pcp): untagged packets use priority 0, which is "+
			"lossless, "+
			"whatever their DSCP", p.net.Name)
	default:
		f.Outcome = doctor.OutcomeWarn
		f.Summary = fmt.Sprintf("%s trusts the VLAN's priority (pcp), not DSCP: untagged RoCE packets use priority 0, "+
			"but PFC is on %s", p.net.Name, priorityNames(mask))
	}
	if f.Outcome == doctor.OutcomeWarn {
		f.Actions = []doctor.Action{
			doctor.Note("first compare with the switch: it must classify by DSCP, too"),
			others("mlnx_qos -i %s --trust dscp", quote(p.net.Name)),
		}
	}
	return f
}
