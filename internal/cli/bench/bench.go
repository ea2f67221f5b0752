// Package bench holds the commands that measure: rdmactl bench and the tests below it. Package
// bench of the module does the measuring; here are flags, the device that they choose, and tables.
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

// Schemas returns the documents that they print with -o json, by the name in their field "schema":
// an empty value of each.
func Schemas() map[string]any {
	return map[string]any{
		bench.Schema: bench.Result{},
	}
}
