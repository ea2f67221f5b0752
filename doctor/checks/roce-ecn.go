package checks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func roceECN() doctor.Check {
	return doctor.Check{
		ID: "roce-ecn", Title: "RoCE priority without congestion control", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupQoS, Numbers: []int{52}, Needs: doctor.NeedDevices,
		Uses: []facts.Kind{facts.KindDCB, facts.KindEnvironment},
		Reads: append(append([]string{
			netFiles("ecn/roce_np/enable/*"), netFiles("ecn/roce_rp/enable/*"), broadcomFiles("ecn_enable"),
		}, mapFiles()...), classFiles()...),
		Thresholds: []doctor.Threshold{roceDSCP()},
		Explanation: prose.Join(`
			Switches mark packets (ECN) before they drop or pause. The receiver's card answers marks
			with congestion notifications (notification point, roce_np), and the sender's card slows
			down (reaction point, roce_rp). If one of them is off for the priority of RoCE, marks
			have no effect: queues grow until PFC pauses whole links, or packets are dropped.`),
		Remedy: "Enable both for the priority of RoCE packets on all nodes, and marking on the switches.",
		Sources: []string{
			"NVIDIA, RoCE with DCQCN: ecn/roce_np and ecn/roce_rp of the network device",
			"Broadcom, bnxt_setupcc.sh (ecn_enable)", "RFC 3168",
		},
		Run: runRoCEECN,
	}
}

// ecnFile is the file of one direction and priority.
func ecnFile(side string, prio int) string { return "ecn/" + side + "/enable/" + strconv.Itoa(prio) }

func runRoCEECN(_ context.Context, in *doctor.Input) []doctor.Finding {
	return eachQoSPort(in, "with congestion control for the priority of RoCE", func(r *qosReport, p qosPort) {
		if on, ev, err := p.broadcom(in, "ecn_enable"); err == nil {
			p.broadcomECN(r, on, ev)
			return
		} else if !errors.Is(err, facts.ErrAbsent) {
			r.because(p.portRef, err)
			return
		}
		wanted, note := p.rocePriorities(in)
		var good, bad []doctor.Evidence
		faulty := map[int][]string{}
		for prio := range 8 {
			if wanted>>prio&1 == 0 {
				continue
			}
			for _, side := range []string{"roce_np", "roce_rp"} {
				text, ev, err := p.file(in, ecnFile(side, prio))
				if errors.Is(err, facts.ErrAbsent) {
					r.because(p.portRef, facts.Absent("neither files ecn/%s/enable of NVIDIA's DOCA-OFED nor "+
						"ecn_enable "+
						"of Broadcom's driver; firmware may have congestion control on", side))
					return
				}
				if err != nil {
					r.because(p.portRef, err)
					return
				}
				if text == "1" {
					good = append(good, ev)
				} else {
					bad, faulty[prio] = append(bad, ev), append(faulty[prio], side)
				}
			}
		}
		if len(bad) == 0 {
			r.pass(p, good...)
			return
		}
		f := p.withoutECN(faulty, note, bad)
		if wanted == 0xff && len(faulty) < 8 { // RoCE may use one of the others
			f.Outcome = doctor.OutcomeInfo
		}
		r.add(f)
	})
}

// rocePriorities returns the priorities that RoCE packets use: the lossless ones, or that of their
// DSCP. If neither is known these are all priorities.
func (p qosPort) rocePriorities(in *doctor.Input) (mask uint8, note string) {
	if mask, _, err := p.lossless(in); err == nil && mask != 0 {
		return mask, "lossless"
	}
	mode, _, err := p.trust(in)
	if err == nil && mode == "pcp" {
		return 1, "of untagged packets"
	}
	c, errClass := p.class(in)
	prio, errMap := p.dscpMap(in)
	if err == nil && errClass == nil && errMap == nil {
		return 1 << prio[c.dscp()&63], fmt.Sprintf("of DSCP %d, %s", c.dscp(), c.where)
	}
	return 0xff, "which of them RoCE uses is not known"
}

func (p qosPort) withoutECN(faulty map[int][]string, note string, bad []doctor.Evidence) doctor.Finding {
	f := doctor.Finding{Outcome: doctor.OutcomeWarn, Object: p.object(), Evidence: bad}
	var words []string
	for prio := range 8 {
		sides, ok := faulty[prio]
		if !ok {
			continue
		}
		what := "doesn't answer marks (roce_np) or slow down (roce_rp)"
		switch {
		case len(sides) == 2:
		case sides[0] == "roce_np":
			what = "doesn't answer marks (roce_np)"
		default:
			what = "doesn't slow down (roce_rp)"
		}
		words = append(words, fmt.Sprintf("for priority %d it %s", prio, what))
		for _, side := range sides {
			f.Actions = append(f.Actions, doctor.Action{
				Do: doctor.DoWrite, Risk: doctor.RiskOthers, Value: "1",
				Object: netEvidence(p.net, ecnFile(side, prio), "").Path,
			})
		}
	}
	f.Summary = fmt.Sprintf("congestion control is off on %s: %s (%s)", p.net.Name, strings.Join(words, ", "), note)
	f.Actions = append([]doctor.Action{doctor.Note("on all nodes, once the switches mark packets of the priority:")},
		f.Actions...)
	return f
}

// broadcomECN judges the switch of Broadcom's driver for all priorities.
func (p qosPort) broadcomECN(r *qosReport, on int, ev doctor.Evidence) {
	if on != 0 {
		r.pass(p, ev)
		return
	}
	r.add(doctor.Finding{
		Outcome: doctor.OutcomeWarn, Object: p.object(), Evidence: []doctor.Evidence{ev},
		Summary: fmt.Sprintf("congestion control is off on %s, for all priorities", p.net.Name),
		Actions: []doctor.Action{
			doctor.Note("on all nodes, once the switches mark packets of the priority:"),
			{Do: doctor.DoWrite, Risk: doctor.RiskOthers, Object: ev.Path, Value: "1"},
		},
	})
}
