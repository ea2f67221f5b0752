package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/edge/clock"
)

// Link carries commands to the worker of a node.
type Link interface {
	// Do returns the reply, or an error if the worker can't be reached any more.
	Do(ctx context.Context, c protocol.Command) (protocol.Reply, error)
}

// Fleet are the workers of a cluster. It is the [Runner] of real measurements.
type Fleet struct {
	links   []Link
	nodes   []result.Node
	cluster plan.Cluster
	scale   *result.Scale
	lost    []bool
	grace   time.Duration
	clock   clock.Clock
}

// FleetConfig configures a fleet.
type FleetConfig struct {
	Links []Link
	// Names are the nodes of the links, if they are known before the workers answer; nil if not. A
	// node with a name that doesn't answer is part of the cluster, as absent. "" leaves the name to
	// the worker.
	Names []string
	// Grace is how long a worker may take beyond the length of a measurement; 0: 10 s.
	Grace time.Duration
	// Leaves are the switches of the nodes by name, if they are known.
	Leaves map[string]string
	// Clock is the time of limits; nil is the system's.
	Clock clock.Clock
}

const defaultGrace = 10 * time.Second

// NewFleet asks the workers for their nodes. A worker that doesn't answer and has no name, or has
// no card, is left out of the cluster; why is in the second result, by index of the links.
func NewFleet(ctx context.Context, c FleetConfig) (*Fleet, map[int]error, error) {
	f := &Fleet{grace: c.Grace, clock: c.Clock, links: c.Links, lost: make([]bool, len(c.Links))}
	if f.clock == nil {
		f.clock = clock.System
	}
	if f.grace == 0 {
		f.grace = defaultGrace
	}
	all := make([]protocol.Command, len(c.Links))
	for i := range all {
		all[i] = protocol.Command{Kind: protocol.KindSurvey, Limit: surveyLimit}
	}
	replies, errs := f.all(ctx, all)
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	f.links = nil
	out := map[int]error{}
	names := map[string]bool{}
	for _, i := range c.order(replies) {
		r := &replies[i]
		err := errs[i]
		if i < len(c.Names) {
			r.Name = cmp.Or(c.Names[i], r.Name)
		}
		if err == nil {
			err = checkSurvey(r, names)
		}
		switch {
		case err == nil:
			names[r.Name] = true
			f.add(c.Links[i], plan.Node{Name: r.Name, Rails: r.Rails, Leaf: c.Leaves[r.Name]}, *r.Node)
			if r.Scale != nil {
				f.scale = r.Scale
			}
		case errs[i] != nil && i < len(c.Names) && c.Names[i] != "":
			f.add(c.Links[i], plan.Node{Name: c.Names[i], Leaf: c.Leaves[c.Names[i]]},
				result.Node{State: result.NodeAbsent, Cause: err.Error()})
		default:
			out[i] = err
		}
	}
	f.lost = make([]bool, len(f.links))
	f.complete()
	return f, out, nil
}

// order returns the indices of the links: as they are if they have names, else by the names that
// the workers report, since these join in any order.
func (c *FleetConfig) order(replies []protocol.Reply) []int {
	order := make([]int, len(replies))
	for i := range order {
		order[i] = i
	}
	if c.Names == nil {
		slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(replies[a].Name, replies[b].Name) })
	}
	return order
}

// checkSurvey returns an error for a node that can't be part of a cluster.
func checkSurvey(r *protocol.Reply, names map[string]bool) error {
	switch {
	case r.Node == nil || len(r.Rails) == 0:
		return fmt.Errorf("%s: no card carries a rail", r.Name)
	case len(r.Rails) != len(r.Node.Cards):
		return fmt.Errorf("%s: the worker reports %d rails and %d cards", r.Name, len(r.Rails), len(r.Node.Cards))
	case names[r.Name]:
		return fmt.Errorf("two workers are on a node %s", r.Name)
	}
	return plan.Node{Name: r.Name, Rails: r.Rails}.Check()
}

func (f *Fleet) add(l Link, n plan.Node, r result.Node) {
	f.links = append(f.links, l)
	f.cluster.Nodes = append(f.cluster.Nodes, n)
	f.nodes = append(f.nodes, r)
}

// complete gives absent nodes the cards of the first one that answered, and doesn't ask them again.
func (f *Fleet) complete() {
	var rails []plan.Card
	for i, n := range f.nodes {
		if n.State == result.NodeReady {
			rails = f.cluster.Nodes[i].Rails
			break
		}
	}
	for i := range f.nodes {
		if n := &f.nodes[i]; n.State == result.NodeAbsent {
			f.cluster.Nodes[i].Rails = rails
			n.Cards = make([]result.Card, len(rails))
			f.lost[i] = true
		}
	}
}

// surveyLimit is how long a survey may take.
const surveyLimit = 60 * time.Second

// Cluster returns the nodes that answered, with their cards.
func (f *Fleet) Cluster() plan.Cluster { return f.cluster }

// SetLeaves sets the leaves of the nodes, by index of the cluster, and adds facts to their cards.
// It is for leaves that are known only from what the nodes have reported: see [Fleet.Survey].
func (f *Fleet) SetLeaves(leaves []string, facts func(node, card int) map[string]string) {
	for i := range f.cluster.Nodes {
		f.cluster.Nodes[i].Leaf = leaves[i]
		for j := range f.nodes[i].Cards {
			c := &f.nodes[i].Cards[j]
			if more := facts(i, j); len(more) > 0 {
				all := maps.Clone(c.Facts)
				if all == nil {
					all = map[string]string{}
				}
				maps.Copy(all, more)
				c.Facts = all
			}
		}
	}
}

// rate returns the rate of a card in Gb/s, 0 if it is unknown.
func (f *Fleet) rate(e plan.End) float64 {
	for i, c := range f.cluster.Nodes[e.Node].Rails {
		if c.Rail != int(e.Rail) {
			continue
		}
		if c.Gbps > 0 {
			return c.Gbps
		}
		gbps, _ := strconv.ParseFloat(f.nodes[e.Node].Cards[i].Facts[result.FactNetdevRate], 64)
		return gbps
	}
	return 0
}

// SameMachines returns the nodes that are one machine by several names, for people: gpu001 is
// login1.
func (f *Fleet) SameMachines() (same []string) {
	first := map[string]string{}
	for i, n := range f.cluster.Nodes {
		machine := f.nodes[i].Facts[result.FactMachine]
		if machine == "" {
			continue
		}
		if name, ok := first[machine]; ok {
			same = append(same, n.Name+" is "+name)
			continue
		}
		first[machine] = n.Name
	}
	return same
}

// Rateless lists the cards whose rate is unknown, for messages: a share of it can't be computed.
func (f *Fleet) Rateless() (cards []string) {
	for i, n := range f.cluster.Nodes {
		for _, c := range n.Rails {
			if f.nodes[i].State == result.NodeReady && !(f.rate(plan.End{Node: int32(i), Rail: int16(c.Rail)}) > 0) {
				cards = append(cards, n.Name+" "+c.Device)
			}
		}
	}
	return cards
}

// Scale returns the scale of the figures, nil for hardware.
func (f *Fleet) Scale() *result.Scale { return f.scale }

// Survey implements [Runner].
func (f *Fleet) Survey(context.Context) ([]result.Node, error) { return f.nodes, nil }

// End ends all workers. The error names the nodes whose worker could not be ended, at most ten; it
// is the cause of ctx if that has ended.
func (f *Fleet) End(ctx context.Context) error {
	commands := make([]protocol.Command, len(f.links))
	for i := range commands {
		commands[i] = protocol.Command{Kind: protocol.KindEnd, Limit: f.grace}
	}
	_, errs := f.all(ctx, commands)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	const most = 10
	var named []error
	more := 0
	for i, err := range errs {
		switch {
		case err == nil:
		case len(named) < most:
			named = append(named, fmt.Errorf("end the worker of %s: %w", f.cluster.Nodes[i].Name, err))
		default:
			more++
		}
	}
	if more > 0 {
		named = append(named, fmt.Errorf("end the workers: %d more failed", more))
	}
	return errors.Join(named...)
}

// all sends each worker that isn't lost its command and waits for all replies. A command without a
// kind is not sent.
func (f *Fleet) all(ctx context.Context, commands []protocol.Command) ([]protocol.Reply, []error) {
	replies, errs := make([]protocol.Reply, len(commands)), make([]error, len(commands))
	var wg sync.WaitGroup
	for i, c := range commands {
		if c.Kind == "" || f.lost[i] {
			continue
		}
		wg.Go(func() {
			limited, cancel := clock.WithTimeout(ctx, f.clock, c.Limit+f.grace,
				fmt.Errorf("no answer to %s within %v", c.Kind, c.Limit+f.grace))
			defer cancel()
			asked := f.clock.Now()
			replies[i], errs[i] = f.links[i].Do(limited, c)
			if r := &replies[i]; r.Node != nil && !r.Now.IsZero() {
				r.Node.Clock, r.Node.Uncertainty = offset(asked, r.Now, f.clock.Now())
			}
			if errs[i] == nil && replies[i].Error != "" {
				errs[i] = errors.New(replies[i].Error)
			}
		})
	}
	wg.Wait()
	return replies, errs
}

// offset returns how far a clock is ahead of the leader's, if its time was read somewhen between
// asking and the answer, and by how much that may be wrong (as NTP's: RFC 5905, section 8).
func offset(asked, read, answered time.Time) (ahead, uncertainty time.Duration) {
	half := answered.Sub(asked) / 2 //nolint:mnd // the middle
	return read.Sub(asked.Add(half)), half
}
