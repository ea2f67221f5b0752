package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/leaf"
	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/cluster/worker"
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/verbs"
)

// verifyFlags are the flags of the command.
type verifyFlags struct {
	local, rails int
	workers      int
	listen       string
	wait         time.Duration
	stages       []string
	budget, step time.Duration
	flows        int
	seed         uint64
	topology     []string
	journal      string
	resume       string
	plan         bool
	output       reportFlags
}

func newVerifyCommand(app *cli.App) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Measure between all nodes, and name what is slow, unsteady or broken",
		Long: `Measure between the cards of all nodes, rail by rail, and name what is slow, unsteady or broken: node,
card, direction, cable or uplink, with the evidence and the next physical step.

--local N is for a first try: N workers on the loopback network of this machine, with RoCE v2 in
user space. It needs no hardware, and its figures are those of this machine's processors. With
--workers N, the command prints the line to run on each node, and waits for them.

The stages run from the inside out, so that no link is blamed for the fault of a host:

    reach        each card reaches the others of its rail
    loopback     each card to itself, and to the next card of its node
    pairs        bandwidth of all pairs of each rail, both directions at once; beyond 128 nodes
                 random pairs, and the suspects again with other partners
    incast       2, 4 and 8 senders to one receiver
    permutation  all cards at once, each to another leaf's
    jitter       round trips, idle and beside other traffic, and the slowest of all at each step
    collective   ring and tree all-reduce over host memory

Faults of uplinks and spines show only if the leaf switches of the nodes are known. Nodes with lldpd
report them. --topology FILE reads them from a sweep that rdmactl fabric topology --save has saved,
or from what lldpctl -f json printed on a node, in a file named after the node; it may be a folder
of such files. Otherwise they are inferred from round trips, if these tell them clearly.

The price is printed before the first stage; --budget shortens the longest stages until the estimate
is within it. Every round is written to the journal: --resume continues after the leader was ended,
and rdmactl cluster report reads it.

Exit codes:

    0   nothing was found
    1   something is slow, unsteady or broken
    2   wrong use: command, flag or argument
    3   no node with a card
    7   not everything could be measured: a node vanished, or the run was ended early`,
		Example: `  rdmactl cluster verify --local 4
  rdmactl cluster verify --workers 16 --listen 192.0.2.1:7700 --budget 5m
  rdmactl cluster verify --local 8 --rails 2 --stages reach,pairs --budget 1m
  rdmactl cluster verify --workers 16 --listen 192.0.2.1:7700 --topology sweep.json
  rdmactl cluster verify --local 4 --resume rdmakit-verify-20261126-144300.journal
  rdmactl cluster verify --local 4 --html report.html -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(); err != nil {
				return cli.UsageError(cmd, err)
			}
			return f.run(cmd.Context(), app)
		},
	}
	f.addTo(cmd)
	return cmd
}

func (f *verifyFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.local, "local", 0,
		fmt.Sprintf("start this `NUMBER` of workers on this machine, 2 to %d", maxLocalNodes))
	flags.IntVar(&f.rails, "rails", 1,
		fmt.Sprintf("with --local: `NUMBER` of rails of each worker, 1 to %d", maxLocalRails))
	flags.IntVar(&f.workers, "workers", 0, "wait for this `NUMBER` of workers, rdmactl cluster worker --join")
	flags.StringVar(&f.listen, "listen", "", "with --workers: listen for them at `ADDRESS:PORT`")
	flags.DurationVar(&f.wait, "wait", joinLimit, "with --workers: how long to wait for them, as a `TIME`")
	flags.StringSliceVar(&f.stages, "stages", nil, "only these `STAGES`, separated by commas")
	flags.DurationVar(&f.budget, "budget", 0, "shorten the plan until it takes about this `TIME`")
	flags.DurationVar(&f.step, "step", 0, "`TIME` of a measurement of bandwidth (default 1s)")
	flags.IntVar(&f.flows, "flows", 0, "`NUMBER` of queue pairs between cards of different leaves, to cover the ways "+
		"of ECMP (default 16)")
	flags.Uint64Var(&f.seed, "seed", 1, "`NUMBER` that random choices of the plan depend on")
	flags.StringArrayVar(&f.topology, "topology", nil, "find the leaves of the nodes in `FILE`: a saved sweep, or the "+
		"output of lldpctl -f json in NODE.json, or a folder of these; may be repeated")
	flags.StringVar(&f.journal, "journal", "", "record every round in the new `FILE` (default: "+journalPattern+"); "+
		"none for no journal")
	flags.StringVar(&f.resume, "resume", "", "continue the verification of this journal `FILE`")
	flags.BoolVar(&f.plan, "plan", false, "print the stages and their price, and measure nothing")
	f.output.addTo(cmd)
	cmd.MarkFlagsMutuallyExclusive("journal", "resume")
	cmd.MarkFlagsMutuallyExclusive("local", "workers")
	cmd.MarkFlagsRequiredTogether("workers", "listen")
}

func (f *verifyFlags) validate() error {
	switch {
	case f.local == 0 && f.workers == 0:
		return cli.WithHints(errors.New("no nodes"), "--local 4 starts four workers on this machine",
			"--workers N --listen ADDRESS:PORT waits for those of other machines")
	case f.workers != 0 && (f.workers < 2 || f.workers > maxWorkers):
		return fmt.Errorf("--workers %d is not 2 to %d", f.workers, maxWorkers)
	case f.workers == 0 && (f.local < 2 || f.local > maxLocalNodes):
		return fmt.Errorf("--local %d is not 2 to %d", f.local, maxLocalNodes)
	case f.rails < 1 || f.rails > maxLocalRails:
		return fmt.Errorf("--rails %d is not 1 to %d", f.rails, maxLocalRails)
	case f.budget < 0 || f.step < 0 || f.flows < 0 || f.wait < 0:
		return errors.New("--budget, --step, --flows and --wait can't be negative")
	}
	if host, _, err := net.SplitHostPort(f.listen); f.listen != "" && err == nil {
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			return cli.WithHints(fmt.Errorf("--listen %s: workers need an address to dial", f.listen),
				"give the address of this machine that the nodes reach: --listen 192.0.2.1:7700")
		}
	}
	for _, s := range f.stages {
		if !slices.Contains(plan.Names(), plan.Name(s)) {
			names := make([]string, len(plan.Names()))
			for i, n := range plan.Names() {
				names[i] = string(n)
			}
			return fmt.Errorf("--stages: no stage %q: there are %s", s, strings.Join(names, ", "))
		}
	}
	return nil
}

// options returns the options of the plan.
func (f *verifyFlags) options() plan.Options {
	o := plan.Options{Budget: f.budget, Seed: f.seed, Step: f.step, Flows: f.flows}
	for _, s := range f.stages {
		o.Stages = append(o.Stages, plan.Name(s))
	}
	return o
}

// maxWorkers is the largest number of workers.
const maxWorkers = 1 << 14

// joinLimit is how long workers may take to join.
const joinLimit = 2 * time.Minute

// run lets the workers join, measures, and prints what was found.
func (f *verifyFlags) run(ctx context.Context, app *cli.App) error {
	if err := newFiles(f.output.html, f.output.save); err != nil {
		return err
	}
	sources, err := readTopologies(f.topology)
	if err != nil {
		return err
	}
	h, err := listen(ctx, cmp.Or(f.listen, "127.0.0.1:0"))
	if err != nil {
		return err
	}
	defer func() { _ = h.close() }() // again after the regular end, which reports errors
	if f.workers > 0 {
		app.Out.Note("on each node: rdmactl cluster worker --join %s", doctor.Quote(h.invitation.String()))
	}
	for n := range f.local {
		h.start(worker.New(worker.Config{Node: localNode(n, f.rails), Wait: verbs.WaitEvent}))
	}
	links, err := h.join(ctx, max(f.local, f.workers), f.wait)
	if errors.Is(err, errLate) && len(links) > 1 {
		app.Out.Note("warning: %v", err)
		err = nil
	}
	if err != nil {
		return err
	}
	fleet, missing, err := leader.NewFleet(ctx, leader.FleetConfig{Links: links})
	if err != nil {
		return err
	}
	for _, why := range missing {
		app.Out.Note("warning: a worker is left out: %v", why)
	}
	p, leavesFrom, err := f.makePlan(ctx, app, fleet, sources)
	if err != nil {
		return errors.Join(err, fleet.End(ctx))
	}
	app.Out.Note("%s", priceOf(p))
	if f.plan {
		return fleet.End(ctx)
	}
	run, err := f.measure(ctx, app, fleet, p, leavesFrom)
	if run == nil {
		return err
	}
	if endErr := errors.Join(fleet.End(ctx), h.close()); endErr != nil && ctx.Err() == nil {
		app.Out.Note("warning: %v", endErr)
	}
	if err != nil {
		app.Out.Note("warning: the verification ended early: %v", err)
	}
	return f.output.show(app, run)
}

// priceOf says what a plan costs.
func priceOf(p *plan.Plan) string {
	c := p.Cost()
	cards := 0
	for _, n := range p.Cluster.Nodes {
		cards += len(n.Rails)
	}
	text := fmt.Sprintf("%s with %s: %s, about %v", english.Count(len(p.Cluster.Nodes), "node"),
		english.Count(cards, "card"), english.Count(c.Rounds, "round"), c.Time.Round(time.Second))
	if c.Bytes > 0 {
		const giga = 1e9
		text += fmt.Sprintf(", up to %.0f GB, %.1f GB by one card", c.Bytes/giga, c.MostPerCard/giga)
	}
	if len(c.Trimmed) > 0 {
		names := make([]string, len(c.Trimmed))
		for i, n := range c.Trimmed {
			names[i] = string(n)
		}
		text += "; shortened by the budget: " + strings.Join(names, ", ")
	}
	return text
}

// makePlan finds the leaves of the nodes, and makes the plan.
func (f *verifyFlags) makePlan(
	ctx context.Context, app *cli.App, fleet *leader.Fleet, sources *leaf.Sources,
) (p *plan.Plan, leavesFrom string, err error) {
	nodes, err := fleet.Survey(ctx)
	if err == nil {
		leavesFrom, err = setLeaves(app, fleet, sources, nodes)
	}
	if err == nil {
		p, err = plan.New(fleet.Cluster(), f.options())
	}
	return p, leavesFrom, err
}

// measure runs the plan, with a journal.
func (f *verifyFlags) measure(
	ctx context.Context, app *cli.App, r *leader.Fleet, p *plan.Plan, leavesFrom string,
) (*result.Run, error) {
	c := leader.Config{
		Plan: p, Scale: r.Scale(), LeavesFrom: leavesFrom, Leaves: inferLeaves(app),
		Suspects: verdict.Retest, Now: app.Now,
	}
	file, err := f.openJournal(app, &c)
	if err != nil {
		return nil, err
	}
	if file != nil {
		defer func() { _ = file.Close() }() // each line was synced
		c.Journal = leader.NewJournal(file)
	}
	progress := newProgress(app, p)
	c.Progress = progress.show
	defer progress.done()
	run, err := leader.Verify(ctx, r, c)
	if errors.Is(err, leader.ErrOtherPlan) {
		return nil, cli.WithHints(cli.Exitf(cli.ExitUsage, "%w", err),
			"give the same nodes, --stages, --budget, --flows and --seed as before")
	}
	return run, err
}

// journalPattern is the name of a journal, with the time at which the run began.
const journalPattern = "rdmakit-verify-20060102-150405.journal"

// noJournal is the value of --journal for none.
const noJournal = "none"

// openJournal opens the journal: a new one, or that of a run to be resumed. It is nil for none.
func (f *verifyFlags) openJournal(app *cli.App, c *leader.Config) (*os.File, error) {
	const mode = 0o644
	if f.resume == "" {
		if f.journal == noJournal {
			return nil, nil //nolint:nilnil // no journal is wanted
		}
		name := cmp.Or(f.journal, app.Now().Format(journalPattern))
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return nil, fmt.Errorf("create journal: %w", err)
		}
		app.Out.Note("journal: %s", name)
		return file, nil
	}
	file, err := os.OpenFile(f.resume, os.O_RDWR, mode)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	run, size, err := leader.ReadJournal(file)
	if err == nil {
		err = file.Truncate(size)
	}
	if err == nil {
		_, err = file.Seek(size, io.SeekStart)
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, fmt.Errorf("resume %s: %w", f.resume, err)
	}
	c.Resume = run
	return file, nil
}
