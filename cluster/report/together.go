package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// Collective has the figures of an all-reduce over the nodes of a rail: medians over its runs.
type Collective struct {
	Rail      int     `json:"rail"`
	Algorithm string  `json:"algorithm"` // ring or tree
	Bytes     int64   `json:"bytes"`     // of each node's buffer
	Nodes     int     `json:"nodes"`
	Runs      int     `json:"runs"`
	Failed    int     `json:"failed"`
	Why       string  `json:"why,omitempty"` // of the first failure
	AlgBW     float64 `json:"algbw"`         // GB/s, as nccl-tests define it
	BusBW     float64 `json:"busbw"`         // GB/s
	// Last is the card that was last most often, and LastShare how often: 0 to 1.
	Last      string  `json:"last,omitempty"`
	LastShare float64 `json:"lastShare,omitempty"`
}

// Barrier has the latencies in µs of the slowest pair of a rail at each step, which is what a
// synchronous job waits for: medians over the rounds, and the longest of all.
type Barrier struct {
	Rail   int     `json:"rail"`
	Load   bool    `json:"load"`
	Rounds int     `json:"rounds"`
	P50    float64 `json:"p50"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
	// Last is the card that was in the slowest pair most often, and LastShare in which share of the
	// steps: 0 to 1. It may be its partner: only several rounds tell the two apart.
	Last      string  `json:"last,omitempty"`
	LastShare float64 `json:"lastShare,omitempty"`
}

// lasts adds up who was last.
type lasts map[plan.End]int

func (l lasts) add(list []result.Slowest) {
	for _, s := range list {
		l[s.End] += s.Count
	}
}

// most returns who was last most often, and in which share of the steps. A tie goes to the first
// node.
func (l lasts) most(run *result.Run, steps int) (name string, share float64) {
	best := plan.End{}
	for e, n := range l {
		order := cmp.Or(cmp.Compare(n, l[best]), cmp.Compare(best.Node, e.Node), cmp.Compare(best.Rail, e.Rail))
		if order > 0 || l[best] == 0 {
			best = e
		}
	}
	if l[best] == 0 {
		return "", 0
	}
	return run.Name(best), min(1, float64(l[best])/float64(max(steps, 1)))
}

// Collectives returns the figures of a run's collectives by rail, algorithm and size.
func Collectives(run *result.Run) []Collective {
	type key struct {
		rail      int16
		algorithm string
		bytes     int64
	}
	type sum struct {
		out      Collective
		alg, bus []float64
		last     lasts
	}
	sums := map[key]*sum{}
	for i := range run.Collectives {
		c := &run.Collectives[i]
		k := key{c.Rail, c.Algorithm, c.Bytes}
		s := sums[k]
		if s == nil {
			s = &sum{last: lasts{}, out: Collective{Rail: int(c.Rail), Algorithm: c.Algorithm, Bytes: c.Bytes}}
			sums[k] = s
		}
		s.out.Runs++
		if c.Failure != nil {
			s.out.Failed++
			s.out.Why = cmp.Or(s.out.Why, c.Failure.Text)
			continue
		}
		s.out.Nodes = max(s.out.Nodes, c.Nodes)
		s.alg, s.bus = append(s.alg, c.AlgBW), append(s.bus, c.BusBW)
		s.last.add(c.Slowest)
	}
	rate := run.Scaled().Rate
	var out []Collective
	for _, s := range sums {
		s.out.AlgBW, s.out.BusBW = middle(s.alg)*rate, middle(s.bus)*rate
		steps := 0
		for _, n := range s.last {
			steps += n
		}
		s.out.Last, s.out.LastShare = s.last.most(run, steps)
		out = append(out, s.out)
	}
	slices.SortFunc(out, func(a, b Collective) int {
		return cmp.Or(a.Rail-b.Rail, cmp.Compare(a.Algorithm, b.Algorithm), cmp.Compare(a.Bytes, b.Bytes))
	})
	return out
}

// Barriers returns the figures of a run's barriers by rail, idle first.
func Barriers(run *result.Run) []Barrier {
	type key struct {
		rail int16
		load bool
	}
	type sum struct {
		p50, p99 []float64
		max      float64
		steps    int
		last     lasts
	}
	sums := map[key]*sum{}
	for i := range run.Barriers {
		b := &run.Barriers[i]
		k := key{b.Rail, b.Load}
		if sums[k] == nil {
			sums[k] = &sum{last: lasts{}}
		}
		s := sums[k]
		s.p50, s.p99 = append(s.p50, b.Latency.P50), append(s.p99, b.Latency.P99)
		s.max = max(s.max, b.Latency.Max)
		s.steps += b.Latency.Count
		s.last.add(b.Slowest)
	}
	time := run.Scaled().Time
	var out []Barrier
	for k, s := range sums {
		b := Barrier{
			Rail: int(k.rail), Load: k.load, Rounds: len(s.p50), P50: middle(s.p50) * time, P99: middle(s.p99) * time,
			Max: s.max * time,
		}
		b.Last, b.LastShare = s.last.most(run, s.steps)
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b Barrier) int {
		return cmp.Or(a.Rail-b.Rail, int(bit(a.Load))-int(bit(b.Load)))
	})
	return out
}

// middle returns the median of x, 0 for none.
func middle(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

func lastText(name string, share float64) string {
	if name == "" {
		return "–"
	}
	return fmt.Sprintf("%s (%.0f %%)", output.Clean(name), 100*share)
}

// collectiveColumns and barrierColumns are the heads of the rows below.
func collectiveColumns() []string {
	return []string{"rail", "algorithm", "size", "nodes", "algbw", "busbw", "last most often"}
}

func (c *Collective) row() []string {
	row := []string{
		fmt.Sprint(c.Rail), output.Clean(c.Algorithm), english.Bytes(c.Bytes), fmt.Sprint(c.Nodes),
		number(c.AlgBW), number(c.BusBW), lastText(c.Last, c.LastShare),
	}
	switch {
	case c.Failed == c.Runs:
		row[3], row[4], row[5], row[6] = "–", "failed", "failed", cmp.Or(output.Clean(c.Why), "–")
	case c.Failed > 0:
		row[6] += fmt.Sprintf("; %d of %d failed", c.Failed, c.Runs)
		if c.Why != "" {
			row[6] += ": " + output.Clean(c.Why)
		}
	}
	return row
}

func barrierColumns() []string {
	return []string{"rail", "", "rounds", "median", "p99", "longest", "last most often"}
}

func (b *Barrier) row() []string {
	return []string{
		fmt.Sprint(b.Rail), map[bool]string{false: "idle", true: "loaded"}[b.Load], fmt.Sprint(b.Rounds), number(b.P50),
		number(b.P99), number(b.Max), lastText(b.Last, b.LastShare),
	}
}

// together is a table of what all nodes of a rail do together.
type together struct {
	Title, Note string
	Columns     []textCell
	Rows        [][]textCell
}

// textCell is a head or a cell; Text is set if it is no figure.
type textCell struct {
	Name string
	Text bool
}

func togetherOf(run *result.Run) (out []together) {
	add := func(title, note string, columns []string, rows [][]string) {
		if len(rows) == 0 {
			return
		}
		cells := func(row []string) (out []textCell) {
			for i, name := range row {
				out = append(out, textCell{name, i == 1 || i == len(row)-1})
			}
			return out
		}
		t := together{Title: title, Note: note, Columns: cells(columns)}
		for _, row := range rows {
			t.Rows = append(t.Rows, cells(row))
		}
		out = append(out, t)
	}
	var rows [][]string
	for _, b := range Barriers(run) {
		rows = append(rows, b.row())
	}
	add("The slowest of all pairs at each step, in µs", "What a synchronous job waits for at each step: medians over "+
		"the rounds, and the longest of all. Last most often: in the slowest pair of that share of the steps, by "+
		"itself or by its partners.", barrierColumns(), rows)
	rows = nil
	for _, c := range Collectives(run) {
		rows = append(rows, c.row())
	}
	add("All-reduce over host memory, in GB/s", "algbw and busbw are those of nccl-tests: the size by the time, and "+
		"what each link carried of it; medians over the runs.", collectiveColumns(), rows)
	return out
}

// togetherTables returns the same for the terminal.
func togetherTables(run *result.Run, suffix string) (out []output.Block) {
	for _, x := range togetherOf(run) {
		t := output.Table{Title: strings.ToLower(x.Title[:1]) + x.Title[1:] + suffix}
		for _, c := range x.Columns {
			column := output.Column{Name: c.Name, Align: output.AlignRight}
			if c.Text {
				column.Align = output.AlignLeft
			}
			t.Columns = append(t.Columns, column)
		}
		for _, row := range x.Rows {
			var cells []output.Cell
			for _, c := range row {
				cell := output.Plain(c.Name)
				if c.Name == "failed" {
					cell = output.Bad(c.Name)
				}
				cells = append(cells, cell)
			}
			t.Rows = append(t.Rows, cells)
		}
		out = append(out, t)
	}
	return out
}
