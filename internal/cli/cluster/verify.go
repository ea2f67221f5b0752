package cluster

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/cli"
)

// verifyFlags are the flags of the command.
type verifyFlags struct {
	local, rails int
	tasks        int // nodes of a launcher's job
	hosts        hostFlags
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
	yes, force   bool
	gentle       float64
	output       reportFlags

	old     *result.Run // of the journal to be resumed; nil for a new run
	oldSize int64       // of the journal up to its last whole line, in bytes
}

func newVerifyCommand(app *cli.App) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Measure between all nodes, and name what is slow, unsteady or broken",
		Long: `Measure between the cards of all nodes, rail by rail, and name what is slow, unsteady or broken: node,
card, direction, cable or uplink, with the evidence and the next physical step.

--local N is for a first try: N workers on the loopback network of this machine, with RoCE v2 in
user space. It needs no hardware, and its figures are those of this machine's processors.

--hosts LIST starts the workers by ssh, with your configuration, keys, agent and jump hosts, 64 at a
time. This executable is copied to ~/.cache/rdmakit of each host, unless it is there already, and
nothing else is left. All goes through ssh: no port is opened, and workers end when ssh does. With
--workers N, the command prints the line to run on each node by other means, and waits for them.

Under srun, mpirun, mpiexec or torchrun it needs none of these: the first task leads, with one worker
on each node. The tasks find and trust each other by the PMI of the launcher (srun --mpi=pmi2), by
MUNGE, by a file in a shared home, or by a secret in RDMAKIT_TOKEN.

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
is within it, and --plan prints the price of each stage and measures nothing. On a terminal the
command asks before it takes more than a minute, or sends more than 1 GB by a card; --yes answers.

The nodes are compared first: drivers, firmware, MTU, clocks and others. Their traffic is looked at
for a second; if cards are in use, nothing is measured without --force. --gentle 10 uses a tenth of
each card's rate, and leaves out the stage collective.

Every round is written to the journal, which rdmactl cluster report reads. --resume continues after
the leader was ended, with the stages and workers of the journal.

Exit codes:

    0   nothing was found
    1   something is slow, unsteady or broken, or a node never joined or vanished
    2   wrong use: command, flag or argument
    3   no node with a card
    7   not everything could be measured: too few nodes joined, or the run was ended early`,
		Example: `  rdmactl cluster verify --local 4
  rdmactl cluster verify --hosts 'gpu[001-016]' --budget 5m
  rdmactl cluster verify --hosts nodes.txt --remote-path rdmactl --gentle 10 --yes
  srun -N 16 rdmactl cluster verify --budget 5m --yes
  rdmactl cluster verify --workers 16 --listen 192.0.2.1:7700
  rdmactl cluster verify --local 8 --rails 2 --stages reach,pairs --budget 1m
  rdmactl cluster verify --workers 16 --listen 192.0.2.1:7700 --topology sweep.json
  rdmactl cluster verify --workers 64 --rails 8 --plan
  rdmactl cluster verify --resume rdmakit-verify-20261126-144300.journal
  rdmactl cluster verify --local 4 --html report.html -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.execute(cmd, app) },
	}
	f.addTo(cmd)
	return cmd
}

// execute does what the flags and the launcher ask for.
func (f *verifyFlags) execute(cmd *cobra.Command, app *cli.App) error {
	if err := f.takeOver(cmd.Flags()); err != nil {
		return err
	}
	task, launched, err := f.launched(app)
	if err != nil {
		return err
	}
	alone := f.plan && len(f.topology) == 0 || f.old != nil && !f.old.Ended.IsZero()
	if alone && task.Rank > 0 { // the first task of a job needs no others
		return nil
	}
	if f.old != nil && !f.old.Ended.IsZero() {
		app.Out.Note("%s is the journal of a verification that has ended: nothing is left to measure",
			f.resume)
		return f.output.show(app, f.old)
	}
	if err := f.hosts.read(app.Stdin); err != nil {
		return err
	}
	if err := f.validate(); err != nil {
		return cli.UsageError(cmd, err)
	}
	switch {
	case alone:
		return f.printPlan(app)
	case launched:
		return notMeasured(f.runTask(cmd.Context(), app, task))
	}
	return notMeasured(f.run(cmd.Context(), app, startOf(cmd.Flags()), protocol.ServerConfig{Workers: f.nodes()},
		f.links))
}

// notMeasured gives an error without an exit code the one of a verification that wasn't done: 1 is
// that of a fault. Signals keep theirs.
func notMeasured(err error) error {
	var exit *cli.ExitError
	var signal *cli.SignalError
	if err == nil || errors.As(err, &exit) || errors.As(err, &signal) {
		return err
	}
	return cli.Exitf(cli.ExitPartial, "%w", err)
}

func (f *verifyFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.local, "local", 0,
		fmt.Sprintf("start this `NUMBER` of workers on this machine, 2 to %d", maxLocalNodes))
	flags.IntVar(&f.rails, "rails", 1,
		fmt.Sprintf("with --local or --plan: `NUMBER` of rails of each worker, 1 to %d", maxLocalRails))
	flags.IntVar(&f.workers, "workers", 0, "wait for this `NUMBER` of workers, rdmactl cluster worker --join")
	f.hosts.addTo(cmd)
	flags.StringVar(&f.listen, "listen", "", "listen for workers at `ADDRESS:PORT`")
	flags.DurationVar(&f.wait, "wait", joinLimit, "how long to wait for workers, as a `TIME`")
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
	flags.BoolVar(&f.plan, "plan", false, "print the stages and their price, and measure nothing; without --topology, "+
		"no worker is started")
	flags.BoolVar(&f.force, "force", false, "measure also if the fabric is in use")
	flags.Float64Var(&f.gentle, "gentle", 0, "use at most this `PERCENT` of a card's rate between two cards "+
		"(default 100)")
	flags.BoolVarP(&f.yes, "yes", "y", false, "don't ask before a run that takes long or sends much")
	f.output.addTo(cmd)
	cmd.MarkFlagsMutuallyExclusive("journal", "resume")
	cmd.MarkFlagsMutuallyExclusive("resume", "plan")
	cmd.MarkFlagsMutuallyExclusive("local", "workers", "hosts")
}

func (f *verifyFlags) validate() error {
	switch {
	case f.nodes() == 0 && f.hosts.list == "":
		return cli.WithHints(errors.New("no nodes"), "--local 4 starts four workers on this machine",
			"--hosts 'gpu[001-016]' starts them by ssh", "--workers N --listen ADDRESS:PORT waits for workers")
	case f.hosts.list != "" && len(f.hosts.names) < 2:
		err := fmt.Errorf("--hosts %s: a verification needs two hosts at least", f.hosts.list)
		if f.hosts.inline {
			return cli.WithHints(err, "there is no file of that name, so it was read as a list of hosts")
		}
		return err
	case f.workers != 0 && (f.workers < 2 || f.workers > maxWorkers):
		return fmt.Errorf("--workers %d is not 2 to %d", f.workers, maxWorkers)
	case f.workers == 0 && f.hosts.list == "" && f.tasks == 0 && (f.local < 2 || f.local > maxLocalNodes):
		return fmt.Errorf("--local %d is not 2 to %d", f.local, maxLocalNodes)
	case f.rails < 1 || f.rails > maxLocalRails:
		return fmt.Errorf("--rails %d is not 1 to %d", f.rails, maxLocalRails)
	case f.workers != 0 && f.listen == "" && !f.plan:
		return cli.WithHints(errors.New("--workers: where shall they find this machine?"),
			"give the address that the nodes reach: --listen 192.0.2.1:7700")
	case !(f.gentle >= 0 && f.gentle <= 100):
		return fmt.Errorf("--gentle %g is not 0 to 100", f.gentle)
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
			return fmt.Errorf("--stages: no stage %q: there are %s", s, strings.Join(stageNames(plan.Names()), ", "))
		}
	}
	return nil
}

// stageNames returns the names of stages as flags and people have them.
func stageNames(names []plan.Name) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = string(n)
	}
	return out
}

// options returns the options of the plan.
func (f *verifyFlags) options() plan.Options {
	o := plan.Options{Budget: f.budget, Seed: f.seed, Step: f.step, Flows: f.flows, Gentle: f.gentle}
	for _, s := range f.stages {
		o.Stages = append(o.Stages, plan.Name(s))
	}
	return o
}
