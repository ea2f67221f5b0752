// Package fabric reads an InfiniBand subnet in one sweep: nodes, ports, links, routes and counters.
//
//	transport, err := fabric.OpenIBSim(ctx, os.Getenv) // or any other Transport
//	defer transport.Close()
//	topology, err := fabric.Discover(ctx, transport, fabric.Options{})
//	for _, link := range topology.Links() { … }
//	for _, u := range topology.Unreached { … } // what did not answer, and why
//	err = topology.WriteJSON(file)             // for ReadTopology and Options.Previous
//
// The sweep uses directed routes, so it needs neither a subnet manager nor LIDs. It queries no node
// twice. Its [Engine] keeps a window of outstanding requests that grows with answers and shrinks
// with losses, and derives timeouts from the measured round trips of each node. A request without
// an answer doesn't delay others: dead nodes together delay the end by 4 s, or by what they have
// reported to need, and are listed. Contradictions (two cables at one port, two nodes with one
// GUID, an answer that matches no request) are listed as anomalies; they neither stop the sweep nor
// make it endless.
//
// A [Topology] is plain data and safe to read from several goroutines. A [Transport] serves one
// sweep at a time. Sources: InfiniBand Architecture Specification volume 1, chapters 13, 14 and 16.
//
// MADs have 256 bytes and LIDs 16 bits, so Omni-Path is not supported. By default a sweep stops at
// 65,536 nodes and after five minutes; see [Options].
package fabric
