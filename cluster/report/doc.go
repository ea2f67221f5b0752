// Package report shows a verification of a cluster: as text for a terminal, as JSON, as JUnit for
// CI systems, and as one HTML page that needs no network.
//
//	run, err := result.Read(file)
//	verdicts := verdict.Find(run, verdict.Options{})
//	err = app.Out.Print(report.Summarize(run, verdicts, report.Options{}),
//		report.Blocks(run, verdicts, report.Options{})...)
//
// Its functions are pure and expect a run that passed [result.Run.Check]. If the run has a
// [result.Scale], figures are multiplied by it, as in verdicts, and each form shows its label and
// the scale beside them; only raw data are as measured. Names and texts of a run come from the
// network: no form lets them act as markup, script, formula or escape sequence.
package report
