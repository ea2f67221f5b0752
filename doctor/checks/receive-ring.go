package checks

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func receiveRing() doctor.Check {
	return doctor.Check{
		ID: "receive-ring", Title: "small receive ring under RDMA in software", Severity: doctor.OutcomeInfo,
		Group: doctor.GroupLink, Needs: doctor.NeedDevices, Facts: []facts.Kind{facts.KindEthtool},
		Thresholds: []doctor.Threshold{{
			Name: "receive-ring-info", Value: 25, Unit: "%",
			What:   "receive ring, of the largest that the driver allows",
			Source: "to be calibrated",
		}},
		Explanation: prose.Join(`
			RDMA in software (rxe, siw, and rdmactl's own engine) gets its packets through the
			receive ring of a network device. A sender puts a whole window on the wire at once; what
			doesn't fit into the ring while the processor is busy is lost and sent again. Drivers
			start with rings far below what the device can have.`),
		Remedy:  "Set the receive ring to the maximum. The link is down for a moment.",
		Sources: []string{"ethtool(8), -g and -G"},
		Run:     runReceiveRing,
	}
}

func runReceiveRing(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	limit := in.Threshold("receive-ring-info")
	software := 0
	for p := range ports(in.Snapshot) {
		if p.dev.Software == "" || !p.carriesJobs(in.Snapshot) {
			continue
		}
		software++
		name := p.port.Netdev
		if p.dev.Parent != "" {
			name = p.dev.Parent
		}
		e := ethtoolFor(in, name)
		if e == nil || e.Rings == nil || e.Rings.RXMax == 0 {
			if f, ok := ethtoolError(p.object(), e, facts.EthtoolRings); ok {
				findings = append(findings, f)
			}
			continue
		}
		ev := doctor.Evidence{
			Path: "ethtool:" + name + ":rings", Value: fmt.Sprintf("rx %d rx-max %d", e.Rings.RX, e.Rings.RXMax),
		}
		if 100*float64(e.Rings.RX) >= limit*float64(e.Rings.RXMax) {
			good = append(good, ev)
			continue
		}
		findings = append(findings, doctor.Finding{
			Outcome: doctor.OutcomeInfo, Object: p.object(), Evidence: []doctor.Evidence{ev},
			Summary: fmt.Sprintf("the receive ring of %s has %d entries of %d that it can have",
				name, e.Rings.RX, e.Rings.RXMax),
			Actions: []doctor.Action{{
				Do: doctor.DoRun, Risk: doctor.RiskTraffic,
				Text: fmt.Sprintf("ethtool -G %s rx %d", quote(name), e.Rings.RXMax),
			}},
		})
	}
	none := "no software device under which the driver has rings"
	if software == 0 {
		none = "no compute port is a software device"
	}
	pass := doctor.Passed(doctor.ObjectNode,
		"the receive ring is large enough under "+english.Count(len(good), "software device"), good...)
	return wireFindings(findings, pass, len(good), nil, none)
}
