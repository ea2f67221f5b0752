// Package inputs reads the nodes of a comparison from files of every form: what "rdmactl detect -o
// json" prints (several documents, or an array of them, are several nodes), bundles and node trees
// as text, folders of such files, folders that are the root of a node, and a stream.
//
//	nodes, bad, err := inputs.Files{Names: os.Args[1:], Stdin: os.Stdin}.Nodes(ctx, opts)
//	report := consensus.Compare(nodes, opts)
//	report.Unreadable = bad
//
// A node is scanned, digested and let go of, so that thousands can be read. What is no node is
// named with the reason, and the rest is read.
package inputs
