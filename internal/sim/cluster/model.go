package cluster

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// Model answers for the nodes of a scenario. It is a [leader.Runner].
type Model struct {
	s     Scenario
	t     *topology
	nodes []result.Node
	lost  []bool // vanished in a round
	card  []cardState
	node  []nodeState
	quirk []float64 // of a card: what it always differs by from others of its kind
}

// cardState is what faults make of a card, beside its hops.
type cardState struct {
	dead, down      bool // passes nothing; its port is down, too
	noGID, otherGID bool
	otherPKey       bool
	mtu             float64 // path MTU
	blackHole       bool    // packets larger than usual for its switch port vanish
	class           bool    // its packets are in a class without flow control
	flaps           float64 // share of rounds
}

// nodeState is what faults make of a node.
type nodeState struct {
	absent bool
	dies   float64 // share of the rounds after which it vanishes; 0: never
	jitter float64 // µs
	pauses float64 // seconds between two
}

// NewModel returns the model of a scenario.
func NewModel(s Scenario) (*Model, error) {
	s, err := s.Complete()
	if err != nil {
		return nil, err
	}
	m := &Model{
		s: s, t: newTopology(&s), lost: make([]bool, s.Nodes), card: make([]cardState, s.Nodes*s.Rails),
		node: make([]nodeState, s.Nodes), quirk: make([]float64, s.Nodes*s.Rails),
	}
	rng := rand.New(rand.NewPCG(s.Seed, 0xca4d))
	for i := range m.card {
		m.card[i].mtu = usualMTU
		m.quirk[i] = 1 - m.noise()/4*math.Abs(rng.NormFloat64()) //nolint:mnd // less than between samples
	}
	for i := range s.Faults {
		m.plant(&s.Faults[i])
	}
	m.survey(rng)
	return m, nil
}

// noise returns the standard deviation of a measured rate.
func (m *Model) noise() float64 { return max(0, m.s.Noise) }

func (m *Model) plant(f *Fault) {
	card, node := &m.card[f.Node*m.s.Rails+f.Rail], &m.node[f.Node]
	switch f.Kind {
	case DeadCard:
		card.dead, card.down = true, !f.Hidden
	case DeadNode:
		node.absent = true
	case DyingNode:
		node.dies = f.Severity
	case JitteryHost:
		node.jitter = f.Severity
	case PausingHost:
		node.pauses = f.Severity
	case WrongMTU:
		if f.Hidden {
			card.blackHole = true
		} else {
			card.mtu = f.Severity
		}
	case MissingGID:
		card.noGID = true
	case OtherGIDType:
		card.otherGID = true
	case WrongPKey:
		card.otherPKey = true
	case WrongClass:
		card.class = true
	case FlappingLink:
		card.flaps = f.Severity
	}
}

// Scenario returns the scenario with its defaults.
func (m *Model) Scenario() Scenario { return m.s }

// Survey implements [leader.Runner].
func (m *Model) Survey(context.Context) ([]result.Node, error) { return m.nodes, nil }

// Measure implements [leader.Runner].
func (m *Model) Measure(ctx context.Context, t leader.Task) (leader.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return leader.Outcome{}, err
	}
	r := m.begin(t)
	switch t.Kind {
	case plan.KindConnect:
		r.connects()
	case plan.KindBandwidth:
		r.bandwidth()
	case plan.KindLatency:
		r.latencies()
	case plan.KindCollective:
		r.collectives()
	}
	for i, dying := range r.dying {
		if dying {
			m.lost[i] = true
			r.out.Lost = append(r.out.Lost, leader.Lost{Node: int32(i), Cause: "the connection was reset"})
		}
	}
	return r.out, nil
}

// round is a round of a model.
type round struct {
	m     *Model
	t     leader.Task
	rng   *rand.Rand
	edges []edge
	dying []bool // nodes that vanish in this round
	// pauses are the beginnings of a node's pauses, in seconds from the beginning of the round.
	pauses map[int32][]float64
	dip    []float64 // of a node: what something else takes of its rate in this round
	flap   map[plan.End]flap
	count  counts
	out    leader.Outcome
}

// edge is a pair of cards.
type edge struct {
	from, to plan.End
	both     bool
	failure  *result.Failure
}

// Noise of a healthy cluster beside the standard deviation of a rate: now and then something else
// uses a part of a node or of a link.
const (
	dipShare   = 0.003 // of nodes and rounds
	dipSample  = 0.01  // of samples
	dipMost    = 0.05
	pauseTime  = 0.05 // seconds: pauseLength
	roundSlack = 0.25 // seconds that a round takes beside its measurement
)

// begin makes a round: its cards, and what happens to them by chance.
func (m *Model) begin(t leader.Task) *round {
	seed := uint64(t.Stage)<<40 ^ uint64(t.Attempt)<<32 ^ uint64(t.Round)
	r := &round{
		m: m, t: t, rng: rand.New(rand.NewPCG(m.s.Seed, seed)), dying: make([]bool, m.s.Nodes),
		pauses: map[int32][]float64{}, dip: make([]float64, m.s.Nodes), flap: map[plan.End]flap{},
		count: make(counts, len(m.card)),
	}
	done := progress(t)
	for i := range m.node {
		n := &m.node[i]
		r.dip[i] = 1
		if m.s.Noise > 0 && r.rng.Float64() < dipShare {
			r.dip[i] -= dipMost * r.rng.Float64()
		}
		if n.dies > 0 && done >= n.dies && !m.lost[i] {
			r.dying[i] = true
		}
		if n.pauses > 0 {
			for at := n.pauses * r.rng.Float64(); at < t.Length.Seconds()+roundSlack; at += n.pauses {
				r.pauses[int32(i)] = append(r.pauses[int32(i)], at)
			}
		}
	}
	for i := range m.card {
		if c := &m.card[i]; c.flaps > 0 && r.rng.Float64() < c.flaps {
			r.flap[m.end(i)] = flap{begin: r.rng.Float64(), open: r.rng.Float64() < 0.3}
		}
	}
	for _, f := range t.Flows {
		for from, to := range t.Plan.Ends(f) {
			r.edges = append(r.edges, edge{from: from, to: to, both: f.Both})
		}
	}
	return r
}

// progress returns how much of the plan's rounds is done before a task.
func progress(t leader.Task) float64 {
	all, done, i := 0, t.Round, 0
	for s := range t.Plan.Stages {
		if i < t.Stage {
			done += s.Count
		}
		if i == t.Stage && t.Attempt > 0 { // retests follow the stage
			done += s.Count - t.Round
		}
		all += s.Count
		i++
	}
	return float64(done) / float64(all)
}

func (m *Model) end(card int) plan.End {
	return plan.End{Node: int32(card / m.s.Rails), Rail: int16(card % m.s.Rails)}
}

func (m *Model) number(e plan.End) int { return int(e.Node)*m.s.Rails + int(e.Rail) }

func (m *Model) cardOf(e plan.End) *cardState { return &m.card[m.number(e)] }

// flap is an outage of a link in a round.
type flap struct {
	begin float64 // share of the round
	open  bool    // the link is down when the round is prepared
}

func (r *round) sample(e *edge) result.Sample {
	return result.Sample{
		Stage: uint8(r.t.Stage), Attempt: uint8(r.t.Attempt), Round: uint16(r.t.Round),
		From: e.from, To: e.to, Load: r.t.Load,
	}
}
