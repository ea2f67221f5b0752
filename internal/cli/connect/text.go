package connect

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/connect"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// blocks returns the blocks that show a report: of several attempts a table, and in full those that
// failed, or all with -o wide.
func blocks(r *connect.Report, wide bool) []output.Block {
	var out []output.Block
	several := len(r.Attempts) > 1
	if several {
		out = append(out, summary(r))
	}
	for i := range r.Attempts {
		a := &r.Attempts[i]
		if !several || wide || a.Failure != nil {
			out = append(out, attemptBlocks(a)...)
		}
	}
	if t := r.TCP; t != nil {
		out = append(out, output.Line(output.Warn(t.Scale), output.Plain(": from "+t.Local+" to "+t.Remote)))
		if t.Failure != nil {
			out = append(out, failureBlock(t.Failure))
		} else {
			out = append(out, figures(t.Ping, t.Writes))
		}
	}
	if r.Lost != nil {
		out = append(out, output.Line(output.Bad("ended early"), output.Plain(": more may have been left to try")),
			failureBlock(r.Lost))
	}
	for _, text := range r.Skipped {
		out = append(out, output.Line(output.Plain("not tried: "+text).Flow(cli.TextWidth)))
	}
	return out
}

// endName names an end of an attempt.
func endName(e connect.PortEnd) string { return strings.TrimSpace(e.Host + " " + e.Port) }

// summary is the table of several attempts.
func summary(r *connect.Report) output.Table {
	t := output.Table{Columns: []output.Column{
		{Name: "rail", Align: output.AlignRight},
		{Name: "port"},
		{Name: "peer"},
		{Name: "result"},
		{Name: "MTU", Align: output.AlignRight},
		{Name: "p50 us", Align: output.AlignRight},
		{Name: "p99.9", Align: output.AlignRight},
		{Name: "Gbit/s to", Align: output.AlignRight},
		{Name: "from", Align: output.AlignRight},
	}}
	for i := range r.Attempts {
		a := &r.Attempts[i]
		result := output.Good("ok")
		if a.Failure != nil {
			result = output.Bad("failed: " + string(a.Failure.Stage))
		}
		rail, mtu, p50, p999, to, from := "", "", "", "", "", ""
		if a.Rail != nil {
			rail = strconv.Itoa(*a.Rail)
		}
		if a.PathMTU != 0 {
			mtu = strconv.Itoa(int(a.PathMTU))
		}
		if a.Ping != nil {
			p50, p999 = cli.Figure(a.Ping.P50), cli.Figure(a.Ping.P999)
		}
		for _, w := range a.Writes {
			if w.Direction == connect.ToPeer {
				to = cli.Figure(w.Gbps)
			} else {
				from = cli.Figure(w.Gbps)
			}
		}
		peer := endName(a.Remote)
		if f := a.Failure; peer == "" && f != nil && f.End != endName(a.Local) {
			peer = f.End
		}
		row := cli.Cells(rail, a.Local.Port, peer, "", mtu, p50, p999, to, from)
		row[3] = result
		t.Rows = append(t.Rows, row)
	}
	return t
}

// betweenEnds names the ends of an attempt. If the other one is not known, because one of them
// failed before, it is the one that failed.
func betweenEnds(a *connect.Attempt) string {
	switch {
	case a.Remote.Port != "":
		return endName(a.Local) + " and " + endName(a.Remote)
	case a.Local.Port == "":
		return "this end"
	case a.Failure != nil && a.Failure.End != "":
		return a.Failure.End
	}
	return endName(a.Local)
}

// attemptBlocks shows one attempt.
func attemptBlocks(a *connect.Attempt) []output.Block {
	between := betweenEnds(a)
	line := []output.Cell{output.Plain(between + ": ").Flow(0)}
	if a.Failure == nil {
		line = append(line, output.Good("connected"))
	} else {
		line = append(line, output.Bad("failed at "+string(a.Failure.Stage)))
	}
	if a.Scale != "" {
		line = append(line, output.Plain("; ").Flow(0), output.Warn(a.Scale).Flow(0))
	}
	out := []output.Block{output.Line(line...), details(a)}
	if a.Ping != nil || len(a.Writes) > 0 {
		out = append(out, figures(a.Ping, a.Writes))
	}
	if a.Failure != nil {
		out = append(out, failureBlock(a.Failure))
	}
	return out
}

// details lists what both ends agreed on.
func details(a *connect.Attempt) output.List {
	var list output.List
	add := func(key, text string) {
		if text != "" {
			list.Items = append(list.Items, output.Item{Key: key, Value: output.Plain(text).Flow(cli.TextWidth)})
		}
	}
	add("stages", stages(a.Stages))
	for _, end := range []struct {
		key string
		e   connect.PortEnd
	}{{"local GID", a.Local}, {"peer GID", a.Remote}} {
		if g := end.e.GID; g != nil {
			address := g.GID.Addr().String()
			if g.Kind == connect.KindInfiniBand {
				address = fmt.Sprintf("%v, LID %d", g.GID, end.e.LID)
			}
			add(end.key, fmt.Sprintf("%s at index %d: %s", address, g.Index, end.e.Reason))
		}
	}
	if a.PathMTU != 0 {
		add("path MTU", fmt.Sprintf("%d: %s", a.PathMTU, a.MTUReason))
	}
	add("retries", retries(a))
	for _, note := range a.Notes {
		add("note", note)
	}
	return list
}

// stages lists the stages with their times.
func stages(list []connect.StageResult) string {
	var out []string
	for _, s := range list {
		if !s.OK {
			out = append(out, string(s.Stage)+" FAILED")
			continue
		}
		out = append(out, fmt.Sprintf("%s %s ms", s.Stage, strconv.FormatFloat(s.Millis, 'f', 1, 64)))
	}
	return strings.Join(out, ", ")
}

// retries lists the counters that grew, by end.
func retries(a *connect.Attempt) string {
	if a.Retries == nil && len(a.CountersUnknown) == 0 {
		return ""
	}
	var out []string
	for _, end := range slices.Sorted(maps.Keys(a.Retries)) {
		for _, name := range slices.Sorted(maps.Keys(a.Retries[end])) {
			out = append(out, fmt.Sprintf("%s %d (%s)", name, a.Retries[end][name], end))
		}
	}
	if len(out) == 0 && len(a.Retries) > 0 {
		out = append(out, "none")
	}
	if len(a.CountersUnknown) > 0 {
		out = append(out, "unknown at "+strings.Join(a.CountersUnknown, ", ")+": the device has no such counters")
	}
	return strings.Join(out, ", ")
}

// figures is the table of what was measured.
func figures(ping *bench.LatencyPoint, writes []connect.WriteResult) output.Table {
	columns := []output.Column{{Name: "message"}, {Name: "direction"}}
	columns = append(columns, cli.Figures([]string{"count", "p50 us", "p99", "p99.9", "Gbit/s"})...)
	t := output.Table{Columns: append(columns, output.Column{Name: "data"})}
	if p := ping; p != nil {
		t.Rows = append(t.Rows, cli.Cells("64 B ping", "both ways", strconv.FormatUint(p.Iterations, 10),
			cli.Figure(p.P50), cli.Figure(p.P99), cli.Figure(p.P999), "", "correct"))
	}
	for _, w := range writes {
		data := "correct"
		if w.Verified < w.Count {
			data = fmt.Sprintf("%d of %d correct", w.Verified, w.Count)
		}
		t.Rows = append(t.Rows, cli.Cells("8 MiB write", w.Direction, strconv.Itoa(w.Count), "", "", "",
			cli.Figure(w.Gbps), data))
	}
	return t
}

// failureBlock shows a failure.
func failureBlock(f *connect.Failure) output.Block {
	found := ""
	if f.End != "" {
		found = " (found by " + f.End + ")"
	}
	what := output.Plain(": " + f.What() + found).Flow(cli.TextWidth).Hang(2)
	lines := [][]output.Cell{{output.Bad(string(f.Stage)), what}}
	for _, part := range []struct {
		label string
		texts []string
	}{{"observed", f.Observed}, {"possible", f.Possible}, {"to do   ", f.Remedies}} {
		for _, text := range part.texts {
			lines = append(lines, cli.LabelledText(part.label, text, cli.IndentedWidth))
		}
	}
	return output.Text{Lines: lines}
}
