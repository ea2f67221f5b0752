// Package self holds the commands about rdmactl itself: config, completion, man and version.
package self

import "github.com/rdmakit/rdmakit/internal/cli"

// Commands returns the commands of this package, in the order of the help.
func Commands() []cli.Entry {
	return []cli.Entry{
		{Group: cli.GroupSetup, Build: newConfigCommand},
		{Group: cli.GroupSetup, Build: newCompletionCommand},
		{Group: cli.GroupSetup, Build: newManCommand},
		{Group: cli.GroupSetup, Build: newVersionCommand},
	}
}

// Schemas returns the documents that they print with -o json, by the name in their field "schema":
// an empty value of each.
func Schemas() map[string]any {
	return map[string]any{
		configSchema: configReport{},
	}
}
