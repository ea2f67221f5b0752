// Package cluster emulates clusters with planted faults, so that a verification can be run and its
// verdicts scored without hardware.
//
//	s, err := cluster.Parse(yaml) // or cluster.Random(7)
//	m, err := cluster.NewModel(s, cluster.ModelOptions{})
//	p, err := plan.New(s.Cluster(), plan.Options{Seed: s.Seed})
//	run, err := leader.Verify(ctx, m, leader.Config{Plan: p, LeavesFrom: "scenario"})
//
// A [Scenario] says what there is: nodes, rails, leaves, rates and faults. A [Model] answers for
// its nodes at the level of flows: rates by max-min fairness over the links that a flow passes,
// with loss, latency, counters, facts and failures as the faults imply. A round of a hundred nodes
// takes milliseconds. What it doesn't have is time: congestion control, bursts and the order of
// packets are formulas, whose sources stand where they are used.
//
// A [Network] is the same scenario as packets: an engine of verbs/provider/roce for each card, on a
// simulated network with the hops of the topology, and a worker for each node. Its rates are
// smaller by [result.Scale], so that one process can carry it.
//
// All values of a Model depend on the seed of the scenario only. The methods of a Model are called
// one after another, those of different models may run at once.
package cluster
