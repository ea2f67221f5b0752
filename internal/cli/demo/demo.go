package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/report"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/internal/edge/wholefile"
	sim "github.com/rdmakit/rdmakit/internal/sim/cluster"
	"github.com/rdmakit/rdmakit/internal/sim/virtualtime"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/version"
)

// clusterFlags are the flags of the command.
type clusterFlags struct {
	scenario, html string
	nodes, rails   int
	seed           uint64
}

// defaultPage is where the page is written.
const defaultPage = "rdmakit-demo.html"

func newDemoCommand(app *cli.App) *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Verify an emulated cluster with planted faults: no hardware needed",
		Long: `Emulate a GPU cluster of 16 nodes with 4 rails and five planted faults, verify it as rdmactl cluster
verify does, and compare what is found with what was planted. The code is the same as on real
machines: engines of RoCE v2 in user space, workers, plan and verdicts. Emulated are the network and
the time, so that the figures don't depend on this machine. No hardware, privilege or network is
needed, and nothing is changed but for the page that --html names.

--scenario reads another cluster or other faults from a YAML file, --seed chooses faults at random.
demo node shows detect, doctor and env on an emulated node.

Exit codes:

    0   the planted faults were found, and nothing else
    1   a planted fault was missed, or something else was reported`,
		Example: `  rdmactl demo
  rdmactl demo --seed 7 --nodes 32
  rdmactl demo --scenario cluster.yaml --html page.html
  rdmactl demo node`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := f.read(cmd)
			if err != nil {
				return cli.UsageError(cmd, err)
			}
			return runCluster(cmd.Context(), app, s, f.html)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.scenario, "scenario", "", "read the cluster and its faults from this YAML `FILE`")
	flags.IntVar(&f.nodes, "nodes", usualNodes, "`NUMBER` of nodes")
	flags.IntVar(&f.rails, "rails", usualRails, "`NUMBER` of rails")
	flags.Uint64Var(&f.seed, "seed", 0, "plant faults chosen by this `NUMBER` instead of the usual ones")
	flags.StringVar(&f.html, "html", defaultPage, "write the page to `FILE`, which is replaced; none for no page")
	cmd.AddCommand(newNodeCommand(app))
	return cmd
}

// noPage is the value of --html for none.
const noPage = "none"

// read returns the scenario of the flags.
func (f *clusterFlags) read(cmd *cobra.Command) (sim.Scenario, error) {
	changed := cmd.Flags().Changed
	if f.scenario == "" && !changed("seed") {
		s := usual(f.nodes, f.rails)
		return s.Complete()
	}
	if f.scenario != "" && changed("seed") {
		return sim.Scenario{}, errors.New("--seed chooses faults, and --scenario has its own")
	}
	s := sim.Random(f.seed)
	if f.scenario != "" {
		text, err := os.ReadFile(f.scenario)
		if err != nil {
			return s, fmt.Errorf("--scenario: %w", err)
		}
		if s, err = sim.Parse(text); err != nil {
			return s, fmt.Errorf("--scenario %s: %w", f.scenario, err)
		}
	}
	if changed("nodes") {
		s.Nodes = f.nodes
	}
	if changed("rails") {
		s.Rails = f.rails
	}
	return s.Complete()
}

// The usual cluster.
const (
	usualNodes = 16
	usualRails = 4
)

// usual is the cluster of the demo: two groups of nodes, each with a leaf for each rail, and five
// faults of different kinds, of which a smaller cluster has those for which there is a node each.
func usual(nodes, rails int) sim.Scenario {
	s := sim.Scenario{Nodes: nodes, Rails: rails, LeafPerRail: true, Seed: 1}
	if nodes < 2 || rails < 1 { // Complete says so
		return s
	}
	s.NodesPerLeaf = (nodes + 1) / 2
	taken := map[int]bool{}
	for _, f := range []sim.Fault{
		{Kind: sim.SlowCard, Node: 3, Rail: 2, Severity: 0.4},
		{Kind: sim.HalfPCIe, Node: 9, Rail: 1},
		{Kind: sim.LossyCable, Node: 12, Rail: 0, Severity: 0.04},
		{Kind: sim.JitteryHost, Node: 6, Severity: 200},
		{Kind: sim.MissingGID, Node: 14, Rail: 3},
	} {
		f.Node = f.Node * nodes / usualNodes
		f.Rail = f.Rail * rails / usualRails
		if !taken[f.Node] && len(taken) < nodes/3 { // the others are needed to compare with
			taken[f.Node] = true
			s.Faults = append(s.Faults, f)
		}
	}
	return s
}

// clusterSchema is the version of the JSON form of demo.
const clusterSchema = "rdmakit.demo-cluster/v1"

// clusterReport is what demo prints.
type clusterReport struct {
	Schema   string         `json:"schema"`
	Emulated bool           `json:"emulated"` // always true: nothing in the report describes this machine
	Scenario sim.Scenario   `json:"scenario"`
	Result   report.Summary `json:"result"`
	Planted  []planted      `json:"planted"`
	// Unexpected holds the verdicts about something that was not planted.
	Unexpected []verdict.Verdict `json:"unexpected"`
	Seconds    float64           `json:"seconds"` // that the demo took
	Passed     bool              `json:"passed"`
}

// planted is a planted fault and what was found of it.
type planted struct {
	sim.Fault
	Text  string `json:"text"`
	Found bool   `json:"found"`
	// Verdict is the cause and place of the verdict, "" if the fault was not found.
	Verdict string `json:"verdict,omitempty"`
}

// runCluster emulates a cluster, verifies it and compares.
func runCluster(ctx context.Context, app *cli.App, s sim.Scenario, page string) error {
	began := time.Now()
	run, err := verify(ctx, app, s)
	if err != nil {
		return err
	}
	found := verdict.Find(run, verdict.Options{})
	options := report.Options{Verbose: app.Verbose(), Version: version.Info().Version}
	r := clusterReport{
		Schema: clusterSchema, Emulated: true, Scenario: s, Result: report.Summarize(run, found, options),
		Unexpected: []verdict.Verdict{}, Planted: []planted{},
	}
	r.compare(run, &found)
	r.Seconds = time.Since(began).Seconds()
	if page != noPage && page != "" {
		err := wholefile.Write(page, wholefile.Options{Mode: 0o644, Replace: true}, func(w io.Writer) error {
			return report.HTML(w, run, found, options)
		})
		if err != nil {
			return fmt.Errorf("write page: %w", err)
		}
	}
	if err := app.Out.Print(r, r.blocks(run, found, options)...); err != nil {
		return err
	}
	if page != noPage && page != "" {
		app.Out.Note("page: %s", page)
	}
	return r.result()
}

// verify runs the verification of a cluster on its emulation.
func verify(ctx context.Context, app *cli.App, s sim.Scenario) (*result.Run, error) {
	c := new(clock.Manual)
	for now := app.Now(); c.Now().Before(now); { // a duration is 292 years at most
		c.Advance(now.Sub(c.Now()))
	}
	defer virtualtime.Drive(c)()
	network, err := sim.NewNetwork(s, sim.NetworkOptions{Clock: c})
	if err != nil {
		return nil, err
	}
	o := plan.Options{Seed: s.Seed, Flows: demoFlows, Step: demoStep}
	p, err := plan.New(s.Cluster(), o)
	if err != nil {
		return nil, err
	}
	rounds := p.Cost().Rounds
	app.Out.Note("EMULATED: %s, %s, %s", english.Count(s.Nodes, "node"), english.Count(s.Rails, "rail"),
		english.Count(rounds, "round"))
	line := app.Out.Progress("verify", rounds)
	defer line.Done()
	return network.Verify(ctx, o, verdict.Retest, func(leader.Progress) { line.Add(1) })
}

// Options of the plan: enough packets for figures that differ by less than a percent.
const (
	demoFlows = 4
	demoStep  = time.Second
)
