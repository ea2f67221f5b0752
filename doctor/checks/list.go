// Package checks contains the checks of rdmakit, and the list of them: one file for each check, or
// for a table of checks on counters (counter_table_*.go) or of messages (kernel-log-rules.go).
//
//	report, err := doctor.Run(ctx, checks.All(), doctor.Input{Snapshot: &snap}, doctor.Options{})
//
// To add a check, write a file <id>.go with a function that returns a [doctor.Check], a line in the
// list of its part of the node (list_*.go), and a test of a node on which the check passes, one on
// which it finds a fault and one on which it can't know: a row in the table of meta_test.go, or of
// cases_*_test.go for a number of the catalogue. `go generate` then adds it to docs/checks.md.
//
// Checks are functions of their input: the snapshot, files of the node and answers of the kernel
// (package doctor/facts), on the machine or from a recording. They change nothing and may run at
// the same time. Their evidence is what was read, as the kernel prints it, and its path.
package checks

import (
	"slices"

	"github.com/rdmakit/rdmakit/doctor"
)

//go:generate go test -run TestExamples -update .
//go:generate go run ../gendocs -examples testdata/examples.json -o ../../docs/checks.md

// All returns every check, in the order in which a report shows those of equal outcome: first the
// ones that keep RDMA from working, then by part of the node.
func All() []doctor.Check {
	return slices.Concat([]doctor.Check{
		cardDriver(),
		uverbs(),
		portActive(),
		gidRoutable(),
		memlock(),
		railRate(),
		pcieLink(),
		mtu(),
		firmware(),
		role(),
		railSubnet(),
	}, inventoryChecks(), linkChecks(), qosChecks(), addressingChecks(), hostChecks(),
		counterChecks())
}
