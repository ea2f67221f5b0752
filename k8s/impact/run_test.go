package impact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	a0 = "0000:13:00.0"
	a1 = "0000:13:00.1"
	b0 = "0000:53:00.0"
)

// wantsText is a spec of a state in which policy p gives ens1 its VFs.
const wantsText = `{interfaces: [{pciAddress: "0000:13:00.0", name: ens1, numVfs: 4, linkType: IB, vfGroups: ` +
	`[{resourceName: p, deviceType: netdevice, vfRange: 0-3, policyName: p}]}]}`

// TestCard forecasts for a node with one or two PFs.
func TestCard(t *testing.T) {
	ready := "linkType: IB, mtu: 4092, numVfs: 4, totalvfs: 4, " + vfsText(4, kernelVF)
	eth := "linkType: ETH, mtu: 1500, numVfs: 4, totalvfs: 4, " + vfsText(4, kernelVF)
	intel := `{name: ens1, pciAddress: "0000:13:00.0", vendor: "8086", deviceID: "159b", driver: ice, ` +
		`linkType: ETH, mtu: 1500, `
	pick := "numVfs: 4, linkType: IB, nicSelector: {pfNames: [ens1]}"
	tests := []struct {
		name, policy, cluster string
		want                  []string
	}{
		{"as it is", pick, stateText("n", "", "", pfText("ens1", a0, ready)), []string{"nothing"}},
		{
			"first VFs", pick, stateText("n", "", "", pfText("ens1", a0, "linkType: IB, mtu: 4092, totalvfs: 4")),
			[]string{"nothing", "ens1 first-vfs nothing"},
		},
		{"firmware gives more", pick, stateText(
			"n", "", "", pfText("ens1", a0, "linkType: IB, mtu: 4092, numVfs: 4, totalvfs: 16, "+vfsText(4, kernelVF)),
		), []string{"reboot", "ens1 firmware-vfs reboot"}},
		{
			"firmware gives more, first VFs", pick,
			stateText("n", "", "", pfText("ens1", a0, "linkType: IB, totalvfs: 16")),
			[]string{"reboot", "ens1 firmware-vfs reboot", "ens1 first-vfs nothing"},
		},
		{"fewer", "numVfs: 2, linkType: IB, nicSelector: {pfNames: [ens1]}", stateText("n", "", "",
			pfText("ens1", a0, ready)), []string{"reboot", "ens1 firmware-vfs reboot", "ens1 vf-count drain"}},
		{"SR-IOV off", pick, stateText("n", "", "", pfText("ens1", a0, "linkType: IB, mtu: 4092")), []string{
			"reboot", "ens1 firmware-sriov reboot", "ens1 first-vfs nothing",
		}},
		{"plugin off", pick, configText("disablePlugins: [mellanox]") + stateText("n", "", "",
			pfText("ens1", a0, "linkType: IB, totalvfs: 16")), []string{"nothing", "ens1 first-vfs nothing"}},
		{"plugin off, too few", pick, configText("disablePlugins: [mellanox]") + stateText("n", "", "",
			pfText("ens1", a0, "linkType: IB, totalvfs: 2")), []string{"nothing", "ens1 first-vfs nothing", "fails"}},
		{
			"link type", pick, stateText("n", "", "", pfText("ens1", a0, eth)),
			[]string{"reboot", "ens1 link-type reboot"},
		},
		{
			"link type in small letters", "numVfs: 4, linkType: ib, nicSelector: {pfNames: [ens1]}",
			stateText("n", "", "", pfText("ens1", a0, ready)),
			[]string{"nothing"},
		},
		{
			"link type unknown", pick,
			stateText("n", "", "", pfText("ens1", a0, "numVfs: 4, totalvfs: 4, "+vfsText(4, kernelVF))),
			[]string{"nothing to reboot", "ens1 link-type reboot?"},
		},
		{
			"MTU up", "numVfs: 4, mtu: 9000, nicSelector: {pfNames: [ens1]}",
			stateText("n", "", "", pfText("ens1", a0, eth)),
			[]string{"drain", "ens1 mtu drain"},
		},
		{
			"MTU down", "numVfs: 4, mtu: 1400, nicSelector: {pfNames: [ens1]}",
			stateText("n", "", "", pfText("ens1", a0, eth)),
			[]string{"nothing"},
		},
		{"MTU of VFs", "numVfs: 4, mtu: 1400, nicSelector: {pfNames: [ens1]}", stateText("n", "", "", pfText(
			"ens1", a0, "linkType: ETH, mtu: 1500, numVfs: 4, totalvfs: 4, "+vfsText(4, kernelVF+", mtu: 1500"),
		)), []string{"drain", "ens1 vf-mtu drain"}},
		{
			"switchdev", "numVfs: 4, eSwitchMode: switchdev, nicSelector: {pfNames: [ens1]}",
			stateText("n", "", "", pfText("ens1", a0, eth)),
			[]string{"drain to reboot", "node ovs-service reboot?", "ens1 eswitch-mode drain"},
		},
		{
			"legacy again", pick, stateText("n", "", "", pfText("ens1", a0, ready+", eSwitchMode: switchdev")),
			[]string{"drain", "ens1 eswitch-mode drain"},
		},
		{
			"down", pick, stateText("n", "", "", pfText("ens1", a0, ready+", linkAdminState: down")),
			[]string{"drain", "ens1 admin-state drain"},
		},
		{"no GUIDs", pick, stateText("n", "", "", pfText("ens1", a0, "linkType: IB, numVfs: 4, totalvfs: 4, "+vfsText(4,
			`driver: mlx5_core, guid: "0000:0000:0000:0000"`))), []string{"drain", "ens1 vf-guid drain"}},
		{
			"no GUIDs, Ethernet without RDMA", "numVfs: 4, nicSelector: {pfNames: [ens1]}",
			stateText("n", "", "", pfText("ens1", a0, "linkType: ETH, numVfs: 4, totalvfs: 4, "+vfsText(4,
				`driver: mlx5_core, guid: "0000:0000:0000:0000"`))),
			[]string{"nothing"},
		},
		{"VFs without a driver", pick, stateText(
			"n", "", "", pfText("ens1", a0, "linkType: IB, numVfs: 4, totalvfs: 4, "+vfsText(4, "mtu: 4092")),
		), []string{"drain", "ens1 vf-driver drain"}},
		{
			"vfio-pci", "numVfs: 4, deviceType: vfio-pci, nicSelector: {pfNames: [ens1]}",
			stateText("n", "", "", pfText("ens1", a0, eth)),
			[]string{"drain to reboot", "node kernel-arguments reboot?", "ens1 vf-driver drain"},
		},
		{"back from vfio-pci", pick, stateText(
			"n", "", "", pfText("ens1", a0, "linkType: IB, numVfs: 4, totalvfs: 4, "+vfsText(4, "driver: vfio-pci")),
		), []string{"drain", "ens1 vf-driver drain"}},
		{
			"vDPA", "numVfs: 4, vdpaType: vhost, nicSelector: {pfNames: [ens1]}",
			stateText("n", "", "", pfText("ens1", a0, eth)),
			[]string{"drain", "ens1 vdpa-type drain"},
		},
		{
			"managed by others", pick + ", externallyManaged: true",
			stateText("n", "", "", pfText("ens1", a0, "linkType: IB, numVfs: 4, totalvfs: 16, "+vfsText(4, kernelVF))),
			[]string{"drain", "ens1 externally-managed drain"},
		},
		{
			"managed by others, too few VFs", pick + ", externallyManaged: true",
			stateText("n", "", "", pfText("ens1", a0, "linkType: IB, numVfs: 0, totalvfs: 16")),
			[]string{"nothing", "ens1 first-vfs nothing", "fails"},
		},
		{
			"managed by others, firmware too small", pick + ", externallyManaged: true",
			stateText("n", "", "", pfText("ens1", a0, "linkType: IB, numVfs: 2, totalvfs: 2, "+vfsText(2, kernelVF))),
			[]string{"nothing", "ens1 vf-count drain held", "ens1 externally-managed drain held", "fails", "fails"},
		},
		{
			"two ports, the larger counts",
			pick + policyText("q", "numVfs: 8, linkType: IB, nicSelector: {pfNames: [ens2]}"),
			stateText("n", "", "", pfText("ens1", a0, "linkType: IB, totalvfs: 8"),
				pfText("ens2", a1, "linkType: IB, totalvfs: 8")),
			[]string{"nothing", "ens1 first-vfs nothing", "ens2 first-vfs nothing"},
		},
		{
			"two ports, both too small", pick,
			stateText("n", "", "", pfText("ens1", a0, "linkType: IB, totalvfs: 8"),
				pfText("ens2", a1, "linkType: IB, totalvfs: 8")),
			[]string{"reboot", "ens1 firmware-vfs reboot", "ens1 first-vfs nothing"},
		},
		{"two ports, one with unknown VFs", pick, stateText("n", "", "", pfText("ens1", a0, "linkType: IB"),
			pfText("ens2", a1, "linkType: IB, totalvfs: 4")), []string{"nothing", "ens1 first-vfs nothing"}},
		{
			"other vendor", "numVfs: 4, nicSelector: {pfNames: [ens1]}",
			stateText("n", "", "", intel+"numVfs: 0, totalvfs: 64}"),
			[]string{"nothing", "ens1 first-vfs nothing"},
		},
		{"other vendor, too many", "numVfs: 128, nicSelector: {pfNames: [ens1]}", stateText("n", "", "",
			intel+"numVfs: 0, totalvfs: 64}"), []string{"nothing", "ens1 first-vfs nothing", "fails"}},
		{
			"draining disabled", "numVfs: 4, mtu: 9000, nicSelector: {pfNames: [ens1]}",
			configText("disableDrain: true") + stateText("n", "", "", pfText("ens1", a0, eth)),
			[]string{"disrupt", "ens1 mtu disrupt"},
		},
		{"by systemd", pick, configText("configurationMode: systemd") + stateText(
			"n", "{interfaces: []}", "syncStatus: Succeeded", pfText("ens1", a0, "linkType: IB, totalvfs: 4"),
		), []string{"reboot", "node systemd-mode reboot", "ens1 first-vfs nothing"}},
		{"by systemd, no change", pick, configText("configurationMode: systemd") + stateText("n", wantsText,
			"syncStatus: Succeeded", pfText("ens1", a0, ready)), []string{"nothing"}},
		{"no change, firmware differs", pick, stateText("n", wantsText, "syncStatus: Succeeded", pfText(
			"ens1", a0, "linkType: IB, numVfs: 4, totalvfs: 16, "+vfsText(4, kernelVF),
		)), []string{"nothing", "ens1 firmware-vfs reboot held"}},
		{"no change, not in sync", pick, stateText("n", wantsText, "syncStatus: InProgress", pfText(
			"ens1", a0, "linkType: IB, numVfs: 4, totalvfs: 16, "+vfsText(4, kernelVF),
		)), []string{"reboot", "ens1 firmware-vfs reboot"}},
		{
			"locked down", pick,
			stateText("n", "", `syncStatus: Failed, lastSyncError: "mellanox device detected when in lockdown mode"`,
				pfText("ens1", a0, "linkType: IB, totalvfs: 16")),
			[]string{"nothing", "ens1 firmware-vfs reboot held", "ens1 first-vfs nothing held", "fails"},
		},
		{
			"its policy selects no more", "numVfs: 4, nicSelector: {pfNames: [ens9]}",
			stateText("n", wantsText, "", pfText("ens1", a0, ready)),
			[]string{"drain", "ens1 policy-removed drain"},
		},
		{
			"of others, and its policy selects no more", "numVfs: 4, nicSelector: {pfNames: [ens9]}",
			stateText("n", wantsText, "", pfText("ens1", a0, ready+", externallyManaged: true")),
			[]string{"nothing"},
		},
		{"policy of the cluster that is unknown", "numVfs: 4, nicSelector: {pfNames: [ens9]}", stateText(
			"n", strings.ReplaceAll(wantsText, "policyName: p", "policyName: q"), "", pfText("ens1", a0, ready),
		), []string{"nothing"}},
		{"policy that is unknown, and another", pick, stateText(
			"n", strings.ReplaceAll(wantsText, "policyName: p", "policyName: q"), "", pfText("ens1", a0, ready),
		), []string{"nothing to reboot", "unknown"}},
		{
			"VFs of nobody", "numVfs: 4, nicSelector: {pfNames: [ens9]}",
			stateText("n", "{}", "", pfText("ens1", a0, ready)),
			[]string{"nothing"},
		},
		{"no card found", pick, stateText("n", "", ""), []string{"nothing"}},
		{"cards not known", pick, nodeText("n", "a: b"), []string{"nothing to reboot", "unknown"}},
		{
			"a range that can't be read", "numVfs: 4, nicSelector: {pfNames: [\"ens1#3\"]}",
			stateText("n", "", "", pfText("ens1", a0, ready)),
			[]string{"nothing", "fails"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// Further policies follow the first one's fields.
			fields, rest, _ := strings.Cut(tt.policy, "---")
			tail := ""
			if rest != "" {
				tail = "---" + rest
			}
			if external, _, ok := strings.Cut(fields, ", externallyManaged"); ok {
				fields = external + ", externallyManaged: true"
			}
			r := Run(input(t, policyText("p", fields)+tail, tt.cluster))
			if len(r.Nodes) != 1 {
				t.Fatalf("%d nodes, want 1", len(r.Nodes))
			}
			if diff := cmp.Diff(tt.want, short(r.Nodes[0])); diff != "" {
				t.Errorf("forecast differs (-want +got):\n%s\n%+v", diff, r.Nodes[0])
			}
		})
	}
}

func TestRDMAMode(t *testing.T) {
	none, shared, exclusive := "", poolText("x",
		"maxUnavailable: 1, rdmaMode: shared"), poolText("x", "maxUnavailable: 1, rdmaMode: exclusive")
	state := func(spec, mode string) string {
		return stateText("n", spec, "syncStatus: Succeeded"+mode, pfText("ens1", a0, "linkType: IB"))
	}
	today := ", system: {rdmaMode: shared}"
	tests := []struct {
		name, apply, cluster string
		want                 []string
	}{
		{"none", none, state("{}", today), []string{"nothing"}},
		{"set, known", exclusive, state("{}", today), []string{"reboot", "node rdma-mode reboot"}},
		{"set, as it is", shared, state("{}", today), []string{"reboot", "node rdma-mode reboot"}},
		{
			"kept", exclusive, state("{system: {rdmaMode: exclusive}}", ", system: {rdmaMode: exclusive}"),
			[]string{"nothing"},
		},
		{
			"changed", exclusive, state("{system: {rdmaMode: shared}}", today),
			[]string{"reboot", "node rdma-mode reboot"},
		},
		{
			"gone", none, state("{system: {rdmaMode: exclusive}}", ", system: {rdmaMode: exclusive}"),
			[]string{"reboot", "node rdma-mode reboot"},
		},
		{"spec not known, other", exclusive, state("", today), []string{"reboot", "node rdma-mode reboot"}},
		{"spec not known, the same", shared, state("", today), []string{"nothing to reboot", "node rdma-mode reboot?"}},
		{"nothing known", exclusive, state("", ""), []string{"nothing to reboot", "node rdma-mode reboot?"}},
		{
			"in the cluster's pool already", exclusive, exclusive + state("", ", system: {rdmaMode: exclusive}"),
			[]string{"nothing"},
		},
		{
			"other than in the cluster's pool", exclusive, shared + state("", today),
			[]string{"reboot", "node rdma-mode reboot"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Run(input(t, tt.apply, tt.cluster))
			if diff := cmp.Diff(tt.want, short(r.Nodes[0])); diff != "" {
				t.Errorf("forecast differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRemoved removes policies in all three ways.
func TestRemoved(t *testing.T) {
	cluster := policyText("p", "numVfs: 4, linkType: IB, nicSelector: {pfNames: [ens1]}") + policyText("q",
		"numVfs: 4, linkType: IB, nicSelector: {pfNames: [ens2]}") +
		stateText("n", "", "", pfText("ens1", a0, "linkType: IB, numVfs: 4, totalvfs: 4, "+vfsText(4, kernelVF)),
			pfText("ens2", b0, "linkType: IB, numVfs: 4, totalvfs: 4, "+vfsText(4, kernelVF)))
	q := policyText("q", "numVfs: 4, linkType: IB, nicSelector: {pfNames: [ens2]}")
	tests := []struct {
		name, apply string
		opts        Options
		removed     []string
		want        []string
	}{
		{"nothing", q, Options{}, nil, []string{"nothing"}},
		{"pruned", q, Options{Prune: true}, []string{"p"}, []string{"drain", "ens1 policy-removed drain"}},
		{"deleted", "", Options{Delete: []string{"p"}}, []string{"p"}, []string{"drain", "ens1 policy-removed drain"}},
		{"without a namespace", strings.ReplaceAll(q, ", namespace: sriov", ""), Options{}, nil, []string{"nothing"}},
		{
			"of another namespace", strings.ReplaceAll(q, "namespace: sriov", "namespace: other"),
			Options{Prune: true, OperatorNamespace: "sriov"},
			[]string{"p", "q"},
			[]string{"drain", "ens1 policy-removed drain", "ens2 policy-removed drain"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := input(t, tt.apply, cluster)
			in.Options = tt.opts
			r := Run(in)
			if diff := cmp.Diff(tt.want, short(r.Nodes[0])); diff != "" {
				t.Errorf("forecast differs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.removed, r.Removed); diff != "" {
				t.Errorf("Removed differs (-want +got):\n%s", diff)
			}
		})
	}
}
