package leader

import (
	"fmt"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// A card is in use if it sends or receives more than this part of its rate, or this rate in Gb/s if
// its own is unknown: more than what keeps connections alive, less than any job that communicates.
const (
	busyShare = 0.01
	busyGbps  = 0.1
)

// Use is what the survey saw of traffic that isn't the run's.
type Use struct {
	// Busy are the cards in use, for people: gpu-003 mlx5_2 sends 213 Gb/s and receives 209 Gb/s.
	Busy []string
	// Unseen is the number of cards of which nothing is known.
	Unseen int
}

// Use returns what the nodes reported of traffic beside the run.
func (f *Fleet) Use() (u Use) {
	for i, n := range f.cluster.Nodes {
		if f.nodes[i].State != result.NodeReady {
			continue
		}
		for j, c := range n.Rails {
			t := f.nodes[i].Cards[j].Traffic
			if t == nil {
				u.Unseen++
				continue
			}
			limit := busyShare * f.rate(plan.End{Node: int32(i), Rail: int16(c.Rail)})
			if limit == 0 {
				limit = busyGbps
			}
			if max(t.Sent, t.Received) > limit {
				u.Busy = append(u.Busy, fmt.Sprintf("%s %s sends %.3g Gb/s and receives %.3g Gb/s", n.Name, c.Device,
					t.Sent, t.Received))
			}
		}
	}
	return u
}
