package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/record/kernel"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/record/verbsports"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/internal/version"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
)

// Output formats that only doctor has beside the usual four.
const (
	formatJUnit output.Format = "junit"
	formatSARIF output.Format = "sarif"
	formatHTML  output.Format = "html"
	formatProm  output.Format = "prom"
)

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	source                   cli.SourceFlags
	further                  []string // nodes beside that of source
	only, skip, shadow       []string
	suppress                 []string
	suppressions, thresholds string
	explain, since, exitOn   string
	budget                   time.Duration
	list, strict, nagios     bool
	interval                 time.Duration // between two readings of counters; 0: one reading
	probe                    []string      // peers
}

const doctorLong = `Check a node for RDMA faults. The report is grouped by part of the node, the worst first, with
a line for each finding and its fix; -v adds the evidence and why it matters, -o wide also lists the
checks that passed. In the fixes, replace the words that begin with YOUR_. doctor changes nothing.

What could not be checked is never reported as well: checks that don't apply to the node and those
that need root are listed with the reason, and don't count. --list lists the checks.

-o junit is for CI systems, -o sarif for code hosts, -o html for a ticket (one file, nothing to load),
-o prom for the textfile collector of node_exporter. --nagios prints the line of a monitoring plugin
and has its exit codes: 0 no fault, 1 a warning, 2 a failed check, 3 no result. Give it before other
flags, so that wrong ones have exit code 3 too.

--since FILE compares with an earlier report of this node (-o json, or its bundle, which has one) and
lists what is new, changed, gone and vanished, also GIDs that have moved to another index. The exit
code is then that of the findings that are new or worse than before, and 7 if a device has vanished.

Counters of errors only grow, and one value doesn't show when. With --interval, doctor reads all
counters twice and judges what happened in between, under the load of that moment.

--suppressions FILE has accepted findings as a YAML list; check and reason are required:

    - check: mtu
      object: mlx5_0:1        # or a device, for all of its ports; default: every object
      until: 2027-01-31       # last day; default: for ever
      reason: the storage network stays at 1500
      who: jd

--thresholds FILE changes limits of the checks; rdmactl doctor thresholds prints the defaults in the
same form.

--from can be repeated: then each node is checked, and the nodes are compared rail by rail, as env
consensus does, and in versions, cables, flow control and NUMA settings. The exit code is 1 if a
check of a node failed or the nodes differ in a way that breaks or slows jobs, and 7 if one of them
can't be read.

--exit-on selects the least outcome that the exit code reports; what is less is 0.

Exit codes:

    0   no check failed; there may be warnings
    1   a check failed, or with --exit-on warn a check warned
    2   wrong use: a flag, or a file of --from, --since, --suppressions or --thresholds that doesn't
        exist or is no such file
    3   nothing failed, and no check applies or the node has no RDMA device
    4   every check that applies needs root, or permission to read one of these files was denied
    6   the time limit expired (--timeout)
    7   no check failed, but a check has no result because a file could not be read`

func newDoctorCommand(app *cli.App) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this node for RDMA faults and show how to fix them",
		Long:  doctorLong,
		Example: `  rdmactl doctor
  rdmactl doctor -v --only port-active,rail-rate
  rdmactl doctor --from node17.tar.gz -o html > node17.html
  rdmactl doctor --from gpu-00.tar.gz --from gpu-01.tar.gz --from gpu-02.tar.gz
  rdmactl doctor -o json > before.json; rdmactl doctor --since before.json
  rdmactl doctor --suppress mtu@mlx5_0:1:2027-01-31
  rdmactl doctor --nagios --suppressions /etc/rdmakit/accepted.yaml
  rdmactl doctor --interval 10s
  rdmactl doctor --explain memlock`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := runDoctor(app, cmd, f)
			if f.nagios {
				return nagiosError(app, err)
			}
			return err
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		err = cmd.Parent().FlagErrorFunc()(cmd, err)
		if f.nagios { // it is before the wrong flag
			return nagiosUnknown(func(line []byte) error { _, err := cmd.OutOrStdout().Write(line); return err }, err)
		}
		return err
	})
	cli.SetFormats(cmd, append(output.Formats(), formatJUnit, formatSARIF, formatHTML, formatProm)...)
	f.addTo(cmd)
	cmd.AddCommand(newThresholdsCommand(app))
	return cmd
}

// addTo adds the flags to a command.
func (f *doctorFlags) addTo(cmd *cobra.Command) {
	f.source.AddTo(cmd)
	addFromFlag(cmd, &f.source, &f.further)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.only, "only", nil, "run only the checks `ID,...`")
	flags.StringSliceVar(&f.skip, "skip", nil, "skip the checks `ID,...`")
	flags.StringSliceVar(&f.shadow, "shadow", nil, "list the findings of the checks `ID,...` without counting them")
	flags.StringArrayVar(&f.suppress, "suppress", nil,
		"don't count the findings of check `ID[@OBJECT][:YYYY-MM-DD]`, "+
			"until the end of that day if given; can be repeated")
	flags.StringVar(&f.suppressions, "suppressions", "", "don't count the findings that are accepted in `FILE` (YAML)")
	flags.StringVar(&f.thresholds, "thresholds", "", "use the limits in `FILE` (YAML)")
	flags.StringVar(&f.since, "since", "", "compare with the earlier report in `FILE` (-o json, or a bundle)")
	flags.DurationVar(&f.budget, "budget", 0,
		"`DURATION` that all checks together may take; those that are left have no result (default: no limit)")
	flags.StringVar(&f.exitOn, "exit-on", "", "least `OUTCOME` that the exit code reports: "+
		strings.Join(exitLevels(), ", ")+" (default: unknown)")
	flags.BoolVar(&f.strict, "strict", false, "treat warnings as failures: --exit-on warn")
	flags.BoolVar(&f.nagios, "nagios", false, "print one line with the exit codes of a monitoring plugin")
	flags.DurationVar(&f.interval, "interval", 0,
		"read counters twice, `DURATION` apart (1s to 1h), and judge their rates")
	flags.StringArrayVar(&f.probe, "probe", nil,
		"send a few packets to the `PEER`, an address of another node, to find its path MTU, duplicate addresses and "+
			"whether RoCE packets are answered; can be repeated")
	flags.BoolVar(&f.list, "list", false, "list the checks without running them")
	flags.StringVar(&f.explain, "explain", "", "explain the check `ID` without running it")
	cmd.MarkFlagsMutuallyExclusive("list", "explain", "since")
	cmd.MarkFlagsMutuallyExclusive("exit-on", "strict")
	ids := checkIDs()
	for _, name := range []string{"only", "skip", "shadow"} {
		cli.CompleteWords(cmd, name, ids)
	}
	cli.CompleteWords(cmd, "explain", append(ids, doctor.SuppressionsID))
	cli.CompleteWords(cmd, "exit-on", exitLevels())
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
	err := f.validate(app)
	if err == nil && f.nagios {
		err = notWithNagios(cmd)
	}
	if err == nil && len(f.further) > 0 {
		err = f.validateNodes(app)
	}
	if err != nil {
		return cli.UsageError(cmd, err)
	}
	described := slices.Concat(all, []doctor.Check{doctor.SuppressionsCheck()})
	if f.list {
		return app.Out.Print(described, checkTables(described)...)
	}
	if f.explain != "" {
		return explainCheck(app, cmd, described, f.explain)
	}
	opts, err := f.options(all)
	if err != nil {
		return cli.UsageError(cmd, err)
	}
	if err := f.readFiles(all, &opts); err != nil {
		return err
	}
	if err := checkInterval(cmd, f.interval); err != nil {
		return err
	}
	peers, err := probePeers(f.probe)
	if err != nil {
		return cli.UsageError(cmd, err)
	}
	var before *doctor.Report
	if f.since != "" {
		if before, err = readReport(f.since); err != nil {
			return err
		}
	}
	opts.Now, opts.NotCovered, opts.Version = app.Now(), checks.NotCovered(), version.Info().Version
	if len(f.further) > 0 {
		return runDoctorNodes(app, cmd, all, append([]string{f.source.From}, f.further...), opts)
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
	opts.Recording = recordingOf(app, n, f.source.From, snap.Taken)
	in := doctor.Input{Snapshot: &snap, Facts: n.Facts()}
	switch {
	case n.Local:
		in.Facts.Gather(cmd.Context(), &snap, f.collectors(app, n.Root, peers), opts.Kinds(all)...)
	case len(peers) > 0:
		return cli.UsageError(cmd, errors.New("--probe needs this machine, not a recording"))
	case f.interval > 0:
		noteInterval(app, in.Facts)
	}
	if err := context.Cause(cmd.Context()); err != nil { // the user did not wait for the interval
		return err
	}
	report, err := doctor.Run(cmd.Context(), all, in, opts)
	if err != nil {
		return err
	}
	if before != nil {
		if err := report.Compare(*before); err != nil {
			return cli.WithHints(cli.Exitf(cli.ExitUsage, "--since %s: %w", f.since, err),
				"compare the reports of one node: --from reads its bundle")
		}
	}
	noteObstacles(app, &snap)
	if f.nagios {
		return printNagios(app, report)
	}
	result := f.result(&snap, report)
	report.ExitCode = new(cli.ExitCode(result))
	if err := printDoctor(app, all, &snap, report, f.strict); err != nil {
		return err
	}
	if result == nil {
		f.noteWarnings(app, report)
	}
	return result
}

// recordingOf describes the recording that a node was read from, nil for a machine or a directory.
func recordingOf(app *cli.App, n *sources.Node, name string, taken time.Time) *doctor.Recording {
	switch {
	case n.Bundle == nil || app.Recording != nil: // the latter is being written
		return nil
	case name == "-":
		name = "standard input"
	}
	return &doctor.Recording{Source: name, Taken: taken.UTC()}
}

// checkInterval checks the time between two readings of counters.
func checkInterval(cmd *cobra.Command, interval time.Duration) error {
	if cmd.Flags().Changed("interval") && (interval < time.Second || interval > time.Hour) {
		return cli.UsageError(cmd, fmt.Errorf("--interval %v is not between 1s and 1h", interval))
	}
	return nil
}

// noteInterval prints what the interval means for a recording.
func noteInterval(app *cli.App, f *facts.Facts) {
	if f.Rates.Known() {
		app.Out.Note("note: the recording has two readings of counters, %v apart; --interval changes nothing",
			f.Rates.Value.Interval)
		return
	}
	app.Out.Note("note: --interval needs the running node; this recording has one reading (rdmactl snapshot " +
		"--interval records two)")
}

// noteObstacles prints notes on obstacles that no check reports.
func noteObstacles(app *cli.App, snap *inventory.Snapshot) {
	for _, o := range snap.Obstacles() {
		if len(snap.Devices) > 0 && !coveredByCheck(o.ID) {
			app.Out.Note("note: %s: %s (%s)", o.Object, o.Text, o.Remedy)
		}
	}
}

// collectors returns the collectors of a run, with those of rates and of peers if the user asks for
// them.
func (f doctorFlags) collectors(app *cli.App, root fs.FS, peers []netip.Addr) []facts.Collector {
	list := append(kernel.Collectors(app.Now), verbsports.Collector(app.Now, ibverbs.Describe))
	if f.interval > 0 {
		list = append(list, kernel.Rates(kernel.RatesSource{
			Root: root, Interval: f.interval, Now: app.Now, Ethtool: kernel.EthtoolOf(list),
		}))
	}
	if len(peers) > 0 {
		list = append(list, kernel.Probe(kernel.ProbeSource{Now: app.Now, Peers: peers, Ask: askPeer}))
	}
	return list
}

// coveredByCheck reports whether a check reports the obstacle; doctor prints notes about the other
// obstacles that detect shows.
func coveredByCheck(obstacle string) bool {
	return obstacle != inventory.ObstacleNetns && obstacle != inventory.ObstacleNoCard &&
		obstacle != inventory.ObstacleNoPCIAccess
}

// validate reports flags whose values or combinations make no sense.
func (f doctorFlags) validate(app *cli.App) error {
	format := app.Out.Format()
	usual := slices.Contains(output.Formats(), format)
	switch {
	case f.exitOn != "" && !slices.Contains(exitLevels(), f.exitOn):
		err := fmt.Errorf("--exit-on: %q is not one of %s", f.exitOn, strings.Join(exitLevels(), ", "))
		return cli.WithHints(err, cli.DidYouMean(spelling.Nearest(f.exitOn, exitLevels(), spelling.Loose))...)
	case f.budget < 0:
		return fmt.Errorf("--budget: %v is negative", f.budget)
	case (f.list || f.explain != "") && !usual:
		return fmt.Errorf("-o %s can't be combined with --list or --explain", format)
	case f.nagios && format != output.FormatTable && format != output.FormatWide:
		return fmt.Errorf("-o %s can't be combined with --nagios, which has a form of its own", format)
	}
	return nil
}

// options converts the flags into options of a run and validates them.
func (f doctorFlags) options(all []doctor.Check) (doctor.Options, error) {
	opts := doctor.Options{Only: f.only, Skip: f.skip, Shadow: f.shadow, Budget: f.budget}
	named := slices.Concat(f.only, f.skip, f.shadow)
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
	if err := opts.Validate(all); err != nil {
		return opts, err
	}
	if !slices.ContainsFunc(all, func(c doctor.Check) bool { return opts.Selects(c.ID) }) {
		return opts, errors.New("--only and --skip leave no check")
	}
	return opts, nil
}

// unknownCheck returns an error if no check that can be chosen, skipped or suppressed has the ID.
func unknownCheck(id string) error {
	ids := checkIDs()
	switch {
	case slices.Contains(ids, id):
		return nil
	case id == doctor.SuppressionsID:
		err := fmt.Errorf("the check %s belongs to every run and can't be chosen, skipped or suppressed", id)
		return cli.WithHints(err, "rdmactl doctor --explain "+id)
	}
	err := fmt.Errorf("%w: %q", doctor.ErrUnknownCheck, id)
	return cli.WithHints(cli.WithHints(err, cli.DidYouMean(spelling.Nearest(id, ids, spelling.Loose))...),
		"rdmactl doctor --list lists the checks")
}
