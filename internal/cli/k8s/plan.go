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
		Use:   "plan [FILE...]",
		Short: "Write the manifests that give pods VFs of RDMA cards, with a network for each rail",
		Long: `Write the manifests of SR-IOV networks for the nodes in FILE, which can also be given with --nodes,
as for lint and impact. The command applies nothing and contacts no cluster. After it, run rdmactl
k8s lint, rdmactl k8s impact, and kubectl apply.

FILE is a bundle or node tree of rdmactl snapshot, the output of rdmactl detect -o json, the output
of kubectl get -o yaml for sriovnetworknodestates, nodes and other objects, or a folder of these; -
is standard input. The plan leaves out objects that the cluster already has, and cards that other
policies already select.

For each rail the plan has a policy (several if nodes differ) and a network with addresses for all
VFs. The subnets of the networks overlap neither with each other nor with the ranges of --pod-cidr,
--service-cidr and --host-cidr. The plan also has the namespace, the SriovOperatorConfig, pools if
requested, GUIDs for InfiniBand, test pods, and a Job that checks the rails. Comments in the
manifests explain each choice. The same input always gives the same output.

The plan uses the compute cards of each node. Flags select other cards by fabric, role, rail, PCI
address, name and link type; a card must match all given flags, and one value of each flag. Cards on
different fabrics get separate rails. --vfs defaults to the number in the firmware, because any other
number reboots the node.

-o json prints the plan as a document: groups of nodes, rails, cards that are left out and the
reasons, and the files.

Exit codes:

    0   the plan is complete
    2   wrong use, or options that contradict each other or can't be met
    3   no node or no usable card in FILE
    4   no permission to read a file
    7   a file could not be read; the plan is for the others
    10  --diff found a difference`,
		Example: `  rdmactl k8s plan gpu-*.tar.gz > sriov.yaml
  rdmactl k8s plan nodestates.yaml nodes.yaml --pod-cidr 10.244.0.0/16 --out sriov/
  rdmactl k8s plan snapshots/ --fabric fec0::a1 --vfs 8
  rdmactl k8s plan snapshots/ --isolation --max-unavailable 25% --out sriov/
  rdmactl k8s plan --nodes snapshots/ --diff sriov/
  kubectl get -o yaml sriovnetworknodestates,nodes -A | rdmactl k8s plan -`,
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
		"select cards on `FABRIC`: a subnet prefix, followed by @LID of the subnet manager if it is ambiguous")
	flags.StringSliceVar(&o.Select.Roles, "role", nil,
		"select cards with `ROLE`: compute, storage, management (default compute, if roles are known)")
	flags.StringVar(&f.rails, "rail", "",
		"select `RAILS` by their numbers in the output of rdmactl detect, such as 0-3,6")
	flags.StringSliceVar(&o.Select.Addresses, "pci", nil, "select cards by PCI `ADDRESS`, with *, ? and [0-3]")
	flags.StringSliceVar(&o.Select.Names, "name", nil,
		"select cards by the `NAME` of their network or RDMA device, with *, ? and [0-3]")
	flags.StringSliceVar(&o.Select.Nodes, "node", nil, "select nodes by `NAME`, with *, ? and [0-3]")
	flags.StringVar(&f.linkType, "link-type", "",
		"select cards with link `TYPE` ib or eth; also the link type of cards whose own is unknown")
	flags.IntVar(&o.VFs, "vfs", 0, "`N` VFs for each card (default: the number in the firmware)")
	flags.IntVar(&o.MTU, "mtu", 0, "mtu of the policies in `BYTES` (default: on Ethernet the MTU of the ports, if "+
		"it is the same on the whole rail; otherwise unchanged)")
	flags.StringVar(&o.ResourcePrefix, "resource-prefix", "", "the operator's resource `PREFIX`: openshift.io, "+
		"nvidia.com or your own (default: that on the nodes, or the operator's usual one)")
	flags.StringVar(&o.OperatorNamespace, "operator-namespace", "", "`NAMESPACE` of the SR-IOV operator (default: "+
		"that of its objects in FILE, or "+plan.DefaultOperatorNamespace+")")
	flags.StringVar(&o.Namespace, "namespace", plan.DefaultNamespace, "`NAMESPACE` of the pods")
	flags.StringVar(&o.SelectBy, "select-by", plan.ByAddress, "identify cards in policies by `ID`: address or name")
	flags.StringToStringVar(&f.selector, "node-selector", nil,
		"nodeSelector of the policies, as `LABELS`: KEY=VALUE,... (default: derived from the nodes' labels)")
	flags.Lookup("node-selector").DefValue = ""
	flags.StringVar(&o.Labels, "labels", plan.LabelsExisting,
		"`SOURCE` of the labels: existing, or nfd to create one with Node Feature Discovery")
	flags.BoolVar(&o.ExternallyManaged, "externally-managed", false,
		"the VFs are created outside of the operator, which changes neither their number nor the firmware")
	flags.BoolVar(&o.Isolation, "isolation", false,
		"show pods only their own RDMA devices; requires RDMA namespace mode exclusive")
	flags.StringVar(&o.MaxUnavailable, "max-unavailable", "",
		"add a pool that drains `N` nodes, or N% rounded down, at a time (default: no pool, so one node at a time)")
	flags.StringVar(&o.RDMAMode, "rdma-mode", "", "add a pool with the RDMA namespace `MODE` shared or exclusive")
	flags.StringSliceVar(&f.pools, "ip-pool", nil, "take subnets from `CIDR`: the first one that is large enough for "+
		"all rails (default 192.168.0.0/16,172.16.0.0/12,10.0.0.0/8)")
	flags.StringSliceVar(&f.pods, "pod-cidr", nil, "`CIDR` of the cluster's pods, which the subnets must not overlap")
	flags.StringSliceVar(&f.services, "service-cidr", nil, "`CIDR` of the cluster's services, as --pod-cidr")
	flags.StringSliceVar(&f.hosts, "host-cidr", nil, "`CIDR` of hosts, as --pod-cidr")
	flags.IntVar(&o.Nodes, "for-nodes", 0, "plan addresses for `N` nodes (default: the nodes in FILE)")
	flags.StringVar(&o.GUIDSeed, "guid-seed", "", "`TEXT` that changes the GUIDs of InfiniBand VFs, to keep them "+
		"unique among clusters on one fabric if the GUIDs of the cards are unknown")
	flags.IntVar(&f.checkPods, "check-pods", 2, "`N` pods of the Job that checks the rails; 0 for no Job")
	flags.IntVar(&f.testPods, "test-pods", 2, "`N` test pods; 0 for none")
	flags.StringVar(&o.Image, "image", plan.DefaultImage,
		"`IMAGE` of the Job's pods and the test pods, with a shell and ib_write_bw or apt-get")
	flags.StringSliceVar(&o.Omit, "omit", nil, "omit objects of `KIND,...`")
	flags.StringVar(&f.out, "out", "", "write a file for each object into `DIR`, and remove files of an earlier "+
		"plan that are not in this one")
	flags.StringVar(&f.diff, "diff", "", "compare the plan with the manifests in `DIR` instead of printing it")
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
		return cli.UsageError(cmd, cli.WithHints(errors.New("missing argument: a file about the nodes"),
			"run rdmactl snapshot on each node to record it"))
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

// options checks the flags and converts them to options.
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
			return o, fmt.Errorf("--role: %q is not one of compute, storage, management", role)
		}
	}
	var err error
	if o.Select.Rails, err = parseRails(f.rails); err != nil {
		return o, fmt.Errorf("--rail: %w", err)
	}
	for _, text := range f.pools {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return o, fmt.Errorf("--ip-pool: %q is not an address range such as 192.168.0.0/16", text)
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
				return o, fmt.Errorf("%s: %q is not an address range such as 10.244.0.0/16", reserved.flag, text)
			}
			o.Reserved = append(o.Reserved, plan.Reserved{Use: reserved.use, Prefix: p})
		}
	}
	return o, nil
}

func portRoles() []string {
	return []string{string(inventory.RoleCompute), string(inventory.RoleStorage), string(inventory.RoleManagement)}
}

// maxRail is the highest rail number, above that of any node.
const maxRail = 255

// parseRails parses "0-3,6".
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
			return nil, fmt.Errorf("%q is neither a rail number nor a range such as 0-3", part)
		}
		for n := first; n <= last; n++ {
			out = append(out, n)
		}
	}
	return out, nil
}

// planDocument reports whether to print the plan as a document, because of the flag -o json. The
// setting output=json doesn't suffice.
func planDocument(app *cli.App) bool {
	return app.Out.Format() == output.FormatJSON && app.Config.Origin("output") == config.OriginFlag
}

// printK8sPlan writes the manifests to standard output or into a folder. whole reports whether all
// files about the nodes could be read.
func printK8sPlan(app *cli.App, p plan.Plan, dir string, whole bool) error {
	var written []string
	if dir != "" {
		var err error
		if written, err = p.Write(dir); err != nil {
			return err
		}
		if whole { // otherwise a missing object may belong to a node whose file could not be read
			removed, err := p.RemoveStale(dir)
			if err != nil {
				return err
			}
			if len(removed) > 0 {
				app.Out.Note("note: removed files of an earlier plan: %s", strings.Join(removed, ", "))
			}
		}
		if rest, err := p.Diff(dir); err == nil && len(rest) > 0 {
			app.Out.Note("note: %s also contains %s outside of this plan, which kubectl apply -f applies, too",
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

// diffK8sPlan prints the differences between a plan and the manifests in a folder.
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
