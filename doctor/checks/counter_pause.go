package checks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// measurePause judges the share of the time that a port was paused. The durations are in
// microseconds.
func measurePause(j *judge, s *sample) []verdict {
	var out []verdict
	for _, c := range s.counters {
		ch := s.change(c)
		n, v, known := j.delta(ch)
		switch {
		case known && ch.AtLeast:
			v = verdict{outcome: doctor.OutcomeUnknown, text: c.Name + " was reset between the readings"}
		case known && s.elapsed() <= 0:
			v = verdict{outcome: doctor.OutcomeUnknown, text: "the readings have the same time"}
		case known:
			paused := time.Duration(min(n, 1<<53)) * time.Microsecond //nolint:gosec // limited
			share := 100 * paused.Seconds() / s.elapsed().Seconds()
			v = j.value(fmt.Sprintf("%s: paused for %.3g %% of %v", c.Name, share, spanText(s.elapsed())), share)
		}
		v.evidence = []doctor.Evidence{changeEvidence(s, c)}
		out = append(out, v)
	}
	return out
}

// measureLossless judges the discards of priorities that are lossless; other priorities may lose
// packets.
func measureLossless(j *judge, s *sample) []verdict {
	lossless, from := losslessPriorities(j.in, s)
	if from == "" {
		return []verdict{{
			outcome: doctor.OutcomeNotApplicable,
			text:    "neither dcbnl nor the driver's counters of pause frames tell which priorities are lossless",
		}}
	}
	if len(lossless) == 0 {
		return []verdict{{outcome: doctor.OutcomeNotApplicable, text: "no priority is lossless (" + from + ")"}}
	}
	var out []verdict
	for _, c := range s.counters {
		if !slices.Contains(lossless, priorityOf(c.Name)) {
			continue
		}
		ch := s.change(c)
		n, v, known := j.delta(ch)
		if known {
			v = j.count(s, c.Name, n, ch.AtLeast)
		}
		v.evidence = []doctor.Evidence{changeEvidence(s, c)}
		out = append(out, v)
	}
	if len(out) == 0 {
		out = measurePortDiscards(j, s, lossless, from)
	}
	if len(out) == 0 {
		return []verdict{{
			outcome: doctor.OutcomeNotApplicable, text: "the driver counts no discards of the lossless priorities",
		}}
	}
	return out
}

// portDiscards is the counter of packets that a port dropped for lack of buffers, of all
// priorities.
const portDiscards = "rx_discards_phy"

// measurePortDiscards judges the discards of a port whose driver doesn't count them by priority: a
// warning, unless every priority is lossless.
func measurePortDiscards(j *judge, s *sample, lossless []int, from string) []verdict {
	var out []verdict
	for _, c := range s.counters {
		if c.Name != portDiscards {
			continue
		}
		ch := s.change(c)
		n, v, known := j.delta(ch)
		if known {
			v = j.count(s, c.Name, n, ch.AtLeast)
		}
		if v.outcome == doctor.OutcomeFail && len(lossless) < 8 {
			v.outcome = doctor.OutcomeWarn
			v.text += fmt.Sprintf(", and the driver doesn't tell the priority; lossless: %s (%s)",
				strings.Trim(fmt.Sprint(lossless), "[]"), from)
		}
		v.evidence = []doctor.Evidence{changeEvidence(s, c)}
		out = append(out, v)
	}
	return out
}

// losslessPriorities returns the priorities with PFC, and how that is known: from dcbnl, or because
// mlx5 has counters of pause frames for exactly those priorities.
func losslessPriorities(in *doctor.Input, s *sample) ([]int, string) {
	if dcb := dcbOf(in, s.object); dcb != nil && dcb.PFC != nil {
		return facts.Priorities(dcb.PFC.Enabled), "PFC by dcbnl"
	}
	if !slices.ContainsFunc(s.readings.After, func(c inventory.Counter) bool {
		return c.Group == facts.CountersEthtool && c.Name == "rx_prio0_packets" // mlx5's
	}) {
		return nil, ""
	}
	var list []int
	for _, c := range matching(s.readings.After, countersIn(facts.CountersEthtool, "rx_prio?_pause")) {
		list = append(list, priorityOf(c.Name))
	}
	return list, "counters of pause frames"
}

// priorityOf returns the first digit of a counter's name.
func priorityOf(name string) int {
	i := strings.IndexAny(name, "01234567")
	if i < 0 {
		return -1
	}
	return int(name[i] - '0')
}

// measureStalls judges shares of the last second in percent, with and without an interval.
func measureStalls(j *judge, s *sample) []verdict {
	var out []verdict
	for _, c := range s.counters {
		if c.Value == nil {
			continue
		}
		v := j.value(fmt.Sprintf("%s is %d %% in the last second", c.Name, *c.Value), float64(*c.Value))
		v.evidence = []doctor.Evidence{valueEvidence(c)}
		out = append(out, v)
	}
	return out
}

// pciSlot returns a name if it is a PCI address, otherwise "".
func pciSlot(name string) string {
	if strings.Count(name, ":") == 2 && strings.Contains(name, ".") {
		return name
	}
	return ""
}
