package plan

import (
	"fmt"
	"iter"
	"math"
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
}

const (
	defaultAllPairs = 128
	defaultFlows    = 16
	defaultStep     = time.Second
	// SetUp is what a round takes beside its measurement: queue pairs, a barrier, reports.
	SetUp = 250 * time.Millisecond
)

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

// PairRounds returns how many rounds of disjoint pairs the plan needs for n nodes: all pairs up to
// the limit, and 4·log2(n) random matchings beyond it, with which each of n nodes has enough
// partners to be told from them.
func PairRounds(n, allPairs int) int {
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
		s.Full, s.rounds = PairRounds(n, p.Options.AllPairs), p.pairs(name)
	case StageLoopback:
		s.Full, s.rounds = 2, p.loopback()
	case StagePairs:
		s.Full, s.rounds = PairRounds(n, p.Options.AllPairs), p.pairs(name)
	case StageIncast:
		s.Full, s.rounds = p.incastRounds(), p.incast()
	case StagePermutation:
		s.Full, s.rounds = 4, p.permutation()
	case StageJitter:
		s.Kind = KindLatency
		s.Full, s.rounds = 2*min(p.jitterRounds(), PairRounds(n, p.Options.AllPairs)), p.jitter()
	case StageCollective:
		s.Kind = KindCollective
		s.Full, s.rounds = 2, p.collective()
	}
	s.Count = s.Full
	return s
}

// pairs yields rounds of disjoint pairs.
func (p *Plan) pairs(name Name) iter.Seq[Round] {
	n := len(p.Cluster.Nodes)
	return func(yield func(Round) bool) {
		list := circle(n)
		if n > p.Options.AllPairs {
			list = matchings(n, PairRounds(n, p.Options.AllPairs), p.rng(name))
		}
		for pairs := range list {
			if !yield(Round{Flows: flows(pairs)}) {
				return
			}
		}
	}
}

func flows(pairs []Pair) []Flow {
	out := make([]Flow, len(pairs))
	for i, p := range pairs {
		out[i] = Flow{From: p.A, To: p.B, Both: true}
	}
	return out
}

// loopback yields two rounds: each card to itself, and to its neighbour in the node.
func (p *Plan) loopback() iter.Seq[Round] {
	return func(yield func(Round) bool) {
		for _, neighbour := range []bool{false, true} {
			r := Round{Flows: make([]Flow, len(p.Cluster.Nodes))}
			for i := range r.Flows {
				r.Flows[i] = Flow{From: int32(i), To: int32(i), Neighbour: neighbour}
			}
			if !yield(r) {
				return
			}
		}
	}
}

// incastSizes are the numbers of senders to one receiver.
func incastSizes() []int { return []int{2, 4, 8} }

// incastRounds returns the number of rounds of incast: one for each size that the cluster has the
// nodes for, and each again with other receivers.
func (p *Plan) incastRounds() int {
	n := 0
	for _, k := range incastSizes() {
		if k+1 <= len(p.Cluster.Nodes) {
			n += 2
		}
	}
	return n
}

// incast yields rounds in which groups of k+1 nodes send to one of their members; groups are
// disjoint.
func (p *Plan) incast() iter.Seq[Round] {
	n := len(p.Cluster.Nodes)
	return func(yield func(Round) bool) {
		rng := p.rng(StageIncast)
		for _, k := range incastSizes() {
			for range 2 {
				if k+1 > n {
					continue
				}
				order := rng.Perm(n)
				var r Round
				for g := 0; g+k < n; g += k + 1 {
					for _, sender := range order[g+1 : g+k+1] {
						r.Flows = append(r.Flows, Flow{From: int32(sender), To: int32(order[g])})
					}
				}
				if !yield(r) {
					return
				}
			}
		}
	}
}

// permutation yields rounds in which every node sends to exactly one other and receives from
// exactly one, across leaves where they are known: this loads the uplinks.
func (p *Plan) permutation() iter.Seq[Round] {
	n := len(p.Cluster.Nodes)
	return func(yield func(Round) bool) {
		rng := p.rng(StagePermutation)
		for range 4 {
			order := p.byLeaf(rng)
			shift := max(1, p.largestLeaf())
			if shift >= n {
				shift = 1 + rng.IntN(n-1)
			}
			r := Round{Flows: make([]Flow, n)}
			for i, from := range order {
				r.Flows[i] = Flow{From: int32(from), To: int32(order[(i+shift)%n])}
			}
			if !yield(r) {
				return
			}
		}
	}
}

// byLeaf returns the nodes grouped by leaf, in random order within a leaf and of the leaves.
func (p *Plan) byLeaf(rng *rand.Rand) []int {
	order := rng.Perm(len(p.Cluster.Nodes))
	rank := map[string]int{}
	for _, i := range order { // nodes of no known leaf are a group, too
		leaf := p.Cluster.Nodes[i].Leaf
		if _, ok := rank[leaf]; !ok {
			rank[leaf] = len(rank)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return rank[p.Cluster.Nodes[a].Leaf] - rank[p.Cluster.Nodes[b].Leaf]
	})
	return order
}

// largestLeaf returns the number of nodes of the largest leaf, 0 if no leaf is known.
func (p *Plan) largestLeaf() int {
	count := map[string]int{}
	most := 0
	for _, n := range p.Cluster.Nodes {
		if n.Leaf != "" {
			count[n.Leaf]++
			most = max(most, count[n.Leaf])
		}
	}
	return most
}

// jitterRounds is how many different partners the latency of a card is measured with.
func (p *Plan) jitterRounds() int { return 4 }

// jitter yields pairs for latency, each idle and under load.
func (p *Plan) jitter() iter.Seq[Round] {
	n := len(p.Cluster.Nodes)
	return func(yield func(Round) bool) {
		rounds := min(p.jitterRounds(), PairRounds(n, p.Options.AllPairs))
		for pairs := range matchings(n, rounds, p.rng(StageJitter)) {
			for _, load := range []bool{false, true} {
				if !yield(Round{Flows: flows(pairs), Load: load}) {
					return
				}
			}
		}
	}
}

// collective yields the order of nodes of a ring, then the edges of a binary tree.
func (p *Plan) collective() iter.Seq[Round] {
	n := len(p.Cluster.Nodes)
	return func(yield func(Round) bool) {
		order := p.byLeaf(p.rng(StageCollective))
		ring := Round{Flows: make([]Flow, 0, n)}
		for i, from := range order {
			ring.Flows = append(ring.Flows, Flow{From: int32(from), To: int32(order[(i+1)%n])})
		}
		tree := Round{Flows: make([]Flow, 0, n-1)}
		for i := 1; i < n; i++ {
			tree.Flows = append(tree.Flows, Flow{From: int32(order[i]), To: int32(order[(i-1)/2]), Both: true})
		}
		_ = yield(ring) && yield(tree)
	}
}

// Cost is the price of a plan: an estimate of its time, and of the bytes that the cards send.
type Cost struct {
	Time   time.Duration `json:"time"`
	Rounds int           `json:"rounds"`
	// Bytes that all cards send together; cards of unknown rate are left out.
	Bytes float64 `json:"bytes"`
	// MostPerCard is the most that one card sends.
	MostPerCard float64 `json:"mostPerCard"`
	// Trimmed lists stages that the budget has shortened.
	Trimmed []Name `json:"trimmed,omitempty"`
}

// Cost returns the price of a plan. Bandwidth is counted at the rate of the cards.
func (p *Plan) Cost() Cost {
	var c Cost
	sent := make([]float64, len(p.Cluster.Nodes)) // seconds at full rate, by node
	for s := range p.Stages {
		c.Time += time.Duration(s.Count) * (s.Length + SetUp)
		c.Rounds += s.Count
		if s.Count < s.Full {
			c.Trimmed = append(c.Trimmed, s.Name)
		}
		if s.Kind == KindConnect || s.Kind == KindLatency {
			continue
		}
		for r := range s.Rounds() {
			for _, f := range r.Flows {
				sent[f.From] += s.Length.Seconds()
				if f.Both {
					sent[f.To] += s.Length.Seconds()
				}
			}
		}
	}
	for i, n := range p.Cluster.Nodes {
		for _, card := range n.Rails {
			b := sent[i] * card.Gbps * 1e9 / 8
			c.Bytes += b
			c.MostPerCard = math.Max(c.MostPerCard, b)
		}
	}
	return c
}

// trim takes rounds from stages until the estimated time is within the budget: first of the stage
// that has the most rounds, so that every stage keeps a sample. A budget too small for one round of
// each stage is exceeded by these.
func (p *Plan) trim() {
	if p.Options.Budget == 0 {
		return
	}
	total := time.Duration(0)
	for s := range p.Stages {
		total += time.Duration(s.Count) * (s.Length + SetUp)
	}
	for total > p.Options.Budget {
		longest := -1
		for i, s := range p.stages {
			if s.Count > 1 && (longest < 0 || s.cost() > p.stages[longest].cost()) {
				longest = i
			}
		}
		if longest < 0 {
			return
		}
		p.stages[longest].Count--
		total -= p.stages[longest].Length + SetUp
	}
}

func (s *Stage) cost() time.Duration { return time.Duration(s.Count) * (s.Length + SetUp) }

// Retests returns rounds that measure suspects again, each with partners that are known to be good
// and that it has not met: a suspect is accused only if it is bad with them too. The nodes of a
// round are disjoint. Suspects for which no good partner is left are in the second result.
func Retests(suspects, good []int32, met map[Pair]bool, repeats int, seed uint64) (rounds [][]Pair, without []int32) {
	rng := rand.New(rand.NewPCG(seed, 0xbf58476d1ce4e5b9))
	used := map[Pair]bool{}
	for range repeats {
		free := slices.Clone(good)
		rng.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
		waiting := slices.Clone(suspects)
		for len(waiting) > 0 {
			var round []Pair
			var later []int32
			taken := map[int32]bool{}
			for _, s := range waiting {
				i := slices.IndexFunc(free, func(g int32) bool {
					return g != s && !taken[g] && !met[ordered(s, g)] && !used[ordered(s, g)]
				})
				if i < 0 {
					later = append(later, s)
					continue
				}
				taken[free[i]] = true
				used[ordered(s, free[i])] = true
				round = append(round, ordered(s, free[i]))
			}
			if len(round) == 0 {
				for _, s := range later {
					if !slices.Contains(without, s) {
						without = append(without, s)
					}
				}
				break
			}
			rounds = append(rounds, round)
			waiting = later
		}
	}
	slices.Sort(without)
	return rounds, without
}
