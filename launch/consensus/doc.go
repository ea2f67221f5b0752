// Package consensus compares the nodes of a job: whether they have the same rails, and which
// settings can be the same on all nodes.
//
//	for snapshot, err := range consensus.Documents(file) { … }
//	a, err := consensus.NewNode("a.json", snapshotA, opts)
//	b, err := consensus.NewNode("b.json", snapshotB, opts)
//	report := consensus.Compare([]*consensus.Node{a, b}, opts)
//
// A [Node] is a digest of a few kilobytes, so that thousands of nodes can be compared while only
// one snapshot at a time is in memory. [launch.Derive] selects the ports, so that a comparison uses
// the same ports as `env` on each node.
//
// Collective libraries exchange little information about their rails before they use them: ranks
// with different sets of HCAs hang, a rail in another subnet times out, and a GID index that has an
// address on one node is empty on another. Each [Difference] reports the nodes that differ from the
// majority, the files with the values, and how to fix it; a tie is reported as a tie.
//
// All functions are pure and may be called concurrently; [Compare] keeps no reference to its result
// and changes no Node.
package consensus
