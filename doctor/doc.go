// Package doctor checks a node for RDMA faults: it runs checks over a snapshot of the node and
// reports each fault with the evidence, the reason why it matters and the commands that repair it.
//
//	snap, scanErr := inventory.Scan(ctx, inventory.Sources{Root: root})
//	report, err := doctor.Run(ctx, checks.All(), doctor.Input{Snapshot: &snap}, doctor.Options{})
//	if err != nil { … } // the options are invalid
//	for _, f := range report.Findings {
//		fmt.Println(f.Outcome, f.CheckID, f.Object, f.Summary)
//	}
//	_ = scanErr // the report has the files it names too, as findings with outcome unknown
//
// A [Check] is a plain value; package doctor/checks has the checks of rdmakit and their list. A
// check never passes on data that it does not have: if a source does not exist, the outcome is "not
// applicable"; if it could not be read, the outcome is "unknown". Both carry the reason.
//
// Checks are functions of their [Input], so several goroutines may call [Run] on the same Input at
// the same time as long as none of them changes it. Within one Run the checks run side by side, as
// many as there are processors; the order of the report never depends on the scheduler. A check
// that panics, hangs or returns nothing becomes a finding of outcome unknown.
//
// The caller fills in the Input: the snapshot, and the answers of the kernel in package
// doctor/facts. Files of the node are read when a check asks for them, each at most once, below the
// root of the facts: that of a recording or of this machine. The package itself makes no system
// calls.
package doctor
