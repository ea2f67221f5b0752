// Package cluster holds the commands that verify a cluster: rdmactl cluster verify and report, one
// file each. They parse flags and print; packages cluster/plan, cluster/leader, cluster/worker and
// cluster/verdict do the work.
package cluster

import (
	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/cluster/report"

	"github.com/rdmakit/rdmakit/internal/cli"
)

// Commands returns the commands of this package, in the order of the help.
func Commands() []cli.Entry {
	return []cli.Entry{{Group: cli.GroupCluster, Build: newClusterCommand}}
}

func newClusterCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Verify a cluster: which node, card, direction, cable or uplink is slow or broken",
		Long: `Measure between all nodes of a cluster, and name what is slow, unsteady or broken, with the evidence and
the next physical step.`,
		Example: `  rdmactl cluster verify --local 4
  rdmactl cluster report rdmakit-verify-20261126-144300.journal`,
	}
	cmd.AddCommand(newVerifyCommand(app), newReportCommand(app), newWorkerCommand(app))
	return cmd
}

// Schemas returns an empty value of each document that the commands print with -o json, keyed by
// the name in its "schema" field.
func Schemas() map[string]any {
	return map[string]any{
		report.Schema: report.Summary{},
		planSchema:    planDocument{},
	}
}
