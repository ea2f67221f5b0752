package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/leaf"
	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/wholefile"
	"github.com/rdmakit/rdmakit/internal/text/english"
)

// maxWorkers is the largest number of workers.
const maxWorkers = 1 << 14

// joinLimit is how long workers may take to join.
const joinLimit = 2 * time.Minute

// gathering starts workers, or waits for them, and returns the connections to them, with the names
// of their nodes if they are known.
type gathering func(context.Context, *host) ([]leader.Link, []string, error)

// run lets the workers join, measures, and prints what was found.
func (f *verifyFlags) run(
	ctx context.Context, app *cli.App, start map[string]string, cfg protocol.ServerConfig, gather gathering,
) error {
	if err := newFiles(f.output.html, f.output.save); err != nil {
		return err
	}
	if !f.plan {
		if err := f.checkJournal(app, wholefile.Free); err != nil {
			return err
		}
	}
	sources, err := readTopologies(f.topology)
	if err != nil {
		return err
	}
	h, err := newHost(app, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = h.close() }() // again after the regular end, which reports errors
	fleet, err := f.gather(ctx, app, h, gather)
	if err != nil {
		return err
	}
	p, leavesFrom, err := f.makePlan(ctx, app, fleet, sources)
	if err == nil && f.plan {
		return errors.Join(f.showPlan(app, p), fleet.End(ctx))
	}
	var cost plan.Cost
	if err == nil {
		compareNodes(ctx, app, fleet)
		cost = p.Rest(f.done())
		f.printPrice(app, p, cost)
		err = f.checkUse(app, fleet)
	}
	if err == nil {
		err = f.ask(ctx, app, cost)
	}
	if err != nil {
		return errors.Join(err, fleet.End(ctx))
	}
	c := leader.Config{Plan: p, LeavesFrom: leavesFrom, Start: start}
	run, err := f.measure(ctx, app, fleet, c, cost.Rounds)
	if run == nil {
		return errors.Join(err, fleet.End(ctx))
	}
	if endErr := errors.Join(fleet.End(ctx), h.close()); endErr != nil && ctx.Err() == nil {
		app.Out.Note("warning: %v", endErr)
	}
	if err != nil {
		app.Out.Note("warning: the verification ended early: %v", err)
	}
	return f.output.show(app, run)
}

// nodes is how many nodes the flags ask for.
func (f *verifyFlags) nodes() int { return max(f.local, f.workers, len(f.hosts.names), f.tasks) }

// gather lets the workers join, and asks them for their nodes.
func (f *verifyFlags) gather(ctx context.Context, app *cli.App, h *host, gather gathering) (*leader.Fleet, error) {
	links, names, err := gather(ctx, h)
	if errors.Is(err, errLate) {
		if len(links) < 2 {
			return nil, cli.Exitf(cli.ExitPartial, "wait for workers: %w", err)
		}
		app.Out.Note("warning: %v", err)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	fleet, missing, err := leader.NewFleet(ctx, leader.FleetConfig{Links: links, Names: names})
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		app.Out.Note("warning: a worker is left out: %v", missing[name])
	}
	if twice := fleet.SameMachines(); len(twice) > 0 && f.local == 0 {
		err := cli.Exitf(cli.ExitUsage, "the same machine by two names: %s", english.List(twice, shownCards))
		return nil, errors.Join(err, fleet.End(ctx))
	}
	return fleet, nil
}

// links is the gathering that the flags ask for.
func (f *verifyFlags) links(ctx context.Context, h *host) ([]leader.Link, []string, error) {
	switch {
	case len(f.hosts.names) > 0:
		return h.remoteHosts(ctx, &f.hosts, f.wait)
	case f.workers > 0:
		addr, err := h.listen(ctx, f.listen)
		if err != nil {
			return nil, nil, err
		}
		i, err := h.server.Invite(addr, protocol.Ticket{Workers: f.workers, Expires: time.Now().Add(f.wait)})
		if err != nil {
			return nil, nil, err
		}
		h.app.Out.Note("on each node: rdmactl cluster worker --join %s", doctor.Quote(i.String()))
	}
	for n := range f.local {
		if err := h.start(ctx, localNode(n, f.rails), 0); err != nil {
			return nil, nil, err
		}
	}
	links, err := h.join(ctx, number(f.nodes()), f.wait)
	return links, nil, err
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
	if errors.Is(err, plan.ErrTooFew) {
		err = cli.Exitf(cli.ExitPartial, "%w", err)
	}
	if cards := fleet.Rateless(); err == nil && f.gentle > 0 && len(cards) > 0 {
		err = cli.Exitf(cli.ExitUsage, "--gentle %g: the rate of %s is unknown", f.gentle,
			english.List(cards, shownCards))
	}
	return p, leavesFrom, err
}

// shownCards is how many cards a line of text names.
const shownCards = 3

// compareNodes prints how the nodes differ, before there is any traffic; the report repeats it with
// the evidence.
func compareNodes(ctx context.Context, app *cli.App, fleet *leader.Fleet) {
	nodes, err := fleet.Survey(ctx)
	if err != nil {
		return
	}
	run := &result.Run{Schema: result.Schema, Cluster: fleet.Cluster(), Nodes: nodes, Scale: fleet.Scale()}
	differ := verdict.Find(run, verdict.Options{}).Verdicts
	for i, v := range differ {
		if i == shownDifferences {
			app.Out.Note("warning: and %s of the nodes, which the report lists",
				english.Count(len(differ)-i, "difference"))
			break
		}
		app.Out.Note("warning: %s: %s", v.Where.Name, v.Words)
	}
}

// shownDifferences is how many differences of nodes are printed before the run.
const shownDifferences = 8

// measure runs the plan, which has the given number of rounds left, with a journal.
func (f *verifyFlags) measure(
	ctx context.Context, app *cli.App, fleet *leader.Fleet, c leader.Config, rounds int,
) (*result.Run, error) {
	c.Scale, c.Leaves, c.Suspects, c.Now = fleet.Scale(), inferLeaves(app), verdict.Retest, app.Now
	c.Resume = f.old
	j, err := f.openJournal(app)
	if err != nil {
		return nil, err
	}
	if j != nil {
		defer func() { _ = j.Close() }() // each line was synced
		c.Journal = leader.NewJournal(j)
	}
	progress := newProgress(app, rounds)
	c.Progress = progress.show
	c.Lost = func(node, cause string) { app.Out.Note("warning: %s vanished: %s", node, cause) }
	defer progress.done()
	run, err := leader.Verify(ctx, fleet, c)
	if errors.Is(err, leader.ErrOtherPlan) {
		return nil, cli.WithHints(cli.Exitf(cli.ExitUsage, "%w", err), "start the same nodes as before")
	}
	if err != nil && j != nil {
		app.Out.Note("to continue: %s", f.resumeCommand(j.Name()))
	}
	return run, err
}
