package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// Config configures [Verify].
type Config struct {
	// Plan is what is done. A resumed run sets its leaves, and so do inferred ones.
	Plan *plan.Plan
	// Scale, LeavesFrom and Start are those of [result.Run].
	Scale      *result.Scale
	LeavesFrom string
	Start      map[string]string
	// Suspects returns the nodes that deserve another look after a stage, and those that are known
	// to be good, as partners. nil: no retests.
	Suspects func(*result.Run) (suspects, good []int32)
	// Leaves infers the leaves of the nodes, by index of the cluster, from a run whose stage reach
	// is done, and returns nil if it can't. It is called if the plan has no leaves; the following
	// stages use its result, and the run records that it comes from latency. If the function is
	// nil, leaves stay unknown.
	Leaves func(*result.Run) []string
	// Retests is how often a suspect is measured again; 0: 2.
	Retests int
	// Journal is written as the run goes; nil for none.
	Journal *Journal
	// Resume is an unfinished run of the same plan, as [ReadJournal] returns it.
	Resume *result.Run
	// Progress is called before each round; nil for none.
	Progress func(Progress)
	// Lost is called for each node that vanishes, with the cause, once its round has ended; nil for
	// none.
	Lost func(node, cause string)
	Now  func() time.Time // nil: time.Now
}

// Progress is where a verification is.
type Progress struct {
	Stage         plan.Name
	Round, Rounds int // of the stage, from 0
	Retest        bool
	Pairs         int           // of the round
	Left          time.Duration // estimate for the rest, without retests
}

const defaultRetests = 2

// Verify runs a plan. It returns what was measured also with an error: the verification then ended
// early, because ctx did, the journal could not be written or the runner gave up.
func Verify(ctx context.Context, r Runner, c Config) (*result.Run, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Retests == 0 {
		c.Retests = defaultRetests
	}
	v := &verification{Config: c, runner: r}
	if err := v.begin(ctx); err != nil {
		return v.run, err
	}
	for i := range v.run.Stages {
		if err := v.stage(ctx, i); err != nil {
			return v.run, err
		}
	}
	v.run.Ended = c.Now()
	return v.run, c.Journal.end(v.run.Ended)
}

// verification is a running Verify.
type verification struct {
	Config
	runner Runner
	run    *result.Run
	stages []*plan.Stage
}

// begin makes the record of a new run, or checks that of a resumed one.
func (v *verification) begin(ctx context.Context) error {
	for s := range v.Plan.Stages {
		v.stages = append(v.stages, s)
	}
	nodes, err := v.runner.Survey(ctx)
	if err != nil {
		return fmt.Errorf("survey of the nodes: %w", err)
	}
	if len(nodes) != len(v.Plan.Cluster.Nodes) {
		return fmt.Errorf("survey of the nodes: %d of %d reported", len(nodes), len(v.Plan.Cluster.Nodes))
	}
	v.run = &result.Run{
		Schema: result.Schema, Started: v.Now(), Scale: v.Scale, Cluster: v.Plan.Cluster, LeavesFrom: v.LeavesFrom,
		Options: v.Plan.Options, Nodes: nodes, Start: v.Start,
	}
	for _, s := range v.stages {
		stage := result.Stage{Name: s.Name, Kind: s.Kind, Planned: s.Count, Length: s.Length}
		v.run.Stages = append(v.run.Stages, stage)
	}
	if v.Resume == nil {
		return v.Journal.begin(v.run)
	}
	return v.resume()
}

// ErrOtherPlan is the error for a journal of another cluster or plan.
var ErrOtherPlan = errors.New("the journal is that of another cluster or plan")

// resume takes over the rounds of an unfinished run.
func (v *verification) resume() error {
	old := v.Resume
	same := len(old.Stages) == len(v.run.Stages) && len(old.Cluster.Nodes) == len(v.run.Cluster.Nodes) &&
		len(old.Nodes) == len(v.run.Nodes)
	for i := 0; same && i < len(old.Stages); i++ {
		same = old.Stages[i].Name == v.run.Stages[i].Name && old.Stages[i].Planned == v.run.Stages[i].Planned
	}
	for i := 0; same && i < len(old.Cluster.Nodes); i++ {
		a, b := old.Cluster.Nodes[i], v.run.Cluster.Nodes[i]
		same = a.Name == b.Name && slices.Equal(a.Rails, b.Rails)
	}
	if !same || old.Options.Seed != v.run.Options.Seed {
		return fmt.Errorf("resume verification: %w", ErrOtherPlan)
	}
	var changed []nodeEntry
	for i, n := range v.run.Nodes {
		if old.Nodes[i].State == result.NodeLost { // its pairs are missing, even if it is back
			continue
		}
		if n.State == result.NodeAbsent { // its cards are in the plan
			n.Cards, n.Facts, n.Findings = old.Nodes[i].Cards, old.Nodes[i].Facts, old.Nodes[i].Findings
		}
		if old.Nodes[i].State != n.State {
			changed = append(changed, nodeEntry{i, n})
		}
		old.Nodes[i] = n
	}
	v.run = old
	// Later rounds depend on leaves: those that the run began with, or has inferred.
	v.Plan.Cluster.Nodes = old.Cluster.Nodes
	v.run.Ended = time.Time{}
	if changed == nil {
		return nil
	}
	return v.Journal.nodes(changed)
}

// stage runs the rounds of a stage that haven't been done, and then looks at its suspects again.
func (v *verification) stage(ctx context.Context, i int) error {
	s, record := v.stages[i], &v.run.Stages[i]
	n := 0
	for round := range s.Rounds() {
		if n++; n <= record.Done {
			continue
		}
		t := Task{
			Stage: i, Name: s.Name, Kind: s.Kind, Round: n - 1, Length: s.Length, Plan: v.Plan, Flows: round.Flows,
			Load: round.Load,
		}
		if s.Kind == plan.KindCollective {
			t.Dead = deadCards(v.run)
		}
		if err := v.measure(ctx, t); err != nil {
			return err
		}
	}
	if s.Name == plan.StageReach {
		if err := v.inferLeaves(); err != nil {
			return err
		}
	}
	return v.retest(ctx, i)
}

// deadCards returns the cards of which at least two measurements with other nodes were made and all
// have failed, in order.
func deadCards(run *result.Run) []plan.End {
	failed, passed := map[plan.End]int{}, map[plan.End]bool{}
	for i := range run.Samples {
		s := &run.Samples[i]
		if s.From.Node == s.To.Node {
			continue
		}
		for _, e := range []plan.End{s.From, s.To} {
			if s.Detail != nil && s.Detail.Failure != nil {
				failed[e]++
			} else {
				passed[e] = true
			}
		}
	}
	var dead []plan.End
	for e, n := range failed {
		if n > 1 && !passed[e] {
			dead = append(dead, e)
		}
	}
	slices.SortFunc(dead, func(a, b plan.End) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Rail, b.Rail))
	})
	return dead
}

// inferLeaves takes leaves from latencies if they are unknown.
func (v *verification) inferLeaves() error {
	if v.Leaves == nil || slices.ContainsFunc(v.run.Cluster.Nodes, func(n plan.Node) bool { return n.Leaf != "" }) {
		return nil
	}
	leaves := v.Leaves(v.run)
	if leaves == nil {
		return nil
	}
	l := leavesEntry{From: result.LeavesFromLatency, Nodes: leaves}
	l.apply(v.run)
	v.Plan.Cluster.Nodes = v.run.Cluster.Nodes
	return v.Journal.leaves(l)
}

// measure runs a round and keeps what it measured.
func (v *verification) measure(ctx context.Context, t Task) error {
	v.tell(t)
	out, err := v.runner.Measure(ctx, t)
	if err != nil {
		return fmt.Errorf("round %d of stage %s: %w", t.Round+1, t.Name, err)
	}
	for _, l := range out.Lost {
		if v.Lost != nil {
			v.Lost(v.run.Cluster.Nodes[l.Node].Name, l.Cause)
		}
	}
	e := entry{Stage: t.Stage, Round: t.Round, Attempt: t.Attempt, Outcome: out}
	add(v.run, e)
	return v.Journal.round(e)
}

func (v *verification) tell(t Task) {
	if v.Progress == nil {
		return
	}
	p := Progress{
		Stage: t.Name, Round: t.Round, Rounds: v.run.Stages[t.Stage].Planned, Retest: t.Attempt > 0,
		Pairs: len(t.Flows),
	}
	for i := t.Stage; i < len(v.run.Stages); i++ {
		s := &v.run.Stages[i]
		p.Left += time.Duration(s.Planned-s.Done) * (s.Length + plan.SetUp)
	}
	v.Progress(p)
}

// retest measures the suspects of a stage of pairs again, each with partners that are known to be
// good.
func (v *verification) retest(ctx context.Context, i int) error {
	s, record := v.stages[i], &v.run.Stages[i]
	if v.Suspects == nil || s.Name != plan.StagePairs && s.Name != plan.StageJitter {
		return nil
	}
	planned := v.withoutRetests(i)
	suspects, good := v.Suspects(planned)
	if len(suspects) == 0 {
		return nil
	}
	rounds, without := plan.Retests(suspects, good, met(planned, i), v.Retests, v.Plan.Options.Seed)
	if len(without) > 0 { // they have met all good nodes: the same ones again
		again, _ := plan.Retests(without, good, nil, v.Retests, v.Plan.Options.Seed)
		rounds = append(rounds, again...)
	}
	for n, pairs := range rounds {
		if n < record.Retests { // done before the run was resumed
			continue
		}
		t := Task{
			Stage: i, Name: s.Name, Kind: s.Kind, Round: record.Planned + n, Attempt: 1 + n, Length: s.Length,
			Plan: v.Plan,
		}
		for _, p := range pairs {
			t.Flows = append(t.Flows, plan.Flow{From: p.A, To: p.B, Both: true})
		}
		if err := v.measure(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// withoutRetests returns the run without the retests of a stage, so that a resumed run chooses the
// same ones.
func (v *verification) withoutRetests(stage int) *result.Run {
	if v.run.Stages[stage].Retests == 0 {
		return v.run
	}
	run := *v.run
	run.Samples = slices.DeleteFunc(slices.Clone(run.Samples), func(s result.Sample) bool {
		return int(s.Stage) == stage && s.Attempt > 0
	})
	return &run
}

// met returns the pairs that a stage has measured.
func met(run *result.Run, stage int) map[plan.Pair]bool {
	pairs := map[plan.Pair]bool{}
	for i := range run.Samples {
		if s := &run.Samples[i]; int(s.Stage) == stage {
			a, b := s.From.Node, s.To.Node
			pairs[plan.Pair{A: min(a, b), B: max(a, b)}] = true
		}
	}
	return pairs
}
