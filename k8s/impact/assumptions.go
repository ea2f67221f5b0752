package impact

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// assumptions gathers, over all nodes, what is taken for granted.
type assumptions struct {
	firmware  bool     // sriov_totalvfs decided something
	snapshots []string // nodes with VFs that only a snapshot tells of
	labels    []string // nodes whose labels aren't known, and asked for
	policies  []string // that ask for them
	pools     []string // nodes that may be in another pool
	supported []string // cards that the operator may not know
	blueField []string // nodes whose firmware may not be set from the host
}

// of notes what was assumed of a node.
func (a *assumptions) of(n *source.Node, state *k8s.SriovNetworkNodeState, t *trial, want setting) {
	if len(want.maybe) > 0 {
		a.labels = append(a.labels, n.Name)
		for _, name := range want.maybe {
			if !slices.Contains(a.policies, name) {
				a.policies = append(a.policies, name)
			}
		}
	}
	recorded, blueField := true, false
	for i := range t.pfs {
		p := &t.pfs[i]
		if t.after[p.Address] == nil {
			continue
		}
		a.firmware = a.firmware || p.mellanox() && !t.firmwareOff && p.settings() == nil
		recorded = recorded && (state != nil || p.NumVFs == 0)
		if p.unsupported {
			a.supported = append(a.supported, fmt.Sprintf("%s of %s (%s:%s)", p, n.Name, p.Vendor, p.DeviceID))
		}
		blueField = blueField || p.mellanox() && strings.HasPrefix(p.DeviceID, "a2d")
	}
	if !recorded {
		a.snapshots = append(a.snapshots, n.Name)
	}
	if blueField && !t.firmwareOff {
		a.blueField = append(a.blueField, n.Name)
	}
}

// assumptions writes them down.
func (m *model) assumptions(a *assumptions) []string {
	out := []string{"all files are applied at once; one after the other they may cost more"}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if a.firmware {
		add("the firmware's NUM_OF_VFS and SRIOV_EN aren't recorded in states and snapshots; " +
			"sriov_totalvfs of sysfs stands for them (to be sure: the output of mstconfig -e -d ADDRESS " +
			"q in files NODE.txt among those of --nodes)")
	}
	if len(a.snapshots) > 0 {
		add(
			"%s: known by snapshots, which don't tell the eSwitch mode, and driver and MTU of VFs: "+
				"taken as legacy and as wanted", some(a.snapshots))
	}
	if len(a.labels) > 0 {
		add("%s: labels aren't known; taken as what policies ask for (%s)", some(a.labels), some(a.policies))
	}
	if len(a.pools) > 0 {
		add("%s: labels aren't known; taken as of the one pool that may select them, or of none if there are several",
			some(a.pools))
	}
	if len(a.supported) > 0 {
		add("%s: not in the operator's list of NVIDIA's cards (supported-nic-ids), and taken as added to it",
			some(a.supported))
	}
	if len(a.blueField) > 0 {
		add("%s: BlueField cards are taken as in NIC mode; in DPU mode the operator can't set the firmware, and fails",
			some(a.blueField))
	}
	m.assumePriorities(add)
	if !m.complete {
		add("no policy of the cluster is among the files: others than those that are applied, and those that states " +
			"name, are taken not to exist")
	}
	if len(m.pools) == 0 && !m.noDrain {
		add("no SriovNetworkPoolConfig is known: one node at a time")
	}
	if !m.configKnown() {
		add("no SriovOperatorConfig is known: draining enabled, configuration by the daemon, the mellanox plugin on")
	}
	return out
}

// assumePriorities says what stands for a priority that nobody wrote (k8s.PolicySpec,
// EffectivePriority).
func (m *model) assumePriorities(add func(string, ...any)) {
	if names := some(m.unwritten); names != "" {
		switch {
		case k8s.ValueOf(m.webhook):
			add(
				"no priority in policy %s: %d, the lowest, which the operator's webhook writes "+
					"(enableOperatorWebhook is true)", names, k8s.WebhookPriority)
		case m.webhook != nil:
			add(
				"no priority in policy %s: %d, the highest, for the operator's webhook is off "+
					"(enableOperatorWebhook isn't true)", names, k8s.UnwrittenPriority)
		default:
			add(
				"no priority in policy %s: %d, the highest, as without the operator's webhook, which nothing tells "+
					"of; with it %d, the lowest", names, k8s.UnwrittenPriority, k8s.WebhookPriority)
		}
	}
	if names := some(m.unwrittenBefore); names != "" {
		add("no priority in policy %s of the cluster: %d, the highest, for no webhook wrote one",
			names, k8s.UnwrittenPriority)
	}
}

// configKnown reports that the operator's configuration is among the objects.
func (m *model) configKnown() bool {
	for _, o := range slices.Concat(m.in.Cluster.Objects, m.in.Manifests.Objects) {
		if o.Kind == k8s.KindOperatorConfig && o.Name == "default" {
			return true
		}
	}
	return false
}

// some writes a list that may be long.
func some(names []string) string {
	const most = 4
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func sortedKeys(cards map[string]*config) []string { return slices.Sorted(maps.Keys(cards)) }
