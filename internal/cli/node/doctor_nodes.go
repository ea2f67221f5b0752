package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/nodes"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/launch/consensus"
)

// fromFlag is --from of a command that takes one bundle or several. The first is the command's
// source as of other commands, the rest are further nodes.
type fromFlag struct {
	source  *cli.SourceFlags
	further *[]string
}

// addFromFlag makes --from of a command repeatable.
func addFromFlag(cmd *cobra.Command, source *cli.SourceFlags, further *[]string) {
	flag := cmd.Flags().Lookup("from")
	flag.Value = fromFlag{source, further}
	flag.Usage = "read the node recorded in `BUNDLE`, - for standard input; repeat it to compare nodes"
}

// String implements pflag.Value.
func (f fromFlag) String() string {
	if f.source == nil || f.source.From == "" {
		return ""
	}
	return strings.Join(append([]string{f.source.From}, *f.further...), ",")
}

// Type implements pflag.Value.
func (f fromFlag) Type() string { return "string" }

// Set implements pflag.Value. An empty name is left to the opening of the node, which reports it.
func (f fromFlag) Set(name string) error {
	if f.source.From == "" {
		f.source.From = name
		return nil
	}
	if name == "-" && (f.source.From == "-" || slices.Contains(*f.further, "-")) {
		return fmt.Errorf("standard input can be only one node")
	}
	*f.further = append(*f.further, name)
	return nil
}

// runDoctorNodes checks several recorded nodes and compares them.
func runDoctorNodes(app *cli.App, cmd *cobra.Command, checks []doctor.Check, names []string,
	opts doctor.Options,
) error {
	list, bad, err := openNodes(cmd.Context(), app, names)
	if err != nil {
		return err
	}
	if app.Out.Structured() || len(list) < 2 { // otherwise the report lists them
		for _, u := range bad {
			app.Out.Note("warning: %s: %s", u.Source, u.Error)
		}
	}
	if len(list) < 2 {
		return cli.Exitf(cli.ExitUsage, "%d of %d inputs can be compared, and a comparison needs two",
			len(list), len(names))
	}
	report, err := nodes.Run(cmd.Context(), checks, list,
		nodes.Options{Node: opts, Comparison: consensus.Options{Roles: app.Config.Roles}})
	if err != nil {
		return err
	}
	report.Comparison.Unreadable = bad
	if err := app.Out.Print(report, nodesBlocks(report, detailOf(app))...); err != nil {
		return err
	}
	return nodesResult(report)
}

// validateNodes reports flags that a comparison of nodes does not have.
func (f doctorFlags) validateNodes(app *cli.App) error {
	switch {
	case f.since != "":
		return errors.New("--since compares the reports of one node; give one --from")
	case f.nagios:
		return errors.New("--nagios is for one node; give one --from")
	case len(f.probe) > 0 || f.interval > 0:
		return errors.New("--probe and --interval need the running node, not recordings")
	case f.exitOn != "" || f.strict:
		return errors.New("--exit-on and --strict are for one node; give one --from")
	case !slices.Contains(output.Formats(), app.Out.Format()):
		return fmt.Errorf("-o %s is for one node; give one --from", app.Out.Format())
	}
	return nil
}

// openNodes reads recorded nodes completely, so that no file stays open. Inputs that can't be read,
// and recordings that were given before, are returned apart. The error is that of the context.
func openNodes(
	ctx context.Context, app *cli.App, names []string,
) (list []nodes.Node, bad []consensus.Unreadable, err error) {
	progress := app.Out.Progress("reading nodes", len(names))
	defer progress.Done()
	first := map[string]string{} // names by fingerprint
	for _, name := range names {
		progress.Add(1)
		key := fingerprint(name)
		if same, ok := first[key]; ok && key != "" {
			bad = append(bad, consensus.Unreadable{Source: name, Error: "the same recording as " + same})
			continue
		}
		n, err := app.OpenNode(cli.SourceFlags{From: name})
		if err != nil {
			bad = append(bad, consensus.Unreadable{Source: name, Error: err.Error()})
			continue
		}
		snap, _, err := app.ScanNode(ctx, n) // what could not be read is in the reports
		n.Close()                            // a bundle is in memory
		if err != nil {
			return nil, nil, err
		}
		first[key] = name
		list = append(list, nodes.Node{
			Source: name, Snapshot: &snap, Facts: n.Facts(), Recording: recordingOf(app, n, name, snap.Taken),
		})
	}
	return list, bad, nil
}

// fingerprint returns a text that is the same for copies of a file and for names of one directory,
// "" for an input without one.
func fingerprint(name string) string {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		if target, err := filepath.EvalSymlinks(name); err == nil {
			name = target
		}
		path, _ := filepath.Abs(name)
		return path
	case !info.Mode().IsRegular(): // can be read once
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return string(h.Sum(nil))
}

// nodesBlocks shows what each node has of its own, then the comparison.
func nodesBlocks(r nodes.Report, detail Detail) []output.Block {
	var blocks []output.Block
	for _, n := range r.Nodes {
		name := n.Report.Node
		if name == "" {
			name = filepath.Base(n.Source)
		}
		source := "  " + n.Source
		if rec := n.Report.Recording; rec != nil && !rec.Taken.IsZero() {
			source += ", " + n.Report.Recorded()
		}
		blocks = append(blocks, output.Text{Lines: [][]output.Cell{{output.Bold("node " + name), output.Dim(source)}}})
		n.Report.Recording = nil // shown
		blocks = append(blocks, nodeFaults(n.Report, detail)...)
	}
	blocks = append(blocks, consensusBlocks(r.Comparison, detail == DetailWide)...)
	if len(r.Unmatched) > 0 {
		var targets []string
		for _, s := range r.Unmatched {
			targets = append(targets, s.Target())
		}
		blocks = append(blocks, output.Line(output.Dim("suppressions whose object no node has: "+
			strings.Join(targets, ", ")).Flow(cli.TextWidth)))
	}
	if len(r.NotCompared) > 0 {
		blocks = append(blocks, output.Line(
			output.Dim("not compared, for fewer than two nodes have it: "+strings.Join(r.NotCompared,
				", ")).Flow(cli.TextWidth)))
	}
	if len(r.Without) > 0 {
		var list []string
		for _, w := range r.Without {
			list = append(list, w.Comparison+" ("+english.List(w.Nodes, 3)+")")
		}
		blocks = append(blocks, output.Line(output.Dim("not compared on nodes where it is not known: "+
			strings.Join(list, ", ")).Flow(cli.TextWidth)))
	}
	return blocks
}

// nodeFaults shows the findings of one node that need a look, without their fixes, and its summary.
func nodeFaults(r doctor.Report, detail Detail) []output.Block {
	if detail != DetailShort {
		return ReportBlocks(r, detail)
	}
	p := part{report: r}
	for _, f := range r.Findings {
		if f.Counts() {
			f.Remedy = nil
			p.findings = append(p.findings, f)
		}
	}
	t := output.Text{}
	if r.NoDevice != "" {
		t.Lines = append(t.Lines, []output.Cell{output.Plain("  "), output.Warn(r.NoDevice).Flow(0)})
	}
	for _, o := range []doctor.Outcome{doctor.OutcomeFail, doctor.OutcomeUnknown, doctor.OutcomeWarn} {
		t.Lines = append(t.Lines, p.shortLines(o)...)
	}
	t.Lines = append(t.Lines, append([]output.Cell{output.Plain("  ")}, sumLine(r)...))
	return []output.Block{t}
}

// nodesResult returns the error that carries the exit code, nil for 0.
func nodesResult(r nodes.Report) error {
	unknown := len(r.Comparison.Incomplete)+len(r.Comparison.Unreadable) > 0
	for _, n := range r.Nodes {
		unknown = unknown || n.Report.Counts.Unknown > 0
	}
	switch {
	case r.Verdict == doctor.OutcomeFail, r.Comparison.Verdict == consensus.VerdictDiffer:
		return cli.ExitSilently(cli.ExitFault)
	case unknown:
		return cli.ExitSilently(cli.ExitPartial)
	case r.Comparison.Verdict == consensus.VerdictNone:
		return cli.ExitSilently(cli.ExitNotFound)
	}
	return nil
}
