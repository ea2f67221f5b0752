package plan

import (
	"math"
	"time"
)

// Cost is the price of a plan: an estimate of its time, and of the bytes that the cards send.
type Cost struct {
	Time   time.Duration `json:"time"` // in ns
	Rounds int           `json:"rounds"`
	// Bytes that all cards send together; cards of unknown rate are left out.
	Bytes float64 `json:"bytes"`
	// MostPerCard is the most that one card sends.
	MostPerCard float64 `json:"mostPerCard"`
	// Trimmed lists stages that the budget has shortened.
	Trimmed []Name      `json:"trimmed,omitempty"`
	Stages  []StageCost `json:"stages"`
}

// StageCost is the price of a stage.
type StageCost struct {
	Name   Name `json:"name"`
	Kind   Kind `json:"kind"`
	Rounds int  `json:"rounds"`
	// Full is the number of rounds without a budget.
	Full  int           `json:"full"`
	Time  time.Duration `json:"time"`  // in ns
	Bytes float64       `json:"bytes"` // as Cost.Bytes
}

// Cost returns the price of a plan. Bandwidth is counted at the rate of the cards.
func (p *Plan) Cost() Cost { return p.Rest(nil) }

// Rest returns the price of what is left of a plan of whose stages so many rounds are done, by
// index of the stages; nil stands for none.
func (p *Plan) Rest(done []int) Cost {
	var c Cost
	sent := make([]float64, len(p.Cluster.Nodes)) // seconds at full rate, by node
	for i := range p.stages {
		s := &p.stages[i]
		skip := 0
		if i < len(done) {
			skip = min(done[i], s.Count)
		}
		one := StageCost{Name: s.Name, Kind: s.Kind, Rounds: s.Count - skip, Full: s.Full}
		one.Time = time.Duration(one.Rounds) * (s.Length + SetUp)
		one.Bytes = p.bytes(s.send(sent, skip))
		c.Time += one.Time
		c.Rounds += one.Rounds
		if s.Count < s.Full {
			c.Trimmed = append(c.Trimmed, s.Name)
		}
		c.Stages = append(c.Stages, one)
	}
	c.Bytes = p.bytes(sent)
	for i, n := range p.Cluster.Nodes {
		for _, card := range n.Rails {
			c.MostPerCard = math.Max(c.MostPerCard, sent[i]*p.bytesPerSecond(card))
		}
	}
	return c
}

// Samples returns the number of measurements that a plan makes at most, without repetitions.
func (p *Plan) Samples() (n int) {
	for s := range p.Stages {
		for r := range s.Rounds() {
			for _, f := range r.Flows {
				n += len(p.Rails)
				if f.Both && s.Kind == KindBandwidth { // a latency is of both directions
					n += len(p.Rails)
				}
			}
		}
	}
	return n
}

// send adds to sent how long the nodes send in the rounds of a stage after the first ones, in
// seconds, and returns what it added.
func (s *Stage) send(sent []float64, skip int) []float64 {
	own := make([]float64, len(sent))
	if s.Kind == KindConnect || s.Kind == KindLatency {
		return own
	}
	n := 0
	for r := range s.Rounds() {
		if n++; n <= skip {
			continue
		}
		for _, f := range r.Flows {
			own[f.From] += s.Length.Seconds()
			if f.Both {
				own[f.To] += s.Length.Seconds()
			}
		}
	}
	for i := range own {
		sent[i] += own[i]
	}
	return own
}

// bytes returns what all cards send in these times, in seconds by node.
func (p *Plan) bytes(sent []float64) (sum float64) {
	for i, n := range p.Cluster.Nodes {
		for _, card := range n.Rails {
			sum += sent[i] * p.bytesPerSecond(card)
		}
	}
	return sum
}

// bytesPerSecond is the rate at which a card sends, 0 if it is unknown.
func (p *Plan) bytesPerSecond(c Card) float64 { return p.Options.Share() * c.Gbps * 1e9 / 8 }

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
