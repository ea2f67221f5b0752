package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// culprit is a verdict as clean text.
type culprit struct {
	Cause      verdict.Cause
	Where      string
	Title      string // what is wrong with it, in a few words
	Grade      string // share of the capacity of its place that is lost, after the label of a scaled run
	Class      string // bad or warn
	Confidence string
	Evidence   []string
	Impact     string
	Next       string
	TakeOut    []string
	Ends       []plan.End // the cards that it is about, none for a leaf or the fabric
}

// culpritsOf returns the verdicts in their order.
func culpritsOf(run *result.Run, v verdict.Report) []culprit {
	var nodes map[string]int32
	out := make([]culprit, 0, len(v.Verdicts))
	for _, f := range v.Verdicts {
		c := culprit{
			Cause: f.Cause, Where: output.Clean(f.Where.Name), Title: output.Clean(f.Words),
			Grade: lostText(f.Cause, f.Severity), Class: "warn", Confidence: percentText(f.Confidence),
			Impact: impactText(f.Impact), Next: output.Clean(f.Next), TakeOut: cleanAll(f.TakeOut),
			Ends: validEnds(run, f.Where.Ends),
		}
		if run.Scale != nil {
			c.Grade = output.Clean(run.Scale.Label) + ", " + c.Grade
		}
		const severe = 0.1
		if f.Severity >= severe {
			c.Class = "bad"
		}
		if c.Title == "" {
			c.Title = string(f.Cause)
		}
		for _, e := range f.Evidence {
			c.Evidence = append(c.Evidence, output.Clean(e.Text))
		}
		if f.Where.Scope == verdict.ScopeNode && len(c.Ends) == 0 {
			if nodes == nil {
				nodes = indexOf(run.Cluster)
			}
			c.Ends = endsOf(run.Cluster, nodes, f.Where.Nodes)
		}
		out = append(out, c)
	}
	return out
}

// indexOf returns the indices of nodes by name.
func indexOf(c plan.Cluster) map[string]int32 {
	out := make(map[string]int32, len(c.Nodes))
	for i, n := range c.Nodes {
		out[n.Name] = int32(i)
	}
	return out
}

// endsOf returns all cards of nodes.
func endsOf(c plan.Cluster, index map[string]int32, names []string) []plan.End {
	var out []plan.End
	for _, name := range names {
		i, ok := index[name]
		if !ok {
			continue
		}
		for _, r := range c.Nodes[i].Rails {
			out = append(out, plan.End{Node: i, Rail: int16(r.Rail)})
		}
	}
	return out
}

// validEnds leaves out places that the run doesn't have: verdicts may come from a file.
func validEnds(run *result.Run, ends []plan.End) []plan.End {
	return slices.DeleteFunc(slices.Clone(ends), func(e plan.End) bool {
		return e.Node < 0 || int(e.Node) >= len(run.Cluster.Nodes) ||
			!slices.ContainsFunc(run.Cluster.Nodes[e.Node].Rails, func(c plan.Card) bool {
				return c.Rail == int(e.Rail)
			})
	})
}

// Node and Rail are the first card that a verdict is about, for a button of the page.
func (c culprit) Node() int32 { return c.Ends[0].Node }

// Rail is the number of its rail.
func (c culprit) Rail() int16 { return c.Ends[0].Rail }

// lostText returns how much of the capacity of a place is lost.
func lostText(cause verdict.Cause, severity float64) string {
	switch {
	case severity <= 0:
		return "no bandwidth lost"
	case cause == verdict.CauseJitter || cause == verdict.CausePauses: // not of all steps
		return "up to " + percentText(severity) + " lost"
	}
	return percentText(severity) + " lost"
}

// percentText returns a share in whole percent. What is neither nothing nor everything is never
// rounded to that.
func percentText(share float64) string {
	p := math.Round(100 * share) //nolint:mnd // percent
	if share > 0 && share < 1 {
		p = min(max(p, 1), 99) //nolint:mnd // percent
	}
	return fmt.Sprintf("%.0f %%", p)
}

// impactText returns what faults do to a job, "" if that is unknown.
func impactText(i verdict.Impact) string {
	if i.Without <= 0 {
		return ""
	}
	if number(i.With) == number(i.Without) {
		return fmt.Sprintf("an all-reduce still reaches %s GB/s on each rail", number(i.Without))
	}
	text := fmt.Sprintf("an all-reduce reaches %s instead of %s GB/s on each rail", number(i.With), number(i.Without))
	if i.With <= 0 {
		text = fmt.Sprintf("an all-reduce stops; without that it reaches %s GB/s on each rail", number(i.Without))
	}
	if i.Model != "" {
		text += ": " + output.Clean(i.Model)
	}
	return text
}

// notJudged returns what could not be judged, with the reasons.
func notJudged(v verdict.Report) []string {
	out := make([]string, len(v.NotJudged))
	for i, g := range v.NotJudged {
		out[i] = output.Clean(g.What + ": " + g.Why)
	}
	return out
}

// culpritRails returns the rails of the cards that verdicts about rates name, in the order of the
// verdicts.
func culpritRails(rails []Rail, culprits []culprit) []Rail {
	var out []Rail
	for _, c := range culprits {
		if stageOfCause(c.Cause) != plan.StagePairs {
			continue
		}
		for _, e := range c.Ends {
			i := slices.IndexFunc(rails, func(r Rail) bool { return r.Rail == int(e.Rail) })
			if i >= 0 && rails[i].Measured+rails[i].Failed > 0 &&
				!slices.ContainsFunc(out, func(r Rail) bool { return r.Rail == int(e.Rail) }) {
				out = append(out, rails[i])
			}
		}
	}
	return out
}
