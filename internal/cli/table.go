package cli

import (
	"maps"
	"slices"
)

// AllCommands returns the table of commands: what stands here is what rdmactl can do, in the order of the help.
func AllCommands() []Entry {
	return slices.Concat(
		nodeCommands(),
		benchCommands(),
		demoCommands(),
		fabricCommands(),
		k8sCommands(),
		appletsCommands(),
		selfCommands(),
	)
}

// Schemas returns the documents that commands print with -o json, by the name in their field "schema": an empty
// value of each. internal/cli/gendocs derives the files of docs/schema from their types.
func Schemas() map[string]any {
	all := map[string]any{}
	for _, group := range []map[string]any{
		nodeSchemas(), benchSchemas(), demoSchemas(), fabricSchemas(), k8sSchemas(), appletsSchemas(), selfSchemas(),
	} {
		maps.Copy(all, group)
	}
	return all
}
