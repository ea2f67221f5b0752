package node

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/record/kernel"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/inventory"
)

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	source       cli.SourceFlags
	only, skip   []string
	suppress     []string
	probe        []string
	explain      string
	list, strict bool
}

func newDoctorCommand(app *cli.App) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this node for RDMA faults and show how to fix them",
		Long: `Check a node for RDMA faults. For each fault, doctor shows where it was found, why it matters, and
the commands that fix it; in these commands, replace the words that begin with YOUR_. doctor changes
nothing. --list lists the checks.

Exit codes:

    0   no check failed; there may be warnings
    1   a check failed, or with --strict a check warned
    3   no check applies, such as on a node without RDMA
    7   no check failed, but a check has no result because a file could not be read`,
		Example: `  rdmactl doctor
  rdmactl doctor --from node17.tar.gz -o wide
  rdmactl doctor --only port-active,rail-rate -o json
  rdmactl doctor --suppress mtu@mlx5_0:1:2027-01-31
  rdmactl doctor --explain memlock`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctor(app, cmd, f) },
	}
	f.source.AddTo(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.only, "only", nil, "run only the checks `ID,...`")
	flags.StringSliceVar(&f.skip, "skip", nil, "skip the checks `ID,...`")
	flags.StringArrayVar(&f.suppress, "suppress", nil,
		"don't count the findings of check `ID[@OBJECT][:YYYY-MM-DD]`, "+
			"until the end of that day if given; can be repeated")
	flags.StringArrayVar(&f.probe, "probe", nil,
		"send a few packets to the `PEER`, an address of another node, to find its path MTU and duplicate addresses; "+
			"can be repeated")
	flags.BoolVar(&f.strict, "strict", false, "treat warnings as failures")
	flags.BoolVar(&f.list, "list", false, "list the checks without running them")
	flags.StringVar(&f.explain, "explain", "", "explain the check `ID` without running it")
	cmd.MarkFlagsMutuallyExclusive("list", "explain")
	ids := checkIDs()
	for _, name := range []string{"only", "skip", "explain"} {
		cli.CompleteWords(cmd, name, ids)
	}
	return cmd
}

func checkIDs() []string {
	var ids []string
	for _, c := range checks.All() {
		ids = append(ids, c.ID)
	}
	return ids
}

func runDoctor(app *cli.App, cmd *cobra.Command, f doctorFlags) error {
	all := checks.All()
	if f.list {
		return app.Out.Print(all, checkTable(all))
	}
	if f.explain != "" {
		return explainCheck(app, cmd, all, f.explain)
	}
	opts, err := f.options(all)
	if err != nil {
		return cli.UsageError(cmd, err)
	}
	opts.Now = app.Now()
	peers, err := probePeers(f.probe)
	if err != nil {
		return cli.UsageError(cmd, err)
	}
	// The report has the files that a check needs and that could not be read, so the error of the
	// scan about them is only a note.
	n, err := app.OpenNode(f.source)
	if err != nil {
		return err
	}
	defer n.Close()
	snap, _, err := app.ScanNode(cmd.Context(), n)
	if err != nil {
		return err
	}
	in := doctor.Input{Snapshot: &snap, Facts: n.Facts()}
	if n.Local {
		collectors := kernel.Collectors(app.Now)
		if len(peers) > 0 {
			collectors = append(collectors, kernel.Probe(app.Now, peers))
		}
		in.Facts.Gather(cmd.Context(), &snap, collectors, opts.Kinds(all)...)
	} else if len(peers) > 0 {
		return cli.UsageError(cmd, errors.New("--probe needs this machine, not a recording"))
	}
	report, err := doctor.Run(cmd.Context(), all, in, opts)
	if err != nil {
		return err
	}
	for _, s := range report.Expired {
		app.Out.Note("note: the suppression of %s ended on %s",
			strings.TrimSuffix(s.CheckID+"@"+s.Object, "@"), s.Until)
	}
	for _, o := range snap.Obstacles() {
		if len(snap.Devices) > 0 && !coveredByCheck(o.ID) {
			app.Out.Note("note: %s: %s (%s)", o.Object, o.Text, o.Remedy)
		}
	}
	if err := app.Out.Print(report, ReportBlocks(report, app.Out.Wide())...); err != nil {
		return err
	}
	return doctorResult(app, &snap, report, f.strict)
}

// probePeers parses the addresses of --probe.
func probePeers(texts []string) ([]netip.Addr, error) {
	var peers []netip.Addr
	for _, text := range texts {
		a, err := netip.ParseAddr(text)
		if err != nil || !a.Unmap().Is4() || a.Unmap().IsLoopback() {
			return nil, fmt.Errorf("--probe %q: not an IPv4 address of another node", text)
		}
		peers = append(peers, a.Unmap())
	}
	return peers, nil
}

// coveredByCheck reports whether a check reports the obstacle; doctor prints notes about the other
// obstacles that detect shows.
func coveredByCheck(obstacle string) bool {
	return obstacle != inventory.ObstacleNetns && obstacle != inventory.ObstacleNoCard &&
		obstacle != inventory.ObstacleNoPCIAccess
}

// options converts the flags into options of a run and validates them.
func (f doctorFlags) options(all []doctor.Check) (doctor.Options, error) {
	opts := doctor.Options{Only: f.only, Skip: f.skip}
	named := slices.Concat(f.only, f.skip)
	for _, text := range f.suppress {
		s, err := doctor.ParseSuppression(text)
		if err != nil {
			return opts, err
		}
		opts.Suppressions = append(opts.Suppressions, s)
		named = append(named, s.CheckID)
	}
	for _, id := range named {
		if err := unknownCheck(id); err != nil {
			return opts, err
		}
	}
	return opts, opts.Validate(all)
}

// unknownCheck returns an error if no check has the ID.
func unknownCheck(id string) error {
	ids := checkIDs()
	if slices.Contains(ids, id) {
		return nil
	}
	err := fmt.Errorf("%w: %q", doctor.ErrUnknownCheck, id)
	return cli.WithHints(cli.WithHints(err, cli.DidYouMean(spelling.Nearest(id, ids, spelling.Loose))...),
		"rdmactl doctor --list lists the checks")
}

// doctorResult returns the error that carries the exit code of a run, nil for 0.
func doctorResult(app *cli.App, snap *inventory.Snapshot, r doctor.Report, strict bool) error {
	switch {
	case r.Counts.Fail > 0 || strict && r.Counts.Warn > 0:
		return cli.ExitSilently(cli.ExitFault)
	case r.Counts.Unknown > 0:
		return cli.ExitSilently(cli.ExitPartial)
	case r.Verdict == doctor.OutcomeNotApplicable:
		return noCheckApplies(snap, r)
	case r.Counts.Warn > 0:
		app.Out.Note("note: %s; with --strict the exit code is 1", english.Count(r.CheckCounts.Warn, "warning"))
	}
	return nil
}

// noCheckApplies returns an error that says why no check applies, with hints.
func noCheckApplies(snap *inventory.Snapshot, r doctor.Report) error {
	switch {
	case len(r.Findings) == 0:
		return cli.Exitf(cli.ExitNotFound, "no checks are selected")
	case len(snap.Devices) > 0:
		return cli.Exitf(cli.ExitNotFound, "none of these checks applies to this node")
	}
	var hints []string
	for _, o := range snap.Obstacles() {
		hints = append(hints, o.Remedy)
	}
	return cli.WithHints(cli.Exitf(cli.ExitNotFound, "%s", r.Findings[0].Summary),
		append(hints, "rdmactl detect shows what this node has")...)
}

func explainCheck(app *cli.App, cmd *cobra.Command, all []doctor.Check, id string) error {
	if err := unknownCheck(id); err != nil {
		return cli.UsageError(cmd, err)
	}
	c := all[slices.IndexFunc(all, func(c doctor.Check) bool { return c.ID == id })]
	list := output.List{Items: []output.Item{
		{Key: "at worst", Value: outcomeCell(c.Severity, string(c.Severity))},
		{Key: "needs", Value: output.Plain(c.Needs.String()).Flow(0)},
	}}
	for i, pattern := range c.Reads {
		list.Items = append(list.Items, output.Item{Key: cli.FirstOnly(i, "reads"), Value: output.Plain(pattern)})
	}
	for i, source := range c.Sources {
		list.Items = append(list.Items,
			output.Item{Key: cli.FirstOnly(i, "source"), Value: output.Plain(source).Flow(0)})
	}
	return app.Out.Print(c,
		output.Text{Lines: [][]output.Cell{{output.Bold(c.ID), output.Plain(": " + c.Title)}}},
		output.Line(output.Plain(c.Explanation).Flow(cli.TextWidth)),
		output.Line(output.Plain(c.Remedy).Flow(cli.TextWidth)),
		list)
}

func checkTable(all []doctor.Check) output.Table {
	t := output.Table{Columns: []output.Column{
		{Name: "check"}, {Name: "at worst"}, {Name: "finds", Wrap: true}, {Name: "needs", Wide: true},
	}}
	for _, c := range all {
		t.Rows = append(t.Rows, []output.Cell{
			output.Plain(c.ID), outcomeCell(c.Severity, string(c.Severity)), output.Plain(c.Title),
			output.Plain(c.Needs.String()),
		})
	}
	return t
}
