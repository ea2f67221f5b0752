// Package subnet simulates an InfiniBand subnet in the process: switches and channel adapters that
// respond to subnet management packets on directed routes, and by LID to performance management
// packets and reads of access registers, with the transport interface that a sweep uses. The
// performance agents have what ibsim doesn't: wide error counters, agents without optional
// counters, and any attribute by its bytes. Subnet administration answers at MasterLID, with tables
// in segments.
//
//	net := subnet.FatTree(4, 8, 2) // leaves, hosts per leaf, spines
//	net.Node("host3").Dead = true
//	topology, err := fabric.Discover(ctx, net.Transport("host0"), fabric.Options{})
//
// Nodes can be dead, slow or lossy, or send wrong responses. The clock is package time, so that
// tests under testing/synctest need no real time. There are no locks: only one goroutine at a time
// may use a [Subnet] and its transports.
package subnet
