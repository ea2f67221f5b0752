package logcases

import (
	"slices"
	"strings"
)

// Confidence is how sure an explanation is.
type Confidence int

// The confidences, from weak to strong.
const (
	Possible Confidence = iota
	Likely
	Proven
)

// Ranked is a cause with its confidence.
type Ranked struct {
	Slug       string
	Confidence Confidence
}

// Result is what a program says about the logs of a job.
type Result struct {
	// Causes are ranked: the first is the most likely one.
	Causes []Ranked
	// Notes are slugs of remarks.
	Notes []string
	Facts Facts
	// Recognised reports whether the program knew the logs' form at all.
	Recognised bool
}

// Explainer is a program under test.
type Explainer func(files []File) Result

// Verdict is what became of a case in a variant.
type Verdict int

// The verdicts. Kept: the first cause is an accepted one. Weaker: it isn't, but nothing else is
// claimed: no cause, or only possible ones that are no traps. Changed: another cause is likely or
// proven, or a trap comes first.
const (
	Kept Verdict = iota
	Weaker
	Changed
)

// rankOf returns the rank of the first accepted cause, from 1, or 0 if none is named. A remark that
// a case asks for may stand anywhere.
func (c *Case) rankOf(r Result) int {
	if len(c.Causes) > 0 {
		if s, ok := slugOf(c.Causes[0]); ok && s.Note && r.mentions(s.Name) {
			return 1
		}
	}
	for i, cause := range r.Causes {
		if slices.Contains(c.Causes, cause.Slug) {
			return i + 1
		}
	}
	return 0
}

// mentions reports whether a slug is among the causes or the notes.
func (r Result) mentions(slug string) bool {
	return slices.Contains(r.Notes, slug) ||
		slices.ContainsFunc(r.Causes, func(c Ranked) bool { return c.Slug == slug })
}

// trapped reports whether a trap ranks above the first accepted cause, or, where no cause is known,
// is claimed as likely or proven.
func (c *Case) trapped(r Result) bool {
	rank := c.rankOf(r)
	for i, cause := range r.Causes {
		if !slices.Contains(c.Traps, cause.Slug) {
			continue
		}
		if len(c.Causes) == 0 {
			if cause.Confidence >= Likely {
				return true
			}
			continue
		}
		if rank == 0 || i+1 < rank {
			return true
		}
	}
	return false
}

// falseCertainty reports a claim of a proven cause where none was confirmed.
func (c *Case) falseCertainty(r Result) bool {
	return (c.Family == FamilyUnproven || c.Family == FamilyHealthy) &&
		slices.ContainsFunc(r.Causes, func(x Ranked) bool { return x.Confidence == Proven && !isNote(x.Slug) })
}

func isNote(slug string) bool {
	s, ok := slugOf(slug)
	return ok && s.Note
}

// verdict judges the result of a variant.
func (c *Case) verdict(r Result) Verdict {
	if c.falseAlarm(r) || c.falseCertainty(r) {
		return Changed
	}
	switch {
	case len(c.Causes) == 0:
		return c.unprovenVerdict(r)
	case c.rankOf(r) == 1:
		return Kept
	case len(r.Causes) == 0:
		return Weaker
	case r.Causes[0].Confidence >= Likely, slices.Contains(c.Traps, r.Causes[0].Slug):
		return Changed
	}
	return Weaker
}

func (c *Case) unprovenVerdict(r Result) Verdict {
	if c.trapped(r) {
		return Changed
	}
	if len(r.Causes) == 0 && c.Family == FamilyUnproven {
		return Weaker
	}
	return Kept
}

// falseAlarm reports a likely or proven cause for a healthy job.
func (c *Case) falseAlarm(r Result) bool {
	return c.Family == FamilyHealthy && slices.ContainsFunc(r.Causes, func(x Ranked) bool {
		return x.Confidence >= Likely && !slices.Contains(c.Allowed, x.Slug) && !isNote(x.Slug)
	})
}

// candidateFound reports whether one of the first three causes is a candidate of the case.
func (c *Case) candidateFound(r Result) bool {
	for _, cause := range r.Causes[:min(3, len(r.Causes))] {
		if slices.Contains(c.Candidates, cause.Slug) {
			return true
		}
	}
	return false
}

// FactTally counts single facts: a version, a host, one device of a host, …
type FactTally struct{ Right, Wrong, Missing int }

func (t *FactTally) add(u FactTally) {
	t.Right += u.Right
	t.Wrong += u.Wrong
	t.Missing += u.Missing
}

func (t FactTally) total() int { return t.Right + t.Wrong + t.Missing }

// compareFacts counts which expected facts a result has. What a result has beyond them isn't
// judged, except other networks, devices, GPU Direct or rank counts of the same hosts.
func compareFacts(want, got Facts) (t FactTally) {
	t.list(want.Versions, got.Versions)
	t.list(want.Hosts, got.Hosts)
	t.list(want.GIDs, got.GIDs)
	t.list(want.Decoded, got.Decoded)
	for host, network := range want.Networks {
		t.value(network, got.Networks[host])
	}
	for host, nics := range want.NICs {
		t.value(sorted(nics), sorted(got.NICs[host]))
	}
	if want.GDR != "" {
		t.value(want.GDR, got.GDR)
	}
	if want.Ranks != 0 {
		switch got.Ranks {
		case want.Ranks:
			t.Right++
		case 0:
			t.Missing++
		default:
			t.Wrong++
		}
	}
	return t
}

func sorted(list []string) string {
	list = slices.Clone(list)
	slices.Sort(list)
	return strings.Join(list, ",")
}

func (t *FactTally) list(want, got []string) {
	for _, w := range want {
		if slices.Contains(got, w) {
			t.Right++
		} else {
			t.Missing++
		}
	}
}

func (t *FactTally) value(want, got string) {
	switch got {
	case want:
		t.Right++
	case "":
		t.Missing++
	default:
		t.Wrong++
	}
}
