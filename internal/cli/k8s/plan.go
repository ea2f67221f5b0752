package k8s

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/k8s/plan"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// k8sPlanFlags are the flags of k8s plan.
type k8sPlanFlags struct {
	opts                plan.Options
	nodes               []string
	rails, linkType     string
	selector            map[string]string
	pools               []string
	pods, services      []string
	hosts               []string
	out, diff           string
	checkPods, testPods int
}

func newK8sPlanCommand(app *cli.App) *cobra.Command {
	var f k8sPlanFlags
	cmd := &cobra.Command{
		Use:   "plan [SNAPSHOT|BUNDLE|FILE...]",
		Short: "Write the objects that give pods the VFs of RDMA cards, a network for each rail",
		Long: `Plan SR-IOV networks for the nodes of FILE, or of --nodes FILE as the other commands have it:
bundles and node trees of rdmactl snapshot, rdmactl detect -o json, and what kubectl get -o yaml
prints of sriovnetworknodestates, nodes and other objects; folders of these; - for standard input.
What the objects of the cluster have already is left out, and cards that policies of others have.

The manifests go to standard output, each choice explained by a comment: for each rail a policy
(several where nodes differ) and a network with addresses for all VFs, in a subnet that meets
neither another rail's nor the ranges of --pod-cidr, --service-cidr and --host-cidr; the namespace,
the SriovOperatorConfig, pools where they are asked for, GUIDs for InfiniBand, pods to try things
in, and a Job that checks the rails. Equal input gives equal output.

Of each node the compute cards are taken, unless flags choose others: fabric, role, rail, PCI
address, name, link type; all that are given have to fit, of a list one entry. A host with four
cards on one fabric and two on another has rails on each, which never mix. --vfs is by default what
the firmware is set to, because any other number reboots the node.

Plan applies nothing. Afterwards: rdmactl k8s lint, rdmactl k8s impact, and kubectl apply.

-o json prints the plan as a document: groups of nodes, rails, what was left out and why, files.

The exit code is 0 when there is a plan; 10 when --diff finds a difference; 7 when a file could not
be read and the plan is for the rest; 3 when no card is left to plan with, or no file tells of a
node; 2 when options contradict each other or can't be met; 4 when a file may not be read.`,
		Example: `  rdmactl k8s plan gpu-*.tar.gz > sriov.yaml
  rdmactl k8s plan nodestates.yaml nodes.yaml --pod-cidr 10.244.0.0/16 --service-cidr 10.96.0.0/12 --out sriov/
  rdmactl k8s plan snapshots/ --fabric fec0::a1 --vfs 8 --resource-prefix nvidia.com
  rdmactl k8s plan snapshots/ --isolation --max-unavailable 25% --out sriov/
  rdmactl k8s plan --nodes snapshots/ --diff sriov/
  kubectl get -o yaml sriovnetworknodestates,nodes,namespaces -A | rdmactl k8s plan -`,
		RunE: func(cmd *cobra.Command, args []string) error { return runK8sPlan(app, cmd, args, f) },
	}
	f.addTo(cmd)
	return cmd
}

// addTo adds the flags to cmd.
func (f *k8sPlanFlags) addTo(cmd *cobra.Command) {
	flags, o := cmd.Flags(), &f.opts
	flags.StringArrayVar(&f.nodes, "nodes", nil, nodesUsage)
	flags.StringSliceVar(&o.Select.Fabrics, "fabric", nil,
		"cards on `FABRIC`: a subnet prefix, with @LID of the subnet manager if need be")
	flags.StringSliceVar(&o.Select.Roles, "role", nil,
		"cards whose `ROLE` is this: compute, storage, management (default compute, where roles are known)")
	flags.StringVar(&f.rails, "rail", "", "`RAILS` as rdmactl detect numbers them: 0-3,6")
	flags.StringSliceVar(&o.Select.Addresses, "pci", nil, "cards at PCI `ADDRESS`, which may have *, ? and [0-3]")
	flags.StringSliceVar(&o.Select.Names, "name", nil,
		"cards whose network or RDMA device is `NAME`, which may have *, ? and [0-3]")
	flags.StringSliceVar(&o.Select.Nodes, "node", nil, "nodes called `NAME`, which may have *, ? and [0-3]")
	flags.StringVar(&f.linkType, "link-type", "",
		"cards whose link is of `TYPE`: ib or eth; and what cards are of which nothing tells it")
	flags.IntVar(&o.VFs, "vfs", 0, "`N` VFs for each card (default: as many as the firmware is set to)")
	flags.IntVar(&o.MTU, "mtu", 0, "mtu of the policies in `BYTES` (default: on Ethernet that of the ports, where "+
		"all of a rail agree; otherwise unchanged)")
	flags.StringVar(&o.ResourcePrefix, "resource-prefix", "", "the operator's `PREFIX` of resources: openshift.io, "+
		"nvidia.com or your own (default: what nodes have, or is usual)")
	flags.StringVar(&o.OperatorNamespace, "operator-namespace", "", "`NAMESPACE` of the SR-IOV operator (default: "+
		"that of its objects in FILE, or "+plan.DefaultOperatorNamespace+")")
	flags.StringVar(&o.Namespace, "namespace", plan.DefaultNamespace, "`NAMESPACE` of the pods")
	flags.StringVar(&o.SelectBy, "select-by", plan.ByAddress, "name cards in policies by their `ID`: address or name")
	flags.StringToStringVar(&f.selector, "node-selector", nil,
		"labels that the nodes have, as `LABELS`: KEY=VALUE,... (default: chosen)")
	flags.Lookup("node-selector").DefValue = ""
	flags.StringVar(&o.Labels, "labels", plan.LabelsExisting,
		"choose labels from `SOURCE`: existing, or nfd for one that Node Feature Discovery shall publish")
	flags.BoolVar(&o.ExternallyManaged, "externally-managed", false,
		"others make the VFs: the operator changes neither their number nor the firmware")
	flags.BoolVar(&o.Isolation, "isolation", false,
		"pods see their own RDMA devices only; needs the exclusive mode of RDMA namespaces")
	flags.StringVar(&o.MaxUnavailable, "max-unavailable", "",
		"a pool of which `N` nodes, or N% rounded down, drain at a time (default: no pool, so one node at a time)")
	flags.StringVar(&o.RDMAMode, "rdma-mode", "", "a pool with this `MODE` of RDMA namespaces: shared or exclusive")
	flags.StringSliceVar(&f.pools, "ip-pool", nil, "take subnets from `CIDR`; the first one with room for all rails "+
		"(default 192.168.0.0/16,172.16.0.0/12,10.0.0.0/8)")
	flags.StringSliceVar(&f.pods, "pod-cidr", nil, "`CIDR` that the cluster's pods have")
	flags.StringSliceVar(&f.services, "service-cidr", nil, "`CIDR` that the cluster's services have")
	flags.StringSliceVar(&f.hosts, "host-cidr", nil, "`CIDR` that hosts have")
	flags.IntVar(&o.Nodes, "for-nodes", 0, "make room for the addresses of `N` nodes (default: those that are given)")
	flags.StringVar(&o.GUIDSeed, "guid-seed", "", "other GUIDs of InfiniBand VFs for other `TEXT`, to tell clusters "+
		"on one fabric apart where nothing tells the GUIDs of their cards")
	flags.IntVar(&f.checkPods, "check-pods", 2, "`N` pods of the Job that checks the rails; 0 leaves it out")
	flags.IntVar(&f.testPods, "test-pods", 2, "`N` pods to try things in; 0 leaves them out")
	flags.StringVar(&o.Image, "image", plan.DefaultImage, "`IMAGE` of these pods: a shell, and ib_write_bw or apt-get")
	flags.StringSliceVar(&o.Omit, "omit", nil, "leave out objects of `KIND,...`")
	flags.StringVar(&f.out, "out", "", "write a file for each object into `DIR`, and remove those that an earlier "+
		"plan wrote there and this one hasn't")
	flags.StringVar(&f.diff, "diff", "", "compare with the manifests of `DIR` instead")
	cmd.MarkFlagsMutuallyExclusive("out", "diff")
	cli.CompleteWords(cmd, "role", portRoles())
	cli.CompleteWords(cmd, "link-type", []string{"ib", "eth"})
	cli.CompleteWords(cmd, "select-by", []string{plan.ByAddress, plan.ByName})
	cli.CompleteWords(cmd, "labels", []string{plan.LabelsExisting, plan.LabelsNFD})
	cli.CompleteWords(cmd, "rdma-mode", []string{"shared", "exclusive"})
	cli.CompleteWords(cmd, "omit", plan.Kinds())
	_ = cmd.MarkFlagDirname("out")
	_ = cmd.MarkFlagDirname("diff")
}

func runK8sPlan(app *cli.App, cmd *cobra.Command, args []string, f k8sPlanFlags) error {
	known := slices.Concat(args, f.nodes)
	if len(known) == 0 {
		return cli.UsageError(cmd, cli.WithHints(errors.New("missing argument: what is known of the nodes"),
			"rdmactl snapshot on each node records it"))
	}
	if err := stdinOnce(cmd, args, f.nodes); err != nil {
		return err
	}
	opts, err := f.options()
	if err != nil {
		return cli.UsageError(cmd, err)
	}
	cluster, partial, err := planCluster(cmd.Context(), app, known)
	if err != nil {
		return err
	}
	p, err := plan.Make(cluster, opts)
	switch {
	case errors.Is(err, plan.ErrOptions):
		return cli.UsageError(cmd, err)
	case errors.Is(err, plan.ErrNothing):
		for _, card := range p.Passed {
			app.Out.Note("note: %s %s on %s: %s", card.Address, card.Netdev, card.Node, card.Reason)
		}
		return &cli.ExitError{Code: cli.ExitNotFound, Err: err}
	case err != nil:
		return err
	}
	if f.diff != "" {
		return diffK8sPlan(app, p, f.diff, partial)
	}
	if err := printK8sPlan(app, p, f.out, partial == nil); err != nil {
		return err
	}
	return partial
}

// options checks the flags and turns them into options.
func (f k8sPlanFlags) options() (plan.Options, error) {
	o := f.opts
	o.CheckPods, o.TestPods = f.checkPods, f.testPods
	if len(f.selector) > 0 {
		o.NodeSelector = f.selector
	}
	switch strings.ToLower(f.linkType) {
	case "":
	case "ib", "infiniband":
		o.Select.LinkType = source.LinkIB
	case "eth", "ethernet":
		o.Select.LinkType = source.LinkETH
	default:
		return o, fmt.Errorf("--link-type: %q is neither ib nor eth", f.linkType)
	}
	for _, role := range o.Select.Roles {
		if !slices.Contains(portRoles(), role) {
			return o, fmt.Errorf("--role: %q is none of compute, storage and management", role)
		}
	}
	var err error
	if o.Select.Rails, err = parseRails(f.rails); err != nil {
		return o, fmt.Errorf("--rail: %w", err)
	}
	for _, text := range f.pools {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return o, fmt.Errorf("--ip-pool: %q is not a range of addresses such as 192.168.0.0/16", text)
		}
		o.Pools = append(o.Pools, p)
	}
	for _, reserved := range []struct {
		flag, use string
		list      []string
	}{{"--pod-cidr", "pods", f.pods}, {"--service-cidr", "services", f.services}, {"--host-cidr", "hosts", f.hosts}} {
		for _, text := range reserved.list {
			p, err := netip.ParsePrefix(text)
			if err != nil {
				return o, fmt.Errorf("%s: %q is not a range of addresses such as 10.244.0.0/16", reserved.flag, text)
			}
			o.Reserved = append(o.Reserved, plan.Reserved{Use: reserved.use, Prefix: p})
		}
	}
	return o, nil
}

func portRoles() []string {
	return []string{string(inventory.RoleCompute), string(inventory.RoleStorage), string(inventory.RoleManagement)}
}

// maxRail bounds the numbers of rails: no node has as many cards.
const maxRail = 255

// parseRails reads "0-3,6".
func parseRails(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	var out []int
	for part := range strings.SplitSeq(text, ",") {
		head, tail, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			tail = head
		}
		first, err1 := strconv.Atoi(head)
		last, err2 := strconv.Atoi(tail)
		if err1 != nil || err2 != nil || first < 0 || first > last || last > maxRail {
			return nil, fmt.Errorf("%q is no rail and no range of rails as 0-3", part)
		}
		for n := first; n <= last; n++ {
			out = append(out, n)
		}
	}
	return out, nil
}

// planDocument reports that the plan shall be printed as a document: by the flag, not by
// the setting.
func planDocument(app *cli.App) bool {
	return app.Out.Format() == output.FormatJSON && app.Config.Origin("output") == config.OriginFlag
}

// printK8sPlan writes the manifests, to standard output or into a folder. whole tells that all that
// is known of the nodes could be read.
func printK8sPlan(app *cli.App, p plan.Plan, dir string, whole bool) error {
	var written []string
	if dir != "" {
		var err error
		if written, err = p.Write(dir); err != nil {
			return err
		}
		if whole { // what is missing may be that of a node whose file could not be read
			removed, err := p.RemoveStale(dir)
			if err != nil {
				return err
			}
			if len(removed) > 0 {
				app.Out.Note("note: removed what an earlier plan wrote: %s", strings.Join(removed, ", "))
			}
		}
		if rest, err := p.Diff(dir); err == nil && len(rest) > 0 {
			app.Out.Note("note: %s has %s that this plan hasn't; kubectl apply -f would apply them as well",
				dir, english.Count(len(rest), "object"))
		}
	}
	for _, n := range p.Notes {
		app.Out.Note("note: %s", n)
	}
	switch {
	case planDocument(app):
		return app.Out.Print(p)
	case dir != "":
		return app.Out.Text(k8sPlanBlocks(p, dir, written)...)
	}
	return app.Out.Raw(p.YAML())
}

// diffK8sPlan compares a plan with a folder.
func diffK8sPlan(app *cli.App, p plan.Plan, dir string, partial error) error {
	differences, err := p.Diff(dir)
	if err != nil {
		return cli.InputError(err)
	}
	report := k8sPlanDiff{
		Schema: k8sPlanDiffSchema, Folder: dir, Differences: append([]plan.Difference{}, differences...),
	}
	if err := app.Out.Print(report, k8sPlanDiffBlocks(report)...); err != nil {
		return err
	}
	if len(differences) > 0 {
		return cli.ExitSilently(cli.ExitPending)
	}
	return partial
}
