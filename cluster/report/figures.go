package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// Schema is the version of the JSON form of a [Summary].
const Schema = "rdmakit.cluster-report/v1"

// Summary is the JSON form of a report.
type Summary struct {
	Schema  string    `json:"schema"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"` // zero for an unfinished run
	// Scale is set if the figures are those of an emulated network or of RDMA in software. They are
	// multiplied by it.
	Scale    *result.Scale `json:"scale,omitempty"`
	Complete bool          `json:"complete"` // all rounds were done and no node is missing
	Nodes    int           `json:"nodes"`
	Missing  int           `json:"missing"` // nodes that are not ready
	// LeavesFrom is from where the leaves of nodes are known, Leaves how many leaves they have, and
	// Leafless the number of nodes whose leaf is unknown.
	LeavesFrom string         `json:"leavesFrom,omitempty"`
	Leaves     int            `json:"leaves"`
	Leafless   int            `json:"leafless"`
	Stages     []result.Stage `json:"stages"`
	Rails      []Rail         `json:"rails"`
	// Barriers and Collectives are what all nodes of a rail did together.
	Barriers    []Barrier      `json:"barriers,omitempty"`
	Collectives []Collective   `json:"collectives,omitempty"`
	Verdicts    verdict.Report `json:"verdicts"`
	// Comparison is set if there is a baseline.
	Comparison *Comparison `json:"comparison,omitempty"`
}

// Rail has the figures of a rail, scaled.
type Rail struct {
	Rail  int `json:"rail"`
	Cards int `json:"cards"`
	// Pairs is the number of pairs of cards. Of these, the bandwidth of Measured is known in at
	// least one direction, and Failed have failures only.
	Pairs    int `json:"pairs"`
	Measured int `json:"measured"`
	Failed   int `json:"failed"`
	// Bandwidth is nil if none was measured, as are the others.
	Bandwidth *Bandwidth `json:"bandwidth,omitempty"`
	Idle      *Latency   `json:"idle,omitempty"`
	Loaded    *Latency   `json:"loaded,omitempty"` // while other pairs send
}

// Bandwidth is a distribution of the rates of all directions of pairs, in Gb/s.
type Bandwidth struct {
	Median float64 `json:"median"`
	P5     float64 `json:"p5"` // 5 % are at most as fast
	Worst  float64 `json:"worst"`
	Best   float64 `json:"best"`
}

// Latency is a distribution over pairs, in µs.
type Latency struct {
	Pairs int     `json:"pairs"`
	P50   float64 `json:"p50"`   // median of the medians
	P99   float64 `json:"p99"`   // median of the 99th percentiles
	Worst float64 `json:"worst"` // the largest 99th percentile
	// Jitter is the median of the differences between the 99th percentile and the median.
	Jitter float64 `json:"jitter"`
}

// Options are what a report shows beside a run and its verdicts.
type Options struct {
	// Comparison is that with a baseline, nil for none.
	Comparison *Comparison
	// Verbose adds evidence to the text form, and a heat map of each rail.
	Verbose bool
	// Version is that of the program, for the page.
	Version string
}

// Summarize returns the figures of a run.
func Summarize(run *result.Run, v verdict.Report, o Options) Summary {
	s := Summary{
		Schema: Schema, Started: run.Started, Ended: run.Ended, Scale: run.Scale, Complete: run.Complete(),
		Nodes: len(run.Nodes), Stages: run.Stages, Rails: railsOf(run), Verdicts: v, Comparison: o.Comparison,
		Barriers: Barriers(run), Collectives: Collectives(run),
	}
	for _, n := range run.Nodes {
		if n.State != result.NodeReady {
			s.Missing++
		}
	}
	s.LeavesFrom = output.Clean(run.LeavesFrom)
	s.Leaves, s.Leafless = leavesOf(run.Cluster)
	return s
}

// leavesOf returns the number of leaves, and that of the nodes whose leaf is unknown.
func leavesOf(c plan.Cluster) (leaves, unknown int) {
	seen := map[string]bool{}
	for _, n := range c.Nodes {
		if n.Leaf == "" {
			unknown++
		}
		seen[n.Leaf] = true
	}
	delete(seen, "")
	return len(seen), unknown
}

// railsOf returns the figures of all rails, by number.
func railsOf(run *result.Run) []Rail {
	rails, _ := gatherRails(run)
	return rails
}

// gatherRails returns the figures of all rails, and the values that they are from.
func gatherRails(run *result.Run) ([]Rail, []gather) {
	var rails []Rail
	for _, rail := range numbers(run.Cluster) {
		rails = append(rails, Rail{Rail: rail})
	}
	gathered := make([]gather, len(rails))
	index := map[int]int{}
	for i, r := range rails {
		index[r.Rail] = i
		gathered[i].pairs = map[plan.Pair]bool{}
	}
	for _, n := range run.Cluster.Nodes {
		for _, c := range n.Rails {
			rails[index[c.Rail]].Cards++
		}
	}
	for i := range run.Samples {
		if s := &run.Samples[i]; s.From.Rail == s.To.Rail && s.From.Node != s.To.Node {
			gathered[index[int(s.From.Rail)]].add(run, s)
		}
	}
	for i := range rails {
		gathered[i].finish(&rails[i])
	}
	return rails, gathered
}

// numbers returns the numbers of all rails of a cluster, sorted.
func numbers(c plan.Cluster) []int {
	seen := map[int]bool{}
	var out []int
	for _, n := range c.Nodes {
		for _, card := range n.Rails {
			if !seen[card.Rail] {
				seen[card.Rail] = true
				out = append(out, card.Rail)
			}
		}
	}
	slices.Sort(out)
	return out
}

// gather collects the samples of a rail.
type gather struct {
	pairs        map[plan.Pair]bool // whether the bandwidth of a pair is known
	rates        []float64
	idle, loaded delays
}

type delays struct{ p50, p99, jitter []float64 }

func (g *gather) add(run *result.Run, s *result.Sample) {
	scale := run.Scaled()
	if l := latencyOf(run, s); l != nil {
		d := &g.idle
		if s.Load {
			d = &g.loaded
		}
		p50, p99 := l.P50*scale.Time, l.P99*scale.Time
		d.p50, d.p99, d.jitter = append(d.p50, p50), append(d.p99, p99), append(d.jitter, max(p99-p50, 0))
	}
	if run.Stages[s.Stage].Name != plan.StagePairs {
		return
	}
	p := plan.Pair{A: min(s.From.Node, s.To.Node), B: max(s.From.Node, s.To.Node)}
	known := s.Gbps > 0 && failureOf(s) == nil
	if known {
		g.rates = append(g.rates, float64(s.Gbps)*scale.Rate)
	}
	if known || failureOf(s) != nil {
		g.pairs[p] = g.pairs[p] || known
	}
}

// latencyOf returns the latency of a sample, nil if it has none. Those of the stage reach don't
// count: the first message of a connection takes longer.
func latencyOf(run *result.Run, s *result.Sample) *result.Latency {
	if s.Detail == nil || run.Stages[s.Stage].Name == plan.StageReach {
		return nil
	}
	return s.Detail.Latency
}

func failureOf(s *result.Sample) *result.Failure {
	if s.Detail == nil {
		return nil
	}
	return s.Detail.Failure
}

func (g *gather) finish(r *Rail) {
	r.Pairs = r.Cards * (r.Cards - 1) / 2
	for _, known := range g.pairs {
		if known {
			r.Measured++
		} else {
			r.Failed++
		}
	}
	if n := len(g.rates); n > 0 {
		slices.Sort(g.rates)
		r.Bandwidth = &Bandwidth{
			Median: percentile(g.rates, 50), P5: percentile(g.rates, 5), Worst: g.rates[0], Best: g.rates[n-1],
		}
	}
	r.Idle, r.Loaded = g.idle.latency(), g.loaded.latency()
}

func (d delays) latency() *Latency {
	if len(d.p50) == 0 {
		return nil
	}
	return &Latency{
		Pairs: len(d.p50), P50: median(d.p50), P99: median(d.p99), Worst: slices.Max(d.p99), Jitter: median(d.jitter),
	}
}

// median returns the median of values, and sorts them.
func median[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return percentile(values, 50)
}

// percentile returns the smallest of the sorted values that at least this many percent of them
// don't exceed.
func percentile[T any](sorted []T, percent int) T {
	return sorted[max((len(sorted)*percent+99)/100, 1)-1]
}
