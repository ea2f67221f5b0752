package verdict

import (
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// Suspect is a node or a card that should be measured again with other partners before [Find]
// accuses it.
type Suspect struct {
	Node  int32     `json:"node"` // index of Cluster.Nodes
	Rail  int16     `json:"rail"` // -1 for all rails
	Peer  int32     `json:"peer"` // the other end if only a pair is suspect, else -1
	Cause Cause     `json:"cause"`
	Stage plan.Name `json:"stage"` // to be repeated: pairs or jitter
}

// repeatable returns the stage in which a suspicion is repeated, "" for what a repeat can't change.
func repeatable(c Cause) plan.Name {
	switch c {
	case CauseSlow, CauseSlowSend, CauseSlowReceive, CauseSlowNode, CauseLoss, CauseLossSend, CauseLossReceive,
		CauseBitErrors, CauseFlapping, CauseDeadCard:
		return plan.StagePairs
	case CauseJitter, CausePauses:
		return plan.StageJitter
	}
	return ""
}

// Suspects returns what deserves a repeat, by node. Its limits are lower than those of [Find].
func Suspects(run *result.Run, o Options) []Suspect { return suspicions(run, o).suspects() }

func (v *view) suspects() []Suspect {
	run := v.run
	index := make(map[string]int32, len(run.Cluster.Nodes))
	for i, n := range run.Cluster.Nodes {
		index[n.Name] = int32(i)
	}
	var out []Suspect
	for _, x := range v.verdicts {
		stage := repeatable(x.Cause)
		if stage == "" {
			continue
		}
		s := Suspect{Peer: -1, Rail: -1, Cause: x.Cause, Stage: stage}
		if x.Where.Scope == ScopeCard {
			if len(x.Where.Or) > 0 {
				s.Peer = x.Where.Or[0].Node
			}
			for _, e := range x.Where.Ends {
				s.Node, s.Rail = e.Node, e.Rail
				out = append(out, s)
			}
			continue
		}
		for _, name := range x.Where.Nodes {
			s.Node = index[name]
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b Suspect) int {
		if a.Node != b.Node {
			return int(a.Node) - int(b.Node)
		}
		return int(a.Rail) - int(b.Rail)
	})
	return slices.Compact(out)
}

func suspicions(run *result.Run, o Options) *view {
	o = o.forRun(run)
	o.loose, o.Baseline = true, nil
	o.Z *= 0.75
	o.Deficit *= 0.8
	o.Latency *= 0.75
	return analyse(run, o)
}

// Good returns the nodes that nothing is known against, in order: partners for suspects. A node
// that was not measured with any other is none of them.
func Good(run *result.Run) []int32 { return suspicions(run, Options{}).good() }

func (v *view) good() []int32 {
	run := v.run
	bad, named := make([]bool, len(run.Cluster.Nodes)), map[string]bool{}
	for _, x := range v.verdicts {
		for _, e := range slices.Concat(x.Where.Ends, x.Where.Or) {
			if e.Node >= 0 && int(e.Node) < len(bad) {
				bad[e.Node] = true
			}
		}
		for _, name := range x.Where.Nodes {
			named[name] = true
		}
	}
	measured := make([]bool, len(bad))
	for i := range run.Samples {
		s := &run.Samples[i]
		if s.From.Node != s.To.Node && v.find(s.From) >= 0 && v.find(s.To) >= 0 && (s.Detail == nil ||
			s.Detail.Failure == nil) {
			measured[s.From.Node], measured[s.To.Node] = true, true
		}
	}
	var good []int32
	for i := range bad {
		if !bad[i] && !named[v.nodeName(int32(i))] && measured[i] && (i >= len(run.Nodes) ||
			run.Nodes[i].State == result.NodeReady) {
			good = append(good, int32(i))
		}
	}
	return good
}
