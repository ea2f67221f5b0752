package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// Find returns the verdicts of a run, also of an unfinished one. The same input gives the same
// report. A run with indices out of range or figures that can't be is read as far as it goes.
func Find(run *result.Run, o Options) Report {
	v := analyse(run, o)
	v.accept()
	r := Report{Schema: Schema, Verdicts: v.verdicts, NotJudged: v.gaps, Rails: v.railFigures()}
	if run.Scale != nil {
		r.Label = run.Scale.Label
	}
	healthy := v.healthy()
	r.Impact = Impact{Model: ringModel, With: healthy, Without: healthy}
	for i := range r.Verdicts {
		x := &r.Verdicts[i]
		x.Impact = impact(x, healthy)
		r.Impact.With = min(r.Impact.With, x.Impact.With)
		x.Next = cmp.Or(x.Next, v.next(x))
		if x.TakeOut == nil {
			x.TakeOut = v.takeOut(x)
		}
	}
	if r.Verdicts == nil {
		r.Verdicts = []Verdict{}
	}
	if r.NotJudged == nil {
		r.NotJudged = []Gap{}
	}
	return r
}

// analyse makes all verdicts. The order is that of explanations: what a node or a property of a
// card explains is no fault of a cable, and what uplinks explain is none of a card.
func analyse(run *result.Run, o Options) *view {
	v := newView(run, o)
	v.unfinished()
	v.measureRates()
	v.nodes()
	v.missingCards()
	v.facts()
	v.deadCards()
	v.failures()
	v.loss()
	v.flows()
	v.rateLeaves()
	v.rateCards()
	v.markFaulty()
	v.slowCards()
	v.detours()
	v.jitter()
	v.incast()
	v.flowControl()
	v.clocks()
	v.baseline()
	v.inferredLeaves()
	for i := range v.verdicts {
		v.describe(&v.verdicts[i].Where)
		v.verdicts[i].Severity = min(max(v.verdicts[i].Severity, 0), 1)
	}
	slices.SortStableFunc(v.verdicts, func(a, b Verdict) int {
		return cmp.Or(
			cmp.Compare(b.Severity*b.Confidence, a.Severity*a.Confidence),
			cmp.Compare(b.Confidence, a.Confidence),
			strings.Compare(a.Where.Name, b.Where.Name),
			strings.Compare(string(a.Cause), string(b.Cause)),
		)
	})
	return v
}

// markFaulty notes the cards of which a verdict explains that latencies are long. A low rate does
// not, nor does a setting that differs from the other cards', but for another traffic class, whose
// packets wait in another queue.
func (v *view) markFaulty() {
	v.faulty = make([]bool, len(v.cards))
	for _, x := range v.verdicts {
		switch x.Cause {
		case CauseMTU, CauseNoGID, CauseGIDType, CausePKey, CauseSubnet, CauseFirmware, CauseSlow, CausePCIe:
			continue
		}
		for _, e := range slices.Concat(x.Where.Ends, x.Where.Or) {
			if c := v.find(e); c >= 0 {
				v.faulty[c] = true
			}
		}
	}
}

// stageIndex returns the index of a stage of the run, -1 if it was not part of it.
func (v *view) stageIndex(name plan.Name) int {
	return slices.IndexFunc(v.run.Stages, func(s result.Stage) bool { return s.Name == name })
}

// accept drops verdicts that many tests make likely by chance.
func (v *view) accept() {
	var p []float64
	for _, x := range v.verdicts {
		if x.p > 0 {
			p = append(p, x.p)
		}
	}
	limit := cut(p, v.tests, v.o.Q)
	v.verdicts = slices.DeleteFunc(v.verdicts, func(x Verdict) bool {
		if x.p <= limit || x.p == 0 {
			return false
		}
		v.gap(x.Where.Name, "%s, but not clearly enough among %d tests", x.Words, v.tests)
		return true
	})
}

// unfinished notes what was not done.
func (v *view) unfinished() {
	var left []string
	for _, name := range plan.Names() {
		i := v.stageIndex(name)
		switch {
		case i < 0:
			left = append(left, string(name))
		case v.run.Stages[i].Done < v.run.Stages[i].Planned:
			v.gap("stage "+string(name), "%d of %d rounds were done", v.run.Stages[i].Done, v.run.Stages[i].Planned)
		}
	}
	switch len(left) {
	case 0:
	case 1:
		v.gap("stage "+left[0], "it was not part of the run")
	default:
		v.gap("stages "+strings.Join(left, ", "), "they were not part of the run")
	}
	for i := range v.run.Collectives {
		if c := &v.run.Collectives[i]; c.Failure != nil {
			v.gap(fmt.Sprintf("all-reduce of rail %d", c.Rail), "the %s failed: %s", c.Algorithm, c.Failure.Text)
		}
	}
	unknown := 0
	for i := range v.run.Samples {
		s := &v.run.Samples[i]
		if v.stage(s) == "" || v.find(s.From) < 0 || v.find(s.To) < 0 {
			unknown++
		}
	}
	if unknown > 0 {
		v.gap("samples", "%d of %d are of a stage or a card that the run does not have", unknown, len(v.run.Samples))
	}
	if v.run.Software() {
		v.gap("small differences", "the figures are %s, which depend on what else the processors do: only cards that "+
			"are %.0f %% slower than their peers, and tails of latency that are %.0f ms longer, are named",
			v.scale.Label, 100*v.o.least, v.o.margin/1000)
	} else if label := v.scale.Label; label != "" {
		v.gap("absolute rates", "the figures are %s: peers are compared, line rates are a guide at most", label)
	}
	if g := v.run.Options.Gentle; g > 0 {
		v.gap("full rate", "each card was measured at %g %% of its rate: links that can't carry more are not found", g)
	}
	if n := len(v.run.Cluster.Nodes); n > plan.MaxRanks {
		v.gap("all-reduce", "the last %d nodes took no part: %d can do it together", n-plan.MaxRanks, plan.MaxRanks)
	}
	for _, r := range v.rails {
		n := 0
		for c := range v.cards {
			if int(v.cards[c].end.Rail) == r {
				n++
			}
		}
		if n < 2 {
			v.gap(fmt.Sprintf("rail %d", r), "only one node has a card of it")
		}
	}
}

// railFigures returns the figures of rails.
func (v *view) railFigures() []Rail {
	out := make([]Rail, len(v.rails))
	at := map[int16]int{}
	for i, r := range v.rails {
		out[i].Rail, at[int16(r)] = r, i
	}
	for c := range v.cards {
		out[at[v.cards[c].end.Rail]].Cards++
	}
	rates, p50, p99 := make([][]float32, len(out)), make([][]float64, len(out)), make([][]float64, len(out))
	for i := range v.run.Samples {
		s := &v.run.Samples[i]
		k, ok := at[s.From.Rail]
		if !ok || s.From.Node == s.To.Node || v.find(s.From) < 0 || v.find(s.To) < 0 {
			continue
		}
		if s.Detail != nil && s.Detail.Failure != nil {
			out[k].Failed++
		}
		if v.stage(s) == plan.StagePairs {
			out[k].Samples++
			if g := v.gbps(s); g > 0 {
				rates[k] = append(rates[k], float32(g))
			}
		}
		if l := v.latency(s); l != nil && !s.Load {
			p50[k], p99[k] = append(p50[k], l.P50*v.scale.Time), append(p99[k], l.P99*v.scale.Time)
		}
	}
	for k := range out {
		if len(rates[k]) > 0 {
			out[k].Min, out[k].Max = float64(slices.Min(rates[k])), float64(slices.Max(rates[k]))
			out[k].Median = float64(median(rates[k]))
		}
		if len(p50[k]) > 0 {
			out[k].P50, out[k].P99 = median(p50[k]), median(p99[k])
		}
	}
	for i := range v.run.Collectives {
		c := &v.run.Collectives[i]
		if k, ok := at[c.Rail]; ok && c.Failure == nil && c.BusBW*v.scale.Rate > out[k].BusBW &&
			!math.IsInf(c.BusBW*v.scale.Rate, 0) {
			out[k].BusBW = c.BusBW * v.scale.Rate
		}
	}
	return out
}

// lessThanBefore is the share of a card's earlier rate that it must have lost: twice what healthy
// cards vary between runs.
const lessThanBefore = 0.1

// baseline compares cards with themselves in an earlier run. Names tell which card is which.
func (v *view) baseline() {
	if v.o.Baseline == nil {
		return
	}
	old := newView(v.o.Baseline, v.o)
	old.measureRates()
	before := map[[2]string]float64{}
	for c := range old.cards {
		if g := old.usualRate(int32(c)); g > 0 {
			before[[2]string{old.nodeName(old.cards[c].end.Node), old.cards[c].device}] = g
		}
	}
	var ratios []float64
	ratio := make([]float64, len(v.cards))
	for c := range v.cards {
		was := before[[2]string{v.nodeName(v.cards[c].end.Node), v.cards[c].device}]
		now := v.usualRate(int32(c))
		if was > 0 && now > 0 {
			ratio[c] = math.Log(now / was)
			ratios = append(ratios, ratio[c])
		}
	}
	if len(ratios) == 0 {
		v.gap("baseline", "it has no card of this run")
		return
	}
	v.tests += len(ratios)
	_, sigma := spread(ratios)
	sigma = max(sigma, v.o.Floor)
	for c := range v.cards {
		drop := 1 - math.Exp(ratio[c])
		if drop < lessThanBefore || -ratio[c] < 6*sigma || v.cards[c].known[tx] || v.rate.skipped(int32(c)) {
			continue
		}
		text := fmt.Sprintf("it is %.0f %% slower than in the baseline", 100*drop)
		v.accuse(int32(c), Verdict{
			Cause: CauseSlow, Severity: drop, Confidence: 0.75, Words: text,
			Evidence: []Evidence{{Text: text}}, p: tail(-ratio[c] / sigma),
		})
	}
}

// skipped reports whether samples of a card were left out because of its leaf.
func (r *rates) skipped(c int32) bool {
	return slices.ContainsFunc(r.pairs.by[tx].of(c), func(i int32) bool { return r.pairs.skip[i] })
}

// usualRate returns the median rate of a card's pairs in Gb/s, the smaller one of both directions;
// 0 if unknown.
func (v *view) usualRate(c int32) float64 {
	rate := 0.0
	for d := range 2 {
		var y []float64
		for _, i := range v.rate.pairs.by[d].of(c) {
			y = append(y, v.gbps(&v.run.Samples[v.rate.pairs.idx[i]]))
		}
		if g := median(y); g > 0 && (rate == 0 || g < rate) {
			rate = g
		}
	}
	return rate
}
