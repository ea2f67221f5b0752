// Package demo holds rdmactl demo: an emulated node, and what the other commands say of it. It is
// the only command that may use a simulator.
package demo

import "github.com/rdmakit/rdmakit/internal/cli"

// Commands returns the commands of this package, in the order of the help.
func Commands() []cli.Entry {
	return []cli.Entry{
		{Group: cli.GroupNode, Build: newDemoCommand},
	}
}

// Schemas returns the documents that they print with -o json, by the name in their field "schema":
// an empty value of each.
func Schemas() map[string]any {
	return map[string]any{
		demoSchema: demoReport{},
	}
}
