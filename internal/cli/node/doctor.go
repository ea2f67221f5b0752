package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/internal/cli"
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
	explain      string
	list, strict bool
}

func newDoctorCommand(app *cli.App) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say whether RDMA can work on this node, what is wrong, and what to do about it",
		Long: `Judge a node by the checks that --list names, and tell of each fault where it was
seen, why it matters, and the commands that mend it. Words in them that begin with
YOUR_ are yours to choose. Nothing is changed.

The exit code is 1 when a check failed, or with --strict also when one warned; 7 when
something could not be judged because it could not be read; 3 when nothing applies,
such as on a node without RDMA; and 0 otherwise, with warnings too.`,
		Example: `  rdmactl doctor
  rdmactl doctor --from node17.tar.gz -o wide
  rdmactl doctor --only port-active,rail-rate -o json
  rdmactl doctor --suppress mtu@mlx5_0:1:2027-01-31
  rdmactl doctor --explain memlock`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctor(app, cmd, f) },
	}
	f.source.AddTo(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.only, "only", nil, "run these checks only: `ID,...`")
	flags.StringSliceVar(&f.skip, "skip", nil, "leave these checks out: `ID,...`")
	flags.StringArrayVar(&f.suppress, "suppress", nil,
		"don't count what a check finds: `ID[@OBJECT][:YYYY-MM-DD]`, until the end of that day; may be given often")
	flags.BoolVar(&f.strict, "strict", false, "let warnings count as failures")
	flags.BoolVar(&f.list, "list", false, "list the checks and run none")
	flags.StringVar(&f.explain, "explain", "", "explain the check `ID` and run none")
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
	// What could not be read is part of the report where a check needed it, so
	// the scan's own verdict on that is only noted.
	snap, _, err := app.Scan(cmd.Context(), f.source)
	if err != nil {
		return err
	}
	report, err := doctor.Run(cmd.Context(), all, doctor.Input{Snapshot: &snap}, opts)
	if err != nil {
		return err
	}
	for _, s := range report.Expired {
		app.Out.Note("note: the suppression of %s ended on %s",
			strings.TrimSuffix(s.CheckID+"@"+s.Object, "@"), s.Until)
	}
	for _, o := range snap.Obstacles() {
		if len(snap.Devices) > 0 && !judgedByCheck(o.ID) {
			app.Out.Note("note: %s: %s (%s)", o.Object, o.Text, o.Remedy)
		}
	}
	if err := app.Out.Print(report, ReportBlocks(report, app.Out.Wide())...); err != nil {
		return err
	}
	return doctorResult(app, &snap, report, f.strict)
}

// judgedByCheck tells which of the obstacles that detect shows are a check's
// business; the others would be missing from what doctor says.
func judgedByCheck(obstacle string) bool {
	return obstacle != inventory.ObstacleNetns && obstacle != inventory.ObstacleNoCard &&
		obstacle != inventory.ObstacleNoPCIAccess
}

// options turns the flags into options of a run, and finds what is wrong with them.
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

// unknownCheck returns the error for an ID that no check has, nil for one that has.
func unknownCheck(id string) error {
	ids := checkIDs()
	if slices.Contains(ids, id) {
		return nil
	}
	err := fmt.Errorf("%w: %q", doctor.ErrUnknownCheck, id)
	return cli.WithHints(cli.WithHints(err, cli.DidYouMean(spelling.Nearest(id, ids, spelling.Loose))...),
		"rdmactl doctor --list names the checks")
}

// doctorResult is the end of a run: the error that carries its exit code.
func doctorResult(app *cli.App, snap *inventory.Snapshot, r doctor.Report, strict bool) error {
	switch {
	case r.Counts.Fail > 0 || strict && r.Counts.Warn > 0:
		return cli.ExitSilently(cli.ExitFault)
	case r.Counts.Unknown > 0:
		return cli.ExitSilently(cli.ExitPartial)
	case r.Verdict == doctor.OutcomeNotApplicable:
		return nothingToJudge(snap, r)
	case r.Counts.Warn > 0:
		app.Out.Note("note: %s; --strict makes that exit code 1", english.Count(r.CheckCounts.Warn, "warning"))
	}
	return nil
}

// nothingToJudge says why no check applies, and what would change that.
func nothingToJudge(snap *inventory.Snapshot, r doctor.Report) error {
	switch {
	case len(r.Findings) == 0:
		return cli.Exitf(cli.ExitNotFound, "no check is left to run")
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
		{Key: "needs", Value: output.Plain(c.Needs.String())},
	}}
	for i, pattern := range c.Reads {
		list.Items = append(list.Items, output.Item{Key: cli.FirstOnly(i, "judges"), Value: output.Plain(pattern)})
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
