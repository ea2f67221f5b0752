// Package bench holds the commands that measure: rdmactl bench and its tests. It parses flags,
// opens the device that they choose and prints tables; the measuring is done by the module's
// package bench.
package bench

import (
	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/internal/cli"
)

// Commands returns the commands of this package, in the order of the help.
func Commands() []cli.Entry {
	return []cli.Entry{
		{Group: cli.GroupNode, Build: newBenchCommand},
	}
}

// Schemas returns an empty value of each document that the commands print with -o json, keyed by
// the name in its "schema" field.
func Schemas() map[string]any {
	return map[string]any{
		bench.Schema: bench.Result{},
	}
}
