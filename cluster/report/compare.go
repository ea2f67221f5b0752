package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// Comparison is how a run differs from an older one of the same cluster.
type Comparison struct {
	Old time.Time `json:"old"` // starts of the runs
	New time.Time `json:"new"`
	// Changes are the changes beyond noise, the largest deterioration first.
	Changes []Change `json:"changes"`
	// Compared is the number of cards with figures in both runs.
	Compared int `json:"compared"`
	// Added are cards that only the new run has, and Gone those that only the old one has.
	Added []Place `json:"added,omitempty"`
	Gone  []Place `json:"gone,omitempty"`
	// Unmeasured are cards of both runs that were measured in the old one only.
	Unmeasured []Place `json:"unmeasured,omitempty"`
}

// Place is a card.
type Place struct {
	Node   string `json:"node"`
	Device string `json:"device"`
	Rail   int    `json:"rail"`
}

// String returns the card for people: gpu-003 mlx5_2.
func (p Place) String() string { return p.Node + " " + p.Device }

// Metric is a figure of a card that is compared.
type Metric string

// The metrics: each is the median over the card's partners.
const (
	MetricSend    Metric = "send"    // bandwidth of what it sends, in Gb/s
	MetricReceive Metric = "receive" // bandwidth of what it receives, in Gb/s
	MetricLatency Metric = "latency" // median latency without load, in µs
)

// Change is the change of a figure of a card.
type Change struct {
	Place
	Metric Metric  `json:"metric"`
	Old    float64 `json:"old"`
	New    float64 `json:"new"`
	// Noise is by how much the two could differ by chance, in their unit.
	Noise float64 `json:"noise"`
	Worse bool    `json:"worse"`
}

// Ratio returns the new figure divided by the old one.
func (c Change) Ratio() float64 { return c.New / c.Old }

// ErrScale is the error for runs whose figures can't be compared: hardware with an emulated
// network, or two different scales.
var ErrScale = errors.New("the runs have different scales")

// Compare compares a run with an older one. Cards are matched by the name of their node and the
// number of their rail. A figure has changed if the difference is larger than four standard
// deviations of the differences of all cards, than three standard errors of its two medians, and
// than 2 % of a bandwidth or 5 % of a latency. Errors match [ErrScale].
func Compare(old, now *result.Run) (*Comparison, error) {
	if a, b := old.Scaled(), now.Scaled(); a != b {
		return nil, fmt.Errorf("compare runs: %w: %s and %s", ErrScale, scaleText(old.Scale), scaleText(now.Scale))
	}
	c := &Comparison{Old: old.Started, New: now.Started}
	before, after := cardsOf(old), cardsOf(now)
	var both []pairOfCards
	for key, b := range before {
		a, ok := after[key]
		switch {
		case !ok:
			c.Gone = append(c.Gone, b.place)
		case b.measured() && !a.measured():
			c.Unmeasured = append(c.Unmeasured, a.place)
		default:
			both = append(both, pairOfCards{b, a})
		}
	}
	for _, m := range []Metric{MetricSend, MetricReceive, MetricLatency} {
		c.compare(both, m)
	}
	for _, p := range both {
		if p.old.measured() && p.now.measured() {
			c.Compared++
		}
	}
	for key, a := range after {
		if _, ok := before[key]; !ok {
			c.Added = append(c.Added, a.place)
		}
	}
	slices.SortFunc(c.Changes, func(a, b Change) int {
		return cmp.Or(boolCompare(b.Worse, a.Worse), cmp.Compare(b.factor(), a.factor()),
			comparePlaces(a.Place, b.Place), cmp.Compare(a.Metric, b.Metric))
	})
	for _, list := range [][]Place{c.Added, c.Gone, c.Unmeasured} {
		slices.SortFunc(list, comparePlaces)
	}
	return c, nil
}

// factor returns by how much a figure has become worse or better, at least 1.
func (c Change) factor() float64 { return max(c.New, c.Old) / min(c.New, c.Old) }

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func comparePlaces(a, b Place) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Rail, b.Rail))
}

// card has what was measured of a card, by metric.
type card struct {
	place   Place
	figures map[Metric][]float64
}

func (c *card) measured() bool { return len(c.figures) > 0 }

func (c *card) add(m Metric, v float64) { c.figures[m] = append(c.figures[m], v) }

type cardKey struct {
	node string
	rail int
}

// cardsOf returns all cards of a run. Retests are left out, because only suspects have them.
func cardsOf(run *result.Run) map[cardKey]*card {
	out := map[cardKey]*card{}
	ends := map[plan.End]*card{}
	for i, n := range run.Cluster.Nodes {
		for _, r := range n.Rails {
			c := &card{Place{n.Name, r.Device, r.Rail}, map[Metric][]float64{}}
			out[cardKey{n.Name, r.Rail}] = c
			ends[plan.End{Node: int32(i), Rail: int16(r.Rail)}] = c
		}
	}
	scale := run.Scaled()
	for i := range run.Samples {
		s := &run.Samples[i]
		if s.Attempt > 0 || s.From.Node == s.To.Node || failureOf(s) != nil {
			continue
		}
		from, to := ends[s.From], ends[s.To]
		if run.Stages[s.Stage].Name == plan.StagePairs && s.Gbps > 0 {
			from.add(MetricSend, float64(s.Gbps)*scale.Rate)
			to.add(MetricReceive, float64(s.Gbps)*scale.Rate)
		}
		if l := latencyOf(run, s); l != nil && !s.Load && l.P50 > 0 {
			from.add(MetricLatency, l.P50*scale.Time)
			to.add(MetricLatency, l.P50*scale.Time)
		}
	}
	return out
}

// pairOfCards is a card in both runs.
type pairOfCards struct{ old, now *card }

// compare adds the changes of a metric.
func (c *Comparison) compare(cards []pairOfCards, m Metric) {
	least := 0.02
	if m == MetricLatency {
		least = 0.05
	}
	var all []Change
	var differences []float64
	for _, p := range cards {
		a, b := p.old.figures[m], p.now.figures[m]
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		before, errorBefore := medianError(a)
		after, errorAfter := medianError(b)
		differences = append(differences, after-before)
		all = append(all, Change{
			Place: p.now.place, Metric: m, Old: before, New: after, Worse: (after < before) != (m == MetricLatency),
			Noise: max(3*math.Hypot(errorBefore, errorAfter), least*before),
		})
	}
	if len(all) == 0 {
		return
	}
	spread := 4 * normalMAD * deviation(differences, median(differences))
	for _, ch := range all {
		if ch.Noise = max(ch.Noise, spread); math.Abs(ch.New-ch.Old) > ch.Noise {
			c.Changes = append(c.Changes, ch)
		}
	}
}

// normalMAD and normalMedian are the ratios of the standard deviation to the median absolute
// deviation, and of the standard error of the median to that of the mean, of a normal distribution.
const (
	normalMAD    = 1.4826
	normalMedian = 1.2533
)

// deviation returns the median absolute deviation from m.
func deviation(values []float64, m float64) float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = math.Abs(v - m)
	}
	return median(all)
}

// medianError returns the median of values and its standard error. That of a single value can't be
// known and is taken as a tenth of it.
func medianError(values []float64) (m, standardError float64) {
	m = median(values)
	if len(values) == 1 {
		return m, m / 10
	}
	return m, normalMedian * normalMAD * deviation(values, m) / math.Sqrt(float64(len(values)))
}

// scaleText returns the label of a run and what its figures stand for; "hardware" for nil.
func scaleText(s *result.Scale) string {
	switch {
	case s == nil:
		return "hardware"
	case s.Rate == 1 && s.Time == 1:
		return s.Label
	}
	text := s.Label + ": "
	if s.Rate != 1 {
		text += fmt.Sprintf("1 Gb/s is shown as %s Gb/s", factor(s.Rate))
	}
	if s.Rate != 1 && s.Time != 1 {
		text += ", "
	}
	if s.Time != 1 {
		text += fmt.Sprintf("1 µs is shown as %s µs", factor(s.Time))
	}
	return text
}

// factor formats a factor of a scale: 50000, 2.5.
func factor(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// shortSuffix returns " (EMULATED)" for a scaled run.
func shortSuffix(s *result.Scale) string {
	if s == nil {
		return ""
	}
	return " (" + output.Clean(s.Label) + ")"
}
