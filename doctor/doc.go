// Package doctor judges a node: it runs checks over what is known of it and
// says which of them found a fault, with the evidence, the reason why it matters
// and the commands that repair it.
//
//	snap, scanErr := inventory.Scan(ctx, inventory.Sources{Root: root})
//	report, err := doctor.Run(ctx, checks.All(), doctor.Input{Snapshot: &snap}, doctor.Options{})
//	if err != nil { … } // wrong options only
//	for _, f := range report.Findings {
//		fmt.Println(f.Outcome, f.CheckID, f.Object, f.Summary)
//	}
//	_ = scanErr // what it names is in the report too, as findings with outcome unknown
//
// A [Check] is a plain value; package doctor/checks holds those of rdmakit and the
// one list of them. A check never passes on what it could not see: a source that
// is absent gives "not applicable", one that could not be read gives "unknown",
// each with the reason.
//
// Checks are pure functions of their [Input], so [Run] may be called at the same time
// from several goroutines on the same Input as long as nobody changes it. Within
// one Run the checks go one after the other: they take microseconds each, and the
// order of the report never depends on the scheduler.
//
// The package reads no file and asks no kernel; the caller fills the Input.
package doctor
