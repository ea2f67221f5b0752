// Package self contains the commands about rdmactl itself: config, completion, man and version.
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

// Schemas returns an empty value of each document that the commands print with -o json, by the name
// in its field "schema".
func Schemas() map[string]any {
	return map[string]any{
		configSchema: configReport{},
	}
}
