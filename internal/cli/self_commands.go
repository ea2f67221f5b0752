package cli

// selfCommands are the commands of this package, in the order of the help.
func selfCommands() []Entry {
	return []Entry{
		{Group: GroupSetup, Build: newConfigCommand},
		{Group: GroupSetup, Build: newCompletionCommand},
		{Group: GroupSetup, Build: newManCommand},
		{Group: GroupSetup, Build: newVersionCommand},
	}
}

// selfSchemas are the documents that they print with -o json, by the name in their field "schema": an empty
// value of each.
func selfSchemas() map[string]any {
	return map[string]any{
		configSchema: configReport{},
	}
}
