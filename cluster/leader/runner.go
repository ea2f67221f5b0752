// Package leader runs a verification: it asks the nodes what they have, lets them measure round by
// round, measures suspects again with other partners, and keeps a journal.
//
// A [Runner] reaches the nodes.
package leader

import (
	"context"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// Runner measures on the nodes of a cluster. Its methods are called one after another.
type Runner interface {
	// Survey asks all nodes for their cards and facts. The result has an entry for each node of the
	// cluster, in its order, also for those that didn't answer.
	Survey(ctx context.Context) ([]result.Node, error)
	// Measure runs one round. A measurement that failed is a sample with a failure; an error means
	// that the verification can't go on.
	Measure(ctx context.Context, t Task) (Outcome, error)
}

// Task is one round.
type Task struct {
	Stage   int // index in result.Run.Stages
	Name    plan.Name
	Kind    plan.Kind
	Round   int
	Attempt int // 0 for a round of the plan, n for the nth retest
	Length  time.Duration
	Plan    *plan.Plan // for the rails of a flow: [plan.Plan.Ends]
	Flows   []plan.Flow
	Load    bool
	// Dead are the cards of which every measurement with other nodes has failed. They are left out
	// of collectives, which would wait for them.
	Dead []plan.End
}

// Outcome is what a round measured.
type Outcome struct {
	Samples     []result.Sample     `json:"samples,omitempty"`
	Collectives []result.Collective `json:"collectives,omitempty"`
	Barriers    []result.Barrier    `json:"barriers,omitempty"`
	Lost        []Lost              `json:"lost,omitempty"`
}

// Lost is a node that vanished in a round.
type Lost struct {
	Node  int32  `json:"node"`
	Cause string `json:"cause"`
}
