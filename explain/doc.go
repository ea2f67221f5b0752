// Package explain reads logs and captures of RDMA jobs and says what went wrong.
//
//	report, err := explain.Explain(ctx, inputs, explain.Options{})
//	for _, finding := range report.Findings {
//		fmt.Println(finding.What, finding.Causes[0].Title, finding.Causes[0].Confidence)
//	}
//
// It works in four steps, each a package of its own: readers turn lines and packets into events
// ([github.com/rdmakit/rdmakit/explain/evidence]); facts are what the events say of nodes, ranks and
// devices ([github.com/rdmakit/rdmakit/explain/facts]); rules rank the causes that fit
// ([github.com/rdmakit/rdmakit/explain/rules]); this package runs them and reports. It needs no
// network and asks nobody. Memory doesn't depend on the length of the logs.
package explain
