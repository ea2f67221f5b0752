// Package explain reads logs and captures of RDMA jobs and says what went wrong.
//
//	report, err := explain.Explain(ctx, input.All(names, os.Stdin), explain.Options{})
//	for _, finding := range report.Findings {
//		fmt.Println(finding.What, finding.Causes[0].Title, finding.Causes[0].Confidence)
//	}
//
// It works in four steps, each with a package: readers turn lines and packets into events
// (evidence, logline, forms, capture); facts are what the events say of nodes, ranks and devices
// (facts); rules rank the causes that fit (rules); this package runs them and reports.
// Memory doesn't depend on the length of the logs.
package explain
