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
		Short: "Tell which nodes drain or reboot when manifests are applied, and why",
		Long: `Tell what the SR-IOV operator will do to each node when the manifests of FILE are applied, all at
once: nothing, drain (the pods with SR-IOV resources are evicted), or reboot (all pods are, and the
node restarts). The reasons stand by card and setting: VFs that the firmware doesn't give, SR-IOV
off in the firmware, link type, number of VFs, MTU, eSwitch mode, drivers, a policy that is gone,
the RDMA mode of the node; with what would avoid each. Policies for one card are put together as the
operator does it: by priority and name, ranges of VFs, and the later one over the earlier.

Nodes drain under the maxUnavailable of their SriovNetworkPoolConfig: percentages are rounded down,
a pool without it drains all of its nodes at once, and a node without a pool goes alone. The rounds
are the fewest that there can be; the operator has no order of its own, and waits for pods that
can't be evicted.

--nodes brings the nodes, best as SriovNetworkNodeStates, and all else that the cluster has: its
nodes, policies, pools and the SriovOperatorConfig; --snapshots brings recorded nodes. Either takes
what mstconfig -e -d ADDRESS q prints of the cards of a node, in a file NODE.txt: the firmware's
settings, for which sriov_totalvfs stands otherwise. What nothing tells is named and not guessed.

  kubectl get -A -o yaml \
    sriovnetworknodestates,sriovnetworknodepolicies,sriovnetworkpoolconfigs,sriovoperatorconfigs,nodes

The exit code is 0 when no node drains or reboots; 10 when some do; 1 when none does, and the
operator will fail on one, or will ignore a policy of FILE because it isn't in the operator's
namespace; 7 when it can't be told for a node, or a file could not be read, and otherwise nothing
happens; 3 when there is no node, or nothing to apply; 4 when a file may not be read; 2 for a
wrong use.`,
		Example: `  rdmactl k8s impact sriov/ --nodes cluster.yaml
  rdmactl k8s impact policy.yaml --snapshots snapshots/ -o wide
  rdmactl k8s impact sriov/ --prune --nodes cluster.yaml
  rdmactl k8s impact --delete rail0,rail1 --nodes cluster.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return runK8sImpact(app, cmd, args, f) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.nodes, "nodes", nil, nodesUsage)
	flags.StringArrayVar(&f.snapshots, "snapshots", nil, "recorded nodes, from the folder `DIR` of bundles, node "+
		"trees or rdmactl detect -o json or yaml; may be given often")
	flags.StringSliceVar(&f.remove, "delete", nil,
		"policies that are deleted: `NAME,...`; those in FILE aren't applied")
	flags.BoolVar(&f.prune, "prune", false,
		"the policies of FILE are all that there will be: others of the cluster are deleted")
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
	set, readErr := k8smanifest.Read(args, app.Stdin)
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
		return cli.Exitf(cli.ExitNotFound, "nothing to apply: no object of Kubernetes in %s",
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
		return cli.WithHints(cli.Exitf(cli.ExitNotFound, "no node is known"), "--nodes or --snapshots brings them")
	}
	if err := app.Out.Print(report, k8sImpactBlocks(report, app.Out.Wide())...); err != nil {
		return err
	}
	if readErr != nil || len(set.Problems) > 0 {
		partial = cli.ExitSilently(cli.ExitPartial)
	}
	return k8sImpactResult(app, report, partial)
}

// unknownK8sPolicy returns the error for a policy of --delete that there isn't, nil where there
// are all.
func unknownK8sPolicy(in impact.Input) error {
	if len(in.Options.Delete) == 0 {
		return nil
	}
	names := impact.PolicyNames(in)
	for _, name := range in.Options.Delete {
		if slices.Contains(names, name) {
			continue
		}
		err := fmt.Errorf("--delete: no policy %q in FILE, and none in the cluster of --nodes", name)
		if len(names) == 0 {
			return cli.WithHints(err,
				"kubectl get -A -o yaml sriovnetworknodepolicies writes those of the cluster, for --nodes")
		}
		return cli.WithHints(err, cli.DidYouMean(spelling.Nearest(name, names, spelling.Loose))...)
	}
	return nil
}

// k8sImpactResult is the end of a run: the error that carries its exit code.
func k8sImpactResult(app *cli.App, r impact.Report, partial error) error {
	c := r.Counts
	if c.Open > 0 {
		app.Out.Note("note: %s may come to more, depending on what isn't known", english.Count(c.Open, "node"))
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
