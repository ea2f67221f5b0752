// Package demo holds rdmactl demo, which runs other commands on an emulated cluster or node. It is
// the only command that may use a simulator.
package demo

import "github.com/rdmakit/rdmakit/internal/cli"

// Commands returns the commands of this package, in the order of the help.
func Commands() []cli.Entry {
	return []cli.Entry{
		{Group: cli.GroupCluster, Build: newDemoCommand},
	}
}

// Schemas returns an empty value of each document that the commands print with -o json, keyed by
// the name in its "schema" field.
func Schemas() map[string]any {
	return map[string]any{
		demoSchema:    demoReport{},
		clusterSchema: clusterReport{},
	}
}
