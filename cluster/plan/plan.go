package plan

import (
	"fmt"
	"iter"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"
)

// Name is the name of a stage.
type Name string

// The stages, in the order in which they run.
const (
	StageReach       Name = "reach"       // each card to its rail's others: is there a way at all
	StageLoopback    Name = "loopback"    // each card to itself and to its neighbour in the node
	StagePairs       Name = "pairs"       // bandwidth of pairs of each rail, both directions
	StageIncast      Name = "incast"      // several senders to one receiver
	StagePermutation Name = "permutation" // all cards at once, each to another leaf's
	StageJitter      Name = "jitter"      // latency, idle and under load
	StageCollective  Name = "collective"  // ring and tree all-reduce over host memory
)

// Names returns all stages, in order.
func Names() []Name {
	return []Name{
		StageReach, StageLoopback, StagePairs, StageIncast, StagePermutation, StageJitter, StageCollective,
	}
}

// Options are the options of [New]. The zero value runs all stages without a limit.
type Options struct {
	Stages []Name `json:"stages"` // nil: all
	// Budget limits the estimated time of the plan; 0 means none. Stages lose rounds, the last ones
	// first, but none loses its first round.
	Budget time.Duration `json:"budget,omitempty"`
	Seed   uint64        `json:"seed"` // of random choices
	// AllPairs is the largest number of nodes of which all pairs are measured; 0: 128.
	AllPairs int `json:"allPairs"`
	// Flows is the number of source ports of a RoCE pair, to cover the ways of ECMP; 0: 16.
	Flows int `json:"flows"`
	// Step is how long a measurement of bandwidth lasts; 0: 1 s.
	Step time.Duration `json:"step"`
	// Gentle limits what a card sends to another one, in percent of the slower card's rate; 0 means
	// no limit. All-reduce can't be limited, so Gentle leaves out the stage collective.
	Gentle float64 `json:"gentle,omitempty"`
}

const (
	defaultAllPairs = 128
	defaultFlows    = 16
	defaultStep     = time.Second
	// SetUp is what a round takes beside its measurement: queue pairs, a barrier, reports.
	SetUp = 250 * time.Millisecond
)

// Share is the part of a card's rate that a measurement may use: 1 without a limit.
func (o *Options) Share() float64 {
	const percent = 100
	if o.Gentle > 0 {
		return o.Gentle / percent
	}
	return 1
}

// Plan is what a verification does.
type Plan struct {
	Cluster Cluster
	Options Options // with defaults filled in
	Rails   []int   // those that at least two nodes have
	stages  []Stage
}

// Stage is a part of a plan.
type Stage struct {
	Name   Name          `json:"name"`
	Kind   Kind          `json:"kind"`   // what is measured
	Count  int           `json:"rounds"` // number of rounds that are done
	Full   int           `json:"full"`   // number of rounds without a budget
	Length time.Duration `json:"length"` // of a round's measurement, without its preparation
	// rounds yields all rounds of the stage.
	rounds iter.Seq[Round]
}

// Kind is what a round measures.
type Kind string

// The kinds.
const (
	KindConnect    Kind = "connect"    // a queue pair and one message
	KindBandwidth  Kind = "bandwidth"  // RDMA WRITE both ways
	KindLatency    Kind = "latency"    // round trips of small messages
	KindCollective Kind = "collective" // all-reduce
)

// Round are measurements that run at the same time, on all rails of the plan.
type Round struct {
	// Flows are the directions of traffic by node; of a pair whose both directions are measured at
	// once, Both is set and only one of them is listed.
	Flows []Flow
	// Load is set if other pairs send in the background, to measure latency under load.
	Load bool
}

// Flow is traffic from one node's cards to another's, rail by rail. From and To are equal for a
// loopback; Neighbour then means the next rail of the same node instead of the same card.
type Flow struct {
	From, To  int32
	Both      bool
	Neighbour bool
}

// Ends yields the cards between which a flow runs, sender first: those of each rail of the plan
// that both nodes have. A flow to a neighbour goes from each card to the node's card of the next
// rail, of the last rail to the first; a node with one card has none.
func (p *Plan) Ends(f Flow) iter.Seq2[End, End] {
	return func(yield func(from, to End) bool) {
		a, b := p.Cluster.Nodes[f.From].Rails, p.Cluster.Nodes[f.To].Rails
		for i, card := range a {
			rail := card.Rail
			if f.Neighbour {
				if len(a) == 1 {
					return
				}
				rail = a[(i+1)%len(a)].Rail
			}
			if !slices.Contains(p.Rails, card.Rail) ||
				!slices.ContainsFunc(b, func(c Card) bool { return c.Rail == rail }) {
				continue
			}
			if !yield(End{f.From, int16(card.Rail)}, End{f.To, int16(rail)}) {
				return
			}
		}
	}
}

// New returns the plan for a cluster. Errors match [ErrTooFew], [ErrTooMany] or [ErrOptions], or
// name a node that can't be part of a plan.
func New(c Cluster, o Options) (*Plan, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("plan verification: %w", err)
	}
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("plan verification: %w", err)
	}
	p := &Plan{Cluster: c, Options: o, Rails: c.rails()}
	if len(p.Rails) == 0 {
		return nil, fmt.Errorf("plan verification: no two nodes have a card of the same rail")
	}
	for _, name := range Names() {
		if slices.Contains(o.Stages, name) {
			p.stages = append(p.stages, p.stage(name))
		}
	}
	p.trim()
	return p, nil
}

// complete fills in defaults.
func (o *Options) complete() error {
	if o.Stages == nil {
		o.Stages = Names()
	}
	for _, s := range o.Stages {
		if !slices.Contains(Names(), s) {
			return fmt.Errorf("%w: no stage %q (there are %v)", ErrOptions, s, Names())
		}
	}
	if o.Budget < 0 || o.Step < 0 || o.Flows < 0 || o.AllPairs < 0 {
		return fmt.Errorf("%w: budget %v, step %v, flows %d, all pairs %d: none may be negative",
			ErrOptions, o.Budget, o.Step, o.Flows, o.AllPairs)
	}
	if !(o.Gentle >= 0 && o.Gentle <= 100) {
		return fmt.Errorf("%w: gentle: %v %% is not 0 to 100", ErrOptions, o.Gentle)
	}
	if o.Gentle > 0 {
		o.Stages = slices.DeleteFunc(slices.Clone(o.Stages), func(s Name) bool { return s == StageCollective })
	}
	if len(o.Stages) == 0 {
		return fmt.Errorf("%w: no stage is left", ErrOptions)
	}
	if o.AllPairs == 0 {
		o.AllPairs = defaultAllPairs
	}
	if o.Flows == 0 {
		o.Flows = defaultFlows
	}
	if o.Step == 0 {
		o.Step = defaultStep
	}
	return nil
}

// Stages yields the stages in their order.
func (p *Plan) Stages(yield func(*Stage) bool) {
	for i := range p.stages {
		if !yield(&p.stages[i]) {
			return
		}
	}
}

// Rounds yields the rounds of a stage that the budget allows.
func (s *Stage) Rounds() iter.Seq[Round] {
	return func(yield func(Round) bool) {
		n := 0
		for r := range s.rounds {
			if n == s.Count || !yield(r) {
				return
			}
			n++
		}
	}
}

// rng returns the random numbers of a stage: the same for the same seed, whatever other stages run.
func (p *Plan) rng(name Name) *rand.Rand {
	h := p.Options.Seed
	for _, b := range []byte(name) {
		h = h*31 + uint64(b)
	}
	return rand.New(rand.NewPCG(h, 0x9e3779b97f4a7c15))
}

// pairRounds returns how many rounds of disjoint pairs the plan needs for n nodes: all pairs up to
// the limit, and 4·log2(n) random matchings beyond it, which give each node enough
// partners to distinguish its faults from theirs.
func pairRounds(n, allPairs int) int {
	if n <= allPairs {
		return n - 1 + n%2
	}
	return 4 * bits.Len(uint(n-1))
}

func (p *Plan) stage(name Name) Stage {
	n := len(p.Cluster.Nodes)
	s := Stage{Name: name, Kind: KindBandwidth, Length: p.Options.Step}
	switch name {
	case StageReach:
		s.Kind, s.Length = KindConnect, 100*time.Millisecond
		s.Full, s.rounds = pairRounds(n, p.Options.AllPairs), p.pairs(name)
	case StageLoopback:
		s.Full, s.rounds = 2, p.loopback()
	case StagePairs:
		s.Full, s.rounds = pairRounds(n, p.Options.AllPairs), p.pairs(name)
	case StageIncast:
		s.Full, s.rounds = p.incastRounds(), p.incast()
	case StagePermutation:
		s.Full, s.rounds = 4, p.permutation()
	case StageJitter:
		s.Kind = KindLatency
		s.Full, s.rounds = 2*min(p.jitterRounds(), pairRounds(n, p.Options.AllPairs)), p.jitter()
	case StageCollective:
		s.Kind = KindCollective
		s.Full, s.rounds = 2, p.collective()
	}
	s.Count = s.Full
	return s
}
