package report

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// changeRow is a change as text.
type changeRow struct {
	Card, Rail, Metric, Before, Now, Percent, Noise string
	Worse                                           bool
}

func (c *Comparison) rows() []changeRow {
	var out []changeRow
	for _, ch := range c.Changes {
		unit, metric := " Gb/s", string(ch.Metric)
		if ch.Metric == MetricLatency {
			unit = " µs"
		}
		out = append(out, changeRow{
			Card: output.Clean(ch.Place.String()), Rail: fmt.Sprint(ch.Rail), Metric: metric,
			Before: number(ch.Old) + unit, Now: number(ch.New) + unit, Noise: "±" + number(ch.Noise) + unit,
			Percent: fmt.Sprintf("%+.0f %%", 100*(ch.Ratio()-1)), Worse: ch.Worse, //nolint:mnd // percent
		})
	}
	return out
}

// text returns the comparison in a sentence.
func (c *Comparison) text() string {
	worse := 0
	cards := map[Place]bool{}
	for _, ch := range c.Changes {
		cards[ch.Place] = true
		if ch.Worse {
			worse++
		}
	}
	if c.Compared == 0 {
		return "No card has figures in both runs."
	}
	if len(c.Changes) == 0 {
		return fmt.Sprintf("No figure of %s changed beyond noise.", english.Count(c.Compared, "card"))
	}
	return fmt.Sprintf("%s compared: %s changed beyond noise, of %s; %d for the worse.",
		english.Count(c.Compared, "card"), english.Count(len(c.Changes), "figure"), english.Count(len(cards), "card"),
		worse)
}

// lists returns the cards that only one run has, a sentence for each kind.
func (c *Comparison) lists() []string {
	var out []string
	for _, l := range []struct {
		what  string
		cards []Place
	}{
		{"only in the older run", c.Gone},
		{"new", c.Added},
		{"measured in the older run only", c.Unmeasured},
	} {
		if len(l.cards) == 0 {
			continue
		}
		names := make([]string, len(l.cards))
		for i, p := range l.cards {
			names[i] = output.Clean(p.String())
		}
		const most = 8
		count := english.Count(len(names), "card")
		out = append(out, fmt.Sprintf("%s %s: %s", count, l.what, english.List(names, most)))
	}
	return out
}

// blocks returns the comparison as text.
func (c *Comparison) blocks(scale string) []output.Block {
	t := output.Text{Title: "compared with the run of " + c.Old.UTC().Format("2006-01-02 15:04:05 MST") + scale}
	t.Lines = append(t.Lines, []output.Cell{output.Plain(c.text()).Flow(0)})
	for _, l := range c.lists() {
		t.Lines = append(t.Lines, []output.Cell{output.Plain(l).Flow(0).Hang(2)}) //nolint:mnd // as titles
	}
	if strings.Contains(scale, result.LabelSoftware) {
		t.Lines = append(t.Lines, []output.Cell{output.Dim("These figures depend on what else the processors did: a " +
			"change may be theirs.").Flow(0)})
	}
	blocks := []output.Block{t}
	if len(c.Changes) == 0 {
		return blocks
	}
	table := output.Table{Columns: []output.Column{
		{Name: "card"},
		{Name: "rail", Align: output.AlignRight},
		{Name: "figure"},
		{Name: "before", Align: output.AlignRight, Priority: 1},
		{Name: "now", Align: output.AlignRight},
		{Name: "change", Align: output.AlignRight},
		{Name: "trend"},
		{Name: "noise", Align: output.AlignRight, Priority: 2},
	}}
	const most = 40 // more are in the JSON form
	for i, r := range c.rows() {
		if i == most {
			break
		}
		change, word := output.Good(r.Percent), output.Good("better")
		if r.Worse {
			change, word = output.Bad(r.Percent), output.Bad("worse")
		}
		table.Rows = append(table.Rows, []output.Cell{
			output.Plain(r.Card), output.Plain(r.Rail), output.Plain(r.Metric), output.Plain(r.Before),
			output.Plain(r.Now), change, word, output.Dim(r.Noise),
		})
	}
	blocks = append(blocks, table)
	if n := len(c.Changes) - most; n > 0 {
		blocks = append(blocks, output.Line(output.Dim(fmt.Sprintf("and %d more; -o json has all", n))))
	}
	return blocks
}
