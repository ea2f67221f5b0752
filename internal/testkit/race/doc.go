// Package race tells whether a program was built with the race detector, for tests that need its
// absence: it slows them, takes address space, and objects to memory that a peer writes while it
// is read.
//
//	if race.Enabled {
//		t.Skip("the race detector slows what this measures")
//	}
package race
