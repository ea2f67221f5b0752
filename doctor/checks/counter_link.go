package checks

import (
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/wire/counters"
)

// errorCounters are the files of the classic counters of errors.
func errorCounters() []string {
	var names []string
	for _, c := range counters.PortCounters() {
		if c.Kind == counters.KindError && c.File != "" {
			names = append(names, c.File)
		}
	}
	return names
}

// measureCarrier counts losses of the carrier, and adds up their time. carrier_changes counts the
// ups too; kernels from 4.16 on count the losses by themselves.
func measureCarrier(j *judge, s *sample) []verdict {
	c := s.counters[0]
	perLoss := uint64(2)
	for _, o := range s.counters {
		if o.Name == "carrier_down_count" {
			c, perLoss = o, 1
		}
	}
	ch := s.change(c)
	n, v, known := j.delta(ch)
	if known {
		n = (n + perLoss - 1) / perLoss
		v = j.count(s, "the number of lost carriers", n, ch.AtLeast)
	}
	down := s.readings.Down
	switch {
	case down > 0 && known && n == 0:
		// It had no carrier before, either: check port-active reports that.
		v = verdict{outcome: doctor.OutcomeNotApplicable, text: "had no carrier all the time"}
	case down > 0:
		v.text = fmt.Sprintf("%s; without carrier for %v of %v", v.text, spanText(down), spanText(s.elapsed()))
		if down.Seconds() >= j.in.Threshold("carrier-lost-outage") {
			v.outcome = doctor.OutcomeFail
		}
	}
	v.evidence = []doctor.Evidence{changeEvidence(s, c)}
	return []verdict{v}
}

// measureSaturated finds counters that are saturated, with two readings: their growth is unknown.
func measureSaturated(j *judge, s *sample) []verdict {
	var out []verdict
	for _, c := range s.counters {
		if c.Value == nil {
			continue
		}
		v := verdict{outcome: doctor.OutcomePass, evidence: []doctor.Evidence{changeEvidence(s, c)}}
		if c.Saturated {
			v.outcome = doctor.OutcomeWarn
			v.text = fmt.Sprintf("%s is saturated at %d: whether it grows can't be seen", c.Name, *c.Value)
		}
		out = append(out, v)
	}
	return out
}

// onceSaturated finds saturated counters without an interval: worth knowing, but nothing fails.
func onceSaturated(_ *judge, s *sample) []verdict {
	var out []verdict
	for _, c := range s.counters {
		if c.Value == nil {
			continue
		}
		v := verdict{outcome: doctor.OutcomePass, evidence: []doctor.Evidence{valueEvidence(c)}}
		if c.Saturated {
			v.outcome, v.text = doctor.OutcomeInfo, fmt.Sprintf("%s is saturated at %d", c.Name, *c.Value)
		}
		out = append(out, v)
	}
	return out
}
