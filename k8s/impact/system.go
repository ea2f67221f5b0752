package impact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// rdmaMode returns the reason to reboot because the RDMA namespace mode changes. The operator sets
// the mode with a kernel argument and a module option (pkg/plugins/generic, configRdmaKernelArg),
// and each change of the argument reboots the node.
func (m *model) rdmaMode(n *source.Node, state *k8s.SriovNetworkNodeState, after *pool) []Reason {
	want := ""
	if after != nil {
		want = after.spec.RdmaMode
	}
	before, known := m.modeBefore(n, state)
	today := n.RDMAMode
	if state != nil && state.Status.System.RdmaMode != "" {
		today = state.Status.System.RdmaMode
	}
	r := Reason{ID: ReasonRDMAMode, Action: ActionReboot}
	switch {
	case known && before == want, !known && want == "":
		return nil
	case known && want == "":
		r.Text = fmt.Sprintf(
			"no pool sets RDMA mode %s any more: the operator removes its kernel argument", before)
	case known && before == "" && today == want:
		r.Text = fmt.Sprintf(
			"the pool sets RDMA mode %s, which the node has; the operator still adds the kernel argument", want)
	case known && before == "":
		r.Text = fmt.Sprintf("the pool sets RDMA mode %s; the present mode is %s", want, orUnknown(today))
	case known:
		r.Text = fmt.Sprintf("the RDMA mode changes from %s to %s", before, want)
	case today == "":
		r.Open, r.Text = true, fmt.Sprintf("the pool sets RDMA mode %s; the present mode is unknown", want)
	case today == want:
		r.Open, r.Text = true, fmt.Sprintf(
			"the pool sets RDMA mode %s, which the node has; the operator adds kernel argument ib_core.netns_mode and "+
				"reboots if it is missing, which is unknown", want)
	default:
		r.Text = fmt.Sprintf("the RDMA mode changes from %s to %s", today, want)
	}
	change := "remove rdmaMode from the SriovNetworkPoolConfig of the node"
	switch {
	case known && before != "":
		change = "keep rdmaMode: " + before + " in the SriovNetworkPoolConfig of the node"
	case after != nil:
		change = "remove rdmaMode from SriovNetworkPoolConfig " + after.name
	}
	r.Avoid = []Avoid{{Change: change, Leaves: ActionNothing}}
	return []Reason{r}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// modeBefore returns the mode that the operator presently sets on a node.
func (m *model) modeBefore(n *source.Node, state *k8s.SriovNetworkNodeState) (mode string, known bool) {
	switch {
	case state != nil && state.Spec != nil:
		return state.Spec.System.RdmaMode, true
	case m.poolsKnown:
		p, maybe, problem := poolOf(n, m.poolsBefore)
		if maybe {
			return "", false
		}
		if p == nil || problem != "" {
			return "", true
		}
		return p.spec.RdmaMode, true
	}
	return "", false
}

// kernelArguments returns the reasons to reboot for vfio-pci and switchdev (pkg/plugins/generic,
// addVfioDesiredKernelArg; pkg/plugins/k8s). They are open, because neither the kernel's command
// line nor the Open vSwitch service is recorded.
func kernelArguments(before, after map[string]*config) []Reason {
	var out []Reason
	vfio := func(c *config) bool {
		return slices.ContainsFunc(c.groups, func(g Group) bool { return g.DeviceType == "vfio-pci" })
	}
	switchdev := func(c *config) bool { return c.eswitch == "switchdev" }
	if anyCard(after, vfio) && !anyCard(before, vfio) {
		out = append(out, Reason{
			ID: ReasonKernelArgs, Action: ActionReboot, Open: true,
			Text: "vfio-pci requires the kernel arguments iommu=pt, and intel_iommu=on on Intel: the operator adds " +
				"them and reboots if they are missing, which is unknown",
		})
	}
	if anyCard(after, switchdev) && !anyCard(before, switchdev) {
		out = append(out, Reason{
			ID: ReasonOVSService, Action: ActionReboot, Open: true,
			Text: "switchdev requires hardware offload of Open vSwitch: if the node runs the Open vSwitch service " +
				"without it, which is unknown, the operator changes the service and reboots",
		})
	}
	return out
}

func anyCard(cards map[string]*config, is func(*config) bool) bool {
	for _, c := range cards {
		if is(c) {
			return true
		}
	}
	return false
}

// lockdown returns the failure on NVIDIA cards in kernel lockdown mode (Secure Boot), "" if the
// daemon has not reported lockdown mode.
func (m *model) lockdown(t *trial, state *k8s.SriovNetworkNodeState) string {
	if state == nil || m.firmwareOff || !strings.Contains(state.Status.LastSyncError, "lockdown") {
		return ""
	}
	for i := range t.pfs {
		if p := &t.pfs[i]; p.mellanox() && t.after[p.Address] != nil {
			return "the kernel is in lockdown mode (Secure Boot), in which the operator refuses to configure NVIDIA " +
				"cards: it fails before the drain"
		}
	}
	return ""
}
