package cli

// demoCommands are the commands of this package, in the order of the help.
func demoCommands() []Entry {
	return []Entry{
		{Group: GroupNode, Build: newDemoCommand},
	}
}

// demoSchemas are the documents that they print with -o json, by the name in their field "schema": an empty
// value of each.
func demoSchemas() map[string]any {
	return map[string]any{
		demoSchema: demoReport{},
	}
}
