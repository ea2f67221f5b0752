package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/launch/consensus"
	"github.com/rdmakit/rdmakit/launch/consensus/inputs"
)

// consensusFlags are the flags of env consensus.
type consensusFlags struct {
	libraries        []string
	include, exclude []string
	routed           bool
}

func newEnvConsensusCommand(app *cli.App) *cobra.Command {
	var flags consensusFlags
	cmd := &cobra.Command{
		Use:   "consensus NODE...",
		Short: "Compare the nodes of a job and find settings that suit all of them",
		Long: `Compare the nodes of a job. The report shows whether the nodes have the same rails (number, link
layer, rate, MTU, subnet or fabric, partition, GID type), which nodes differ from the majority and
which file shows it, duplicate addresses and GUIDs, which GID index can be pinned on all nodes, and
which variables of rdmactl env can be set for the whole job.

A NODE is a file: the output of "rdmactl detect -o json" (several documents or an array of them are
several nodes), a bundle (tar.gz) or a node tree as text; a directory of such files, or the root
directory of a node; or - for standard input. Give at least two nodes. Inputs that are not nodes are
reported, and the others are compared.

Ports are selected on each node in the same way as by rdmactl env. --include and --exclude accept
the same selectors; a selector that matches no port of a node is ignored there. Rails are paired by
the rail numbers that rdmactl detect shows, else by subnet or fabric, else by the order of the
devices; the report names the method.

Exit codes:

    0   the nodes agree
    1   the nodes differ in a way that breaks a job or slows it down
    2   fewer than two inputs are nodes
    3   no node has RDMA
    7   the nodes agree, but an input or a file could not be read`,
		Example: `  rdmactl env consensus gpu-00.json gpu-01.json gpu-02.json
  rdmactl env consensus -o json nodes/ > report.json
  ssh gpu-07 rdmactl detect -o json | rdmactl env consensus gpu-00.json -`,
		RunE: func(cmd *cobra.Command, args []string) error { return runConsensus(app, cmd, flags, args) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&flags.libraries, "for", libraryNames(launch.DefaultLibraries()),
		"`LIBRARIES`: "+strings.Join(libraryNames(launch.Libraries()), ", ")+", or all")
	f.StringSliceVar(&flags.include, "include", nil, "only ports that match `SELECTOR`, whatever their role")
	f.StringSliceVar(&flags.exclude, "exclude", nil, "leave out ports that match `SELECTOR`")
	f.BoolVar(&flags.routed, "routed", false, "the fabric routes between the subnets of a rail: they may differ")
	cli.CompleteWords(cmd, "for", append(libraryNames(launch.Libraries()), "all"))
	return cmd
}

func runConsensus(app *cli.App, cmd *cobra.Command, flags consensusFlags, args []string) error {
	opts := consensus.Options{
		Include: flags.include, Exclude: flags.exclude, Routed: flags.routed, Roles: app.Config.Roles,
	}
	var err error
	if opts.Libraries, err = launch.ParseLibraries(flags.libraries); err != nil {
		return cli.UsageError(cmd, fmt.Errorf("--for: %w", err))
	}
	if err := opts.Check(); err != nil {
		return cli.UsageError(cmd, err)
	}
	nodes, bad, err := readNodes(cmd.Context(), app, args, opts)
	if errors.Is(err, inputs.ErrTooMany) {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	if err != nil {
		return err
	}
	if app.Out.Structured() || len(nodes) < 2 { // the report lists them
		for _, u := range bad {
			app.Out.Note("warning: %s: %s", u.Source, u.Error)
		}
	}
	if missed := consensus.Unmatched(nodes); len(missed) > 0 {
		return cli.UsageError(cmd, fmt.Errorf("%s matches no port of any node", strings.Join(missed, ", ")))
	}
	if len(nodes) < 2 {
		return tooFewNodes(nodes, bad)
	}
	report := consensus.Compare(nodes, opts)
	report.Unreadable = bad
	if err := app.Out.Print(report, consensusBlocks(report, app.Out.Wide())...); err != nil {
		return err
	}
	return consensusExit(report)
}

// readNodes reads the nodes and shows its progress.
func readNodes(
	ctx context.Context, app *cli.App, names []string, opts consensus.Options,
) ([]*consensus.Node, []consensus.Unreadable, error) {
	progress := app.ReadingProgress("reading nodes: inputs", 0, names)
	defer progress.Done()
	files := inputs.Files{
		Names: names, Stdin: app.Input(),
		Ignored: func(path string) { app.Out.Note("%s: subdirectories are not read", path) },
		Reading: func(string) { progress.Add(1) },
	}
	return files.Nodes(ctx, opts)
}

// tooFewNodes returns a usage error: a single node always agrees with itself, and exit code 0 would
// hide that a script's list of files has shrunk to one.
func tooFewNodes(nodes []*consensus.Node, bad []consensus.Unreadable) error {
	var err error
	switch {
	case len(nodes) == 0:
		err = errors.New("no input is a node")
	default:
		err = errors.New("only one input is a node: give at least two")
	}
	hint := "rdmactl env --explain shows one node"
	if len(bad) > 0 {
		err = fmt.Errorf("%w (%s could not be read, the first: %s: %s)",
			err, english.Count(len(bad), "input"), bad[0].Source, bad[0].Error)
		hint = "run rdmactl snapshot on each node to create the inputs"
	}
	return cli.WithHints(&cli.ExitError{Code: cli.ExitUsage, Err: err}, hint)
}

// consensusExit returns the error that carries the exit code.
func consensusExit(r consensus.Report) error {
	switch {
	case r.Verdict == consensus.VerdictDiffer:
		return cli.ExitSilently(cli.ExitFault)
	case len(r.Unreadable)+len(r.Incomplete) > 0:
		return cli.ExitSilently(cli.ExitPartial)
	case r.Verdict == consensus.VerdictNone:
		return cli.ExitSilently(cli.ExitNotFound)
	}
	return nil
}
