package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func linkWidth() doctor.Check {
	return doctor.Check{
		ID: linkWidthID, Title: "link of a compute port with a single lane, or slower than it can be",
		Severity: doctor.OutcomeFail, Numbers: []int{35}, Group: doctor.GroupLink, Needs: doctor.NeedDevices,
		Reads: []string{portFiles("rate")}, Uses: []facts.Kind{facts.KindEthtool},
		Explanation: prose.Join(`
			A link that can't train all lanes falls back to one (1X), and one that can't train at its speed
			falls back to the next lower. The port is active and works, at a fraction of its bandwidth, and
			every collective waits for it. Two lanes (2X) are not a fault: cables that split a switch port have
			so many. Of an InfiniBand link the kernel reports only what is active, so the fastest link of the
			node on a card of the same model shows what the others can: one with fewer lanes fails, and one
			at a lower speed is a warning, because its switch may be older, unless the check rail-rate names
			it. Which speeds both ends support is
			in their PortInfo, which rdmactl fabric links --downtrained reads.`),
		Remedy: "Clean and reseat the cable and the transceivers at both ends, then replace the cable. Check " +
			"rail-rate compares the ports of the node.",
		Sources: []string{
			"drivers/infiniband/core/sysfs.c (rate_show)",
			"InfiniBand specification volume 1, PortInfo.LinkWidthActive",
			"Documentation/networking/ethtool-netlink.rst (LINKMODES_GET)",
		},
		Run: runLinkWidth,
	}
}

func runLinkWidth(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var lanes, speeds []doctor.Evidence // of links that are as they should be
	unknown, compared := "", 0
	infiniband := infinibandLinks(in.Snapshot)
	for p := range ports(in.Snapshot) {
		if p.port.Role != inventory.RoleCompute || !p.active() {
			continue
		}
		switch {
		case hasLanes(p):
			best := fastestOfModel(p, infiniband)
			if f := infinibandLink(p, best); f.Outcome != "" {
				if f.Outcome == doctor.OutcomeWarn && in.Counts(railRateID) && isSlowRail(in.Snapshot, f.Object) {
					f = seeCheck(f, railRateID)
				}
				findings = append(findings, f)
				continue
			}
			lanes = append(lanes, p.evidence("rate", rawRate(p.port.Rate)))
			if best != nil {
				compared++
			}
		case p.roce():
			f, ev, why := ethernetSpeed(in, p)
			switch {
			case why != "":
				unknown = cmp.Or(unknown, why)
			case f.Outcome != "":
				findings = append(findings, f)
			default:
				speeds = append(speeds, ev...)
			}
		}
	}
	var good []string
	if len(lanes) > 0 {
		good = append(good, infinibandSummary(len(lanes), compared))
	}
	if n := len(speeds); n > 0 {
		good = append(good, english.Count(n, "Ethernet link")+" at the highest speed that both ends advertise")
	}
	switch {
	case len(findings) == 0 && len(good) == 0 && unknown != "":
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s", unknown)}
	case len(findings) == 0 && len(good) == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s",
			noneOf(in.Snapshot, "no active compute port has a width"))}
	case len(good) > 0:
		pass := doctor.Passed(doctor.ObjectNode, strings.Join(good, "; "), append(lanes, speeds...)...)
		findings = append([]doctor.Finding{pass}, findings...)
	}
	return findings
}

// ethernetSpeed compares the speed of a port with the fastest mode that both ends advertise. It
// returns a finding if the link is slower or ethtool's answer failed, or says why there is nothing
// to compare.
func ethernetSpeed(in *doctor.Input, p portRef) (doctor.Finding, []doctor.Evidence, string) {
	if err := in.Facts.State(facts.KindEthtool); err != nil {
		why := "whether Ethernet links have the speed of both ends takes ethtool"
		if !errors.Is(err, facts.ErrNotGathered) {
			why = fmt.Sprintf("%s: %v", why, err)
		}
		return doctor.Finding{}, nil, why
	}
	e := ethtoolFor(in, p.port.Netdev)
	if e == nil || e.Mode == nil || e.Mode.Mbps == 0 {
		if f, ok := ethtoolError(p.object(), e, facts.EthtoolLinkMode); ok {
			return f, nil, ""
		}
		return doctor.Finding{}, nil, "ethtool knows no speed of the compute ports' links"
	}
	mode := e.Mode
	fastest, name := 0, ""
	for _, m := range mode.Peer {
		if mbps := modeSpeed(m); slices.Contains(mode.Advertised, m) && mbps > fastest {
			fastest, name = mbps, m
		}
	}
	if fastest == 0 {
		return doctor.Finding{}, nil, "the peers of the compute ports' Ethernet links don't tell their modes (no " +
			"autonegotiation)"
	}
	ev := []doctor.Evidence{
		{Path: "ethtool:" + p.port.Netdev + ":speed", Value: strconv.FormatUint(uint64(mode.Mbps), 10)},
		{Path: "ethtool:" + p.port.Netdev + ":link-modes", Value: name},
	}
	if int(mode.Mbps) >= fastest {
		return doctor.Finding{}, ev[:1], ""
	}
	return doctor.Finding{
		Outcome: doctor.OutcomeFail, Object: p.object(), Evidence: ev,
		Summary: fmt.Sprintf("the link runs at %g Gb/s, both ends can %g Gb/s (%s)", float64(mode.Mbps)/1000,
			float64(fastest)/1000, name),
		Actions: signalActions(&sample{object: p.port.Netdev, port: p}),
	}, ev, ""
}

// modeSpeed returns the speed of a link mode in Mb/s: 100000 of "100000baseCR4/Full"; 0 for other
// words such as "Autoneg" and "FEC_RS".
func modeSpeed(mode string) int {
	i := 0
	for i < len(mode) && mode[i] >= '0' && mode[i] <= '9' {
		i++
	}
	n, err := strconv.Atoi(mode[:i])
	if err != nil {
		return 0
	}
	return n
}
