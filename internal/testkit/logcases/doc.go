// Package logcases holds logs of RDMA jobs whose cause is known from a public source, and the score
// of a program that explains such logs.
//
//	cases, err := logcases.Load()
//	report := logcases.Run(cases, explainer)
//	fmt.Print(report.Markdown())
//
// Each file of testdata is one case: a header that names the public thread, how the cause was
// confirmed there, the causes that are right, the wrong answers that the log invites (traps) and
// the facts that a reader of the log must find; then one or more logs. No text of a log comes from
// its thread: the logs are written in the form that the program's release prints, and names,
// addresses and numbers are invented. Lines that any healthy job prints are directives (@init, …)
// that [Load] expands; the lines that tell the cause are written out. FORMAT.md lists the
// directives.
//
// Expectations come from the threads, never from the output of a program that is scored. Families A
// to E have a confirmed cause. Family F has none: there a claim of a proven cause is wrong. Family
// H holds logs of healthy jobs.
//
// [Variants] derive from a case what users really have: the end of a log, prefixes of launchers,
// lines of two ranks in one, a lower log level, the log of one node only. There a verdict may
// become weaker, but it may not become a different one.
//
// Limits: the logs are as good as the public source code and threads that they follow; none was
// recorded. All functions are safe for concurrent use; a [Case] is not to be changed.
package logcases
