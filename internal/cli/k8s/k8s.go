package k8s

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func newK8sCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "k8s",
		Short: "Plan and check SR-IOV networks on Kubernetes, and show which nodes they drain or reboot",
		Long: `Commands for the objects of the SR-IOV network operator, for the networks that it creates, and for
the pods that use them. They read manifests and recorded data about nodes. They contact no cluster
and apply nothing.`,
		Example: `  rdmactl k8s plan gpu-*.tar.gz --out sriov/
  rdmactl k8s lint sriov/ --nodes nodestates.yaml
  rdmactl k8s impact sriov/ --nodes cluster.yaml`,
	}
	cmd.AddCommand(newK8sPlanCommand(app), newK8sLintCommand(app), newK8sImpactCommand(app))
	return cmd
}

// nodesUsage is the help of --nodes.
const nodesUsage = "data about the cluster from `FILE`: bundles, node trees, rdmactl detect -o json or yaml, " +
	"kubectl get -o yaml of sriovnetworknodestates, nodes, namespaces and others; rdmactl k8s plan -o json for its " +
	"labels; mstconfig -e -d ADDRESS q in NODE.txt; or a folder of these; can be repeated"

// stdinOnce refuses standard input that is to be read twice.
func stdinOnce(cmd *cobra.Command, args, known []string) error {
	count := func(names []string) (n int) {
		for _, name := range names {
			if name == "-" {
				n++
			}
		}
		return n
	}
	files, nodes := count(args), count(known)
	switch {
	case files > 0 && nodes > 0:
		return cli.UsageError(cmd, errors.New("standard input is both a FILE and --nodes"))
	case files+nodes > 1:
		return cli.UsageError(cmd, errors.New("standard input is given twice"))
	}
	return nil
}

// readCluster reads the files of --nodes. partial is not nil if some of them could not be read. If
// no node and no object could be read, readCluster returns err.
func readCluster(ctx context.Context, app *cli.App, names []string) (cluster source.Cluster, partial, err error) {
	if len(names) == 0 {
		return cluster, nil, nil
	}
	cluster, readErr := readFiles(ctx, app, names)
	if ctx.Err() != nil {
		return cluster, nil, context.Cause(ctx)
	}
	for _, p := range cluster.Problems {
		noteErrors(app, fmt.Errorf("--nodes: %s: %s", p.At, p.Text))
	}
	if readErr == nil && len(cluster.Problems) == 0 {
		return cluster, nil, nil
	}
	if len(cluster.Nodes) == 0 && len(cluster.Objects) == 0 {
		if readErr == nil {
			readErr = errors.New("--nodes: the files contain no node and no object")
		}
		return cluster, nil, cli.InputError(readErr)
	}
	noteErrors(app, readErr)
	return cluster, cli.ExitSilently(cli.ExitPartial), nil
}

// readFiles reads the files about nodes and shows its progress.
func readFiles(ctx context.Context, app *cli.App, names []string) (source.Cluster, error) {
	progress := app.ReadingProgress("reading nodes: files", 0, names)
	defer progress.Done()
	var src source.Source = source.Files{
		Names: names, Stdin: app.Input(), Reading: func(string) { progress.Add(1) },
		Roles: app.Config.Roles,
	}
	return src.Cluster(ctx)
}

// planCluster reads the files about nodes. partial is not nil if some of them could not be read.
func planCluster(ctx context.Context, app *cli.App, names []string) (cluster source.Cluster, partial, err error) {
	cluster, readErr := readFiles(ctx, app, names)
	if ctx.Err() != nil {
		return cluster, nil, context.Cause(ctx)
	}
	for _, p := range cluster.Problems {
		noteErrors(app, fmt.Errorf("%s: %s", p.At, p.Text))
	}
	switch {
	case len(cluster.Nodes) > 0 && readErr == nil && len(cluster.Problems) == 0:
		return cluster, nil, nil
	case len(cluster.Nodes) > 0:
		noteErrors(app, readErr)
		return cluster, cli.ExitSilently(cli.ExitPartial), nil
	case !source.OnlyNoNode(readErr):
		return cluster, nil, cli.InputError(readErr)
	}
	return cluster, nil, cli.Exitf(cli.ExitNotFound, "plan networks: no node in %s", strings.Join(names, ", "))
}

// noteErrors prints an error after which the run continues. --quiet doesn't suppress it.
func noteErrors(app *cli.App, err error) {
	if err != nil {
		_, _ = io.WriteString(app.Out.Stderr(), app.ErrorLines("rdmactl: ", err))
	}
}
