// Package consensus compares nodes: whether a job that spans them finds the same
// rails everywhere, and which settings may be the same for all.
//
//	for snapshot, err := range consensus.Documents(file) { … }
//	a, err := consensus.NewNode("a.json", snapshotA, opts)
//	b, err := consensus.NewNode("b.json", snapshotB, opts)
//	report := consensus.Compare([]*consensus.Node{a, b}, opts)
//
// A [Node] is a digest of a few kilobytes, so that thousands can be compared while one
// snapshot at a time is in memory. Which ports count is decided by [launch.Derive], so
// `env` on a node and a comparison of nodes can't disagree.
//
// Collective libraries exchange little about their rails before they use them: ranks
// with different sets of HCAs hang, a rail in another subnet times out, and a GID
// index that holds an address here is empty there. Each [Difference] says who differs
// from the majority, by which file, and what to do; a tie is reported as a tie.
//
// All functions are pure and may be called concurrently; [Compare] keeps no reference
// to what it returns and changes no Node.
package consensus
