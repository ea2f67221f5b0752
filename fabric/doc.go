// Package fabric reads an InfiniBand subnet in one sweep: nodes, ports, links, routes and counters.
//
//	transport, err := fabric.OpenIBSim(ctx, os.Getenv) // or any other Transport
//	defer transport.Close()
//	topology, err := fabric.Discover(ctx, transport, fabric.Options{})
//	for _, link := range topology.Links() { … }
//	for _, u := range topology.Unreached { … } // what did not answer, and why
//	err = topology.WriteJSON(file)             // for ReadTopology, and for Options.Previous of the next sweep
//
// The sweep walks directed routes, so it needs neither a subnet manager nor addresses. It keeps a
// window of questions under way that grows with answers and shrinks with losses, waits as long as
// the round trips measured so far suggest, asks no node twice, and lets a question that stays
// without answer hold back nobody else: a dead node costs a bounded time and is listed. What
// contradicts itself (two cables that claim one port, a GUID of two nodes, an answer to another
// question) is listed as an anomaly and neither stops the sweep nor makes it endless.
//
// A [Topology] is plain data and safe to read from several goroutines. A [Transport] serves one
// sweep at a time. Sources: InfiniBand Architecture Specification volume 1, chapters 13, 14 and 16.
//
// MADs have 256 bytes and LIDs 16 bits: Omni-Path is not read. A sweep stops at 65,536 nodes and
// after five minutes unless [Options] say otherwise.
package fabric
