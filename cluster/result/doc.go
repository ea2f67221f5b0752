// Package result is the record of a verification: which cards there were, and what was measured
// between them. A leader writes it, package verdict reads it.
//
//	run, err := result.Read(file)
//	for _, s := range run.Samples {
//		fmt.Println(run.Name(s.From), "→", run.Name(s.To), s.Gbps)
//	}
//
// A run is plain data. Nodes are indices of [plan.Cluster], so that a run of ten thousand nodes
// stays small.
package result
