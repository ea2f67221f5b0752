// Package subnet simulates an InfiniBand subnet in the process: switches and adapters that answer
// subnet management packets on directed routes and performance management by LID, behind the
// transport interface that a sweep uses.
//
//	net := subnet.FatTree(4, 8, 2) // leaves, hosts a leaf, spines
//	net.Node("host3").Dead = true
//	topology, err := fabric.Discover(ctx, net.Transport("host0"), fabric.Options{})
//
// Nodes can be dead, slow, lossy, and lie. Time comes from package time, so that a test under
// testing/synctest waits for nothing. Nothing locks: one goroutine at a time uses a [Subnet] and
// its transports.
package subnet
