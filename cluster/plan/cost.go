package plan

import (
	"math"
	"time"
)

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
