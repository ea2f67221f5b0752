package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/report"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/sim/truth"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// compare finds out which planted faults have a verdict, and which verdicts have no fault.
func (r *clusterReport) compare(run *result.Run, found *verdict.Report) {
	m := truth.Match(&r.Scenario, &run.Cluster, found)
	for i, f := range r.Scenario.Faults {
		p := planted{Fault: f, Text: truth.Describe(&r.Scenario, &f)}
		if k := m.Verdict[i]; k >= 0 {
			p.Found, p.Verdict = true, nameOf(&found.Verdicts[k])
		}
		r.Planted = append(r.Planted, p)
	}
	for _, k := range m.Extra {
		r.Unexpected = append(r.Unexpected, found.Verdicts[k])
	}
	r.Passed = len(r.Unexpected) == 0 && !slices.ContainsFunc(r.Planted, func(p planted) bool { return !p.Found })
}

// nameOf names a verdict.
func nameOf(v *verdict.Verdict) string { return string(v.Cause) + " at " + v.Where.Name }

// blocks are the text form: the verification as it is printed for a real cluster, and what was
// planted.
func (r *clusterReport) blocks(run *result.Run, found verdict.Report, o report.Options) []output.Block {
	return append(report.Blocks(run, found, o), r.verdict())
}

// verdict compares planted with found faults, one per line.
func (r *clusterReport) verdict() output.Block {
	t := output.Text{Lines: [][]output.Cell{{output.Bold("planted and found"), output.Plain(" (EMULATED)")}}}
	line := func(mark output.Cell, text string) {
		cells := []output.Cell{output.Plain("  "), mark, output.Plain("  "), output.Plain(text).Flow(0)}
		t.Lines = append(t.Lines, cells)
	}
	for _, p := range r.Planted {
		if p.Found {
			line(output.Good("found  "), p.Text+": "+p.Verdict)
		} else {
			line(output.Bad("missing"), p.Text)
		}
	}
	for _, v := range r.Unexpected {
		line(output.Bad("extra  "), nameOf(&v))
	}
	if r.Passed {
		text := fmt.Sprintf("%s found, and nothing else", english.Count(len(r.Planted), "planted fault"))
		if len(r.Planted) == 0 {
			text = "no fault was planted, and none was found"
		}
		t.Lines = append(t.Lines, []output.Cell{output.Good(text)})
	}
	return t
}

// result returns nil if exactly what was planted was found.
func (r *clusterReport) result() error {
	if r.Passed {
		return nil
	}
	var wrong []string
	for _, p := range r.Planted {
		if !p.Found {
			wrong = append(wrong, p.Text+" is missing")
		}
	}
	for _, v := range r.Unexpected {
		wrong = append(wrong, nameOf(&v)+" is extra")
	}
	return cli.Exitf(cli.ExitFault, "not what was planted: %s", strings.Join(wrong, ", "))
}
