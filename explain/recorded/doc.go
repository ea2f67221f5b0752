// Package recorded reads recorded nodes, bundles of rdmactl snapshot, as evidence: what the node
// has, which checks of package doctor fail on it, its environment and its kernel's log.
//
//	report, err := explain.Explain(ctx, inputs, explain.Options{Recordings: recorded.Read})
//
// A recording is read whole, within the limits of package nodetree. Of a damaged one, what the
// readable part has counts, and no check is run: what is missing in it would look like a fault.
package recorded
