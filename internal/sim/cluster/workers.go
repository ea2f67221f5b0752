package cluster

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/worker"
	"github.com/rdmakit/rdmakit/verbs"
)

// What a worker has outstanding fills the way to its peer several times, and leaves the queue of an
// incast of eight shorter than the acknowledgement timer.
const (
	workerMessage = usualMTU
	workerDepth   = 8
	workerTimeout = 16 // 268 ms
)

// Worker returns the configuration of a node's worker.
func (n *Network) Worker(node int) worker.Config {
	facts := &n.m.nodes[node]
	w := worker.Node{
		Name: n.s.Cluster().Nodes[node].Name, Facts: facts.Facts, Findings: facts.Findings, Scale: n.Scale(),
	}
	cards := n.s.Cluster().Nodes[node].Rails
	for rail := range n.s.Rails {
		state := &n.m.card[node*n.s.Rails+rail]
		card := worker.Card{
			Rail: rail, Name: cards[rail].Device, Gbps: n.o.Rate / 1e9, Port: 1,
			Facts: facts.Cards[rail].Facts, Failure: facts.Cards[rail].Failure,
		}
		var mu sync.Mutex
		var device *verbs.Device
		card.Open = func(ctx context.Context) (*verbs.Device, error) {
			d, err := n.Device(ctx, node, rail)
			mu.Lock()
			defer mu.Unlock()
			device = d
			return d, err
		}
		card.Counters = func(context.Context) map[string]uint64 {
			mu.Lock()
			d := device
			mu.Unlock()
			out := n.Counters(node, rail)
			if d != nil {
				maps.Copy(out, worker.Canonical(d.Counters()))
			}
			return out
		}
		if state.noGID {
			card.GIDIndex = 1 // an engine has one GID, with the index 0
		}
		w.Cards = append(w.Cards, card)
	}
	return worker.Config{
		Node: w, Message: workerMessage, Depth: workerDepth, Timeout: workerTimeout, Wait: verbs.WaitEvent,
		Clock: n.o.Clock, Time: func() time.Time { return n.o.Clock.Now().Add(facts.Clock) },
	}
}

// Links returns links to workers in this process, by node. A node that never answers has a link
// that fails. Close ends all of them.
func (n *Network) Links(p *plan.Plan) (links []leader.Link, closeAll func() error) {
	commands := 0 // of a node in a whole verification without retests
	for s := range p.Stages {
		commands += s.Count * commandsOfRound
	}
	var workers []*worker.Worker
	for node := range n.s.Nodes {
		w := worker.New(n.Worker(node))
		workers = append(workers, w)
		l := &link{w: w, left: -1}
		switch state := &n.m.node[node]; {
		case state.absent:
			l.left = 0
		case state.dies > 0:
			l.left = 1 + int(state.dies*float64(commands))
		}
		links = append(links, l)
	}
	return links, func() error {
		errs := make([]error, 0, len(workers))
		for _, w := range workers {
			errs = append(errs, w.Close())
		}
		return errors.Join(errs...)
	}
}

// commandsOfRound is how many commands a worker gets for a round: prepare, connect and run.
const commandsOfRound = 3

// errVanished is the error of a node that doesn't answer.
var errVanished = errors.New("the connection was reset")

// link is a worker in this process that answers a number of commands, or all if it is negative.
type link struct {
	w    *worker.Worker
	left int
}

// Do implements [leader.Link].
func (l *link) Do(ctx context.Context, c protocol.Command) (protocol.Reply, error) {
	if l.left == 0 {
		return protocol.Reply{}, errVanished
	}
	if l.left > 0 {
		l.left--
	}
	return l.w.Do(ctx, c), nil
}

// Verify runs a verification over the workers of the network.
func (n *Network) Verify(
	ctx context.Context, o plan.Options, suspects func(*result.Run) ([]int32, []int32), progress func(leader.Progress),
) (run *result.Run, err error) {
	all, err := plan.New(n.s.Cluster(), o)
	if err != nil {
		return nil, err
	}
	links, end := n.Links(all)
	defer func() { err = errors.Join(err, end()) }()
	c := leader.FleetConfig{Links: links, Leaves: map[string]string{}, Clock: n.o.Clock}
	for _, node := range all.Cluster.Nodes {
		c.Names = append(c.Names, node.Name)
		c.Leaves[node.Name] = node.Leaf
	}
	f, _, err := leader.NewFleet(ctx, c)
	if err != nil {
		return nil, err
	}
	p, err := plan.New(f.Cluster(), o)
	if err != nil {
		return nil, err
	}
	return leader.Verify(ctx, f, leader.Config{
		Plan: p, Scale: f.Scale(), LeavesFrom: "scenario", Suspects: suspects, Now: n.o.Clock.Now,
		Progress: progress,
	})
}
