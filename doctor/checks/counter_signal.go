package checks

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// measureBitErrors divides the corrected bits by those that the link carried: also an idle link is
// full of bits. The driver's counter of them (rx_bits_phy) is in few kernels; the speed of the link
// gives the same.
func measureBitErrors(j *judge, s *sample) []verdict {
	c := s.counters[0]
	n, v, known := j.delta(s.change(c))
	ev := []doctor.Evidence{changeEvidence(s, c)}
	all := 0.0
	bits := matching(s.readings.After, countersIn(facts.CountersEthtool, "rx_bits_phy"))
	if len(bits) == 1 && s.change(bits[0]).Delta != nil && !s.change(bits[0]).AtLeast {
		all = float64(*s.change(bits[0]).Delta)
		ev = append(ev, changeEvidence(s, bits[0]))
	} else if mbps := s.speed(j.in.Snapshot); mbps > 0 {
		all = float64(mbps) * 1e6 * s.elapsed().Seconds()
		ev = append(ev, doctor.Evidence{Path: "/" + classNet(s.object) + "/speed", Value: fmt.Sprint(mbps)})
	}
	switch {
	case !known:
	case s.change(c).AtLeast:
		v = verdict{outcome: doctor.OutcomeUnknown, text: label(c) + " was reset between the readings"}
	case all == 0:
		v = verdict{outcome: doctor.OutcomeNotApplicable, text: "the speed of the link is not known"}
	default:
		ratio := float64(n) / all
		v = j.bitErrors(s, fmt.Sprintf("%d of %.2g bits in %v had to be corrected: a ratio of %.2g", n, all,
			spanText(s.elapsed()), ratio), ratio)
	}
	v.evidence = ev
	return []verdict{v}
}

// bitErrors compares a bit error ratio before FEC with what the FEC of the lanes corrects.
func (j *judge) bitErrors(s *sample, text string, ratio float64) verdict {
	const slowestPAM4 = 40 // Gb/s: NRZ lanes have up to 28, PAM4 lanes 50 and more
	pam4, lane := j.value(text, ratio), 0.0
	if r := s.port.port.Rate; r != nil && r.Width > 0 {
		lane = r.GbPerSecond / float64(r.Width)
	}
	if lane >= slowestPAM4 || pam4.outcome == doctor.OutcomeFail {
		return pam4
	}
	for _, l := range []struct {
		outcome doctor.Outcome
		name    string
	}{{doctor.OutcomeFail, "bit-errors-nrz-fail"}, {doctor.OutcomeWarn, "bit-errors-nrz-warn"}} {
		limit := j.in.Threshold(l.name)
		switch {
		case ratio <= limit:
		case lane == 0:
			return verdict{outcome: doctor.OutcomeUnknown, text: text + "; which FEC the link has, and so its limit, " +
				"is not known (no rate of a lane)"}
		default:
			return verdict{outcome: l.outcome, text: fmt.Sprintf("%s; the limit is %g", text, limit)}
		}
	}
	return verdict{outcome: doctor.OutcomePass}
}

// speed returns the speed of the object's link in Mb/s, 0 if it is not known.
func (s *sample) speed(snap *inventory.Snapshot) int {
	n := snap.Netdev(s.object)
	if n == nil || n.SpeedMbps == nil || *n.SpeedMbps <= 0 {
		return 0
	}
	return *n.SpeedMbps
}

// measureLanes compares the lane with most errors with the lower median of those that ever had one:
// the driver has counters for four lanes, also of a link with fewer.
func measureLanes(j *judge, s *sample) []verdict {
	var lanes []uint64
	var ev []doctor.Evidence
	worst := inventory.Counter{}
	most := uint64(0)
	for _, c := range s.counters {
		n, v, known := j.delta(s.change(c))
		ev = append(ev, changeEvidence(s, c))
		if known && s.change(c).AtLeast {
			v, known = verdict{
				outcome: doctor.OutcomeUnknown, text: label(c) + " was reset between the readings",
			}, false
		}
		if !known {
			v.evidence = ev
			return []verdict{v}
		}
		if *c.Value == 0 {
			continue // unused, or without an error since the driver was loaded
		}
		lanes = append(lanes, n)
		if n >= most {
			worst, most = c, n
		}
	}
	if len(lanes) < 2 {
		return []verdict{{outcome: doctor.OutcomeNotApplicable, text: "fewer than two lanes have ever had an error"}}
	}
	slices.Sort(lanes)
	median := lanes[(len(lanes)-1)/2]
	v := verdict{outcome: doctor.OutcomePass}
	if float64(most) >= j.in.Threshold("lane-errors-least") {
		v = j.value(fmt.Sprintf("%s rose by %d in %v, the median lane by %d", label(worst), most, spanText(s.elapsed()),
			median), float64(most)/float64(max(median, 1)))
	}
	v.evidence = ev
	return []verdict{v}
}
