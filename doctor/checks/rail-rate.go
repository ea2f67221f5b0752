package checks

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

// IDs of checks that find the same slow InfiniBand links: one names a link, the other refers to it.
const railRateID, linkWidthID = "rail-rate", "link-width"

func railRate() doctor.Check {
	return doctor.Check{
		ID:       railRateID,
		Title:    "compute rails at different rates",
		Severity: doctor.OutcomeFail,
		Group:    doctor.GroupInventory,
		Needs:    doctor.NeedDevices,
		Reads:    []string{portFiles("rate")},
		Explanation: prose.Join(`
			Collectives split their data evenly over the rails and wait for all of them, so one port
			at half the rate halves the bandwidth of the whole job, on every node. If a port has a
			lower rate than the others, its link has usually come up at a lower speed or width:
			because of a marginal cable or transceiver, a breakout cable, or a switch port that is
			set to a lower speed. A link that has lost lanes is named by the check link-width, and here
			only mentioned.`),
		Remedy: "Compare the cable, transceiver and switch port of the slow rail with those of a good rail. Swap " +
			"their cables: if the fault moves with the cable, replace the cable.",
		Sources: []string{"drivers/infiniband/core/sysfs.c (rate_show)"},
		Run:     runRailRate,
	}
}

func runRailRate(_ context.Context, in *doctor.Input) []doctor.Finding {
	rails := rails(in.Snapshot)
	layers := groupBy(rails, family)
	var findings []doctor.Finding
	var good []doctor.Evidence
	compared := 0
	for _, l := range layers {
		if len(l.members) < 2 {
			continue
		}
		compared += len(l.members)
		rates := groupBy(l.members, func(p portRef) float64 { return p.port.Rate.GbPerSecond })
		if len(rates) > 1 {
			for _, f := range unequalRates(rates) {
				if in.Counts(linkWidthID) && losesLanes(in.Snapshot, f.Object) {
					f = seeCheck(f, linkWidthID)
				}
				findings = append(findings, f)
			}
			continue
		}
		for _, p := range l.members {
			good = append(good, p.evidence("rate", rawRate(p.port.Rate)))
		}
	}
	switch {
	case compared == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"%s with a known rate: nothing to compare", english.Count(len(rails), "active compute port"))}
	case len(findings) == 0:
		return []doctor.Finding{doctor.Passed(doctor.ObjectNode, rateSummary(layers), good...)}
	}
	return findings
}

// isSlowRail reports whether the rate of a port is a fault of the check rail-rate.
func isSlowRail(s *inventory.Snapshot, object string) bool {
	for _, l := range groupBy(rails(s), family) {
		rates := groupBy(l.members, func(p portRef) float64 { return p.port.Rate.GbPerSecond })
		for _, f := range unequalRates(rates) {
			if f.Object == object && f.Outcome == doctor.OutcomeFail {
				return true
			}
		}
	}
	return false
}

// seeCheck turns a finding into a reference to the check that names the fault.
func seeCheck(f doctor.Finding, id string) doctor.Finding {
	f.Outcome, f.Actions, f.Remedy = doctor.OutcomeInfo, nil, nil
	f.Summary += ": see " + id
	return f
}

// family returns the transport of a rail: only rails of the same transport are compared.
func family(p portRef) string {
	switch {
	case p.roce():
		return "RoCE"
	case p.port.Transport == inventory.TransportUnknown:
		return "unknown"
	}
	return string(p.port.Transport)
}

// rails returns the active compute ports whose rate is known.
func rails(s *inventory.Snapshot) []portRef {
	var out []portRef
	for p := range ports(s) {
		if p.active() && p.port.Rate != nil && p.port.Role == inventory.RoleCompute {
			out = append(out, p)
		}
	}
	return out
}

func rateSummary(layers []group[string, portRef]) string {
	var parts []string
	for _, l := range layers {
		if len(l.members) > 1 {
			parts = append(parts, fmt.Sprintf("%d %s rails, each at %s", len(l.members), l.value,
				gigabits(l.members[0].port.Rate.GbPerSecond)))
		}
	}
	return strings.Join(parts, "; ")
}

// unequalRates returns a finding for each rail whose rate differs from the most frequent rate, or
// from the highest rate if none is the most frequent. A faster rail is a warning: the others may be
// the slow ones.
func unequalRates(rates []group[float64, portRef]) []doctor.Finding {
	ref, most := rates[0], "most rails run at"
	if !majority(rates) {
		for _, r := range rates {
			if r.value > ref.value {
				ref = r
			}
		}
		most = "the fastest rails run at"
	}
	var findings []doctor.Finding
	for _, r := range rates {
		if r.value == ref.value {
			continue
		}
		for _, p := range r.members {
			f := doctor.Finding{
				Outcome: doctor.OutcomeFail, Object: p.object(),
				Summary: fmt.Sprintf("rate %s, but %s %s (%s)", rawRate(p.port.Rate), most, gigabits(ref.value),
					objects(ref.members, 3)),
				Evidence: append([]doctor.Evidence{p.evidence("rate", rawRate(p.port.Rate))}, linkEvidence(p.dev)...),
				Remedy:   linkRemedy(p),
			}
			f.Evidence = append(f.Evidence, ref.members[0].evidence("rate", rawRate(ref.members[0].port.Rate)))
			if other := ref.members[0].dev; p.dev.PCI != nil && other.PCI != nil && !p.dev.SameModel(other) {
				f.Outcome = doctor.OutcomeWarn
				f.Summary += "; the card is a different model"
			}
			if r.value > ref.value {
				f.Outcome = doctor.OutcomeWarn
				f.Explanation = "This rail is faster than the others. That does not help, because collectives wait " +
					"for the slowest rail; check whether the links of the others came up at a lower speed or width."
				f.Remedy = linkRemedy(ref.members[0])
			}
			if w, rw := p.port.Rate.Width, ref.members[0].port.Rate.Width; w > 0 && w < rw {
				f.Summary += fmt.Sprintf("; %d of %d lanes are in use", w, rw)
			}
			findings = append(findings, f)
		}
	}
	return findings
}

// linkEvidence returns the PCI Express link of a card if its speed or width is below the maximum.
func linkEvidence(d *inventory.Device) []doctor.Evidence {
	if d.PCI == nil || d.PCI.Link == nil || d.PCI.LinkMax == nil {
		return nil
	}
	now, most := d.PCI.Link, d.PCI.LinkMax
	var ev []doctor.Evidence
	add := func(file, value string) { ev = append(ev, pciEvidence(d, file, value)) }
	if now.GTPerSecond < most.GTPerSecond {
		add("current_link_speed", transfers(now.GTPerSecond))
		add("max_link_speed", transfers(most.GTPerSecond))
	}
	if now.Width < most.Width {
		add("current_link_width", strconv.Itoa(now.Width))
		add("max_link_width", strconv.Itoa(most.Width))
	}
	return ev
}

// rawRate returns a rate as sysfs prints it.
func rawRate(r *inventory.Rate) string {
	s := strconv.FormatFloat(r.GbPerSecond, 'f', -1, 64) + " Gb/sec"
	if r.Width > 0 {
		s += fmt.Sprintf(" (%dX %s)", r.Width, r.Generation)
	}
	return s
}

func gigabits(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) + " Gb/s" }

// transfers returns a PCI speed as sysfs prints it: "32.0 GT/s PCIe".
func transfers(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) + " GT/s PCIe" }
