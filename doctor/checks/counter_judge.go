package checks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// judge compares samples with the limits of a rule.
type judge struct {
	rule *counterRule
	in   *doctor.Input
}

// verdict is the result for one counter, or for several together.
type verdict struct {
	outcome  doctor.Outcome
	text     string
	evidence []doctor.Evidence
}

func (r *counterRule) run(ctx context.Context, in *doctor.Input) []doctor.Finding {
	state := in.Facts.State(facts.KindRates)
	twice := state == nil
	if !twice && !errors.Is(state, facts.ErrNotGathered) {
		return []doctor.Finding{doctor.Because(doctor.ObjectNode, fmt.Errorf("%s: %w", facts.KindRates.What(), state))}
	}
	if !twice && r.absolute != nil {
		return r.absolute(ctx, in)
	}
	objects := jobObjects(in.Snapshot, r.scope)
	if len(objects) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s",
			noneOf(in.Snapshot, "no compute port has "+r.scope.String()))}
	}
	j, report := &judge{r, in}, &counterReport{rule: r, twice: twice}
	for _, s := range objects {
		if twice {
			r.readTwice(in, s)
		} else {
			r.readOnce(in, s)
		}
		report.errors(s)
		if s.lost != "" {
			report.found = append(report.found, r.lostFinding(s))
			continue
		}
		if len(s.counters) == 0 {
			if len(s.errs) == 0 && !s.unread {
				why, ev := r.without(in, s)
				report.skip(s.object, why, ev...)
			}
			continue
		}
		report.add(s, j.verdicts(s))
	}
	return report.findings()
}

// lostFinding is about an object that was removed between the readings.
func (r *counterRule) lostFinding(s *sample) doctor.Finding {
	f := doctor.Unknown(s.object, "was removed between the readings: %s", s.lost)
	if r.lost != "" {
		f.Outcome = r.lost
		f.Evidence = []doctor.Evidence{{Path: s.port.port.Path, Value: "does not exist"}}
		f.Actions = []doctor.Action{doctor.Shell("journalctl -k --since -5m | grep -i %s", quote(s.port.dev.Name))}
	}
	return f
}

// String names what an object of the scope is.
func (s counterScope) String() string {
	return [...]string{"counters", "a network device", "a PCI function"}[s]
}

func (j *judge) verdicts(s *sample) []verdict {
	switch {
	case s.readings == nil && j.rule.once != nil:
		return j.rule.once(j, s)
	case s.readings == nil:
		return j.absolute(s)
	case j.rule.measure != nil:
		return j.rule.measure(j, s)
	case len(j.rule.per) > 0:
		return []verdict{measureRatio(j, s)}
	}
	return measureEach(j, s)
}

// absolute judges values without an interval.
func (j *judge) absolute(s *sample) []verdict {
	var out []verdict
	for _, c := range s.counters {
		if c.Value == nil || c.Group == facts.CountersAER && !facts.IsAERTotal(c.Name) {
			continue
		}
		v := verdict{outcome: doctor.OutcomePass, evidence: []doctor.Evidence{valueEvidence(c)}}
		if n := *c.Value; n > 0 {
			v.outcome = j.rule.historic
			v.text = fmt.Sprintf("%s is %d since the driver was loaded or the counter was reset", label(c), n)
			if c.Saturated {
				v.text = fmt.Sprintf("%s is %d or more: the counter is saturated", label(c), n)
			}
			if v.outcome == "" {
				v.outcome = doctor.OutcomeNotApplicable
				v.text = label(c) + " is not 0; whether it grows can be told with --interval only"
			}
		}
		out = append(out, v)
	}
	return out
}

// measureEach judges the increase of each counter.
func measureEach(j *judge, s *sample) []verdict {
	var out []verdict
	for _, c := range s.counters {
		if c.Value == nil || c.Group == facts.CountersAER && !facts.IsAERTotal(c.Name) {
			continue
		}
		ch := s.change(c)
		delta, v, known := j.delta(ch)
		if known {
			v = j.count(s, label(c), delta, ch.AtLeast)
		}
		v.evidence = []doctor.Evidence{changeEvidence(s, c)}
		out = append(out, v)
	}
	return out
}

// delta returns the increase of a counter, or a verdict that says why it is not known.
func (j *judge) delta(ch inventory.Change) (uint64, verdict, bool) {
	unknown := func(format string, args ...any) (uint64, verdict, bool) {
		return 0, verdict{outcome: doctor.OutcomeUnknown, text: fmt.Sprintf(format, args...)}, false
	}
	c := ch.Counter
	switch {
	case ch.Delta != nil:
		return *ch.Delta, verdict{}, true
	case c.Value == nil:
		return unknown("%s had no value in the second reading", label(c))
	case ch.Reset:
		return unknown("%s was reset between the readings", label(c))
	case c.Saturated:
		return unknown("%s is saturated at %d: it counts nothing more until it is reset", label(c), *c.Value)
	}
	return unknown("%s was not in the first reading", label(c))
}

// count compares a number of events between the readings with the limits, the worst first. A rate
// is never extrapolated to a fault: if the interval is shorter than the unit, the events in it must
// exceed the limit by themselves.
func (j *judge) count(s *sample, name string, n uint64, atLeast bool) verdict {
	elapsed := s.elapsed()
	by := fmt.Sprintf("%s rose by %d in %v", name, n, spanText(elapsed))
	if atLeast {
		by = fmt.Sprintf("%s rose by at least %d in %v (it was reset or is saturated)", name, n, spanText(elapsed))
	}
	early := ""
	for _, l := range j.worstFirst() {
		limit, span := j.in.Threshold(j.rule.limitName(l)), l.span()
		perUnit := 0.0
		if span > 0 && elapsed > 0 {
			perUnit = float64(n) * span.Seconds() / elapsed.Seconds()
		}
		switch {
		case span == 0 && float64(n) > limit:
			return verdict{outcome: l.outcome, text: by}
		case span == 0:
		case elapsed >= span && perUnit > limit:
			text := fmt.Sprintf("%s, %.3g%s; the limit is %g", by, perUnit, l.unit[1:], limit)
			return verdict{outcome: l.outcome, text: text}
		case elapsed < span && float64(n) > limit:
			return verdict{outcome: l.outcome, text: fmt.Sprintf("%s; the limit is %g%s", by, limit, l.unit[1:])}
		case elapsed < span && perUnit > limit && early == "":
			early = fmt.Sprintf("%s; if it goes on it exceeds %g%s, which takes an --interval of %v to tell",
				by, limit, l.unit[1:], spanText(span))
		}
	}
	switch {
	case early != "":
		return verdict{outcome: doctor.OutcomeInfo, text: early}
	case atLeast:
		return verdict{outcome: doctor.OutcomeUnknown, text: by}
	}
	return verdict{outcome: doctor.OutcomePass}
}

// worstFirst returns the limits, that of the worst outcome first.
func (j *judge) worstFirst() []counterLimit {
	limits := slices.Clone(j.rule.limits)
	slices.SortStableFunc(limits, func(a, b counterLimit) int { return b.outcome.Compare(a.outcome) })
	return limits
}

// value compares a quantity with the limits, the worst first.
func (j *judge) value(text string, v float64) verdict {
	for _, l := range j.worstFirst() {
		if limit := j.in.Threshold(j.rule.limitName(l)); v > limit {
			unit := ""
			if l.unit == "%" {
				unit = " %"
			}
			return verdict{outcome: l.outcome, text: fmt.Sprintf("%s; the limit is %g%s", text, limit, unit)}
		}
	}
	return verdict{outcome: doctor.OutcomePass}
}

// sum adds up the increases of counters; a verdict says why one is not known.
func (j *judge) sum(changes []inventory.Change) (uint64, verdict, bool) {
	total := uint64(0)
	for _, ch := range changes {
		if ch.Counter.Value == nil {
			continue
		}
		n, v, known := j.delta(ch)
		if !known {
			return 0, v, false
		}
		if ch.AtLeast {
			return 0, verdict{
				outcome: doctor.OutcomeUnknown,
				text:    label(ch.Counter) + " was reset or became saturated between the readings",
			}, false
		}
		total += n
	}
	return total, verdict{}, true
}

// measureRatio judges the increase of the counters in proportion to that of per. Fewer than 1/limit
// packets can't tell.
func measureRatio(j *judge, s *sample) verdict {
	var changes []inventory.Change
	var ev []doctor.Evidence
	for _, c := range s.counters {
		changes = append(changes, s.change(c))
		ev = append(ev, changeEvidence(s, c))
	}
	for _, ch := range s.per {
		ev = append(ev, changeEvidence(s, ch.Counter))
	}
	n, v, known := j.sum(changes)
	all := uint64(0)
	if known {
		all, v, known = j.sum(s.per)
	}
	if known {
		v = j.ratio(s, n, all)
	}
	v.evidence = ev
	return v
}

func (j *judge) ratio(s *sample, n, all uint64) verdict {
	switch {
	case len(s.per) == 0:
		return verdict{outcome: doctor.OutcomeNotApplicable, text: "the driver counts no packets to compare with"}
	case all == 0 && n == 0:
		return verdict{outcome: doctor.OutcomeNotApplicable, text: "no packets between the readings"}
	case n == 0:
		return verdict{outcome: doctor.OutcomePass}
	}
	text := fmt.Sprintf("%s rose by %d in %v, among %d packets", j.rule.subjectOf(s), n, spanText(s.elapsed()), all)
	v := verdict{outcome: doctor.OutcomePass}
	for _, l := range j.worstFirst() {
		limit := j.in.Threshold(j.rule.limitName(l))
		switch {
		case float64(all)*limit < 1: // one packet would exceed the limit
			v = verdict{outcome: doctor.OutcomeInfo, text: text + ", which are too few to tell the ratio"}
		case float64(n) > limit*float64(all):
			return verdict{outcome: l.outcome, text: fmt.Sprintf("%s: %.2g; the limit is %g", text,
				float64(n)/float64(all), limit)}
		}
	}
	return v
}

// subjectOf names the counters of the rule that the object has.
func (r *counterRule) subjectOf(s *sample) string {
	var names []string
	for _, c := range s.counters {
		names = append(names, label(c))
	}
	return strings.Join(names, " and ")
}

// label names a counter in a sentence.
func label(c inventory.Counter) string {
	if c.Group == facts.CountersAER {
		return strings.Replace(c.Name, ":", " ", 1)
	}
	return c.Name
}

func valueEvidence(c inventory.Counter) doctor.Evidence {
	if c.Value == nil {
		return doctor.Evidence{Path: c.Path, Value: c.Note}
	}
	return doctor.Evidence{Path: c.Path, Value: fmt.Sprint(*c.Value)}
}

// changeEvidence returns both readings of a counter and their times.
func changeEvidence(s *sample, c inventory.Counter) doctor.Evidence {
	at := func(v *uint64, t time.Time) string {
		if v == nil {
			return "no value at " + t.UTC().Format(time.RFC3339)
		}
		return fmt.Sprintf("%d at %s", *v, t.UTC().Format(time.RFC3339))
	}
	var before *uint64
	if first := s.first(c); len(first) > 0 {
		before = first[0].Value
	}
	return doctor.Evidence{
		Path: c.Path, Value: at(before, s.readings.From) + ", " + at(c.Value, s.readings.To),
	}
}

// spanText shortens a time: "10s", "1h".
func spanText(d time.Duration) string {
	if d >= time.Second {
		d = d.Round(100 * time.Millisecond)
	}
	text := d.String()
	if d%time.Minute == 0 {
		text = strings.TrimSuffix(text, "0s")
	}
	if d%time.Hour == 0 {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
