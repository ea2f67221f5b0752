package leader

import (
	"context"
	"errors"
	"fmt"
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
	// Grace is how long a worker may take beyond the length of a measurement; 0: 10 s.
	Grace time.Duration
	// Leaves are the switches of the nodes by name, if they are known.
	Leaves map[string]string
	// Clock is the time of limits; nil is the system's.
	Clock clock.Clock
}

const defaultGrace = 10 * time.Second

// NewFleet asks the workers for their nodes. A worker that doesn't answer, or has no card, is left
// out of the cluster; why is in the second result, by index of the links.
func NewFleet(ctx context.Context, c FleetConfig) (*Fleet, map[int]error, error) {
	f := &Fleet{grace: c.Grace, clock: c.Clock}
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
	f.links = c.Links
	f.lost = make([]bool, len(c.Links))
	replies, errs := f.all(ctx, all)
	out := map[int]error{}
	var links []Link
	names := map[string]bool{}
	for i, r := range replies {
		switch {
		case errs[i] != nil:
			out[i] = errs[i]
		case r.Node == nil || len(r.Rails) == 0:
			out[i] = fmt.Errorf("%s: no card carries a rail", r.Name)
		case len(r.Rails) != len(r.Node.Cards):
			out[i] = fmt.Errorf("%s: the worker reports %d rails and %d cards", r.Name, len(r.Rails), len(r.Node.Cards))
		case names[r.Name]:
			out[i] = fmt.Errorf("two workers are on a node %s", r.Name)
		default:
			names[r.Name] = true
			links = append(links, c.Links[i])
			f.nodes = append(f.nodes, *r.Node)
			f.cluster.Nodes = append(f.cluster.Nodes, plan.Node{Name: r.Name, Rails: r.Rails, Leaf: c.Leaves[r.Name]})
			if r.Scale != nil {
				f.scale = r.Scale
			}
		}
	}
	f.links, f.lost = links, make([]bool, len(links))
	if ctx.Err() != nil {
		return nil, out, context.Cause(ctx)
	}
	return f, out, nil
}

// surveyLimit is how long a survey may take.
const surveyLimit = 60 * time.Second

// Cluster returns the nodes that answered, with their cards.
func (f *Fleet) Cluster() plan.Cluster { return f.cluster }

// Scale returns the scale of the figures, nil for hardware.
func (f *Fleet) Scale() *result.Scale { return f.scale }

// Survey implements [Runner].
func (f *Fleet) Survey(context.Context) ([]result.Node, error) { return f.nodes, nil }

// End ends all workers.
func (f *Fleet) End(ctx context.Context) error {
	commands := make([]protocol.Command, len(f.links))
	for i := range commands {
		commands[i] = protocol.Command{Kind: protocol.KindEnd, Limit: f.grace}
	}
	_, errs := f.all(ctx, commands)
	return errors.Join(errs...)
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
			replies[i], errs[i] = f.links[i].Do(limited, c)
			if errs[i] == nil && replies[i].Error != "" {
				errs[i] = errors.New(replies[i].Error)
			}
		})
	}
	wg.Wait()
	return replies, errs
}
