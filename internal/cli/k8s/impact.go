package k8s

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s/impact"
	k8smanifest "github.com/rdmakit/rdmakit/k8s/manifest"
)

// k8sImpactFlags are the flags of k8s impact.
type k8sImpactFlags struct {
	nodes, snapshots, remove []string
	namespace                string
	prune                    bool
}

func newK8sImpactCommand(app *cli.App) *cobra.Command {
	var f k8sImpactFlags
	cmd := &cobra.Command{
		Use:   "impact [FILE...]",
		Short: "Show which nodes drain or reboot when manifests are applied, and why",
		Long: `Show what the SR-IOV operator will do to each node when all manifests in FILE are applied at once:
nothing; disrupt (it changes VFs without a drain); drain (it evicts the pods with SR-IOV resources);
or reboot (it evicts all pods and restarts the node). The command applies nothing and contacts no
cluster.

The output lists the reasons by card and setting, and how to avoid each of them: too few VFs in the
firmware, SR-IOV off in the firmware, link type, number of VFs, MTU, eSwitch mode, drivers, a deleted
policy, the RDMA mode of the node. Several policies for one card are combined as the operator does:
by priority, name and ranges of VFs, where the later policy overrides the earlier.

The operator drains as many nodes of a SriovNetworkPoolConfig at a time as maxUnavailable allows;
percentages are rounded down. It drains all nodes of a pool without maxUnavailable at once, and nodes
without a pool one at a time. The printed number of rounds is the minimum: the operator drains nodes
in any order, and waits for pods that can't be evicted.

--nodes reads the cluster: its SriovNetworkNodeStates, nodes, policies, pools and the
SriovOperatorConfig. --snapshots reads recorded nodes. Both also read the firmware settings of a
node's cards from a file NODE.txt with the output of mstconfig -e -d ADDRESS q; without it,
sriov_totalvfs is used. The output lists what is unknown; nothing is guessed. To get the cluster's
objects:

    kubectl get -A -o yaml \
      sriovnetworknodestates,sriovnetworknodepolicies,sriovnetworkpoolconfigs,sriovoperatorconfigs,nodes

Exit codes:

    0   no node is disrupted, drained or rebooted
    1   as 0, but the operator fails on a node, or ignores a policy in FILE outside of its namespace
    2   wrong use
    3   no node is known, or nothing to apply
    4   no permission to read a file
    7   as 0, but the effect on a node is unknown, or a file could not be read
    10  at least one node is disrupted, drained or rebooted`,
		Example: `  rdmactl k8s impact sriov/ --nodes cluster.yaml
  rdmactl k8s impact policy.yaml --snapshots snapshots/ -o wide
  rdmactl k8s impact sriov/ --prune --nodes cluster.yaml
  rdmactl k8s impact --delete rail0,rail1 --nodes cluster.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return runK8sImpact(app, cmd, args, f) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.nodes, "nodes", nil, nodesUsage)
	flags.StringArrayVar(&f.snapshots, "snapshots", nil, "recorded nodes from the folder `DIR`: bundles, node "+
		"trees or rdmactl detect -o json or yaml; can be repeated")
	flags.StringSliceVar(&f.remove, "delete", nil,
		"predict the effect of deleting the policies `NAME,...`, which are not applied even if they are in FILE")
	flags.BoolVar(&f.prune, "prune", false,
		"predict the effect of deleting all policies of the cluster that are not in FILE")
	flags.StringVar(&f.namespace, "operator-namespace", "",
		"`NAMESPACE` of the SR-IOV operator (default: that of the SriovOperatorConfig, or of the node states)")
	return cmd
}

func runK8sImpact(app *cli.App, cmd *cobra.Command, args []string, f k8sImpactFlags) error {
	known := slices.Concat(f.nodes, f.snapshots)
	if len(args) == 0 && len(f.remove) == 0 {
		return cli.UsageError(cmd, errors.New("missing argument FILE"))
	}
	if err := stdinOnce(cmd, args, known); err != nil {
		return err
	}
	set, readErr := k8smanifest.Read(args, app.Input())
	if len(args) > 0 && len(set.Files) == 0 {
		return k8sReadError(readErr)
	}
	noteErrors(app, readErr)
	for _, note := range set.Notes {
		app.Out.Note("note: %s", note)
	}
	for _, p := range set.Problems {
		noteErrors(app, fmt.Errorf("%s: %s", p.At, p.Text))
	}
	cluster, partial, err := readCluster(cmd.Context(), app, known)
	if err != nil {
		return err
	}
	if len(set.Objects) == 0 && len(f.remove) == 0 {
		return cli.Exitf(cli.ExitNotFound, "nothing to apply: no Kubernetes object in %s",
			strings.Join(set.Files, ", "))
	}
	in := impact.Input{
		Manifests: set, Cluster: cluster,
		Options: impact.Options{OperatorNamespace: f.namespace, Prune: f.prune, Delete: f.remove},
	}
	if err := unknownK8sPolicy(in); err != nil {
		return cli.UsageError(cmd, err)
	}
	report := impact.Run(in)
	if len(report.Nodes) == 0 {
		return cli.WithHints(cli.Exitf(cli.ExitNotFound, "no node is known"), "--nodes or --snapshots reads nodes")
	}
	if err := app.Out.Print(report, k8sImpactBlocks(report, app.Out.Wide())...); err != nil {
		return err
	}
	if readErr != nil || len(set.Problems) > 0 {
		partial = cli.ExitSilently(cli.ExitPartial)
	}
	return k8sImpactResult(app, report, partial)
}

// unknownK8sPolicy returns an error if a policy of --delete doesn't exist.
func unknownK8sPolicy(in impact.Input) error {
	if len(in.Options.Delete) == 0 {
		return nil
	}
	names := impact.PolicyNames(in)
	for _, name := range in.Options.Delete {
		if slices.Contains(names, name) {
			continue
		}
		err := fmt.Errorf("--delete: policy %q is neither in FILE nor in the cluster of --nodes", name)
		if len(names) == 0 {
			return cli.WithHints(err,
				"kubectl get -A -o yaml sriovnetworknodepolicies prints the cluster's policies, for --nodes")
		}
		return cli.WithHints(err, cli.DidYouMean(spelling.Nearest(name, names, spelling.Loose))...)
	}
	return nil
}

// k8sImpactResult returns the error with the exit code of a run.
func k8sImpactResult(app *cli.App, r impact.Report, partial error) error {
	c := r.Counts
	if c.Open > 0 {
		app.Out.Note("note: the effect on %s is not fully known and may be worse", english.Count(c.Open, "node"))
	}
	switch {
	case c.Disrupt+c.Drain+c.Reboot > 0:
		return cli.ExitSilently(cli.ExitPending)
	case c.Failing+c.Ignored > 0:
		return cli.ExitSilently(cli.ExitFault)
	case c.Open > 0:
		return cli.ExitSilently(cli.ExitPartial)
	}
	return partial
}
