// Package verdict names what is wrong with a cluster from what a verification measured. It is pure:
// a run in, verdicts out.
//
//	report := verdict.Find(run, verdict.Options{})
//	for _, v := range report.Verdicts {
//		fmt.Println(v.Where, v.Cause, v.Confidence)
//	}
package verdict
