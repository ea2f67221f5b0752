package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func fec() doctor.Check {
	return doctor.Check{
		ID: "fec", Title: "Ethernet port without the forward error correction that its speed needs",
		Severity: doctor.OutcomeWarn, Group: doctor.GroupLink, Needs: doctor.NeedDevices, Numbers: []int{32},
		Facts: []facts.Kind{facts.KindEthtool}, Uses: []facts.Kind{facts.KindModules},
		Thresholds: []doctor.Threshold{
			{
				Name: "fec-warn", Value: 50, Unit: "Gb/s", What: "rate of a lane from which FEC can't be off",
				Source: "IEEE 802.3, clauses 134 and 136: all PAM4 interfaces use RS-FEC",
			},
			{
				Name: "fec-info", Value: 25, Unit: "Gb/s", What: "rate of a lane from which FEC depends on the medium",
				Source: "IEEE 802.3, clauses 91, 92, 95 and 108",
			},
		},
		Explanation: prose.Join(`
			From 25 Gb/s for each lane on, links have bit errors that forward error correction (FEC)
			repairs. Without it they become lost packets, which RoCE sends again after a timeout.
			100G over copper or short fibre (CR4, SR4) needs RS-FEC, and so does every lane of 50
			Gb/s and more; 25G over a short cable and long fibre (LR4) may run without. Both ends
			must use the same: this check sees one end, and ends that differ usually get no link.`),
		Remedy: "Let both ends choose (auto), or set the same FEC at both.",
		Sources: []string{
			"IEEE 802.3-2022, clauses 91, 92, 95, 108, 134, 136", "ethtool(8), --show-fec and --set-fec",
			"net/ethtool/fec.c (ETHTOOL_A_FEC_ACTIVE)",
		},
		Run: runFEC,
	}
}

func runFEC(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	var skipped []string
	for _, w := range wiresOf(in.Snapshot) {
		if w.port.port.LinkLayer != inventory.LinkLayerEthernet {
			continue
		}
		e := ethtoolFor(in, w.netdev)
		switch {
		case !w.up(in.Snapshot):
			skipped = append(skipped, "FEC is known while a port has a link, which a compute port has not")
			continue
		case e == nil || e.FEC == nil || e.FEC.Active == "":
			if f, ok := ethtoolError(w.netdev, e, facts.EthtoolFEC); ok {
				findings = append(findings, f)
				continue
			}
			skipped = append(skipped, "the driver of a compute port tells nothing of FEC")
			continue
		}
		f := judgeFEC(in, w, e)
		if f.Outcome == doctor.OutcomePass {
			good = append(good, f.Evidence...)
			continue
		}
		findings = append(findings, f)
	}
	pass := doctor.Passed(doctor.ObjectNode, "FEC fits the speed of "+english.Count(len(good), "network device")+
		" of compute ports, as far as one end shows", good...)
	return wireFindings(findings, pass, len(good), skipped,
		noneOf(in.Snapshot, "no compute port is an Ethernet port of its own card"))
}

// judgeFEC judges a port with a link whose active FEC is known.
func judgeFEC(in *doctor.Input, w wire, e *facts.Ethtool) doctor.Finding {
	off := e.FEC.Active == "Off" || e.FEC.Active == "None"
	mbps, lanes := linkLanes(w, e)
	ev := []doctor.Evidence{
		{
			Path:  "ethtool:" + w.netdev + ":fec",
			Value: "active " + e.FEC.Active + " configured " + strings.Join(e.FEC.Configured, ","),
		},
		{Path: "ethtool:" + w.netdev + ":speed", Value: fmt.Sprintf("%d Mb/s lanes %d", mbps, lanes)},
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomePass, Object: w.netdev, Evidence: ev,
		Actions: []doctor.Action{
			doctor.Shell("ethtool --show-fec %s   # compare with the switch port", quote(w.netdev)),
			{
				Do: doctor.DoRun, Risk: doctor.RiskTraffic,
				Text: fmt.Sprintf("ethtool --set-fec %s encoding auto   # and the same at the switch", quote(w.netdev)),
			},
		},
	}
	if !off || lanes == 0 || mbps == 0 {
		if off {
			f.Outcome, f.Summary = doctor.OutcomeInfo, "FEC is off, and the rate of a lane is not known"
		}
		return f
	}
	lane := float64(mbps) / 1000 / float64(lanes)
	corrects := func(c string) bool { return c == "RS" || c == "BaseR" || c == "LLRS" }
	asked := e.FEC.Configured
	wanted := slices.ContainsFunc(asked, corrects) && !slices.Contains(asked, "Off") && !e.FEC.Auto
	switch {
	case wanted:
		f.Outcome = doctor.OutcomeWarn
		f.Summary = fmt.Sprintf("FEC is off although it is set to %s", strings.Join(e.FEC.Configured, ", "))
	case lane >= in.Threshold("fec-warn"):
		f.Outcome = doctor.OutcomeWarn
		f.Summary = fmt.Sprintf("FEC is off at %g Gb/s for each lane, which needs RS-FEC", lane)
	case lane >= in.Threshold("fec-info") && lanes > 1 && passiveCopper(in, w.netdev):
		f.Outcome = doctor.OutcomeWarn
		f.Summary = fmt.Sprintf("FEC is off on %d lanes of %g Gb/s over copper, which need RS-FEC", lanes, lane)
	case lane >= in.Threshold("fec-info"):
		f.Outcome = doctor.OutcomeInfo
		f.Summary = fmt.Sprintf(
			"FEC is off at %g Gb/s for each lane; whether the cable needs it depends on its kind", lane)
	}
	return f
}

// linkLanes returns the speed and the number of lanes, 0 if unknown. Without ethtool's they are
// those of the RDMA port.
func linkLanes(w wire, e *facts.Ethtool) (mbps, lanes uint32) {
	if e.Mode != nil {
		mbps, lanes = e.Mode.Mbps, e.Mode.Lanes
	}
	if r := w.port.port.Rate; r != nil && r.Width > 0 && (lanes == 0 || mbps == 0) {
		lanes = uint32(r.Width) //nolint:gosec // at most 12
		if mbps == 0 {
			mbps = uint32(r.GbPerSecond * 1000)
		}
	}
	return mbps, lanes
}

// passiveCopper reports whether the cable of a network device is known to be passive copper.
func passiveCopper(in *doctor.Input, netdev string) bool {
	return in.Facts.Modules.Known() && slices.ContainsFunc(in.Facts.Modules.Value, func(m facts.Module) bool {
		return m.Netdev == netdev && m.Passive
	})
}
