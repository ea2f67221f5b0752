// Package plan decides what a verification of a cluster measures, in which order, and what that
// costs. It is pure: no clock, no network, and the same input gives the same plan.
//
//	p, err := plan.New(cluster, plan.Options{Budget: 5 * time.Minute})
//	fmt.Println(p.Cost())
//	for stage := range p.Stages {
//		for round := range stage.Rounds() { … }
//	}
//
// The stages go from the inside out, so that no link is blamed for the fault of a host: identity
// and reach, loopback of each host, all pairs of each rail, incast and permutation, jitter,
// collectives. Within a round every card sends to at most one card and receives from at most one,
// so that what is measured is not the plan's own congestion; incast is the exception by intent.
//
// All pairs of N nodes are N-1 rounds of disjoint pairs by the circle method. Beyond
// [Options.AllPairs] nodes that would take too long: random perfect matchings give each node
// several partners, and [Retests] measures the suspects again with partners that are known to be
// good.
package plan
