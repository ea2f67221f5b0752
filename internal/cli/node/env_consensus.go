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
		Short: "Compare nodes: what agrees, what can be pinned",
		Long: `Consensus compares the nodes of a job: whether they have the same rails (number, link layer, rate,
MTU, subnet or fabric, partition, kind of GID), which nodes differ from the majority and by which
file, what is there twice, which GID index can be pinned for all, and which variables of rdmactl env
may be set for the whole job.

A NODE is a file: what "rdmactl detect -o json" prints (several documents, or an array of them,
count as several nodes), a bundle (tar.gz) or a node tree as text; a folder of such files, or one
that is the root of a node; or - for standard input. Two nodes at least are needed. What is no node
is named, and the rest is compared.

Ports are selected as rdmactl env does it on each node, and --include and --exclude take the same
selectors; one that fits nothing on some node is ignored there. Rails are matched by the inventory's
numbers, else by their subnets or fabrics, else in order; the report says how.

The exit code is 0 when the nodes agree, 1 when they differ in something that breaks or slows a job,
2 when fewer than two inputs are nodes, 3 when no node has RDMA, 7 when the nodes agree and some
input or file could not be read.`,
		Example: `  rdmactl env consensus gpu-00.json gpu-01.json gpu-02.json
  rdmactl env consensus -o json nodes/ > report.json
  ssh gpu-07 rdmactl detect -o json | rdmactl env consensus --for nccl,ucx gpu-00.json -`,
		RunE: func(cmd *cobra.Command, args []string) error { return runConsensus(app, cmd, flags, args) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&flags.libraries, "for", libraryNames(launch.DefaultLibraries()),
		"`LIBRARIES`: "+strings.Join(libraryNames(launch.Libraries()), ", ")+", or all")
	f.StringSliceVar(&flags.include, "include", nil, "only ports that match `SELECTOR`, whatever their role")
	f.StringSliceVar(&flags.exclude, "exclude", nil, "no ports that match `SELECTOR`")
	f.BoolVar(&flags.routed, "routed", false, "the fabric routes between subnets of one rail: they may differ")
	cli.CompleteWords(cmd, "for", append(libraryNames(launch.Libraries()), "all"))
	return cmd
}

func runConsensus(app *cli.App, cmd *cobra.Command, flags consensusFlags, args []string) error {
	opts := consensus.Options{Include: flags.include, Exclude: flags.exclude, Routed: flags.routed}
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
	if app.Out.Structured() || len(nodes) < 2 { // the table names them itself
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

// readNodes reads the nodes and shows that it does.
func readNodes(
	ctx context.Context, app *cli.App, names []string, opts consensus.Options,
) ([]*consensus.Node, []consensus.Unreadable, error) {
	progress := app.ReadingProgress("reading nodes: inputs", 0, names)
	defer progress.Done()
	files := inputs.Files{
		Names: names, Stdin: app.Stdin,
		Ignored: func(path string) { app.Out.Note("%s: a folder within a folder is not opened", path) },
		Reading: func(string) { progress.Add(1) },
	}
	return files.Nodes(ctx, opts)
}

// tooFewNodes is a wrong use: one node agrees with itself whatever is wrong with it,
// and exit code 0 would let a script go on whose list of files has shrunk to one.
func tooFewNodes(nodes []*consensus.Node, bad []consensus.Unreadable) error {
	var err error
	switch {
	case len(nodes) == 0:
		err = errors.New("no input is a node")
	default:
		err = errors.New("one node has nothing to agree with: name at least two")
	}
	hint := "rdmactl env --explain tells about one node"
	if len(bad) > 0 {
		err = fmt.Errorf("%w (%s could not be read, the first: %s: %s)",
			err, english.Count(len(bad), "input"), bad[0].Source, bad[0].Error)
		hint = "rdmactl detect -o json > NAME.json on each node makes the inputs"
	}
	return cli.WithHints(&cli.ExitError{Code: cli.ExitUsage, Err: err}, hint)
}

// consensusExit answers with the exit code whether the nodes agree.
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
