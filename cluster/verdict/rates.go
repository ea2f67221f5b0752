package verdict

import (
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
)

// set are samples of bandwidth between nodes, with the logarithm y of rate by reference: 0 for a
// pair as fast as others of the same classes.
type set struct {
	idx, from, to []int32 // index of the sample, cards
	y             []float32
	skip          []bool // samples that something else than their cards explains
	by            [2]lists
}

// lists are samples of a set by card: those of card c are item[start[c]:start[c+1]].
type lists struct{ start, item []int32 }

// of returns the samples of a card.
func (l *lists) of(c int32) []int32 { return l.item[l.start[c]:l.start[c+1]] }

// rates are the capacities of cards. The model of a pair is the smallest of what the sender sends,
// what the receiver receives and what the uplinks between them carry, times noise: a slow end
// limits the pair, two slow ends don't add up. So the best that a card does with any partner bounds
// it from below, and the median over partners that are not slow themselves estimates it.
type rates struct {
	pairs, perm *set
	base        map[[2]int32]float64 // reference by classes of sender and receiver, log Gb/s by line rate
	est         [2][]float64         // by direction and card: log of capacity by reference, NaN if unknown
	count       [2][]int32           // samples behind est
	only        [2][]int32           // the only partner, several, or noPartner
	slow        [2][]bool
	z, deficit  [2][]float64
	ref         []classRef
	noise       float64 // standard deviation of a sample
	buffer      []float32
	permMiddle  float64 // median of permutations, if permKnown
	permKnown   bool
	shared      []bool // cards measured over uplinks that are too few; nil if they are not
}

const (
	noPartner = -1
	several   = -2
)

// classRef is what the cards of a class have in common.
type classRef struct {
	middle, sigma float64
	n             int
	byLine        bool // the line rate is the reference, for there are too few peers
}

// collect makes the set of a stage's samples between nodes.
func (v *view) collect(stage plan.Name) *set {
	s, total := &set{}, 0
	for i := range v.run.Samples {
		if v.stage(&v.run.Samples[i]) == stage {
			total++
		}
	}
	s.idx, s.from, s.to = make([]int32, 0, total), make([]int32, 0, total), make([]int32, 0, total)
	s.y = make([]float32, 0, total)
	for i := range v.run.Samples {
		x := &v.run.Samples[i]
		if v.stage(x) != stage || x.From.Node == x.To.Node {
			continue
		}
		g := v.gbps(x)
		f, t := v.find(x.From), v.find(x.To)
		if g == 0 || f < 0 || t < 0 || x.Detail != nil && x.Detail.Failure != nil {
			continue
		}
		s.idx, s.from, s.to = append(s.idx, int32(i)), append(s.from, f), append(s.to, t)
		s.y = append(s.y, float32(math.Log(g/v.line(f, t))))
	}
	s.skip = make([]bool, len(s.y))
	s.by[tx], s.by[rx] = group(s.from, len(v.cards)), group(s.to, len(v.cards))
	return s
}

// line returns the line rate of a pair in Gb/s, 1 if unknown.
func (v *view) line(a, b int32) float64 {
	la, lb := v.cards[a].line, v.cards[b].line
	switch {
	case la == 0 && lb == 0:
		return 1
	case la == 0:
		return lb
	case lb == 0:
		return la
	}
	return min(la, lb)
}

func group(key []int32, n int) lists {
	l := lists{start: make([]int32, n+1), item: make([]int32, len(key))}
	for _, k := range key {
		l.start[k+1]++
	}
	for i := range n {
		l.start[i+1] += l.start[i]
	}
	next := append([]int32(nil), l.start...)
	for i, k := range key {
		l.item[next[k]] = int32(i)
		next[k]++
	}
	return l
}

// lineShare is the share of the payload rate that a pair reaches at least: ib_write_bw reaches 95 %
// and more on idle links in vendors' guides, and 0.9 is their usual limit for acceptance.
const lineShare = 0.9

// reference returns the usual value of y, which it reorders. It is the median, unless a tenth and
// more reach line rate while the median does not: then the majority is bad, and those that reach
// line rate are the reference. payload is the share of the line rate that is payload, 0 if unknown.
func reference(y []float32, payload float64) float64 {
	middle := float64(median(y))
	high := float64(quantile(y, 0.95))
	if payload == 0 || high-middle < 0.1 || middle > math.Log(lineShare*payload) || high < math.Log(lineShare*payload) {
		return middle
	}
	var top []float32
	for _, x := range y {
		if float64(x) > high-0.05 {
			top = append(top, x)
		}
	}
	return float64(median(top))
}

// payloadOf returns the share of payload of a pair, 0 if the line rate is unknown or says nothing.
func (v *view) payloadOf(a, b int32) float64 {
	if v.cards[a].line == 0 || v.cards[b].line == 0 || v.run.Software() {
		return 0
	}
	return min(v.cards[a].payload(), v.cards[b].payload())
}

// normalise subtracts the reference of the classes from each sample.
func (v *view) normalise(s *set) {
	r := &v.rate
	if r.base == nil {
		r.base = map[[2]int32]float64{}
		count := map[[2]int32]int{}
		planned := func(i int) bool { return v.run.Samples[s.idx[i]].Attempt == 0 } // repeats are those of suspects
		for i := range s.y {
			if planned(i) {
				count[v.classPair(s.from[i], s.to[i])]++
			}
		}
		values := make(map[[2]int32][]float32, len(count))
		share := map[[2]int32]float64{}
		for i, y := range s.y {
			k := v.classPair(s.from[i], s.to[i])
			if !planned(i) {
				continue
			}
			if values[k] == nil {
				values[k] = make([]float32, 0, count[k])
				share[k] = v.payloadOf(s.from[i], s.to[i])
			}
			values[k] = append(values[k], y)
		}
		for k, y := range values {
			r.base[k] = reference(y, share[k])
		}
	}
	last, base := [2]int32{-1, -1}, 0.0
	for i := range s.y {
		if k := v.classPair(s.from[i], s.to[i]); k != last {
			last, base = k, r.base[k]
		}
		s.y[i] -= float32(base)
	}
}

func (v *view) classPair(a, b int32) [2]int32 {
	x, y := v.cards[a].class, v.cards[b].class
	return [2]int32{min(x, y), max(x, y)}
}

// measureRates estimates the capacities of all cards.
func (v *view) measureRates() {
	r := &v.rate
	n := len(v.cards)
	for d := range 2 {
		r.est[d], r.z[d], r.deficit[d] = make([]float64, n), make([]float64, n), make([]float64, n)
		r.count[d], r.only[d], r.slow[d] = make([]int32, n), make([]int32, n), make([]bool, n)
	}
	r.pairs, r.perm = v.collect(plan.StagePairs), v.collect(plan.StagePermutation)
	v.normalise(r.pairs)
	v.normalise(r.perm)
}

// rateCards finds the slow cards. Samples that leaves explain are left out. A card that is slow
// with its best partners is slow; these first ones don't count as partners when the others are
// estimated.
func (v *view) rateCards() {
	r := &v.rate
	v.estimate(func(d int, c int32) { v.atBest(d, c) })
	v.compare()
	first := r.slow
	r.slow = [2][]bool{slices.Clone(first[tx]), slices.Clone(first[rx])}
	v.estimate(func(d int, c int32) { v.withGood(d, c, first) })
	v.compare()
	for d := range 2 {
		for c := range r.slow[d] { // slow with most partners, though not with the best: it takes several
			r.slow[d][c] = r.slow[d][c] && (first[d][c] || r.count[d][c] >= manyPairs)
		}
	}
}

// manyPairs is the number of pairs with good partners that prove a card slow which was as fast as
// others with its best partners.
const manyPairs = 6

// estimate calls f for each direction of each card.
func (v *view) estimate(f func(d int, c int32)) {
	for d := range 2 {
		for c := range int32(len(v.cards)) {
			v.rate.only[d][c] = noPartner
			f(d, c)
		}
	}
}

// atBest estimates what a card does with its best partners: the upper quartile of the plan's
// rounds, of which few good partners are part even if many are slow.
func (v *view) atBest(d int, c int32) {
	s, r := v.rate.pairs, &v.rate
	y := r.buffer[:0]
	for _, i := range s.by[d].of(c) {
		if !s.skip[i] && v.run.Samples[s.idx[i]].Attempt == 0 {
			y = append(y, s.y[i])
			r.meet(d, c, s.other(d, i))
		}
	}
	q := 0.75
	if len(y) <= 4 { // one good partner of few must suffice
		q = 1
	}
	r.count[d][c], r.est[d][c], r.buffer = int32(len(y)), float64(quantile(y, q)), y
}

// withGood estimates what a card does with partners that are not slow: the median. Partners with
// another fault are left out if there are others.
func (v *view) withGood(d int, c int32, slow [2][]bool) {
	s, r := v.rate.pairs, &v.rate
	y := r.buffer[:0]
	for _, known := range []bool{false, true} {
		for _, i := range s.by[d].of(c) {
			p := s.other(d, i)
			if !s.skip[i] && !slow[1-d][p] && v.cards[p].known[1-d] == known {
				y = append(y, s.y[i])
				r.meet(d, c, p)
			}
		}
		if len(y) > 0 {
			break
		}
	}
	q := 0.5
	if len(y) == 0 { // what it did with the best of the slow ones
		y, q = v.withSlow(d, c, y), 1
	}
	r.count[d][c], r.est[d][c], r.buffer = int32(len(y)), float64(quantile(y, q)), y
}

// other returns the other card of a sample of a card that sends (tx) or receives.
func (s *set) other(d int, i int32) int32 {
	if d == tx {
		return s.to[i]
	}
	return s.from[i]
}

// withSlow returns the samples of a card whose partners are all slow, if no other samples show that
// these are slow: then either the card or its partners may be the cause. Otherwise it returns none.
func (v *view) withSlow(d int, c int32, y []float32) []float32 {
	r := &v.rate
	for _, i := range r.pairs.by[d].of(c) {
		p := r.pairs.other(d, i)
		if r.pairs.skip[i] || v.cards[p].known[1-d] {
			continue
		}
		if r.only[1-d][p] == several || r.only[1-d][p] != c && r.only[1-d][p] != noPartner {
			return y[:0]
		}
		y = append(y, r.pairs.y[i])
		r.meet(d, c, p)
	}
	return y
}

func (r *rates) meet(d int, c, partner int32) {
	switch r.only[d][c] {
	case noPartner:
		r.only[d][c] = partner
	case partner:
	default:
		r.only[d][c] = several
	}
}

// compare tests every card against its class.
func (v *view) compare() {
	r := &v.rate
	v.classRefs()
	for d := range 2 {
		for c := range v.cards {
			e := r.est[d][c]
			r.slow[d][c], r.z[d][c], r.deficit[d][c] = false, 0, 0
			if math.IsNaN(e) {
				continue
			}
			ref := r.ref[v.cards[c].class]
			if math.IsNaN(ref.middle) {
				continue
			}
			n := float64(max(r.count[d][c], 1))
			sigma := math.Hypot(ref.sigma, 1.25*r.noise/math.Sqrt(n)) // the median's error: 1.25 of the mean's
			deficit := ref.middle - e
			r.z[d][c], r.deficit[d][c] = deficit/sigma, 1-math.Exp(-deficit)
			least := v.o.leastDeficit(ref, int(n))
			if len(r.shared) > c && r.shared[c] {
				least = max(least, fewSpines)
			}
			r.slow[d][c] = r.deficit[d][c] > least && r.z[d][c] > v.o.Z
		}
	}
}

// classRefs computes the references of classes, over both directions.
func (v *view) classRefs() {
	r := &v.rate
	values := make([][]float32, len(v.classes))
	share := make([]float64, len(v.classes))
	for c := range v.cards {
		k := v.cards[c].class
		share[k] = v.payloadOf(int32(c), int32(c))
		for d := range 2 {
			if e := r.est[d][c]; !math.IsNaN(e) && !v.cards[c].known[d] {
				values[k] = append(values[k], float32(e))
			}
		}
	}
	r.ref = make([]classRef, len(v.classes))
	for k, y := range values {
		base, same := r.base[[2]int32{int32(k), int32(k)}]
		if !same {
			base = 0
		}
		r.ref[k] = v.classRef(y, share[k], base, same)
	}
	r.noise = v.sampleNoise()
}

// fewPeers is the number of estimates below which a class is compared with its line rate instead.
const fewPeers = 4

// Among so few nodes the slow ones can be the majority, and with them all pairs: then less than
// fewShare of the line rate is slow.
const (
	fewNodes = 3
	fewShare = 0.8
)

func (v *view) classRef(y []float32, share, base float64, same bool) classRef {
	x := make([]float64, len(y))
	for i := range y {
		x[i] = float64(y[i])
	}
	ref := classRef{n: len(x), middle: math.NaN(), sigma: v.o.Floor}
	if share > 0 {
		share *= math.Exp(-base) // the line rate in units of the class's reference
	}
	line := math.NaN()
	if share > 0 && same {
		line = math.Log(share)
	}
	if len(x) >= fewPeers {
		ref.middle = reference(y, share)
	}
	switch {
	case len(x) < fewPeers, len(v.run.Cluster.Nodes) <= fewNodes && ref.middle < line+math.Log(fewShare):
		ref.middle, ref.byLine = line, true
	default:
		ref.sigma = min(max(ref.sigma, above(x, ref.middle), below(x, ref.middle)), 4*v.o.Floor)
	}
	return ref
}

// above returns the standard deviation that the values above the middle suggest: faults make cards
// slower, so these are healthy ones.
func above(x []float64, middle float64) float64 {
	var d []float64
	for _, y := range x {
		if y >= middle {
			d = append(d, y-middle)
		}
	}
	if len(d) == 0 {
		return 0
	}
	return 1.4826 * median(d)
}

// limitedQuartile is how many standard deviations of cards lie between the median and the lower
// quartile of their estimates: less than the 0.6745 of a normal distribution, for a card's partners
// limit it, too, and pull the median down: 0.44 to 0.51 in simulations of 1,000 normally
// distributed cards.
const limitedQuartile = 0.45

// below returns the standard deviation that the lower quartile of many values suggests, 0 of few. A
// card that is faster than its partners doesn't show it, so the values above the middle vary less.
func below(x []float64, middle float64) float64 {
	if len(x) < 4*fewPeers {
		return 0
	}
	return (middle - quantile(slices.Clone(x), 0.25)) / limitedQuartile
}

// sampleNoise returns the deviation of a sample from what the estimates of its ends predict.
func (v *view) sampleNoise() float64 {
	r := &v.rate
	step := len(r.pairs.y)/200_000 + 1
	var res []float32
	for i := 0; i < len(r.pairs.y); i += step {
		if e := min(r.est[tx][r.pairs.from[i]], r.est[rx][r.pairs.to[i]]); !r.pairs.skip[i] && !math.IsNaN(e) {
			res = append(res, float32(math.Abs(float64(r.pairs.y[i])-e)))
		}
	}
	if len(res) < 8 {
		return 2 * v.o.Floor
	}
	return max(1.4826*float64(median(res)), v.o.Floor)
}
