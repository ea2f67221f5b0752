package report

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// Blocks returns the text form of a report: how the run ended, the culprits, the figures of the
// rails, of barriers and collectives, heat maps of the rails of the culprits, what was not judged,
// and the comparison with a baseline.
func Blocks(run *result.Run, v verdict.Report, o Options) []output.Block {
	rails := railsOf(run)
	suffix := scaleSuffix(run.Scale)
	blocks := []output.Block{headBlock(run, v)}
	culprits := culpritsOf(run, v)
	for _, c := range culprits {
		blocks = append(blocks, c.block(o.Verbose))
	}
	blocks = append(blocks, railTable(rails, suffix))
	blocks = append(blocks, togetherTables(run, shortSuffix(run.Scale))...)
	for _, r := range shownRails(rails, culprits, o.Verbose) {
		blocks = append(blocks, heat(run, r))
	}
	if list := notJudged(v); len(list) > 0 {
		t := output.Text{Title: "not judged"}
		for _, l := range list {
			t.Lines = append(t.Lines, []output.Cell{output.Plain("  "), output.Plain(l).Flow(0)})
		}
		blocks = append(blocks, t)
	}
	if o.Comparison != nil {
		blocks = append(blocks, o.Comparison.blocks(suffix)...)
	}
	return blocks
}

// headBlock says what was verified and how that ended.
func headBlock(run *result.Run, v verdict.Report) output.Text {
	rails := english.Count(len(numbers(run.Cluster)), "rail")
	if leaves := leavesText(run); leaves != "" {
		rails += ", " + leaves
	}
	title := fmt.Sprintf("cluster of %s, %s, started %s", english.Count(len(run.Nodes), "node"), rails,
		run.Started.UTC().Format("2006-01-02 15:04:05 MST"))
	if took := tookText(run); took != "" {
		title += ", took " + took
	}
	t := output.Text{Title: title}
	if run.Scale != nil {
		t.Lines = append(t.Lines, []output.Cell{output.Warn(scaleText(run.Scale)).Flow(0)})
	}
	for i, l := range stateLines(run, v) {
		c := output.Warn(l)
		switch {
		case i == 0 && len(v.Verdicts) > 0:
			c = output.Bad(l)
		case i == 0:
			c = output.Plain(l)
		}
		t.Lines = append(t.Lines, []output.Cell{c.Flow(0)})
	}
	return t
}

func (c culprit) block(verbose bool) output.Text {
	cause := output.Warn(string(c.Cause))
	if c.Class == "bad" {
		cause.Style = output.StyleBad
	}
	const indent = "  "
	t := output.Text{Lines: [][]output.Cell{{
		cause, output.Plain(indent), output.Bold(c.Where), output.Plain(": " + c.Title).Flow(0),
		output.Dim(" (" + c.Grade + ", confidence " + c.Confidence + ")").Flow(0),
	}}}
	add := func(name, text string) {
		if text != "" {
			t.Lines = append(t.Lines, []output.Cell{output.Dim(indent + name), output.Plain(text).Flow(0)})
		}
	}
	if verbose {
		for _, e := range c.Evidence {
			add("evidence: ", e)
		}
	} else if len(c.Evidence) > 0 {
		add("evidence: ", c.Evidence[0])
	}
	add("impact: ", c.Impact)
	add("next: ", c.Next)
	for _, l := range c.TakeOut {
		for _, line := range output.CleanLines(l) {
			t.Lines = append(t.Lines, []output.Cell{output.Dim(indent + "take out: "), output.Plain(line)})
		}
	}
	return t
}

func railTable(rails []Rail, suffix string) output.Table {
	right := func(name string, priority int) output.Column {
		return output.Column{Name: name, Align: output.AlignRight, Priority: priority}
	}
	t := output.Table{Title: "rails: bandwidth in Gb/s, latency in µs" + suffix, Columns: []output.Column{
		right("rail", 0), right("cards", 4),
		{Name: "pairs measured", Priority: 1},
		right("failed", 1), right("median", 0),
		right("p5", 2), right("worst", 0), right("best", 3), right("latency", 1), right("p99", 1),
		right("worst p99", 2), right("jitter", 3), right("loaded p99", 4), right("loaded jitter", 4),
	}}
	for _, r := range rails {
		var row []output.Cell
		for i, text := range railRow(r) {
			c := output.Plain(text)
			switch {
			case text == "–":
				c = output.Plain("")
			case i == 3 && r.Failed > 0:
				c = output.Bad(text)
			case i == 2 && r.Measured < r.Pairs:
				c.Short = fmt.Sprintf("%d %%", r.Measured*100/max(r.Pairs, 1))
			}
			row = append(row, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// shownRails returns the rails whose maps are shown: all with measurements if all is set, or else
// the first two that verdicts name, or the worst one: with the most failures, or with the slowest
// pair in relation to its median.
func shownRails(rails []Rail, culprits []culprit, all bool) []Rail {
	rails = slices.DeleteFunc(slices.Clone(rails), func(r Rail) bool { return r.Measured+r.Failed == 0 })
	if all || len(rails) == 0 {
		return rails
	}
	const most = 2
	if named := culpritRails(rails, culprits); len(named) > 0 {
		return named[:min(len(named), most)]
	}
	return []Rail{slices.MaxFunc(rails, func(a, b Rail) int {
		if a.Failed != b.Failed {
			return a.Failed - b.Failed
		}
		return int(1e6 * (a.lag() - b.lag()))
	})}
}

// lag returns by what share the slowest pair is slower than the median.
func (r Rail) lag() float64 {
	if r.Bandwidth == nil {
		return 0
	}
	return 1 - r.Bandwidth.Worst/r.Bandwidth.Median
}
