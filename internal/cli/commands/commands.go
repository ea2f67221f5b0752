// Package commands holds the table of commands, which main passes to package cli:
//
//	os.Exit(cli.Main(cli.NewApp(commands.All())))
//
// Its tests cover the whole program: a script for each command in testdata/script, golden output of
// the commands on all test nodes, the examples and pages of the documentation, terminals and
// signals.
package commands

import (
	"maps"
	"slices"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/applets"
	"github.com/rdmakit/rdmakit/internal/cli/bench"
	"github.com/rdmakit/rdmakit/internal/cli/cluster"
	"github.com/rdmakit/rdmakit/internal/cli/connect"
	"github.com/rdmakit/rdmakit/internal/cli/demo"
	"github.com/rdmakit/rdmakit/internal/cli/explain"
	"github.com/rdmakit/rdmakit/internal/cli/fabric"
	"github.com/rdmakit/rdmakit/internal/cli/k8s"
	"github.com/rdmakit/rdmakit/internal/cli/node"
	"github.com/rdmakit/rdmakit/internal/cli/self"
)

// All returns the table of commands of rdmactl, in the order of the help.
func All() []cli.Entry {
	return slices.Concat(
		node.Commands(),
		connect.Commands(),
		bench.Commands(),
		demo.Commands(),
		fabric.Commands(),
		cluster.Commands(),
		explain.Commands(),
		k8s.Commands(),
		applets.Commands(),
		self.Commands(),
	)
}

// Schemas returns an empty value of each document that commands print with -o json, keyed by the
// name in its "schema" field. internal/cli/gendocs derives the files of docs/schema from their
// types.
func Schemas() map[string]any {
	all := map[string]any{}
	for _, group := range []map[string]any{
		node.Schemas(), bench.Schemas(), connect.Schemas(), demo.Schemas(), fabric.Schemas(),
		cluster.Schemas(), explain.Schemas(), k8s.Schemas(), applets.Schemas(), self.Schemas(),
	} {
		maps.Copy(all, group)
	}
	return all
}
