// Package inputs reads the nodes of a comparison: the output of "rdmactl detect -o json" (several
// documents, or an array of them, are several nodes), bundles and node trees as text, directories
// of such files, root directories of nodes, and standard input.
//
//	nodes, bad, err := inputs.Files{Names: os.Args[1:], Stdin: os.Stdin}.Nodes(ctx, opts)
//	report := consensus.Compare(nodes, opts)
//	report.Unreadable = bad
//
// Only the digest of a node is kept in memory, so that thousands of nodes can be read. Inputs that
// are not nodes are reported with the reason, and the others are read.
package inputs
