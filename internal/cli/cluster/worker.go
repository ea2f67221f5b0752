package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/cluster/leaf"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/worker"
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/record/kernel"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
)

// fromStdin is the value of --join for an invitation on standard input.
const fromStdin = "-"

func newWorkerCommand(app *cli.App) *cobra.Command {
	var join, name string
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Measure on this node what the leader of a verification asks for",
		Long: `Join a verification: measure on the cards of this node what its leader asks for, and end with it. The
leader prints the line to run; the invitation in it has the hash of the leader's certificate and a
secret, and is good for one verification, for as many workers as it waits for. rdmactl must be the
same as that of the leader.

--join - reads the invitation from standard input, so that other users of the node don't see it.

Cards are the ports that jobs use (rdmactl env --explain lists them). A node without RDMA devices
uses RoCE v2 in user space on its network devices; its figures are marked SOFTWARE.

Exit codes:

    0   the verification has ended
    2   wrong use: command, flag or argument
    3   no card that could be measured
    7   the leader is gone, or refuses this worker`,
		Example: `  rdmactl cluster worker --join 192.0.2.1:7700#HASH.SECRET`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			invitation, err := protocol.ParseInvitation(join)
			var conn net.Conn
			if join == fromStdin {
				invitation, conn, err = readInvitation(app)
			}
			if err != nil {
				return cli.UsageError(cmd, fmt.Errorf("--join: %w", err))
			}
			node, err := thisNode(cmd.Context(), app, name)
			if err != nil {
				return err
			}
			c := &protocol.Client{Invitation: invitation, Name: node.Name}
			if conn != nil {
				c.Dial = protocol.Once(conn)
			}
			return notMeasured(joinLeader(cmd.Context(), app, c, node))
		},
	}
	cmd.Flags().StringVar(&join, "join", "", "the `INVITATION` that the leader prints, or - to read it from "+
		"standard input")
	cmd.Flags().StringVar(&name, "name", "", "`NAME` of this node (default: its host name)")
	_ = cmd.MarkFlagRequired("join") // the flag exists
	return cmd
}

// joinLeader does what a leader asks for until it ends the worker, and notes what happens.
func joinLeader(ctx context.Context, app *cli.App, c *protocol.Client, node worker.Node) error {
	c.Joined = func(name string) { app.Out.Note("joined %s as %s", c.Invitation.Addr, name) }
	c.Waiting = func(err error, since time.Duration) {
		app.Out.Note("can't reach the leader for %v, still trying: %v", since.Round(time.Second), err)
	}
	w := worker.New(worker.Config{Node: node})
	measuring := false
	err := c.Work(ctx, func(ctx context.Context, command protocol.Command) protocol.Reply {
		if command.Kind == protocol.KindRun && !measuring {
			measuring = true
			app.Out.Note("measuring")
		}
		return w.Do(ctx, command)
	})
	if err = errors.Join(err, w.Close()); err == nil {
		app.Out.Note("the verification has ended")
	}
	return err
}

// thisNode describes this machine for a worker.
func thisNode(ctx context.Context, app *cli.App, name string) (worker.Node, error) {
	node := worker.Node{Name: name}
	var snap inventory.Snapshot
	if local, err := sources.Local(); err == nil { // not on systems other than Linux
		defer local.Close()
		local.Roles = app.Config.Roles
		snap, _ = inventory.Scan(ctx, local.Sources)
		node.Findings = findings(ctx, app, local, &snap)
	}
	if ctx.Err() != nil {
		return node, fmt.Errorf("scan this machine: %w", context.Cause(ctx))
	}
	if node.Name == "" {
		if node.Name = snap.Host.Name; node.Name == "" {
			node.Name, _ = os.Hostname() // without it the leader refuses the worker
		}
	}
	node.Facts = map[string]string{result.FactKernel: snap.Host.Kernel}
	if machine := thisMachine(); machine != "" {
		node.Facts[result.FactMachine] = machine
	}
	plan, err := launch.Derive(snap, launch.Options{})
	if err != nil {
		return node, err
	}
	for _, p := range plan.Ports {
		if p.Decision == launch.DecisionSelected && p.Transport.HasGIDs() {
			if card, ok := hardwareCard(&snap, &p, len(node.Cards)); ok {
				node.Cards = append(node.Cards, card)
			}
		}
	}
	if len(node.Cards) == 0 && len(snap.Devices) == 0 {
		node.Cards, err = engineCards(ctx)
		node.Scale = software()
	}
	addSwitches(ctx, app, node.Cards)
	if err == nil && len(node.Cards) == 0 {
		err = cli.WithHints(cli.Exitf(cli.ExitNotFound, "no card that could be measured"),
			"rdmactl env --explain lists the ports with the reason why jobs don't use them")
	}
	return node, err
}

// engineCards are the network devices of a node without RDMA devices.
func engineCards(ctx context.Context) (cards []worker.Card, err error) {
	list, err := verbs.Devices(ctx, builtin.All()...)
	for _, d := range list {
		if d.Software && d.Name != "roce@lo" {
			card := engineCard(len(cards), d.Name)
			card.Traffic = func(ctx context.Context) (result.Traffic, error) {
				return netdevTraffic(ctx, hostRoot(), leaf.Netdevs(card.Facts))
			}
			cards = append(cards, card)
		}
	}
	return cards, err
}

// hardwareCard describes a port of the kernel.
func hardwareCard(snap *inventory.Snapshot, plan *launch.PortPlan, next int) (worker.Card, bool) {
	d := snap.Device(plan.Device)
	if d == nil {
		return worker.Card{}, false
	}
	i := slices.IndexFunc(d.Ports, func(p inventory.Port) bool { return p.Number == plan.Port })
	if i < 0 {
		return worker.Card{}, false
	}
	p := &d.Ports[i]
	card := worker.Card{
		Rail: next, Name: plan.Name(), Port: plan.Port, GIDIndex: worker.LocalOnly,
		Open: func(ctx context.Context) (*verbs.Device, error) {
			device, _, err := cli.OpenVerbs(ctx, plan.Device, cli.Toward{})
			return device, err
		},
		Counters: func(ctx context.Context) map[string]uint64 { return readCounters(ctx, plan.Device, plan.Port) },
		Traffic: func(ctx context.Context) (result.Traffic, error) {
			return cardTraffic(ctx, hostRoot(), plan.Device, plan.Port)
		},
	}
	if p.Rail != nil {
		card.Rail = *p.Rail
	}
	if p.Rate != nil {
		card.Gbps = p.Rate.GbPerSecond
	}
	card.Facts = cardFacts(d, p)
	maps.Copy(card.Facts, placeOf(snap, d, p))
	best := launch.BestGID(snap, p)
	switch {
	case best != nil:
		card.GIDIndex = best.Index
		card.Facts[result.FactGIDType] = fmt.Sprint(best.Type)
		card.Facts[result.FactGID] = best.GID.String()
		if subnet := subnetOf(snap.Netdev(best.Netdev), best.Addr); subnet != "" {
			card.Facts[result.FactSubnet] = subnet
		}
	case p.LinkLayer != inventory.LinkLayerInfiniBand:
		card.Failure = &result.Failure{Step: result.StepOpen, Code: "no-gid", Text: "the port has no usable GID"}
	}
	return card, true
}

// cardFacts are the properties of a port that should be equal on all nodes.
func cardFacts(d *inventory.Device, p *inventory.Port) map[string]string {
	facts := map[string]string{
		result.FactFirmware: d.Firmware, result.FactBoard: cmp.Or(d.BoardID, d.HCAType), result.FactDriver: d.Driver,
		result.FactState: p.State.String(),
	}
	if p.Rate != nil {
		facts[result.FactRate] = strconv.FormatFloat(p.Rate.GbPerSecond, 'g', -1, 64)
	}
	if p.ActiveMTU != 0 {
		facts[result.FactMTU] = strconv.Itoa(int(p.ActiveMTU))
	}
	for _, key := range p.PKeys {
		if key.Index == 0 {
			facts[result.FactPKey] = key.PKey.String()
		}
	}
	if d.PCI != nil && d.PCI.Link != nil {
		facts[result.FactPCIe] = fmt.Sprintf("%.1f GT/s x%d", d.PCI.Link.GTPerSecond, d.PCI.Link.Width)
	}
	for name, value := range facts {
		if value == "" {
			delete(facts, name)
		}
	}
	return facts
}

// readCounters reads the counters of a port of the kernel; nil if none can be read.
func readCounters(ctx context.Context, device string, number int) map[string]uint64 {
	counters, err := cli.PortCounters(ctx, os.DirFS("/"), device, number)
	if err != nil {
		return nil
	}
	return worker.Canonical(counters)
}

// findings are the warnings and faults of the checks of this node.
func findings(ctx context.Context, app *cli.App, n *sources.Node, snap *inventory.Snapshot) (out []result.Finding) {
	all := checks.All()
	in := doctor.Input{Snapshot: snap, Facts: n.Facts()}
	opts := doctor.Options{Now: app.Now()}
	in.Facts.Gather(ctx, snap, kernel.Collectors(app.Now), opts.Kinds(all)...)
	report, err := doctor.Run(ctx, all, in, opts)
	if err != nil { // only an end by the user
		return nil
	}
	for _, f := range report.Findings {
		if f.Counts() && f.Outcome.Compare(doctor.OutcomeInfo) > 0 {
			out = append(out, result.Finding{
				Check: f.CheckID, Object: f.Object, Outcome: string(f.Outcome), Summary: f.Summary,
				Remedy: strings.Join(f.Remedy, "\n"),
			})
		}
	}
	return out
}
