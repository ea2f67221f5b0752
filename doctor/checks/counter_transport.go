package checks

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/inventory"
)

// measureCompletions subtracts the flushed completions from the failed ones, which include them in
// all recorded readings.
func measureCompletions(j *judge, s *sample) []verdict {
	var out []verdict
	for _, c := range s.counters {
		if strings.Contains(c.Name, "_flush_") || c.Value == nil {
			continue
		}
		changes := []inventory.Change{s.change(c)}
		ev := []doctor.Evidence{changeEvidence(s, c)}
		flush := matching(s.counters, countersIn(groupDriver, strings.Replace(c.Name, "cqe_", "cqe_flush_", 1)))
		for _, f := range flush {
			changes = append(changes, s.change(f))
			ev = append(ev, changeEvidence(s, f))
		}
		_, v, known := j.sum(changes)
		switch {
		case known && len(flush) == 0:
			v = verdict{outcome: doctor.OutcomeNotApplicable, text: "the driver doesn't count flushed completions"}
		case known:
			failed, flushed := *changes[0].Delta, *changes[1].Delta
			v = j.count(s, c.Name+" without flushes", failed-min(flushed, failed), false)
		}
		v.evidence = ev
		out = append(out, v)
	}
	return out
}

// leastMarks is how many marked packets a ratio needs: fewer can belong to flows of which each gets
// a notification within the card's minimum time between two.
const leastMarks = 1000

// measureCNP divides the marked packets by the notifications that were sent for them.
func measureCNP(j *judge, s *sample) []verdict {
	var marks, sent []inventory.Change
	var ev []doctor.Evidence
	for _, c := range s.counters {
		ev = append(ev, changeEvidence(s, c))
		if c.Name == "np_cnp_sent" || c.Name == "cnpSent" {
			sent = append(sent, s.change(c))
		} else {
			marks = append(marks, s.change(c))
		}
	}
	if len(marks) == 0 || len(sent) == 0 {
		return []verdict{{
			outcome: doctor.OutcomeNotApplicable, text: "the driver counts not both marks and notifications",
		}}
	}
	n, v, known := j.sum(marks)
	cnps := uint64(0)
	if known {
		cnps, v, known = j.sum(sent)
	}
	switch {
	case known && n == 0:
		v = verdict{outcome: doctor.OutcomeNotApplicable, text: "no marked packet between the readings"}
	case known && cnps == 0:
		v.outcome = j.rule.limits[0].outcome
		v.text = fmt.Sprintf("%d marked packets and no notification in %v", n, spanText(s.elapsed()))
		if n < leastMarks {
			v.outcome, v.text = doctor.OutcomeInfo, v.text+": too few to tell"
		}
	case known:
		v = j.value(fmt.Sprintf("%d marked packets and %d notifications in %v", n, cnps, spanText(s.elapsed())),
			float64(n)/float64(cnps))
	}
	v.evidence = ev
	return []verdict{v}
}

// measureLifespan judges the last value of lifespan, with and without an interval.
func measureLifespan(j *judge, s *sample) []verdict {
	c := s.counters[0]
	if c.Value == nil {
		return nil
	}
	v := verdict{outcome: doctor.OutcomePass, evidence: []doctor.Evidence{valueEvidence(c)}}
	if limit := j.in.Threshold("counter-lifespan"); float64(*c.Value) > limit {
		v.outcome = doctor.OutcomeInfo
		v.text = fmt.Sprintf("counters may be %d ms old; the limit is %g ms", *c.Value, limit)
	}
	return []verdict{v}
}
