// Package checks contains the checks of rdmakit, one file each, and the list of them.
//
//	report, err := doctor.Run(ctx, checks.All(), doctor.Input{Snapshot: &snap}, doctor.Options{})
//
// To add a check, write a file <id>.go with a function that returns a [doctor.Check], a line in
// [All], and a row in the table of meta_test.go that names a node on which the check passes and one
// on which it finds a fault. `go generate` then adds it to docs/checks.md.
//
// Checks are pure functions of a snapshot and may run at the same time. Their evidence is the value
// in the snapshot, formatted as the kernel prints it.
package checks

import (
	"slices"

	"github.com/rdmakit/rdmakit/doctor"
)

//go:generate go run ../gendocs -o ../../docs/checks.md

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
	}, inventoryChecks(), linkChecks(), transportChecks(), qosChecks(), addressingChecks(), hostChecks(),
		counterChecks())
}
