package leader

import (
	"context"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// half is one end of a connection in a round.
type half struct {
	end       plan.End
	role      protocol.Role
	id        int
	endpoints []protocol.Endpoint
	reply     *protocol.EdgeReply
}

// wire is a connection of a round, with its two ends.
type wire struct {
	halves  [2]half // from, to
	flows   int
	steps   int
	bytes   int64
	load    bool // background traffic, of which no sample is made
	failure *result.Failure
	noticed int // index of the end that noticed the failure
}

// round is a round as the fleet runs it.
type round struct {
	f     *Fleet
	t     Task
	wires []*wire
	parts []collective
	out   Outcome
}

// Measure implements [Runner].
func (f *Fleet) Measure(ctx context.Context, t Task) (Outcome, error) {
	r := &round{f: f, t: t}
	if err := r.lay(); err != nil {
		return Outcome{}, err
	}
	for _, step := range []func(context.Context){r.prepare, r.connect, r.run} {
		step(ctx)
		if ctx.Err() != nil {
			return r.out, context.Cause(ctx)
		}
	}
	r.collect()
	return r.out, nil
}

// latencySteps is the number of round trips of a measurement of latency at most, and backFlows the
// number of flows of the traffic beside it.
const (
	latencySteps = 2000
	backFlows    = 4
)

// lay makes the connections of the round.
func (r *round) lay() error {
	switch r.t.Kind {
	case plan.KindCollective:
		return r.layCollective()
	case plan.KindConnect, plan.KindLatency, plan.KindBandwidth:
	default:
		return fmt.Errorf("measure round %d of %s: unknown kind %q", r.t.Round, r.t.Name, r.t.Kind)
	}
	for _, flow := range r.t.Flows {
		for from, to := range r.t.Plan.Ends(flow) {
			switch r.t.Kind {
			case plan.KindBandwidth:
				roles := [2]protocol.Role{protocol.RoleSend, protocol.RoleTarget}
				if flow.Both {
					roles = [2]protocol.Role{protocol.RoleBoth, protocol.RoleBoth}
				}
				r.add(&wire{flows: r.flows(flow)}, from, to, roles)
			case plan.KindConnect:
				r.add(&wire{flows: 1, steps: r.t.Plan.Probes()}, from, to,
					[2]protocol.Role{protocol.RoleAsk, protocol.RoleAnswer})
			default:
				r.add(&wire{flows: 1, steps: latencySteps}, from, to,
					[2]protocol.Role{protocol.RoleAsk, protocol.RoleAnswer})
				if r.t.Load {
					r.add(&wire{flows: backFlows, load: true}, from, to,
						[2]protocol.Role{protocol.RoleBoth, protocol.RoleBoth})
				}
			}
		}
	}
	return nil
}

// flows returns the number of queue pairs of a pair: enough to cover the ways between two leaves,
// or one where there is one way.
func (r *round) flows(f plan.Flow) int {
	a, b := r.t.Plan.Cluster.Nodes[f.From], r.t.Plan.Cluster.Nodes[f.To]
	if f.From == f.To || a.Leaf != "" && a.Leaf == b.Leaf {
		return 1
	}
	return min(r.t.Plan.Options.Flows, protocol.MaxFlows)
}

// add adds a connection, unless one of its ends can't be used.
func (r *round) add(w *wire, from, to plan.End, roles [2]protocol.Role) *wire {
	for i, end := range []plan.End{from, to} {
		w.halves[i] = half{end: end, role: roles[i], id: 2*len(r.wires) + i}
		if f := r.unusable(end); f != nil {
			w.fail(&w.halves[i], f)
		}
	}
	r.wires = append(r.wires, w)
	return w
}

// side is the name of an end by its index.
func side(i int) result.Side {
	if i == 0 {
		return result.AtFrom
	}
	return result.AtTo
}

// unusable returns why a card can't be measured, or nil.
func (r *round) unusable(e plan.End) *result.Failure {
	if r.f.lost[e.Node] {
		return &result.Failure{Step: result.StepOpen, Code: "lost", Text: "the node has vanished"}
	}
	for i, c := range r.f.cluster.Nodes[e.Node].Rails {
		if c.Rail == int(e.Rail) && r.f.nodes[e.Node].Cards[i].Failure != nil {
			return r.f.nodes[e.Node].Cards[i].Failure
		}
	}
	return nil
}

// commands returns an empty command for each node.
func (r *round) commands() []protocol.Command { return make([]protocol.Command, len(r.f.links)) }

// Limits of the steps of a round.
const (
	prepareLimit    = 20 * time.Second
	connectLimit    = 20 * time.Second
	collectiveLimit = 60 * time.Second
	drain           = 5 * time.Second // for requests that are outstanding at the end
)

// prepare creates the queue pairs at all nodes.
func (r *round) prepare(ctx context.Context) {
	commands := r.commands()
	for i := range commands { // also where nothing is measured: the last round is closed
		commands[i] = protocol.Command{Kind: protocol.KindPrepare, Limit: prepareLimit}
	}
	r.each(func(w *wire, h *half) {
		c := &commands[h.end.Node]
		c.Edges = append(c.Edges, protocol.Edge{
			ID: h.id, Rail: int(h.end.Rail), Flows: w.flows, Role: h.role, Steps: w.steps, Bytes: w.bytes,
			Cap: r.capOf(w, h),
		})
	})
	r.do(ctx, commands)
	r.each(func(_ *wire, h *half) {
		if h.reply != nil {
			h.endpoints = h.reply.Endpoints
		}
	})
}

// capOf is the rate in Gb/s that an end of a connection may send, 0 for no limit: a share of the
// slower card's rate.
func (r *round) capOf(w *wire, h *half) float64 {
	sends := h.role == protocol.RoleSend || h.role == protocol.RoleBoth
	if r.t.Plan.Options.Gentle == 0 || !sends {
		return 0
	}
	return r.t.Plan.Options.Share() * min(r.f.rate(w.halves[0].end), r.f.rate(w.halves[1].end))
}

// connect passes the numbers of each queue pair on to its peer.
func (r *round) connect(ctx context.Context) {
	commands := r.commands()
	r.each(func(w *wire, h *half) {
		peer := &w.halves[1-h.id%2]
		c := &commands[h.end.Node]
		c.Kind, c.Limit = protocol.KindConnect, connectLimit
		c.Peers = append(c.Peers, protocol.Peer{ID: h.id, Endpoints: peer.endpoints})
	})
	r.do(ctx, commands)
}

// run measures.
func (r *round) run(ctx context.Context) {
	commands := r.commands()
	limit := r.t.Length + drain
	r.each(func(_ *wire, h *half) {
		c := &commands[h.end.Node]
		c.Kind, c.Limit, c.Length = protocol.KindRun, limit, r.t.Length
		if h.role != protocol.RoleCollective {
			c.Measure = append(c.Measure, h.id)
		}
	})
	r.runCollective(commands)
	r.do(ctx, commands)
}

// each calls f for both ends of each connection that hasn't failed.
func (r *round) each(f func(*wire, *half)) {
	for _, w := range r.wires {
		if w.failure != nil {
			continue
		}
		for i := range w.halves {
			f(w, &w.halves[i])
		}
	}
}

// do sends the commands and takes the replies: of nodes that are lost, and of each end.
func (r *round) do(ctx context.Context, commands []protocol.Command) {
	replies, errs := r.f.all(ctx, commands)
	if ctx.Err() != nil {
		return
	}
	byID := map[int]*protocol.EdgeReply{}
	for i := range replies {
		err := errs[i]
		if err == nil {
			err = r.takeEdges(int32(i), replies[i].Edges, byID)
		}
		if err != nil && !r.f.lost[i] {
			r.f.lost[i] = true
			r.out.Lost = append(r.out.Lost, Lost{Node: int32(i), Cause: err.Error()})
		}
		r.takeParts(int32(i), replies[i].Collectives)
	}
	sent := commands
	r.each(func(w *wire, h *half) {
		if sent[h.end.Node].Kind == "" {
			return
		}
		h.reply = byID[h.id]
		switch {
		case r.f.lost[h.end.Node]:
			w.fail(h, &result.Failure{Step: stepOf(sent[h.end.Node].Kind), Code: "lost", Text: "the node has vanished"})
		case h.reply != nil && h.reply.Failure != nil && sent[h.end.Node].Kind != protocol.KindRun:
			w.fail(h, h.reply.Failure)
		}
	})
}

// takeEdges takes what a node reported of its edges. The error is for edges of other nodes: a
// worker that reports these would replace what they reported.
func (r *round) takeEdges(node int32, list []protocol.EdgeReply, byID map[int]*protocol.EdgeReply) error {
	for i := range list {
		id := list[i].ID
		if id < 0 || id/2 >= len(r.wires) || r.wires[id/2].halves[id%2].end.Node != node {
			return fmt.Errorf("the worker reports edge %d, which is not one of its own", id)
		}
		byID[id] = &list[i]
	}
	return nil
}

// fail keeps the first failure of a connection, with the end at which it was.
func (w *wire) fail(h *half, f *result.Failure) {
	if w.failure == nil {
		w.failure, w.noticed = f, h.id%2
	}
}

// seen returns the failure of a connection as its sender, the end with the given index, sees it.
func (w *wire) seen(sender int) *result.Failure {
	f := *w.failure
	f.At = side(w.noticed ^ sender)
	return &f
}

func stepOf(k protocol.Kind) result.FailureStep {
	switch k {
	case protocol.KindPrepare:
		return result.StepPrepare
	case protocol.KindConnect:
		return result.StepConnect
	}
	return result.StepData
}
