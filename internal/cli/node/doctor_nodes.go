package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/nodes"
	"github.com/rdmakit/rdmakit/internal/cli"
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
	list, err := openNodes(cmd.Context(), app, names)
	if err != nil {
		return err
	}
	report, err := nodes.Run(cmd.Context(), checks, list,
		nodes.Options{Node: opts, Comparison: consensus.Options{Roles: app.Config.Roles}})
	if err != nil {
		return err
	}
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

// openNodes reads recorded nodes completely, so that no file stays open.
func openNodes(ctx context.Context, app *cli.App, names []string) ([]nodes.Node, error) {
	progress := app.Out.Progress("reading nodes", len(names))
	defer progress.Done()
	var list []nodes.Node
	for _, name := range names {
		n, err := app.OpenNode(cli.SourceFlags{From: name})
		if err != nil {
			return nil, err
		}
		snap, _, err := app.ScanNode(ctx, n) // what could not be read is in the reports
		if err != nil {
			n.Close()
			return nil, err
		}
		list = append(list, nodes.Node{Source: name, Snapshot: &snap, Facts: n.Facts()})
		n.Close() // a bundle is in memory
		progress.Add(1)
	}
	return list, nil
}

// nodesBlocks shows what each node has of its own, then the comparison.
func nodesBlocks(r nodes.Report, detail Detail) []output.Block {
	var blocks []output.Block
	for _, n := range r.Nodes {
		name := n.Report.Node
		if name == "" {
			name = n.Source
		}
		blocks = append(blocks, output.Text{Lines: [][]output.Cell{{
			output.Bold("node " + name),
			output.Dim("  " + n.Source),
		}}})
		blocks = append(blocks, nodeFaults(n.Report, detail)...)
	}
	blocks = append(blocks, consensusBlocks(r.Comparison, detail == DetailWide)...)
	if len(r.NotCompared) > 0 {
		blocks = append(blocks, output.Line(
			output.Dim("not compared, for fewer than two nodes have it: "+strings.Join(r.NotCompared,
				", ")).Flow(cli.TextWidth)))
	}
	return blocks
}

// nodeFaults shows the findings of one node that need a look, a line each, and its summary.
func nodeFaults(r doctor.Report, detail Detail) []output.Block {
	if detail != DetailShort {
		return ReportBlocks(r, detail)
	}
	t := output.Text{}
	for _, o := range []doctor.Outcome{doctor.OutcomeFail, doctor.OutcomeUnknown, doctor.OutcomeWarn} {
		for _, f := range r.Findings {
			if f.Outcome != o || f.Suppressed != nil || f.Shadow {
				continue
			}
			t.Lines = append(t.Lines, []output.Cell{
				output.Plain("  "), outcomeCell(o, strings.ToUpper(string(o))), output.Plain("  "),
				output.Plain(f.CheckID + ": " + f.Object + ": " + f.Summary).Flow(0),
			})
		}
	}
	t.Lines = append(t.Lines, append([]output.Cell{output.Plain("  ")}, sumLine(r)...))
	return []output.Block{t}
}

// nodesResult returns the error that carries the exit code, nil for 0.
func nodesResult(r nodes.Report) error {
	unknown := len(r.Comparison.Incomplete) > 0
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
