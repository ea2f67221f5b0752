// Package race reports whether a program was built with the race detector, for tests that can't run
// with it: it slows them down, uses address space, and reports memory that a peer writes while the
// program reads it.
//
//	if race.Enabled {
//		t.Skip("the race detector slows down what this measures")
//	}
package race
