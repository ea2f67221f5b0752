package logcases

import (
	"fmt"
	"slices"
	"strings"
)

// Outcome is the judged result of one case.
type Outcome struct {
	Case   *Case
	Result Result
	// Rank of the first accepted cause, from 1; 0 if it isn't named. A case without causes has 0.
	Rank    int
	Trapped bool
	// FalseCertainty is a proven cause in a case without a confirmed one.
	FalseCertainty bool
	FalseAlarm     bool
	Candidate      bool
	Facts          FactTally
	Verdicts       map[string]Verdict // by variant
}

// Report is the score of a program over all cases.
type Report struct{ Outcomes []Outcome }

// Run explains each case and each of its variants.
func Run(cases []Case, explain Explainer) Report {
	var report Report
	for i := range cases {
		c := &cases[i]
		o := Score(c, explain(c.Files))
		o.Verdicts = map[string]Verdict{}
		for _, v := range Variants() {
			if derived, ok := v.Apply(c); ok {
				o.Verdicts[v.Name] = c.verdict(explain(derived.Files))
			}
		}
		report.Outcomes = append(report.Outcomes, o)
	}
	return report
}

// Score judges one result.
func Score(c *Case, r Result) Outcome {
	return Outcome{
		Case: c, Result: r, Rank: c.rankOf(r), Trapped: c.trapped(r), FalseCertainty: c.falseCertainty(r),
		FalseAlarm: c.falseAlarm(r), Candidate: c.candidateFound(r), Facts: compareFacts(c.Facts, r.Facts),
	}
}

// proven reports a case whose cause is confirmed by more than a maintainer's statement.
func (c *Case) proven() bool { return len(c.Causes) > 0 && !slices.Contains(c.By, ByMaintainer) }

// statement reports a case whose cause is a maintainer's statement.
func (c *Case) statement() bool { return len(c.Causes) > 0 && slices.Contains(c.By, ByMaintainer) }

// vector reports a case that is a value to decode.
func (c *Case) vector() bool { return slices.Contains(c.By, ByVector) }

// share is a number of hits out of a number of cases.
type share struct{ hits, all int }

func (s *share) count(hit bool) {
	s.all++
	if hit {
		s.hits++
	}
}

func (s share) String() string {
	if s.all == 0 {
		return "–"
	}
	return fmt.Sprintf("%d/%d (%d %%)", s.hits, s.all, 100*s.hits/s.all)
}

// Totals are the figures of a report.
type Totals struct {
	First, FirstThree, Traps share
	Facts                    FactTally
}

// Sum adds up the outcomes that match.
func (r Report) Sum(match func(*Case) bool) (t Totals) {
	for _, o := range r.Outcomes {
		if !match(o.Case) {
			continue
		}
		t.First.count(o.Rank == 1)
		t.FirstThree.count(o.Rank >= 1 && o.Rank <= 3)
		if len(o.Case.Traps) > 0 {
			t.Traps.count(o.Trapped)
		}
		t.Facts.add(o.Facts)
	}
	return t
}

// FalseCertainties returns the IDs of the cases where a cause is claimed as proven without one.
func (r Report) FalseCertainties() (ids []string) {
	for _, o := range r.Outcomes {
		if o.FalseCertainty {
			ids = append(ids, o.Case.ID)
		}
	}
	return ids
}

// FalseAlarms returns the IDs of the healthy cases for which a cause is claimed.
func (r Report) FalseAlarms() (ids []string) {
	for _, o := range r.Outcomes {
		if o.FalseAlarm {
			ids = append(ids, o.Case.ID)
		}
	}
	return ids
}

// Changed returns, by variant, the IDs of the cases whose verdict became another one.
func (r Report) Changed() map[string][]string {
	changed := map[string][]string{}
	for _, o := range r.Outcomes {
		for name, v := range o.Verdicts {
			if v == Changed {
				changed[name] = append(changed[name], o.Case.ID)
			}
		}
	}
	return changed
}

// Markdown returns the score as tables.
func (r Report) Markdown() string {
	var b strings.Builder
	b.WriteString("| family | cause first | within three | trap above | facts right | wrong | missing |\n" +
		"|---|---|---|---|---|---|---|\n")
	row := func(title string, match func(*Case) bool) {
		t := r.Sum(match)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d | %d |\n", title, t.First, t.FirstThree, t.Traps,
			share{t.Facts.Right, t.Facts.total()}, t.Facts.Wrong, t.Facts.Missing)
	}
	for _, f := range families() {
		if f.Family == FamilyUnproven || f.Family == FamilyHealthy {
			continue
		}
		row(string(f.Family)+" "+f.Title, func(c *Case) bool { return c.Family == f.Family && c.proven() })
	}
	row("**A–E, confirmed**", (*Case).proven)
	row("A–E, a maintainer's statement only", (*Case).statement)
	b.WriteString("\n")
	r.unproven(&b)
	b.WriteString("\n")
	r.robustness(&b)
	return b.String()
}

// unproven writes the figures of the families without a confirmed cause, and of values to decode.
func (r Report) unproven(b *strings.Builder) {
	var certain, alarm, candidate, decoded, recognised share
	var facts FactTally
	for _, o := range r.Outcomes {
		recognised.count(o.Result.Recognised)
		switch {
		case o.Case.Family == FamilyUnproven:
			certain.count(o.FalseCertainty)
			if len(o.Case.Candidates) > 0 {
				candidate.count(o.Candidate)
			}
		case o.Case.Family == FamilyHealthy:
			alarm.count(o.FalseAlarm)
		case o.Case.vector():
			decoded.count(o.Facts.Right == o.Facts.total())
			continue
		default:
			continue
		}
		facts.add(o.Facts)
	}
	b.WriteString("| measure | result |\n|---|---|\n")
	for _, line := range [][2]string{
		{"cause claimed as proven without confirmation (family F), must be 0", certain.String()},
		{"a candidate within three (family F)", candidate.String()},
		{"fault claimed for a healthy job (family H), must be 0", alarm.String()},
		{"values decoded", decoded.String()},
		{"facts right in families F and H", share{facts.Right, facts.total()}.String()},
		{"form recognised", recognised.String()},
	} {
		fmt.Fprintf(b, "| %s | %s |\n", line[0], line[1])
	}
}

// robustness writes what became of the verdicts in each variant.
func (r Report) robustness(b *strings.Builder) {
	b.WriteString("| variant | cases | kept | weaker | changed (must be 0) |\n|---|---|---|---|---|\n")
	for _, v := range Variants() {
		var count [3]int
		for _, o := range r.Outcomes {
			if verdict, ok := o.Verdicts[v.Name]; ok {
				count[verdict]++
			}
		}
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d |\n", v.Name, count[Kept]+count[Weaker]+count[Changed], count[Kept],
			count[Weaker], count[Changed])
	}
}
