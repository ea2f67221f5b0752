package checks

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func globalPause() doctor.Check {
	return doctor.Check{
		ID: "global-pause", Title: "RoCE port with global pause beside priority flow control",
		Severity: doctor.OutcomeWarn, Group: doctor.GroupQoS, Needs: doctor.NeedDevices, Numbers: []int{51},
		Facts: []facts.Kind{facts.KindEthtool, facts.KindDCB},
		Explanation: prose.Join(`
			Global pause (IEEE 802.3x) stops all traffic of a link; priority flow control (PFC)
			stops one priority. With both, a pause frame for storage or management traffic also
			stops RDMA, and the switch, which takes part in one of them only, may ignore the other:
			packets are lost, or one slow receiver stops the whole link.`),
		Remedy: "Use one of them, the one that the switch ports use: with RoCE on shared networks PFC.",
		Sources: []string{
			"ethtool(8), -a and -A", "IEEE 802.1Q-2018, 36.1.1 (PFC excludes PAUSE on a link)",
		},
		Run: runGlobalPause,
	}
}

func runGlobalPause(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	var skipped []string
	for _, w := range wiresOf(in.Snapshot) {
		if !w.port.roce() {
			continue
		}
		e := ethtoolFor(in, w.netdev)
		if e == nil || e.Pause == nil {
			if f, ok := ethtoolError(w.netdev, e, facts.EthtoolPause); ok {
				findings = append(findings, f)
				continue
			}
			skipped = append(skipped, "the driver of a compute port tells nothing of global pause")
			continue
		}
		ev := []doctor.Evidence{{Path: "ethtool:" + w.netdev + ":pause", Value: pauseText(e.Pause)}}
		if !e.Pause.RX && !e.Pause.TX {
			good = append(good, ev...)
			continue
		}
		dcb := dcbOf(in, w.netdev)
		if dcb == nil || dcb.PFC == nil {
			if dcb != nil && dcb.State() != nil {
				findings = append(findings, doctor.Because(w.netdev,
					fmt.Errorf("global pause is on, and whether PFC is too is unknown: %w", dcb.State())))
				continue
			}
			skipped = append(skipped, "global pause is on, and whether PFC is too is unknown for a compute port")
			continue
		}
		lossless := dcb.PFC.Enabled
		ev = append(ev, doctor.Evidence{
			Path: "dcb:" + w.netdev + ":pfc", Value: fmt.Sprintf("enabled 0x%02x", lossless),
		})
		if lossless == 0 {
			good = append(good, ev...)
			continue
		}
		findings = append(findings, doctor.Finding{
			Outcome: doctor.OutcomeWarn, Object: w.netdev, Evidence: ev,
			Summary: fmt.Sprintf("global pause is on (%s) beside PFC on priorities 0x%02x",
				pauseText(e.Pause), lossless),
			Actions: []doctor.Action{
				doctor.Note("find out which of them the switch port uses"),
				{
					Do: doctor.DoRun, Risk: doctor.RiskOthers,
					Text: fmt.Sprintf("ethtool -A %s autoneg off rx off tx off   # if it uses PFC", quote(w.netdev)),
				},
			},
		})
	}
	pass := doctor.Passed(doctor.ObjectNode,
		"no global pause beside PFC on "+english.Count(len(good), "network device")+" of compute ports", good...)
	return wireFindings(findings, pass, len(good), skipped,
		noneOf(in.Snapshot, "no compute port uses RoCE on its own card"))
}

func pauseText(p *facts.Pause) string {
	on := func(b bool) string { return map[bool]string{true: "on", false: "off"}[b] }
	return "rx " + on(p.RX) + " tx " + on(p.TX)
}
