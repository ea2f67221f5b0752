// Package checks holds the checks of rdmakit, one file each, and the list of them.
//
//	report, err := doctor.Run(ctx, checks.All(), doctor.Input{Snapshot: &snap}, doctor.Options{})
//
// A new check is a file <id>.go with a function that returns a [doctor.Check], a
// line in [All], and a row in the table of meta_test.go that names one node on
// which it passes and one on which it finds something. `go generate` then adds it
// to docs/checks.md.
//
// Checks are pure functions of a snapshot and may run at the same time. What they
// quote as evidence is the value of the snapshot in the kernel's own spelling.
package checks

import "github.com/rdmakit/rdmakit/doctor"

//go:generate go run ../gendocs -o ../../docs/checks.md

// All returns every check, in the order in which a report shows them: what keeps
// RDMA from working at all, then what slows it down.
func All() []doctor.Check {
	return []doctor.Check{
		cardDriver(),
		uverbs(),
		portActive(),
		gidRoutable(),
		memlock(),
		railRate(),
		mtu(),
		firmware(),
		role(),
	}
}
