package cli

import (
	"github.com/rdmakit/rdmakit/bench"
)

// benchCommands are the commands of this package, in the order of the help.
func benchCommands() []Entry {
	return []Entry{
		{Group: GroupNode, Build: newBenchCommand},
	}
}

// benchSchemas are the documents that they print with -o json, by the name in their field "schema": an empty
// value of each.
func benchSchemas() map[string]any {
	return map[string]any{
		bench.Schema: bench.Result{},
	}
}
