package impact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// rdmaMode judges the namespace mode of RDMA devices, which the operator sets by a kernel
// argument and a module option (pkg/plugins/generic, configRdmaKernelArg): each change of the
// argument reboots.
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
			"no pool sets the RDMA mode any more, which was %s: the operator removes its kernel argument", before)
	case known && before == "" && today == want:
		r.Text = fmt.Sprintf(
			"the pool sets RDMA mode %s, which it is; the operator adds the kernel argument all the same", want)
	case known && before == "":
		r.Text = fmt.Sprintf("the pool sets RDMA mode %s, and it is %s", want, orUnknown(today))
	case known:
		r.Text = fmt.Sprintf("the RDMA mode changes from %s to %s", before, want)
	case today == "":
		r.Open, r.Text = true, fmt.Sprintf("the pool sets RDMA mode %s, and that of today isn't recorded", want)
	case today == want:
		r.Open, r.Text = true, fmt.Sprintf(
			"the pool sets RDMA mode %s, which it is; the operator also wants kernel argument ib_core.netns_mode, "+
				"and whether it is there isn't recorded", want)
	default:
		r.Text = fmt.Sprintf("the RDMA mode changes from %s to %s", today, want)
	}
	change := "leave rdmaMode out of the SriovNetworkPoolConfig of the node"
	switch {
	case known && before != "":
		change = "keep rdmaMode: " + before + " in the SriovNetworkPoolConfig of the node"
	case after != nil:
		change = "leave rdmaMode out of SriovNetworkPoolConfig " + after.name
	}
	r.Avoid = []Avoid{{Change: change, Leaves: ActionNothing}}
	return []Reason{r}
}

func orUnknown(s string) string {
	if s == "" {
		return "not recorded what it is"
	}
	return s
}

// modeBefore returns the mode that the operator wants of a node today.
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

// kernelArguments judges what vfio-pci and switchdev want of the system (pkg/plugins/generic,
// addVfioDesiredKernelArg; pkg/plugins/k8s). Neither the kernel's command line nor the service is
// recorded, so it stays open.
func kernelArguments(before, after map[string]*config) []Reason {
	var out []Reason
	vfio := func(c *config) bool {
		return slices.ContainsFunc(c.groups, func(g Group) bool { return g.DeviceType == "vfio-pci" })
	}
	switchdev := func(c *config) bool { return c.eswitch == "switchdev" }
	if anyCard(after, vfio) && !anyCard(before, vfio) {
		out = append(out, Reason{
			ID: ReasonKernelArgs, Action: ActionReboot, Open: true,
			Text: "vfio-pci is wanted: the operator adds kernel arguments iommu=pt, and intel_iommu=on on Intel, and " +
				"reboots if they aren't there, which isn't recorded",
		})
	}
	if anyCard(after, switchdev) && !anyCard(before, switchdev) {
		out = append(out, Reason{
			ID: ReasonOVSService, Action: ActionReboot, Open: true,
			Text: "switchdev is wanted: if the node runs the service of Open vSwitch without hardware offload, which " +
				"isn't recorded, the operator changes it and reboots",
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

// lockdown returns what a locked-down kernel (Secure Boot) makes of NVIDIA's cards, as far as the
// daemon has met it.
func (m *model) lockdown(t *trial, state *k8s.SriovNetworkNodeState) string {
	if state == nil || m.firmwareOff || !strings.Contains(state.Status.LastSyncError, "lockdown") {
		return ""
	}
	for i := range t.pfs {
		if p := &t.pfs[i]; p.mellanox() && t.after[p.Address] != nil {
			return "the kernel is in lockdown mode (Secure Boot), where the operator refuses to handle NVIDIA's " +
				"cards: it fails on the node before it drains"
		}
	}
	return ""
}
