package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Card is a port of this node that carries a rail.
type Card struct {
	Rail int
	Name string  // mlx5_0:1, roce@eth0
	Gbps float64 // 0 if unknown
	// Port and GIDIndex are those of the device; LocalOnly as GIDIndex addresses peers by LID.
	Port, GIDIndex int
	Facts          map[string]string
	// Failure is set for a card that can't be used; Open is not called then.
	Failure *result.Failure
	Open    func(context.Context) (*verbs.Device, error)
	// Counters returns counters of the card by the names of package result; nil stands for those of
	// the opened device.
	Counters func(context.Context) map[string]uint64
	// Traffic looks for a while at what the card carries already; nil: that can't be seen.
	Traffic func(context.Context) (result.Traffic, error)
}

// LocalOnly is the GIDIndex of an InfiniBand port that addresses its peers by LID.
const LocalOnly = -1

// Node is what this node has.
type Node struct {
	Name     string
	Facts    map[string]string
	Findings []result.Finding
	Cards    []Card
	Scale    *result.Scale // nil for hardware
}

// Config configures a worker. Zero values stand for the defaults of hardware.
type Config struct {
	Node Node
	// Message is the size of a WRITE in bytes, Depth the number of outstanding WRITEs of a pair of
	// cards, at least one for each flow, and Timeout the code of the acknowledgement timer, as in
	// [verbs.ConnectConfig]. The defaults are 64 KiB, 64 and 14, and for RDMA in software 32 KiB,
	// 16 and 15: it may run over a slow network, where 512 KiB are on their way for 105 ms at
	// 40 Mb/s, less than the timer's 134 ms.
	Message, Depth int
	Timeout        uint8
	// MTU limits the path MTU; 0 is that of the ports.
	MTU  ib.MTU
	Wait verbs.WaitMode
	// Clock is the time of limits and measurements; nil is the system's.
	Clock clock.Clock
	// Time is the node's clock, which the survey reports; nil is Clock.
	Time func() time.Time
	// Refresh is called before each survey and may replace the node; nil leaves it.
	Refresh func(context.Context) (Node, error)
}

const (
	defaultMessage = 64 << 10
	defaultDepth   = 64

	softwareMessage = 32 << 10
	softwareDepth   = 16
	softwareTimeout = 15
)

// Worker measures on one node. Its methods are called one after another.
type Worker struct {
	cfg     Config
	room    int                   // for a message that is sent or written by a peer, in bytes
	devices map[int]*verbs.Device // by rail
	cards   map[int]*Card
	edges   map[int]*edge
}

// New returns a worker.
func New(cfg Config) *Worker {
	message, depth, timeout := defaultMessage, defaultDepth, uint8(0)
	if cfg.Node.Scale != nil {
		message, depth, timeout = softwareMessage, softwareDepth, softwareTimeout
	}
	room := cmp.Or(cfg.Message, defaultMessage) // a peer may be hardware, and its messages larger
	cfg.Message = cmp.Or(cfg.Message, message)
	cfg.Depth = cmp.Or(cfg.Depth, depth)
	cfg.Timeout = cmp.Or(cfg.Timeout, timeout)
	if cfg.Clock == nil {
		cfg.Clock = clock.System
	}
	if cfg.Time == nil {
		cfg.Time = cfg.Clock.Now
	}
	return &Worker{
		cfg: cfg, room: room, devices: map[int]*verbs.Device{}, cards: map[int]*Card{}, edges: map[int]*edge{},
	}
}

// Do executes a command within its limit.
func (w *Worker) Do(ctx context.Context, c protocol.Command) protocol.Reply {
	if c.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = clock.WithTimeout(ctx, w.cfg.Clock, c.Limit, &lateError{c.Kind, c.Limit})
		defer cancel()
	}
	switch c.Kind {
	case protocol.KindSurvey:
		return w.survey(ctx)
	case protocol.KindPrepare:
		return w.prepare(ctx, c)
	case protocol.KindConnect:
		return w.connect(ctx, c)
	case protocol.KindRun:
		return w.run(ctx, c)
	case protocol.KindEnd:
		if err := w.Close(); err != nil {
			return protocol.Reply{Error: err.Error()}
		}
		return protocol.Reply{}
	}
	return protocol.Reply{Error: fmt.Sprintf("unknown command %q", c.Kind)}
}

// lateError is the error of a command that isn't finished within its limit.
type lateError struct {
	kind  protocol.Kind
	limit time.Duration
}

// Error names the command.
func (e *lateError) Error() string { return fmt.Sprintf("%s: not finished after %v", e.kind, e.limit) }

// Is makes the error match os.ErrDeadlineExceeded.
func (e *lateError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// now is the time by the clock of the worker.
func (w *Worker) now() time.Time { return w.cfg.Clock.Now() }

// Close frees everything. It may be called more than once.
func (w *Worker) Close() error {
	errs := []error{w.closeEdges()}
	for rail, d := range w.devices {
		errs = append(errs, d.Close())
		delete(w.devices, rail)
	}
	return errors.Join(errs...)
}

// survey opens the cards and reports them.
func (w *Worker) survey(ctx context.Context) protocol.Reply {
	if w.cfg.Refresh != nil {
		n, err := w.cfg.Refresh(ctx)
		if err != nil {
			return protocol.Reply{Error: err.Error()}
		}
		w.cfg.Node = n
	}
	n := &w.cfg.Node
	traffic := n.traffic(ctx)
	reply := protocol.Reply{
		Name: n.Name, Scale: n.Scale,
		Node: &result.Node{State: result.NodeReady, Facts: n.Facts, Findings: n.Findings},
	}
	for i := range n.Cards {
		card := &n.Cards[i]
		w.cards[card.Rail] = card
		failure := card.Failure
		if failure == nil && w.devices[card.Rail] == nil {
			d, err := card.Open(ctx)
			if err != nil {
				failure = failed(ctx, result.StepOpen, err)
			} else {
				w.devices[card.Rail] = d
			}
		}
		facts := card.Facts
		if d := w.devices[card.Rail]; d != nil {
			facts = located(ctx, card, d)
		}
		reply.Node.Cards = append(reply.Node.Cards, result.Card{Facts: facts, Failure: failure, Traffic: traffic[i]})
		reply.Rails = append(reply.Rails, plan.Card{Rail: card.Rail, Device: card.Name, Gbps: card.Gbps})
	}
	reply.Now = w.cfg.Time()
	return reply
}

// traffic looks at what the cards carry, all at once; nil where that can't be seen.
func (n *Node) traffic(ctx context.Context) []*result.Traffic {
	all := make([]*result.Traffic, len(n.Cards))
	var wg sync.WaitGroup
	for i, c := range n.Cards {
		if c.Traffic == nil {
			continue
		}
		wg.Go(func() {
			if t, err := c.Traffic(ctx); err == nil {
				all[i] = &t
			}
		})
	}
	wg.Wait()
	return all
}

// prepare creates the edges of a round.
func (w *Worker) prepare(ctx context.Context, c protocol.Command) (reply protocol.Reply) {
	if err := w.closeEdges(); err != nil {
		reply.Error = "close the connections of the last round: " + err.Error()
		return reply
	}
	for _, spec := range c.Edges {
		if w.edges[spec.ID] != nil {
			reply.Error = fmt.Sprintf("two edges with the number %d", spec.ID)
			return reply
		}
		e := &edge{spec: spec, w: w}
		w.edges[spec.ID] = e
		r := protocol.EdgeReply{ID: spec.ID}
		if err := e.open(ctx); err != nil {
			e.failure = failed(ctx, result.StepPrepare, err)
		} else {
			r.Endpoints = e.own
		}
		r.Failure = e.failure
		reply.Edges = append(reply.Edges, r)
	}
	return reply
}

// connect connects the edges of a round with their peers.
func (w *Worker) connect(ctx context.Context, c protocol.Command) (reply protocol.Reply) {
	for _, p := range c.Peers {
		e := w.edges[p.ID]
		if e == nil {
			reply.Error = fmt.Sprintf("no edge with the number %d", p.ID)
			return reply
		}
		if e.failure == nil {
			if err := e.connect(p.Endpoints); err != nil {
				e.failure = failed(ctx, result.StepConnect, err)
			} else {
				e.connected = true
			}
		}
		reply.Edges = append(reply.Edges, protocol.EdgeReply{ID: p.ID, Failure: e.failure})
	}
	return reply
}

// run measures on edges side by side.
func (w *Worker) run(ctx context.Context, c protocol.Command) (reply protocol.Reply) {
	before := w.counters(ctx)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, id := range c.Measure {
		e := w.edges[id]
		if e == nil || !e.connected || e.spec.Role == protocol.RoleCollective {
			mu.Lock()
			reply.Edges = append(reply.Edges, protocol.EdgeReply{ID: id, Failure: &result.Failure{
				Step: result.StepData, Code: "other", Text: fmt.Sprintf("edge %d is not connected", id),
			}})
			mu.Unlock()
			continue
		}
		wg.Go(func() {
			r := e.run(ctx, c.Length)
			mu.Lock()
			defer mu.Unlock()
			reply.Edges = append(reply.Edges, r)
		})
	}
	for _, spec := range c.Collectives {
		wg.Go(func() {
			r := w.collective(ctx, spec)
			mu.Lock()
			defer mu.Unlock()
			reply.Collectives = append(reply.Collectives, r)
		})
	}
	wg.Wait()
	after := w.counters(ctx)
	for i := range reply.Edges {
		if e := w.edges[reply.Edges[i].ID]; e != nil {
			reply.Edges[i].Counters = moved(before[e.spec.Rail], after[e.spec.Rail])
		}
	}
	return reply
}

func (w *Worker) closeEdges() error {
	var errs []error
	for id, e := range w.edges {
		errs = append(errs, e.close())
		delete(w.edges, id)
	}
	return errors.Join(errs...)
}

// counterLimit is how long reading counters may take.
const counterLimit = 2 * time.Second

// counters returns the counters of all cards that a round uses, by rail.
func (w *Worker) counters(ctx context.Context) map[int]map[string]uint64 {
	ctx, cancel := clock.WithTimeout(ctx, w.cfg.Clock, counterLimit, os.ErrDeadlineExceeded)
	defer cancel()
	out := map[int]map[string]uint64{}
	for _, e := range w.edges {
		rail := e.spec.Rail
		if _, done := out[rail]; done {
			continue
		}
		card, d := w.cards[rail], w.devices[rail]
		switch {
		case card != nil && card.Counters != nil:
			out[rail] = card.Counters(ctx)
		case d != nil:
			out[rail] = Canonical(d.Counters())
		}
	}
	return out
}
