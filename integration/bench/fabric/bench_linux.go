package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/integration/bench/fabric/relay"
	"github.com/rdmakit/rdmakit/wire/ib"
)

const (
	// lateness is the delay that the relay adds to each answer.
	lateness = 100 * time.Microsecond
	// libraryWait is how long a request without an answer occupies a place in libibnetdisc's window
	// by default: 1 s for each of 1 + 3 tries.
	libraryWait = 4 * time.Second
)

// bench measures.
type bench struct {
	dir, rdmactl string
	self         string // this program
	rounds       int
	slow         time.Duration
	progress     io.Writer
}

// contestant is a program in a row of the result.
type contestant struct {
	row         *row
	args        []string
	environment []string
	relay       *relay.Relay // the relay of its connection; nil: none
}

// course is one condition on one net, under which programs compete.
type course struct {
	*bench
	spec      netSpec
	condition condition
	sim       *simulator
	dead      []ib.GUID
	right     map[string][]string // by view: the lines that each output must have
	exits     map[string]int      // by view: the exit code that goes with them
}

// measure runs the measurements on one net.
func (b *bench) measure(ctx context.Context, spec netSpec) ([]row, error) {
	b.say("net %s: %d nodes: starting ibsim and opensm", spec.name, spec.nodes)
	sim, err := b.startSimulator(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer sim.stop()
	dead, err := b.chooseDead(ctx, spec, sim)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, c := range conditions() {
		course := &course{
			bench: b, spec: spec, condition: c, sim: sim, right: map[string][]string{}, exits: map[string]int{},
		}
		if c.dead {
			course.dead = dead
		}
		found, err := course.run(ctx)
		if err != nil {
			return nil, fmt.Errorf("net %s, %s: %w", spec.name, c.name, err)
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

func (b *bench) say(format string, a ...any) {
	fmt.Fprintf(b.progress, format+"\n", a...) //nolint:errcheck // progress only
}

// chooseDead picks adapters spread over the net, except those of the subnet manager and the tools.
func (b *bench) chooseDead(ctx context.Context, spec netSpec, sim *simulator) ([]ib.GUID, error) {
	environment := append(sim.environment(toolNode), preload+"="+umad2sim)
	_, out, err := b.measured(ctx, environment, []string{"ibnetdiscover"})
	if err != nil {
		return nil, err
	}
	list := adapters(out, managerNode, toolNode)
	if len(list) < spec.dead {
		return nil, fmt.Errorf("net %s: ibnetdiscover found %d adapters", spec.name, len(list))
	}
	slices.Sort(list)
	var dead []ib.GUID
	for i := range spec.dead {
		guid, err := ib.ParseGUID("0x" + list[i*len(list)/spec.dead])
		if err != nil {
			return nil, err
		}
		dead = append(dead, guid)
	}
	return dead, nil
}

// run runs the measurements under one condition.
func (c *course) run(ctx context.Context) (rows []row, err error) {
	relays, err := c.startRelays()
	defer func() {
		for _, r := range relays {
			err = errors.Join(err, r.Close())
		}
	}()
	if err != nil {
		return nil, err
	}
	list := c.contestants(relays)
	if !c.condition.relay {
		if err := c.count(ctx, list, relays); err != nil {
			return nil, err
		}
	}
	for round := range c.rounds {
		c.say("net %s, %s: round %d of %d", c.spec.name, c.condition.name, round+1, c.rounds)
		for _, p := range list {
			if p.row.total() >= c.slow {
				continue
			}
			s, err := c.one(ctx, p)
			if err != nil {
				return nil, err
			}
			if p.relay == nil {
				s.MADs = p.row.counted
			}
			p.row.samples = append(p.row.samples, s)
		}
	}
	for _, p := range list {
		rows = append(rows, *p.row)
	}
	return rows, nil
}

// The two relays of a course: programs on umad2sim need lost requests returned, rdmactl does not.
const (
	relayTheirs = iota
	relayOurs
)

func (c *course) startRelays() ([]*relay.Relay, error) {
	var list []*relay.Relay
	for i, hold := range []time.Duration{relayTheirs: libraryWait, relayOurs: 0} {
		config := relay.Config{Upstream: c.sim.socketName, Name: c.relayName(i), Dead: c.dead, Hold: hold}
		if c.condition.relay {
			config.Delay = lateness
		}
		r, err := relay.Start(config)
		if err != nil {
			return list, err
		}
		list = append(list, r)
	}
	return list, nil
}

func (c *course) relayName(i int) string { return fmt.Sprintf("%s-r%d", c.sim.socketName, i) }

// contestants returns all programs, for each view beginning with the C tool's first command line.
func (c *course) contestants(relays []*relay.Relay) []contestant {
	var list []contestant
	add := func(v view, side int, program string, args []string, target float64) {
		p := contestant{args: args, environment: c.sim.environment(toolNode)}
		if side == relayTheirs {
			p.environment = append(p.environment, preload+"="+umad2sim)
		}
		if c.condition.relay {
			p.relay = relays[side]
			p.environment = append(p.environment, "IBSIM_SOCKNAME="+c.relayName(side))
		}
		p.row = &row{
			net: c.spec.name, nodes: c.spec.nodes, condition: c.condition.name, view: v.name, program: program,
			ours: side == relayOurs, target: target,
		}
		list = append(list, p)
	}
	for _, v := range c.condition.views {
		for i, args := range v.theirs {
			target := 0.0
			switch {
			case !v.targeted || i > 0:
			case c.condition.dead:
				target = c.spec.deadRatio
			case !c.condition.relay:
				target = c.spec.ratio
			}
			add(v, relayTheirs, strings.Join(args, " "), args, target)
		}
		add(v, relayOurs, "rdmactl "+strings.Join(v.ours, " "), append([]string{c.rdmactl}, v.ours...), 0)
	}
	return list
}

// count runs each program once through a relay that only counts, before the measured runs without a
// relay.
func (c *course) count(ctx context.Context, list []contestant, relays []*relay.Relay) error {
	for _, p := range list {
		side := relayTheirs
		if p.row.ours {
			side = relayOurs
		}
		p.relay = relays[side]
		p.environment = append(slices.Clone(p.environment), "IBSIM_SOCKNAME="+c.relayName(side))
		s, err := c.one(ctx, p)
		if err != nil {
			return err
		}
		p.row.counted = s.MADs
	}
	return nil
}

// one runs a program once and checks what it found.
func (c *course) one(ctx context.Context, p contestant) (sample, error) {
	before := 0
	if p.relay != nil {
		before = p.relay.Requests()
	}
	s, out, err := c.measured(ctx, p.environment, p.args)
	if err != nil {
		return s, err
	}
	if p.relay != nil {
		s.MADs = p.relay.Requests() - before
	}
	if err := c.check(p.row, s, out); err != nil {
		kept := c.keep(p.row, out)
		return s, fmt.Errorf("%s (its output is in %s): %w", p.row.program, kept, err)
	}
	return s, nil
}

// check compares an output with the net, and with the first output of its view.
func (c *course) check(r *row, s sample, out []byte) error {
	if r.view == "ibnetdiscover" {
		if got, want := countTopology(out), c.spec.census(len(c.dead)); got != want {
			return fmt.Errorf("found %v, want %v", got, want)
		}
	}
	if len(out) == 0 {
		return fmt.Errorf("printed nothing, exit code %d", s.Exit)
	}
	lines := sortedLines(out)
	right, ok := c.right[r.view]
	if !ok {
		c.right[r.view], c.exits[r.view] = lines, s.Exit
		return nil
	}
	if s.Exit != c.exits[r.view] {
		return fmt.Errorf("exit code %d, want %d", s.Exit, c.exits[r.view])
	}
	if d := firstDifference(right, lines); d != "" {
		return fmt.Errorf("another result: %s", strings.TrimSpace(d))
	}
	return nil
}

// keep saves a wrong output outside the temporary folder.
func (c *course) keep(r *row, out []byte) string {
	file, err := os.CreateTemp("", "rdmakit-"+r.view+"-")
	if err != nil {
		return err.Error()
	}
	defer file.Close() //nolint:errcheck // a partial file may help
	if _, err := file.Write(out); err != nil {
		return err.Error()
	}
	return file.Name()
}
