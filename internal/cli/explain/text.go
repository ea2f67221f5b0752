package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/rules"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// labelWidth aligns what follows the labels.
const labelWidth = 16

// Of the lines that show a finding, of nodes and of unexplained failures, the text has the first
// ones; JSON has all.
const (
	maxLines       = 3
	maxUnexplained = 5
	maxNodes       = 8
	maxCauses      = 4
)

// text is the text form of a report.
type text struct {
	output.Text
}

// add adds a line "label  text".
func (t *text) add(label, s string) {
	t.Lines = append(t.Lines, []output.Cell{
		output.Dim(fmt.Sprintf("  %-*s", labelWidth-2, label)), output.Plain(s).Flow(0),
	})
}

func (t *text) head(cells ...output.Cell) { t.Lines = append(t.Lines, cells) }

// blocks returns the text form: what happened, the findings, then the facts. Without wide the text
// has one screen, if there is one finding.
func blocks(d *explain.Document, wide bool) []output.Block {
	out := []output.Block{headline(d)}
	var harmless text
	for i := range d.Findings {
		if d.Findings[i].Harmless {
			label := "harmless"
			if d.Findings[i].Rule == rules.NotesID {
				label = "note"
			}
			harmless.add(label, d.Findings[i].What)
			continue
		}
		out = append(out, finding(i, &d.Findings[i], wide).Text)
	}
	var rest text
	for i, l := range d.Unexplained {
		if i == maxUnexplained && !wide {
			rest.add("", fmt.Sprintf("and %d more: -o wide", len(d.Unexplained)-i))
			break
		}
		rest.add("not explained", fmt.Sprintf("%s: %s", l.Place, l.Text))
		for _, c := range l.Causes {
			rest.add("  often", c.Title)
			rest.add("  decide", c.Decide)
			rest.add("  remedy", c.Remedy)
		}
	}
	for _, t := range []text{rest, harmless, factLines(&d.Facts, wide)} {
		if len(t.Lines) > 0 {
			out = append(out, t.Text)
		}
	}
	switch {
	case d.Flows == nil:
	case len(d.Flows) > 0:
		out = append(out, flowTable(d.Flows))
	case slices.ContainsFunc(d.Inputs, func(in explain.InputDocument) bool { return in.Capture }):
		out = append(out, output.Line(output.Plain("no flows: the captures have no packets of RDMA")))
	default:
		out = append(out, output.Line(output.Warn("no flows: none of the inputs is a capture (pcap, pcapng)")))
	}
	return append(out, inputs(d))
}

// flowTable lists the flows of captures.
func flowTable(list []explain.FlowDocument) output.Block {
	t := output.Table{Columns: []output.Column{
		{Name: "source"},
		{Name: "destination"},
		{Name: "qp"},
		{Name: "packets", Align: output.AlignRight},
		{Name: "messages", Align: output.AlignRight},
		{Name: "missing", Align: output.AlignRight},
		{Name: "lost", Align: output.AlignRight},
		{Name: "repeated", Align: output.AlignRight},
		{Name: "timeouts", Align: output.AlignRight},
		{Name: "cnps", Align: output.AlignRight},
		{Name: "mtu", Align: output.AlignRight},
		{Name: "gap ms", Align: output.AlignRight},
		{Name: "last"},
		{Name: "paired by", Wide: true},
		{Name: "capture", Wide: true},
	}}
	for _, f := range list {
		t.Rows = append(
			t.Rows,
			cli.Cells(
				f.Source,
				f.Destination,
				f.QPN,
				fmt.Sprint(f.Packets),
				fmt.Sprint(f.Messages),
				fmt.Sprint(
					f.Missing,
				),
				fmt.Sprint(f.Lost),
				fmt.Sprint(f.Repeated),
				fmt.Sprint(f.Timeouts),
				fmt.Sprint(f.CNPs),
				fmt.Sprint(f.PMTU),
				fmt.Sprintf("%.1f", f.MaxGapMillis),
				f.Last,
				f.PairedBy,
				f.Capture,
			),
		)
	}
	return t
}

func headline(d *explain.Document) output.Block {
	switch d.Verdict {
	case explain.VerdictFault:
		f, c := d.First()
		t := output.Text{Lines: [][]output.Cell{
			{output.Bold(f.What)},
			{output.Bad(fmt.Sprintf("%s cause: ", c.Confidence)), output.Plain(c.Title).Flow(0)},
		}}
		if c.Decide != "" {
			t.Lines = append(t.Lines, []output.Cell{output.Dim("to decide: "), output.Plain(c.Decide).Flow(0)})
		}
		if c.Remedy != "" {
			t.Lines = append(t.Lines, []output.Cell{output.Dim("to do: "), output.Plain(c.Remedy).Flow(0)})
		}
		return t
	case explain.VerdictUnknown:
		return output.Line(output.Warn("something failed, and no rule knows why"))
	case explain.VerdictFacts:
		return output.Line(output.Warn("facts only: no log of a program, so nothing was judged"))
	case explain.VerdictNothing:
		return output.Line(output.Warn(d.Nothing()))
	}
	if d.Partial() {
		return output.Line(output.Warn("nothing wrong seen in what could be read"))
	}
	return output.Line(output.Good("nothing wrong seen"))
}

// finding returns a finding with its causes.
func finding(i int, f *explain.FindingDocument, wide bool) text {
	var t text
	t.head(output.Bold(fmt.Sprintf("%d. %s", i+1, f.What)), output.Dim("  "+f.Rule))
	for j, l := range f.Lines {
		if j == maxLines && !wide {
			t.add("", fmt.Sprintf("and %d more: -o wide", len(f.Lines)-j))
			break
		}
		s := fmt.Sprintf("%s: %s", l.Place, l.Text)
		if l.Count > 1 {
			s += fmt.Sprintf(" (%d times)", l.Count)
		}
		t.add("line", s)
	}
	for j := range f.Causes {
		if j == maxCauses && !wide {
			t.add("", fmt.Sprintf("and %d less probable: -o wide", len(f.Causes)-j))
			break
		}
		t.cause(j, &f.Causes[j], wide || j < 2)
	}
	return t
}

// cause adds a cause; those that are not detailed have no evidence.
func (t *text) cause(i int, c *explain.CauseDocument, detailed bool) {
	t.add(fmt.Sprintf("cause %d", i+1), fmt.Sprintf("%s: %s", c.Confidence, c.Title))
	if detailed {
		for _, e := range c.For {
			t.add("  for", e.Text+placesOf(e.Places))
		}
		for _, e := range c.Against {
			t.add("  against", e.Text+placesOf(e.Places))
		}
	}
	if c.Decide != "" {
		t.add("  decide", c.Decide)
	}
	if c.Remedy != "" && detailed {
		t.add("  remedy", c.Remedy)
	}
}

func placesOf(list []evidence.Place) string {
	if len(list) == 0 {
		return ""
	}
	var names []string
	for _, p := range list[:min(len(list), 2)] {
		names = append(names, p.String())
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// factLines lists what the inputs say.
func factLines(f *explain.FactsDocument, wide bool) text {
	var t text
	for _, l := range f.Libraries {
		t.add("library", libraryText(l))
	}
	if f.Ranks > 0 {
		t.add("job", jobText(f))
	}
	for i, n := range f.Nodes {
		if i == maxNodes && !wide {
			t.add("", fmt.Sprintf("and %d more: -o wide", len(f.Nodes)-i))
			break
		}
		t.add("node", nodeText(n))
	}
	for _, d := range f.Differences {
		var parts []string
		for _, v := range d.Values {
			parts = append(parts, fmt.Sprintf("%s on %s", v.Value, strings.Join(v.Nodes, ", ")))
		}
		t.add("differs", d.What+": "+strings.Join(parts, "; "))
	}
	for _, s := range f.Silent {
		name := s.Node
		if s.Rank != nil {
			name = fmt.Sprintf("rank %d on %s", *s.Rank, name)
		}
		t.add("silent", name+": "+s.Why)
	}
	for _, h := range f.Hidden {
		t.add("not visible", h)
	}
	if len(t.Lines) > 0 {
		t.Lines = slices.Insert(t.Lines, 0, []output.Cell{output.Bold("facts")})
	}
	return t
}

func jobText(f *explain.FactsDocument) string {
	s := english.Count(f.Ranks, "rank")
	if f.GDR != "" {
		s += "; GPU Direct RDMA " + f.GDR
	}
	return s
}

func libraryText(l explain.LibraryDocument) string {
	s := l.Name + " " + strings.Join(l.Versions, ", ")
	if len(l.Versions) == 0 {
		s = l.Name + ", version not printed"
		if limits := between(l.Since, l.Until); limits != "" {
			s += "; by the forms of its lines " + limits
		}
	}
	if l.Contradiction != "" {
		s += "; but " + l.Contradiction + ": another copy of the library is loaded"
	}
	return s
}

func between(since, until string) string {
	switch {
	case since != "" && until != "":
		return since + " to " + until
	case since != "":
		return since + " or later"
	case until != "":
		return until + " or earlier"
	}
	return ""
}

func nodeText(n explain.NodeDocument) string {
	parts := []string{n.Name}
	if len(n.Ranks) > 0 {
		parts = append(parts, english.Count(len(n.Ranks), "rank"))
	}
	if len(n.Networks) > 0 {
		parts = append(parts, "network "+strings.Join(n.Networks, " and "))
	}
	var devices []string
	for _, d := range n.Devices {
		s := d.Name
		if d.Link != "" {
			s += " " + string(d.Link)
		}
		if len(d.GIDs) > 0 {
			s += " GID " + d.GIDs[0].GID
		}
		devices = append(devices, s)
	}
	if len(devices) > 0 {
		parts = append(parts, strings.Join(devices, ", "))
	}
	if n.Recorded != nil {
		parts = append(parts, recordedText(n.Recorded))
	}
	return strings.Join(parts, "; ")
}

// inputs lists what was read.
func inputs(d *explain.Document) output.Block {
	var t text
	t.head(output.Bold("read"))
	for _, in := range d.Inputs {
		s := in.Error
		switch {
		case in.Name == "":
		case in.Other != "":
			s = in.Name + ": " + in.Other
		case in.Recording != nil:
			s = recordingText(&in)
		case in.Binary:
			s = in.Name + ": binary data of no known form"
		default:
			unit := "line"
			if in.Capture {
				unit = "packet"
			}
			count := english.Count(in.Lines, unit)
			s = fmt.Sprintf("%s: %s, of which %s", in.Name, count, recognized(in.Recognized))
			if in.Error != "" {
				s += "; then " + in.Error
			}
		}
		t.add("input", s)
	}
	return t.Text
}

func recognized(counts map[string]int) string {
	if len(counts) == 0 {
		return "none of a known program"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d of %s", counts[name], name))
	}
	return strings.Join(parts, ", ")
}
