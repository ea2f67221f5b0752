package impact

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// assumptions collects the assumptions about all nodes.
type assumptions struct {
	firmware  bool     // sriov_totalvfs was used instead of the firmware's settings
	snapshots []string // nodes with VFs that are known from a snapshot only
	labels    []string // nodes with unknown labels that policies need
	policies  []string // policies that need them
	pools     []string // nodes that may be in another pool
	supported []string // cards that the operator may not support
	blueField []string // nodes on which the host may not be able to set the firmware
}

// of adds the assumptions about a node.
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

// assumptions returns the assumptions as texts.
func (m *model) assumptions(a *assumptions) []string {
	out := []string{"all files are applied at once; applying them one after the other may cause more drains or reboots"}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if a.firmware {
		add("states and snapshots don't record the firmware's NUM_OF_VFS and SRIOV_EN, so sriov_totalvfs of sysfs is " +
			"used; for exact results save the output of mstconfig -e -d ADDRESS q in NODE.txt for each node, and add " +
			"these files to --nodes")
	}
	if len(a.snapshots) > 0 {
		add(
			"%s: snapshots record neither the eSwitch mode nor driver and MTU of VFs; assumed: legacy mode, and "+
				"driver and MTU as in the policies", some(a.snapshots))
	}
	if len(a.labels) > 0 {
		add("%s: unknown labels; assumed to be those that policies select (%s)", some(a.labels), some(a.policies))
	}
	if len(a.pools) > 0 {
		add("%s: unknown labels; assumed to be in the only pool that may select them, or in no pool if several may",
			some(a.pools))
	}
	if len(a.supported) > 0 {
		add("%s: not in the operator's list of NVIDIA cards (supported-nic-ids); assumed to be added to it",
			some(a.supported))
	}
	if len(a.blueField) > 0 {
		add("%s: BlueField cards are assumed to be in NIC mode; in DPU mode the operator can't set the firmware and "+
			"fails", some(a.blueField))
	}
	m.assumePriorities(add)
	if !m.complete {
		add("the files contain no policies of the cluster; assumed: only the applied policies exist, and those in " +
			"the node states")
	}
	if len(m.pools) == 0 && !m.noDrain {
		add("no SriovNetworkPoolConfig is known; assumed: one node drains at a time")
	}
	if !m.configKnown() {
		add("no SriovOperatorConfig is known; assumed: draining is enabled, the daemon configures the nodes, and the " +
			"mellanox plugin is on")
	}
	return out
}

// assumePriorities adds the assumptions about policies without a priority
// ([k8s.PolicySpec.EffectivePriority]).
func (m *model) assumePriorities(add func(string, ...any)) {
	if names := some(m.unwritten); names != "" {
		switch {
		case k8s.ValueOf(m.webhook):
			add(
				"no priority in policy %s: the operator's webhook sets %d, the lowest "+
					"(enableOperatorWebhook is true)", names, k8s.WebhookPriority)
		case m.webhook != nil:
			add(
				"no priority in policy %s: %d, the highest, because the operator's webhook is off "+
					"(enableOperatorWebhook isn't true)", names, k8s.UnwrittenPriority)
		default:
			add(
				"no priority in policy %s: assumed %d, the highest, because it is unknown whether the operator's "+
					"webhook is on, which would set %d, the lowest", names, k8s.UnwrittenPriority, k8s.WebhookPriority)
		}
	}
	if names := some(m.unwrittenBefore); names != "" {
		add("no priority in policy %s of the cluster: %d, the highest, because no webhook set one",
			names, k8s.UnwrittenPriority)
	}
}

// configKnown reports whether the objects contain the operator's configuration.
func (m *model) configKnown() bool {
	for _, o := range slices.Concat(m.in.Cluster.Objects, m.in.Manifests.Objects) {
		if o.Kind == k8s.KindOperatorConfig && o.Name == "default" {
			return true
		}
	}
	return false
}

// some returns the first names of a list and the number of the others.
func some(names []string) string {
	const most = 4
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func sortedKeys(cards map[string]*config) []string { return slices.Sorted(maps.Keys(cards)) }
