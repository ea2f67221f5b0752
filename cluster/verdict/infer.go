package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// Inference is what the latencies of a run show about leaves.
type Inference struct {
	// Leaves are the leaves by node, "" for nodes whose latencies fit in none; nil if the latencies
	// show none.
	Leaves []string
	// Hop is by how much half a round trip between leaves is longer than one within a leaf, and
	// Noise the standard deviation of what is left of a pair's latency, in µs. Both are 0 if
	// no leaves could be inferred.
	Hop, Noise float64
	Why        string // why there are no leaves
}

// What latencies must show so that leaves are inferred from them.
const (
	// fewestInferred is the number of nodes below which two hops can't be distinguished from
	// properties of the hosts: eight nodes have 28 pairs, and a model has nine parameters. With
	// six, one of 150 flat networks with noise seemed to have leaves.
	fewestInferred = 8
	// leastHop is what two more switches add at least to half a round trip, in µs. Cut-through
	// switches add 0.13 µs (InfiniBand) to 0.5 µs (Ethernet) each, a cable 5 ns/m.
	leastHop = 0.1
	// clearGap is by how many standard deviations latencies between leaves differ from those
	// within. Searching for groups in noise finds differences of up to four, and more where few
	// pairs leave little freedom to the noise: fewFreedom is the degrees of freedom at which twice
	// as much is needed.
	clearGap, fewFreedom = 6.0, 8.0
	// mostWrong is the share of pairs that may be on the other side of the middle than their leaves
	// say, and mostWrongOfNode that of a node; of nodes with more the leaf is unknown.
	mostWrong, mostWrongOfNode = 0.01, 0.1
	// completePairs is the share of the pairs of a rail whose latencies are known, if it is used.
	completePairs = 0.95
)

// InferLeaves infers leaves from the latencies of the stage reach: round trips between leaves pass
// two more switches than those within. It needs all pairs of at least one rail, and a clear gap
// between the two against the noise. Hosts may differ in what they add to all of their round trips.
func InferLeaves(run *result.Run) Inference {
	if run.Software() {
		return Inference{Why: "latencies of RDMA in software are those of the processors"}
	}
	l, why := pairTimesOf(run)
	if why != "" {
		return Inference{Why: why}
	}
	g := l.infer()
	out := Inference{Hop: max(g.hop, 0), Noise: g.noise}
	if out.Why = g.why; g.why != "" {
		return out
	}
	out.Leaves = make([]string, len(run.Cluster.Nodes))
	for _, members := range l.finest(g) {
		name := fmt.Sprintf("of %s", run.Cluster.Nodes[members[0]].Name)
		switch others := len(members) - 1; others {
		case 0:
		case 1:
			name += " and another node"
		default:
			name += fmt.Sprintf(" and %d other nodes", others)
		}
		for _, node := range members {
			out.Leaves[node] = name
		}
	}
	return out
}

// mostInferred is the most that a verdict which needs inferred leaves can be sure of.
const mostInferred = 0.9

// inferredLeaves says of verdicts that need leaves that these are inferred.
func (v *view) inferredLeaves() {
	if v.run.LeavesFrom != result.LeavesFromLatency {
		return
	}
	text := ""
	for i := range v.verdicts {
		if x := &v.verdicts[i]; x.Where.Scope == ScopeLeaf || x.Cause == CauseOversubscribed {
			if text == "" { // it takes a while
				text = "leaves inferred from latency: " + v.inferredWords()
			}
			x.Confidence = min(x.Confidence, mostInferred)
			x.Evidence = append(x.Evidence, Evidence{Text: text})
		}
	}
}

// inferredWords says how clear inferred leaves are.
func (v *view) inferredWords() string {
	g := InferLeaves(v.run)
	if g.Why != "" { // not of this run's samples
		return "round trips between them are longer than within"
	}
	return fmt.Sprintf("half a round trip between them is %.2g µs longer than within, with a noise of %.2g µs", g.Hop,
		g.Noise)
}

// whyNoLeaves returns why leaves can't be inferred from latency either, "" if that is unknown.
func (v *view) whyNoLeaves() string {
	if g := InferLeaves(v.run); g.Why != "" {
		return ", and " + g.Why
	}
	return ""
}

// pairTimes are half round trips of pairs of nodes in µs, by rail, as symmetric matrices with NaN
// for what is unknown.
type pairTimes struct {
	nodes []int // indices in the cluster
	rails [][]float64
}

// at returns the index of a pair in a matrix.
func (l *pairTimes) at(i, j int) int { return i*len(l.nodes) + j }

// pairTimesOf takes the latencies from a run, or returns why they don't suffice.
func pairTimesOf(run *result.Run) (*pairTimes, string) {
	n := len(run.Cluster.Nodes)
	allPairs := run.Options.AllPairs
	switch i := slices.IndexFunc(run.Stages, func(s result.Stage) bool { return s.Name == plan.StageReach }); {
	case i < 0:
		return nil, "stage reach, which has the latencies, was not part of the run"
	case n < fewestInferred:
		return nil, fmt.Sprintf("%d nodes are too few to infer them from latencies", n)
	case allPairs > 0 && n > allPairs:
		return nil, fmt.Sprintf("beyond %d nodes not all pairs are measured, as inferring them from latencies needs",
			allPairs)
	}
	byRail := map[int16][]float64{}
	for i := range run.Samples {
		s := &run.Samples[i]
		a, b := int(s.From.Node), int(s.To.Node)
		if int(s.Stage) >= len(run.Stages) || run.Stages[s.Stage].Name != plan.StageReach || s.From.Rail != s.To.Rail ||
			a == b || min(a, b) < 0 || max(a, b) >= n {
			continue
		}
		x := lowest(s) * run.Scaled().Time
		if !(x > 0) || math.IsInf(x, 0) {
			continue
		}
		if byRail[s.From.Rail] == nil {
			byRail[s.From.Rail] = slices.Repeat([]float64{math.NaN()}, n*n)
		}
		byRail[s.From.Rail][a*n+b], byRail[s.From.Rail][b*n+a] = x, x
	}
	all := &pairTimes{nodes: make([]int, n)}
	for i := range all.nodes {
		all.nodes[i] = i
	}
	for _, rail := range slices.Sorted(maps.Keys(byRail)) {
		all.rails = append(all.rails, byRail[rail])
	}
	l := all.complete()
	if l == nil {
		return nil, "no rail has latencies of nearly all pairs"
	}
	return l, ""
}

// fewestTrips is the number of round trips of a pair from which its latency is taken: the first one
// of a connection is longer.
const fewestTrips = 8

// lowest returns the shortest of a sample's half round trips, 0 for none.
func lowest(s *result.Sample) float64 {
	if s.Detail == nil || s.Detail.Failure != nil || s.Detail.Latency == nil || s.Detail.Latency.Count < fewestTrips {
		return 0
	}
	return s.Detail.Latency.Min
}

// complete returns the rails with latencies of nearly all pairs of those nodes that have any on
// most of their pairs; nil for none.
func (l *pairTimes) complete() *pairTimes {
	n := len(l.nodes)
	out := &pairTimes{}
	var good [][]float64
	usable := make([]bool, n)
	for _, x := range l.rails {
		var list []int
		for i := range n {
			known := 0
			for j := range n {
				if !math.IsNaN(x[l.at(i, j)]) {
					known++
				}
			}
			if 2*known > n {
				list = append(list, i)
			}
		}
		known := 0
		for _, i := range list {
			for _, j := range list {
				if !math.IsNaN(x[l.at(i, j)]) {
					known++
				}
			}
		}
		if m := len(list); m < fewestInferred || float64(known) < completePairs*float64(m*(m-1)) {
			continue
		}
		good = append(good, x)
		for _, i := range list {
			usable[i] = true
		}
	}
	for i, ok := range usable {
		if ok {
			out.nodes = append(out.nodes, i)
		}
	}
	if len(good) == 0 {
		return nil
	}
	all := &pairTimes{nodes: l.nodes, rails: good}
	return all.only(out.nodes)
}

// only returns the latencies between some nodes, by their index in l.
func (l *pairTimes) only(list []int) *pairTimes {
	out := &pairTimes{nodes: make([]int, len(list))}
	for k, i := range list {
		out.nodes[k] = l.nodes[i]
	}
	for _, x := range l.rails {
		y := make([]float64, 0, len(list)*len(list))
		for _, i := range list {
			for _, j := range list {
				y = append(y, x[l.at(i, j)])
			}
		}
		out.rails = append(out.rails, y)
	}
	return out
}

// finest returns the nodes of each leaf, by their index in the cluster. Groups may be pods with
// leaves in them: what is clear within a group counts.
func (l *pairTimes) finest(g grouping) (out [][]int) {
	for _, members := range g.members() {
		part := l.only(members)
		if len(members) >= fewestInferred && len(members) < len(l.nodes) {
			if inner := part.infer(); inner.why == "" {
				out = append(out, part.finest(inner)...)
				continue
			}
		}
		out = append(out, part.nodes)
	}
	return out
}
