package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// Pieces of manifests that the cases below are made of.
const (
	someNode = `
apiVersion: v1
kind: Node
metadata: {name: gpu-00, labels: {pool: gpu}}
status: {allocatable: {nvidia.com/rail0: 4}}
`
	somePolicy = `
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: NAME, namespace: sriov-network-operator}
spec: {resourceName: rail0, nodeSelector: {pool: gpu}, isRdma: true, numVfs: 8, SPEC}
`
	someNAD = `
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: rail0, namespace: ml, annotations: {k8s.v1.cni.cncf.io/resourceName: nvidia.com/rail0}}
spec: {config: 'CONFIG'}
`
	someNetwork = `
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovIBNetwork
metadata: {name: rail0, namespace: ml}
spec: {resourceName: rail0, capabilities: '{"infinibandGUID": true}', ipam: 'IPAM'}
`
	somePod = `
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: ml, annotations: {k8s.v1.cni.cncf.io/networks: 'NETWORKS'}}
spec: {POD containers: [{name: a, resources: {limits: {nvidia.com/rail0: 1}, requests: {nvidia.com/rail0: 1}}}]}
`
	someMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME, namespace: sriov-network-operator}
data: {guids: 'DATA', extra: 'DATA'}
`
	somePool = `
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkPoolConfig
metadata: {name: NAME, namespace: sriov-network-operator}
spec: {SPEC}
`
	someConfig = `
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovOperatorConfig
metadata: {name: default, namespace: sriov-network-operator}
spec: {SPEC}
`
)

// fill inserts texts into a piece; the arguments are pairs of name and text.
func fill(piece string, pairs ...string) string {
	return strings.NewReplacer(append(pairs, "NAME", "a")...).Replace(piece) + "---"
}

// card0 is a node with one card, with more fields.
func card0(fields string) string {
	return someNode + strings.Replace(`---
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodeState
metadata: {name: gpu-00, namespace: sriov-network-operator}
status: {syncStatus: Succeeded, interfaces: [{name: ens1, pciAddress: "0000:3b:00.0", vendor: "15b3", deviceID: "1021", driver: mlx5_core, FIELDS}]}
`, "FIELDS", fields, 1)
}

// drains gives the state in some nodes its two annotations.
func drains(nodes, desired, current string) string {
	return strings.Replace(nodes, "metadata: {name: gpu-00, namespace: ",
		`metadata: {name: gpu-00, annotations: {sriovnetwork.openshift.io/desired-state: `+desired+
			`, sriovnetwork.openshift.io/current-state: `+current+`}, namespace: `, 1)
}

// plainNetwork is a network of VFs that may be for anything.
func plainNetwork(ipam string) string {
	return strings.NewReplacer("IPAM", ipam, "SriovIBNetwork", "SriovNetwork", "infinibandGUID", "ips").Replace(
		someNetwork) + "---"
}

// hostNode has an address.
const hostNode = `
apiVersion: v1
kind: Node
metadata: {name: gpu-00}
status: {addresses: [{type: InternalIP, address: 192.168.0.11}, {type: Hostname, address: gpu-00}]}
`

// TestBranches tests branches that the manifests in testdata don't cover: each case is one rule on
// one manifest.
func TestBranches(t *testing.T) {
	nadOf := func(config string) string { return fill(someNAD, "CONFIG", config) }
	ipamOf := func(text string) string { return fill(someNetwork, "IPAM", text) }
	guids := func(text string) string { return fill(someMap, "DATA", text) }
	pol := func(spec string) string { return fill(somePolicy, "SPEC", spec) }
	tests := []struct {
		name, rule, in, nodes string
		want                  []string // severity and path
	}{
		{"elsewhere than the states", "policy-namespace", pol("nicSelector: {pfNames: [ens1]}"), strings.Replace(
			card0("totalvfs: 8"), "namespace: sriov-network-operator", "namespace: nvidia-network-operator", 1,
		), []string{"error metadata.namespace"}},
		{"beside the states", "policy-namespace", pol("nicSelector: {pfNames: [ens1]}"), card0("totalvfs: 8"), nil},
		{
			"address of a host", "ipam-overlap", ipamOf(`{"type": "whereabouts", "range": "192.168.0.0/26"}`),
			hostNode,
			[]string{"error spec.ipam"},
		},
		{
			"address of a host excluded", "ipam-overlap",
			ipamOf(`{"type": "whereabouts", "range": "192.168.0.0/26", "exclude": ["192.168.0.8/29"]}`), hostNode, nil,
		},
		{"a list that is one text", "pf-range", pol("nicSelector: {pfNames: [ens1\n - ens2]}"), "", []string{
			"error spec.nicSelector.pfNames[0]",
		}},
		{"a name with a blank", "pf-range", pol("nicSelector: {pfNames: [ens 1#0-3]}"), "", []string{
			"error spec.nicSelector.pfNames[0]",
		}},
		{"no priority", "priority-order", fill(
			somePolicy, "SPEC", "priority: 10, nicSelector: {vendor: \"15b3\", pfNames: [ens1]}",
		) + fill(somePolicy, "NAME", "b", "SPEC", `nicSelector: {vendor: "15b3"}`), "", []string{"warn spec"}},
		{
			"no priority of the one, with the webhook", "priority-order",
			fill(somePolicy, "SPEC", "nicSelector: {vendor: \"15b3\", pfNames: [ens1]}") + fill(
				somePolicy, "NAME", "b", "SPEC", `priority: 20, nicSelector: {vendor: "15b3"}`,
			) + fill(someConfig, "SPEC", "enableOperatorWebhook: true"),
			"",
			[]string{"warn spec.priority"},
		},
		{
			"no priority of the one, without the webhook", "priority-order",
			fill(somePolicy, "SPEC", "nicSelector: {vendor: \"15b3\", pfNames: [ens1]}") + fill(
				somePolicy, "NAME", "b", "SPEC", `priority: 20, nicSelector: {vendor: "15b3"}`,
			) + fill(someConfig, "SPEC", "enableOperatorWebhook: false"), "", nil,
		},
		{
			"no priority of the one, nothing of the webhook", "priority-order",
			fill(somePolicy, "SPEC", "nicSelector: {vendor: \"15b3\", pfNames: [ens1]}") + fill(somePolicy, "NAME", "b",
				"SPEC", `priority: 20, nicSelector: {vendor: "15b3"}`),
			"",
			[]string{"warn spec"},
		},
		{"none has a priority, the later name", "priority-order", fill(
			somePolicy, "SPEC", "nicSelector: {vendor: \"15b3\", pfNames: [ens1]}",
		) + fill(somePolicy, "NAME", "b", "SPEC", `nicSelector: {vendor: "15b3"}`), "", []string{"warn spec.priority"}},
		{"none has a priority, the earlier name", "priority-order", fill(
			somePolicy, "NAME", "c", "SPEC", "nicSelector: {vendor: \"15b3\", pfNames: [ens1]}",
		) + fill(somePolicy, "NAME", "b", "SPEC", `nicSelector: {vendor: "15b3"}`), "", nil},
		{
			"no priority of all, without the webhook", "priority-order",
			fill(somePolicy, "SPEC", "priority: 0, nicSelector: {vendor: \"15b3\", pfNames: [ens1]}") + fill(somePolicy,
				"NAME", "b", "SPEC", `nicSelector: {vendor: "15b3"}`) + fill(someConfig, "SPEC", "disableDrain: true"),
			"",
			[]string{"warn spec.priority"},
		},
		{
			"no priority, with the webhook", "priority-order",
			fill(somePolicy, "SPEC", "priority: 10, nicSelector: {vendor: \"15b3\", pfNames: [ens1]}") + fill(
				somePolicy, "NAME", "b", "SPEC", `nicSelector: {vendor: "15b3"}`,
			) + fill(someConfig, "SPEC", "enableOperatorWebhook: true"), "", nil,
		},
		{
			"of equal numbers the later name", "priority-order",
			fill(somePolicy, "SPEC", "priority: 10, nicSelector: {pfNames: [ens1]}") + fill(somePolicy, "NAME", "b",
				"SPEC", `priority: 10, nicSelector: {vendor: "15b3"}`),
			card0("totalvfs: 8"),
			[]string{"warn spec.priority"},
		},
		{
			"of equal numbers the earlier name", "priority-order",
			fill(somePolicy, "NAME", "c", "SPEC", "priority: 10, nicSelector: {pfNames: [ens1]}") + fill(somePolicy,
				"NAME", "b", "SPEC", `priority: 10, nicSelector: {vendor: "15b3"}`),
			card0("totalvfs: 8"), nil,
		},
		{
			"other link type", "external-managed",
			pol("linkType: eth, externallyManaged: true, nicSelector: {pfNames: [ens1]}"),
			card0("linkType: IB, totalvfs: 8, numVfs: 8"),
			[]string{"error spec.linkType"},
		},
		{
			"other mode", "external-managed",
			pol("eSwitchMode: switchdev, externallyManaged: true, nicSelector: {pfNames: [ens1]}"),
			card0("linkType: ETH, totalvfs: 8, numVfs: 8, eSwitchMode: legacy"),
			[]string{"error spec.eSwitchMode"},
		},
		{
			"legacy by default", "external-managed", pol("externallyManaged: true, nicSelector: {pfNames: [ens1]}"),
			card0("linkType: ETH, totalvfs: 8, numVfs: 8, eSwitchMode: legacy"), nil,
		},
		{
			"link type of others' cards", "linktype-change", pol("linkType: ib, nicSelector: {pfNames: [ens1]}"),
			strings.ReplaceAll(card0("linkType: ETH, totalvfs: 8"), "15b3", "8086"),
			[]string{"error spec.linkType"},
		},
		{
			"no link type, which field-value reports", "linktype-change",
			pol("linkType: InfiniBand, nicSelector: {pfNames: [ens1]}"), card0("linkType: IB, totalvfs: 8"), nil,
		},
		{"plugin off", "linktype-change", pol("linkType: ib, nicSelector: {pfNames: [ens1]}") + fill(someConfig, "SPEC",
			"disablePlugins: [mellanox]"), card0("linkType: ETH, totalvfs: 8"), []string{"error spec.linkType"}},
		{
			"firmware left alone", "firmware-vfs", pol("externallyManaged: true, nicSelector: {pfNames: [ens1]}"),
			card0("linkType: ETH, totalvfs: 16, numVfs: 8"), nil,
		},
		{"plugin off", "firmware-vfs", pol("nicSelector: {pfNames: [ens1]}") + fill(someConfig, "SPEC",
			"disablePlugins: [mellanox]"), card0("linkType: ETH, totalvfs: 16, numVfs: 8"), nil},
		{
			"Intel's firmware", "firmware-vfs", pol("nicSelector: {pfNames: [ens1]}"),
			strings.ReplaceAll(card0("linkType: ETH, totalvfs: 64"), "15b3", "8086"), nil,
		},
		{
			"turned on by the operator", "sriov-disabled", pol("nicSelector: {pfNames: [ens1]}"),
			card0("linkType: IB"),
			[]string{"warn spec.nicSelector"},
		},
		{
			"turned on by nobody", "sriov-disabled", pol("externallyManaged: true, nicSelector: {pfNames: [ens1]}"),
			card0("linkType: IB"),
			[]string{"error spec.nicSelector"},
		},
		{
			"in progress", "node-sync", pol("nicSelector: {pfNames: [ens1]}"),
			strings.Replace(card0("totalvfs: 8"), "Succeeded", "InProgress", 1),
			[]string{"note spec.nodeSelector"},
		},
		{
			"to drain", "node-sync", pol("nicSelector: {pfNames: [ens1]}"),
			drains(card0("totalvfs: 8"), "Drain_Required", "Idle"),
			[]string{"warn spec.nodeSelector"},
		},
		{
			"to reboot, in progress", "node-sync", pol("nicSelector: {pfNames: [ens1]}"),
			strings.Replace(drains(card0("totalvfs: 8"), "Reboot_Required", "Draining"), "Succeeded", "InProgress", 1),
			[]string{"warn spec.nodeSelector"},
		},
		{
			"drained, to be idle", "node-sync", pol("nicSelector: {pfNames: [ens1]}"),
			drains(card0("totalvfs: 8"), "Idle", "DrainComplete"),
			[]string{"warn spec.nodeSelector"},
		},
		{"idle", "node-sync", pol("nicSelector: {pfNames: [ens1]}"), drains(card0("totalvfs: 8"), "Idle", "Idle"), nil},
		{"another node drains", "node-sync", strings.Replace(pol("nicSelector: {pfNames: [ens1]}"), "pool: gpu",
			"pool: cpu", 1), drains(card0("totalvfs: 8"), "Drain_Required", "Draining"), nil},
		{
			"vendor", "supported-nics", pol(`nicSelector: {vendor: "10df"}`), "",
			[]string{"warn spec.nicSelector.vendor"},
		},
		{"upper case", "supported-nics", strings.ReplaceAll(
			fill(someMap, "NAME", "supported-nic-ids", "DATA", "15B3 1027  101E"), "guids: ", "other: ",
		), "", []string{"error data.other", "error data.extra"}},
		{"daemon elsewhere", "daemon-selector", pol("nicSelector: {pfNames: [ens1]}") + fill(someConfig, "SPEC",
			"configDaemonNodeSelector: {sriov: x}"), someNode, []string{"error spec.nodeSelector"}},
		{"daemon there", "daemon-selector", pol("nicSelector: {pfNames: [ens1]}") + fill(someConfig, "SPEC",
			"configDaemonNodeSelector: {pool: gpu}"), someNode, nil},

		{
			"node in two", "pool-overlap",
			fill(somePool, "SPEC", "nodeSelector: {matchLabels: {pool: gpu}}") + fill(somePool, "NAME", "b", "SPEC",
				"nodeSelector: {matchExpressions: [{key: pool, operator: NotIn, values: [cpu]}]}"),
			someNode,
			[]string{"error spec.nodeSelector"},
		},
		{
			"node in one", "pool-overlap",
			fill(somePool, "SPEC", "nodeSelector: {matchLabels: {pool: gpu}}") + fill(somePool, "NAME", "b", "SPEC",
				"nodeSelector: {matchExpressions: [{key: pool, operator: In, values: [cpu]}]}"),
			someNode, nil,
		},
		{"two namespaces", "pool-overlap", fill(somePool, "SPEC",
			"") + strings.ReplaceAll(fill(somePool, "SPEC", ""), "sriov-network-operator", "x"), "", nil},
		{
			"no values", "pool-selector",
			fill(somePool, "SPEC", "nodeSelector: {matchExpressions: [{key: a, operator: In}]}"), "",
			[]string{"error spec.nodeSelector.matchExpressions[0].operator"},
		},
		{
			"values too many", "pool-selector",
			fill(somePool, "SPEC", "nodeSelector: {matchExpressions: [{key: a, operator: Exists, values: [x]}]}"), "",
			[]string{"error spec.nodeSelector.matchExpressions[0].values"},
		},
		{
			"no node", "pool-selector", fill(somePool, "SPEC", "nodeSelector: {matchLabels: {pool: cpu}}"), someNode,
			[]string{"warn spec.nodeSelector"},
		},
		{
			"offload and more", "pool-selector",
			fill(somePool, "SPEC", "maxUnavailable: 2, ovsHardwareOffloadConfig: {name: x}"), "",
			[]string{"error spec.ovsHardwareOffloadConfig"},
		},

		{
			"meant to override", "policy-overlap",
			fill(somePolicy, "SPEC", "priority: 10, nicSelector: {pfNames: [ens1]}") + fill(somePolicy, "NAME", "b",
				"SPEC", `priority: 20, nicSelector: {vendor: "15b3"}`),
			card0("totalvfs: 8"),
			[]string{"note spec.nicSelector"},
		},
		{"overrides by chance", "policy-overlap", fill(somePolicy, "SPEC", "nicSelector: {pfNames: [ens1]}") + fill(
			somePolicy, "NAME", "b", "SPEC", `priority: 20, nicSelector: {vendor: "15b3"}`,
		), card0("totalvfs: 8"), []string{"error spec.nicSelector"}},
		{
			"meant to override on a node", "policy-overlap",
			fill(somePolicy, "SPEC", `priority: 99, nicSelector: {vendor: "15b3"}`) +
				strings.Replace(fill(somePolicy, "NAME", "b", "SPEC", `priority: 10, nicSelector: {vendor: "15b3"}`),
					"pool: gpu", "kubernetes.io/hostname: gpu-00", 1),
			strings.Replace(card0("totalvfs: 8"), "{pool: gpu}", "{pool: gpu, kubernetes.io/hostname: gpu-00}", 1),
			[]string{"note spec.nicSelector"},
		},
		{
			"refused whatever the priorities", "policy-overlap",
			fill(somePolicy, "SPEC", `priority: 99, nicSelector: {pfNames: [ens1]}`) + fill(somePolicy, "NAME", "b",
				"SPEC", `priority: 10, nicSelector: {pfNames: ["ens1#0-3"]}`),
			card0("totalvfs: 8"),
			[]string{"error spec.nicSelector"},
		},
		{
			"overridden by one for all", "policy-overlap",
			fill(somePolicy, "SPEC", `priority: 99, nicSelector: {pfNames: [ens1]}`) + fill(somePolicy, "NAME", "b",
				"SPEC", `priority: 10, nicSelector: {vendor: "15b3"}`),
			card0("totalvfs: 8"),
			[]string{"error spec.nicSelector"},
		},
		{
			"added to the list", "vf-device-id",
			pol(`nicSelector: {vendor: "15b3", deviceID: "1027"}`) + strings.ReplaceAll(
				fill(someMap, "NAME", "supported-nic-ids", "DATA", "15b3 1027 101e"), "guids: ", "other: "), "", nil,
		},
		{"in no list", "vf-device-id", pol(`nicSelector: {vendor: "15b3", deviceID: "1027"}`) + fill(someMap, "NAME",
			"supported-nic-ids", "DATA", "15b3 1029 101e"), "", []string{"warn spec.nicSelector.deviceID"}},
		{
			"vdpa of others by name", "policy-combination",
			strings.Replace(pol("vdpaType: vhost, eSwitchMode: switchdev, nicSelector: {pfNames: [ens1]}"),
				"isRdma: true", "isRdma: false", 1),
			strings.ReplaceAll(card0("totalvfs: 8"), "15b3", "8086"),
			[]string{"error spec.vdpaType"},
		},
		{
			"vdpa of NVIDIA's by name", "policy-combination",
			strings.Replace(pol("vdpaType: vhost, eSwitchMode: switchdev, nicSelector: {pfNames: [ens1]}"),
				"isRdma: true", "isRdma: false", 1),
			card0("totalvfs: 8"), nil,
		},
		{
			"a node without the card", "selector-card", pol("nicSelector: {pfNames: [ens1]}"),
			card0("totalvfs: 8") + "---" +
				strings.ReplaceAll(strings.ReplaceAll(card0("totalvfs: 8"), "gpu-00", "gpu-01"), "ens1", "ens2"),
			[]string{"note spec.nicSelector"},
		},
		{
			"perhaps another node without the card", "selector-card", pol("nicSelector: {pfNames: [ens1]}"),
			card0("totalvfs: 8") + "---\n" + strings.SplitAfterN(strings.ReplaceAll(
				strings.ReplaceAll(card0("totalvfs: 8"), "gpu-00", "gpu-01"), "ens1", "ens2"), "---\n", 2)[1], nil,
		},
		{"more than the firmware, plugin off", "num-vfs", pol("nicSelector: {pfNames: [ens1]}") + fill(someConfig,
			"SPEC", "disablePlugins: [mellanox]"), card0("totalvfs: 4"), []string{"error spec.numVfs"}},
		{
			"more than the firmware, plugin on", "num-vfs", pol("nicSelector: {pfNames: [ens1]}"),
			card0("totalvfs: 4"), nil,
		},
		{"as the firmware, plugin off", "num-vfs", pol("nicSelector: {pfNames: [ens1]}") + fill(someConfig, "SPEC",
			"disablePlugins: [mellanox]"), card0("totalvfs: 8"), nil},
		{"RDMA by the webhook", "device-type", strings.Replace(pol("linkType: IB, nicSelector: {pfNames: [ens1]}"),
			"isRdma: true, ", "", 1) + fill(someConfig, "SPEC", "enableOperatorWebhook: true"), "", nil},
		{
			"RDMA by the webhook, which looks at linkType", "device-type",
			strings.Replace(pol("nicSelector: {pfNames: [ens1]}"), "isRdma: true, ", "",
				1) + fill(someConfig, "SPEC", "enableOperatorWebhook: true"),
			card0("totalvfs: 8, linkType: IB"),
			[]string{"warn spec"},
		},
		{"no RDMA without the webhook", "device-type", strings.Replace(
			pol("linkType: IB, nicSelector: {pfNames: [ens1]}"), "isRdma: true, ", "", 1,
		) + fill(someConfig, "SPEC", "enableOperatorWebhook: false"), "", []string{"warn spec"}},
		{
			"jumbo frames on InfiniBand", "policy-combination",
			pol("linkType: IB, mtu: 9000, nicSelector: {pfNames: [ens1]}"), "",
			[]string{"warn spec.mtu"},
		},
		{
			"mtu of InfiniBand", "policy-combination",
			pol("linkType: IB, mtu: 4092, nicSelector: {pfNames: [ens1]}"), "", nil,
		},
		{
			"jumbo frames on Ethernet", "policy-combination",
			pol("linkType: eth, mtu: 9000, nicSelector: {pfNames: [ens1]}"), "", nil,
		},
		{
			"other nodes, of which no label is known", "policy-overlap",
			fill(somePolicy, "SPEC", "nicSelector: {pfNames: [ens1]}") + strings.Replace(
				fill(somePolicy, "NAME", "b", "SPEC", "nicSelector: {pfNames: [ens1]}"), "pool: gpu", "pool: storage",
				1),
			strings.SplitAfterN(card0("totalvfs: 8"), "---\n", 2)[1], nil,
		},
		{
			"by address and by name, without nodes", "policy-overlap",
			fill(somePolicy, "SPEC", `nicSelector: {rootDevices: ["0000:3b:00.0"]}`) + fill(somePolicy, "NAME", "b",
				"SPEC", `nicSelector: {rootDevices: ["0000:3b:00.0"], pfNames: [ens1]}`), "", nil,
		},
		{"other vendor, one name", "policy-overlap", fill(
			somePolicy, "SPEC", `nicSelector: {vendor: "15b3", pfNames: [ens1]}`,
		) + fill(somePolicy, "NAME", "b", "SPEC", `nicSelector: {vendor: "8086", pfNames: [ens1]}`), "", nil},
		{
			"one device", "policy-overlap",
			fill(somePolicy, "SPEC", `nicSelector: {vendor: "15b3", deviceID: "1021"}`) + fill(somePolicy, "NAME", "b",
				"SPEC", `nicSelector: {deviceID: "1021"}`), "",
			[]string{"error spec.nicSelector"},
		},
		{
			"excludeTopology", "policy-overlap",
			fill(somePolicy, "SPEC", `excludeTopology: true, nicSelector: {pfNames: [ens1]}`) + fill(somePolicy, "NAME",
				"b", "SPEC", `nicSelector: {pfNames: [ens2]}`),
			card0("totalvfs: 8"),
			[]string{"error spec.excludeTopology"},
		},
		{
			"excludeTopology on other nodes", "policy-overlap",
			fill(somePolicy, "SPEC", `excludeTopology: true, nicSelector: {pfNames: [ens1]}`) + strings.Replace(
				fill(somePolicy, "NAME", "b", "SPEC", `nicSelector: {pfNames: [ens2]}`), "pool: gpu", "pool: cpu", 1),
			card0("totalvfs: 8"), nil,
		},
		{"labels apart", "policy-overlap", fill(somePolicy, "SPEC", "nicSelector: {rootDevices: [\"0000:3b:00.0\"]}") +
			strings.Replace(fill(somePolicy, "NAME", "b", "SPEC", "nicSelector: {rootDevices: [\"0000:3b:00.0\"]}"),
				"pool: gpu", "role: storage", 1), "", []string{"warn spec.nicSelector"}},
		{"default route of others", "ipam-gateway", strings.Replace(nadOf(
			`{"type": "macvlan", "master": "eth1", "ipam": {"type": "host-local", "subnet": "10.0.0.0/16", `+
				`"gateway": "10.0.0.1", "routes": [{"dst": "0.0.0.0/0"}]}}`,
		), "k8s.v1.cni.cncf.io/resourceName: nvidia.com/rail0", "", 1), "", nil},
		{"default route of ours", "ipam-gateway", nadOf(`{"type": "ib-sriov", "ipam": {"type": "whereabouts", ` +
			`"range": "10.0.0.0/16", "routes": [{"dst": "0.0.0.0/0"}]}}`), "", []string{"error spec.config"}},
		{"no PF", "guid-pool", guids(`[{"guids": ["02:00:00:00:00:00:00:01"]}]`), "", []string{
			"error data.guids", "error data.extra", "error data.extra",
		}},
		{
			"two PFs", "guid-pool",
			fill(strings.Replace(someMap, ", extra: 'DATA'", "", 1), "DATA", `[{"pciAddress": "0000:3b:00.0", `+
				`"pfGuid": "02:00:00:00:00:00:00:09", "guids": ["02:00:00:00:00:00:00:01"]}]`),
			"",
			[]string{"error data.guids"},
		},
		{
			"list and range", "guid-pool",
			fill(strings.Replace(someMap, ", extra: 'DATA'", "", 1), "DATA",
				`[{"pfGuid": "02:00:00:00:00:00:00:09", "guids": ["02:00:00:00:00:00:00:01"], "guidsRange": {}}]`),
			"",
			[]string{"error data.guids"},
		},
		{
			"range backwards", "guid-pool",
			fill(strings.Replace(someMap, ", extra: 'DATA'", "", 1), "DATA", `[{"pfGuid": "02:00:00:00:00:00:00:09", `+
				`"guidsRange": {"start": "02:00:00:00:00:00:00:05", "end": "02:00:00:00:00:00:00:01"}}]`),
			"",
			[]string{"error data.guids"},
		},
		{
			"half a range", "guid-pool",
			fill(strings.Replace(someMap, ", extra: 'DATA'", "", 1), "DATA",
				`[{"pfGuid": "02:00:00:00:00:00:00:09", "guidsRange": {"start": "02:00:00:00:00:00:00:05"}}]`),
			"",
			[]string{"error data.guids"},
		},
		{
			"short GUID and zeros", "guid-pool",
			fill(strings.Replace(someMap, ", extra: 'DATA'", "", 1), "DATA",
				`[{"pfGuid": "02:00:00:00:00:00:00:09", "guids": ["02:00:00:00:00:01", "00:00:00:00:00:00:00:00"]}]`),
			"",
			[]string{"error data.guids", "error data.guids"},
		},
		{"whole range", "guid-pool", fill(strings.Replace(someMap, ", extra: 'DATA'", "", 1), "DATA", `[{"pfGuid": `+
			`"02:00:00:00:00:00:00:09", "guidsRange": {"start": "00:00:00:00:00:00:00:01", "end": `+
			`"ff:ff:ff:ff:ff:ff:ff:fe"}}]`), "", nil},
		{"stray comma", "guid-pool", fill(strings.Replace(someMap, ", extra: 'DATA'", "", 1), "DATA",
			`[{"pfGuid": "02:00:00:00:00:00:00:09", "guids": [],}]`), "", []string{"error data.guids"}},
		{"PF without an entry", "guid-pool", fill(strings.Replace(someMap, ", extra: 'DATA'", "", 1), "DATA",
			`[{"pciAddress": "0000:3b:00.0", "guids": ["02:00:00:00:00:00:00:01"]}]`) + pol(
			`linkType: ib, nicSelector: {rootDevices: ["0000:5e:00.0"]}`), "", []string{"warn data.guids"}},

		// ib-kubernetes' pkg/daemon/daemon.go reads pkey, and pkg/utils/utils.go has no other field
		{
			"without ibKubernetesEnabled", "ib-kubernetes", nadOf(`{"type": "ib-sriov", "pkey": "0x0001"}`), "", nil,
		},
		{
			"wrong without ibKubernetesEnabled", "ib-kubernetes", nadOf(`{"type": "ib-sriov", "pkey": "1"}`), "",
			[]string{"error spec.config"},
		},
		{
			"no prefix", "ib-kubernetes", nadOf(`{"type": "ib-sriov", "pkey": "1", "ibKubernetesEnabled": true}`), "",
			[]string{"error spec.config"},
		},
		{
			"noop, range backwards", "ib-kubernetes",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n" +
				"data: {DAEMON_SM_PLUGIN: noop, GUID_POOL_RANGE_START: \"02:00:00:00:00:00:00:05\", " +
				"GUID_POOL_RANGE_END: \"02:00:00:00:00:00:00:01\"}\n",
			"",
			[]string{"warn data.DAEMON_SM_PLUGIN", "error data.GUID_POOL_RANGE_START"},
		},
		{
			"no such plugin, no GUID", "ib-kubernetes",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n" +
				"data: {DAEMON_SM_PLUGIN: opensm, GUID_POOL_RANGE_START: x}\n",
			"",
			[]string{"warn data.DAEMON_SM_PLUGIN", "error data.GUID_POOL_RANGE_START"},
		},

		{
			"rdma first", "nad-structure",
			nadOf(`{"cniVersion": "1.0.0", "plugins": [{"type": "rdma"}, {"type": "sriov"}]}`), "",
			[]string{"error spec.config"},
		},
		{
			"no version", "nad-structure", nadOf(`{"plugins": [{"type": "sriov"}, {"type": "rdma"}]}`), "",
			[]string{"warn spec.config"},
		},
		{"addresses behind", "nad-structure", nadOf(`{"cniVersion": "1.0.0", "plugins": [{"type": "sriov"}, {"type": ` +
			`"macvlan", "ipam": {"type": "whereabouts", "range": "10.0.0.0/24"}}]}`), "", []string{"warn spec.config"}},
		{
			"fields of sriov", "nad-structure", nadOf(`{"type": "ib-sriov", "vlan": 5, "linkState": "enable"}`), "",
			[]string{"warn spec.config", "error spec.config"},
		},
		{"no type", "nad-structure", nadOf(`{"name": "x"}`), "", []string{"error spec.config"}},
		{
			"no resource", "nad-structure",
			strings.Replace(nadOf(`{"type": "sriov"}`), "k8s.v1.cni.cncf.io/resourceName: nvidia.com/rail0", "", 1),
			"",
			[]string{`warn metadata.annotations["k8s.v1.cni.cncf.io/resourceName"]`},
		},
		{
			"no resource on InfiniBand", "nad-structure",
			strings.Replace(nadOf(`{"type": "ib-sriov"}`), "k8s.v1.cni.cncf.io/resourceName: nvidia.com/rail0", "", 1),
			"",
			[]string{`error metadata.annotations["k8s.v1.cni.cncf.io/resourceName"]`},
		},
		// k8snetworkplumbingwg/dra-driver-sriov: its demos have no such annotation
		{
			"a claim gives the VF", "nad-structure",
			strings.Replace(nadOf(`{"type": "sriov"}`), "k8s.v1.cni.cncf.io/resourceName: nvidia.com/rail0", "", 1) +
				"\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: vf}\nspec: {}\n",
			"", nil,
		},
		{
			"spec.containers of another kind", "unknown-field",
			"apiVersion: example.org/v1\nkind: Bundle\nmetadata: {name: a}\n" +
				"spec: {containers: [{name: a, size: 3}], colour: red}\n", "", nil,
		},
		{"no prefix", "nad-structure", strings.Replace(nadOf(`{"type": "sriov"}`), "nvidia.com/", "", 1), "", []string{
			`error metadata.annotations["k8s.v1.cni.cncf.io/resourceName"]`,
		}},
		{"a device by hand", "nad-structure", strings.Replace(nadOf(`{"type": "sriov", "deviceID": "0000:3b:00.2"}`),
			"k8s.v1.cni.cncf.io/resourceName: nvidia.com/rail0", "", 1), "", nil},
		{
			"truth in quotes", "nad-structure", nadOf(`{"type": "ib-sriov", "rdmaIsolation": "true"}`), "",
			[]string{"error spec.config"},
		},
		{
			"values of nobody", "nad-structure",
			nadOf(`{"type": "sriov", "link_state": "enabled", "spoofchk": "yes", "vlan": 4095}`), "",
			[]string{"error spec.config", "error spec.config", "error spec.config"},
		},
		{"values", "nad-structure", nadOf(
			`{"type": "sriov", "link_state": "enable", "spoofchk": "off", "vlan": 10, "ipam": {"type": "whereabouts"}}`,
		), "", nil},
		{"half a VF", "pod-resource", ipamOf(`{}`) + strings.ReplaceAll(fill(somePod, "NETWORKS", "rail0", "POD", ""),
			"rail0: 1", "rail0: 1.5"), "", []string{`error spec.containers[0].resources.limits["nvidia.com/rail0"]`}},
		{"a thousand thousandths", "pod-resource", ipamOf(`{}`) +
			strings.ReplaceAll(fill(somePod, "NETWORKS", "rail0", "POD", ""), "rail0: 1", "rail0: 1000m"), "", nil},
		{"requests only", "pod-resource", ipamOf(`{}`) + strings.Replace(
			fill(somePod, "NETWORKS", "rail0", "POD", ""), "limits: {nvidia.com/rail0: 1}, ", "", 1,
		), "", []string{`error spec.containers[0].resources.requests["nvidia.com/rail0"]`}},
		{
			"CAP_ in front", "pod-ipc-lock",
			ipamOf(`{}`) + strings.Replace(fill(somePod, "NETWORKS", "rail0", "POD", ""), "name: a, res",
				"name: a, securityContext: {capabilities: {add: [CAP_IPC_LOCK]}}, res", 1),
			"",
			[]string{"warn spec.containers[0].securityContext.capabilities.add"},
		},
		{"lower case", "pod-ipc-lock", ipamOf(`{}`) + strings.Replace(fill(somePod, "NETWORKS", "rail0", "POD", ""),
			"name: a, res", "name: a, securityContext: {capabilities: {add: [ipc_lock]}}, res", 1), "", nil},
		{"not for RDMA", "pod-ipc-lock", strings.Replace(pol("nicSelector: {vendor: \"8086\"}"), "isRdma: true",
			"isRdma: false", 1) + ipamOf(`{}`) + fill(somePod, "NETWORKS", "rail0", "POD", ""), "", nil},
		{"not for RDMA", "ipam-gateway", strings.Replace(
			pol("nicSelector: {vendor: \"8086\"}"), "isRdma: true", "isRdma: false", 1,
		) + strings.Replace(ipamOf(`{"type": "whereabouts", "range": "10.0.0.0/24", "routes": [{"dst": "0.0.0.0/0"}]}`),
			"SriovIBNetwork", "SriovNetwork", 1), "", nil},
		// the operator's examples for DPDK: VFs of Intel's cards, with no word of RDMA
		{"plain VFs", "ipam-gateway", plainNetwork(`{"type": "whereabouts", "range": "10.0.0.0/24", "exclude": ` +
			`["10.0.0.1/32"], "gateway": "10.0.0.1", "routes": [{"dst": "0.0.0.0/0"}]}`), "", nil},
		{"plain VFs with a gateway", "ipam-gateway", plainNetwork(`{"type": "whereabouts", "range": "10.0.0.0/24", ` +
			`"exclude": ["10.0.0.1/32"], "gateway": "10.0.0.1"}`), "", nil},
		{"plain VFs, but malformed", "ipam-gateway", plainNetwork(`{"type": "whereabouts", "range": "10.0.0.0/24", ` +
			`"routes": [{"dst": "0.0.0.0"}]}`), "", []string{"error spec.ipam"}},
		{"plain VFs without addresses", "ipam-empty", plainNetwork(""), "", []string{"note spec.ipam"}},
		{
			"DPDK without addresses", "ipam-empty",
			strings.Replace(pol("deviceType: vfio-pci, nicSelector: {vendor: \"8086\"}"), "isRdma: true, ", "", 1) +
				plainNetwork(""), "", nil,
		},
		{
			"VFs of Intel, isRdma absent", "ipam-empty",
			strings.Replace(pol("nicSelector: {vendor: \"8086\"}"), "isRdma: true, ", "", 1) + plainNetwork(""),
			"", nil,
		},
		{
			"VFs of NVIDIA, isRdma absent", "ipam-empty",
			strings.Replace(pol("nicSelector: {vendor: \"15b3\"}"), "isRdma: true, ", "", 1) + plainNetwork(""), "",
			[]string{"note spec.ipam"},
		},
		{
			"VFs of unknown cards, isRdma absent", "ipam-empty",
			strings.Replace(pol("nicSelector: {pfNames: [ens1]}"), "isRdma: true, ", "", 1) + plainNetwork(""), "",
			[]string{"note spec.ipam"},
		},
		{
			"a pod with plain VFs", "pod-ipc-lock",
			plainNetwork("") +
				strings.ReplaceAll(fill(somePod, "NETWORKS", "rail0", "POD", ""), "nvidia.com", "intel.com"),
			"", nil,
		},
		{
			"a pod with VFs whose name says RDMA", "pod-ipc-lock",
			plainNetwork("") + strings.ReplaceAll(fill(somePod, "NETWORKS", "rail0", "POD", ""), "nvidia.com/rail0",
				"intel.com/rail0_rdma") + strings.ReplaceAll(plainNetwork(""), "rail0", "rail0_rdma"), "",
			[]string{"warn spec.containers[0].name"},
		},
		{
			"ipam in ipam", "ipam-fields", ipamOf(`{"ipam": {"type": "whereabouts", "range": "10.0.0.0/24"}}`), "",
			[]string{"error spec.ipam"},
		},
		{"network of Spiderpool, and of OpenShift", "pod-network", ipamOf(`{}`) + "\napiVersion: " +
			"spiderpool.spidernet.io/v2beta1\nkind: SpiderMultusConfig\nmetadata: {name: spider0}\n---\n" +
			"apiVersion: operator.openshift.io/v1\nkind: Network\nmetadata: {name: cluster}\n" +
			"spec: {additionalNetworks: [{name: storage}]}\n" +
			"---" + fill(somePod, "NETWORKS", "spider0, storage", "POD", ""), "", nil},
		{
			"network of nobody beside those", "pod-network",
			ipamOf(`{}`) + "\napiVersion: operator.openshift.io/v1\nkind: Network\nmetadata: {name: cluster}\n" +
				"spec: {additionalNetworks: [{name: storage}]}\n---" + fill(somePod, "NETWORKS", "cluster0", "POD", ""),
			"",
			[]string{`warn metadata.annotations["k8s.v1.cni.cncf.io/networks"]`},
		},
		{"a program for a plugin, beside the network's", "nad-structure", strings.Replace(ipamOf(`{}`), "spec: {",
			`spec: {metaPlugins: '{"type": "rdma-cni"}', `, 1), "", []string{"error spec.metaPlugins"}},
		{"right beside the network's", "nad-structure", strings.Replace(ipamOf(`{}`), "spec: {",
			`spec: {metaPlugins: '{"type": "tuning"}, {"type": "own"}', `, 1), "", nil},
		{"a list in a list", "ipam-json", strings.Replace(ipamOf(`{}`), "spec: {",
			`spec: {metaPlugins: '[{"type": "tuning"}]', `, 1), "", []string{"error spec.metaPlugins"}},
		{
			"a word", "ipam-json", strings.Replace(ipamOf(`{}`), "spec: {", `spec: {metaPlugins: '"rdma"', `, 1), "",
			[]string{"error spec.metaPlugins"},
		},
		{"two plugins", "ipam-json", strings.Replace(ipamOf(`{}`), "spec: {",
			`spec: {metaPlugins: ' {"type": "tuning"}, {"type": "sbr"}', `, 1), "", nil},
		{
			"truth in quotes", "network-capabilities", strings.Replace(ipamOf(`{}`), "true}", `"true"}`, 1), "",
			[]string{"error spec.capabilities"},
		},
		{"upper and lower case", "network-capabilities", strings.Replace(ipamOf(`{}`), "infinibandGUID",
			"infinibandGuid", 1), "", []string{"warn spec.capabilities"}},
		{"guessed", "nad-structure", nadOf(`{"type": "infiniband_sriov"}`), "", []string{"error spec.config"}},

		{"no type", "ipam-fields", ipamOf(`{"range": "10.0.0.0/24"}`), "", []string{"error spec.ipam"}},
		{
			"misspelt type", "ipam-fields", ipamOf(`{"type": "whereabout", "range": "10.0.0.0/24"}`), "",
			[]string{"error spec.ipam"},
		},
		{"no range", "ipam-fields", ipamOf(`{"type": "whereabouts"}`), "", []string{"error spec.ipam"}},
		{
			"misspelt field", "ipam-fields", ipamOf(`{"type": "whereabouts", "range": "10.0.0.0/24", "excludes": []}`),
			"",
			[]string{"error spec.ipam"},
		},
		{
			"host-local's other way round", "ipam-fields", ipamOf(`{"type": "host-local", "range": "10.0.0.0/24"}`),
			"",
			[]string{"error spec.ipam"},
		},
		{
			"slice as wide as the range", "ipam-fields",
			ipamOf(`{"type": "whereabouts", "range": "10.0.0.0/24", "node_slice_size": "/24"}`), "",
			[]string{"error spec.ipam"},
		},
		{
			"slice is a word", "ipam-fields",
			ipamOf(`{"type": "whereabouts", "range": "10.0.0.0/24", "node_slice_size": "big"}`), "",
			[]string{"error spec.ipam"},
		},
		{
			"slice right", "ipam-fields",
			ipamOf(`{"type": "whereabouts", "range": "10.0.0.0/24", "node_slice_size": "28"}`), "", nil,
		},
		{
			"in a definition", "ipam-fields",
			nadOf(`{"type": "ib-sriov", "ipam": {"type": "whereabouts", "subnet": "10.0.0.0/24"}}`), "",
			[]string{"error spec.config"},
		},
		{
			"start outside", "ipam-range", ipamOf(`{"type": "whereabouts", "range": "10.0.1.5-10.0.0.9/24"}`), "",
			[]string{"error spec.ipam"},
		},
		{
			"backwards", "ipam-range", ipamOf(`{"type": "whereabouts", "range": "10.0.0.9-10.0.0.5/24"}`), "",
			[]string{"error spec.ipam"},
		},
		{
			"bounds twice", "ipam-range",
			ipamOf(`{"type": "whereabouts", "range": "10.0.0.5-10.0.0.9/24", "range_start": "10.0.0.7"}`), "",
			[]string{"warn spec.ipam"},
		},
		{"dashed and right", "ipam-range", ipamOf(`{"type": "whereabouts", "range": "10.0.0.5-10.0.0.9/24"}`), "", nil},

		{"InfiniBand", "rdma-isolation", fill(somePool, "SPEC", "rdmaMode: exclusive") + pol(
			"linkType: ib, nicSelector: {pfNames: [ens1]}") + ipamOf(`{}`), "", []string{"error spec"}},
		{"by hand", "rdma-isolation", fill(somePool, "SPEC", "rdmaMode: exclusive") + pol(
			"linkType: ib, nicSelector: {pfNames: [ens1]}",
		) + nadOf(`{"type": "ib-sriov"}`), "", []string{"error spec.config"}},
		{"by hand and right", "rdma-isolation", fill(somePool, "SPEC", "rdmaMode: exclusive") + pol(
			"linkType: ib, nicSelector: {pfNames: [ens1]}",
		) + nadOf(`{"type": "ib-sriov", "rdmaIsolation": true}`), "", nil},
		{"shared", "rdma-isolation", fill(somePool, "SPEC", "rdmaMode: shared") + pol(
			"linkType: ib, nicSelector: {pfNames: [ens1]}") + nadOf(`{"type": "ib-sriov"}`), "", nil},
		{
			"nodes of another pool", "rdma-isolation",
			fill(somePool, "SPEC", "rdmaMode: exclusive, nodeSelector: {matchLabels: {pool: roce}}") + pol(
				"linkType: ib, nicSelector: {pfNames: [ens1]}") + ipamOf(`{}`),
			card0("linkType: IB, totalvfs: 8"), nil,
		},
		{
			"nodes of the pool", "rdma-isolation",
			fill(somePool, "SPEC", "rdmaMode: exclusive, nodeSelector: {matchLabels: {pool: gpu}}") + fill(
				somePool, "NAME", "b", "SPEC", "rdmaMode: shared, nodeSelector: {matchLabels: {pool: roce}}",
			) + pol("linkType: ib, nicSelector: {pfNames: [ens1]}") + ipamOf(`{}`),
			card0("linkType: IB, totalvfs: 8"),
			[]string{"error spec"},
		},
		{
			"isolation on nodes of the other pool", "rdma-mode",
			fill(somePool, "SPEC", "rdmaMode: exclusive, nodeSelector: {matchLabels: {pool: roce}}") + fill(somePool,
				"NAME", "b", "SPEC", "rdmaMode: shared, nodeSelector: {matchLabels: {pool: gpu}}") + pol(
				"linkType: ib, nicSelector: {pfNames: [ens1]}") + nadOf(`{"type": "ib-sriov", "rdmaIsolation": true}`),
			card0("linkType: IB, totalvfs: 8"),
			[]string{"error spec.config"},
		},
		{
			"shared plugin on nodes of another pool", "rdma-mode",
			fill(somePool, "SPEC", "rdmaMode: exclusive, nodeSelector: {matchLabels: {pool: roce}}") +
				strings.ReplaceAll(fill(somePod, "NETWORKS", "", "POD", "nodeSelector: {pool: gpu},"),
					"nvidia.com/rail0", "rdma/shared"),
			someNode, nil,
		},
		{
			"shared plugin on nodes of the pool", "rdma-mode",
			fill(somePool, "SPEC", "rdmaMode: exclusive, nodeSelector: {matchLabels: {pool: gpu}}") +
				strings.ReplaceAll(fill(somePod, "NETWORKS", "", "POD", "nodeSelector: {pool: gpu},"),
					"nvidia.com/rail0", "rdma/shared"),
			someNode,
			[]string{`error spec.containers[0].resources.limits["rdma/shared"]`},
		},
		{
			"vdpa", "policy-combination",
			pol("vdpaType: vhost, eSwitchMode: switchdev, nicSelector: {vendor: \"15b3\"}"), "",
			[]string{"error spec.isRdma"},
		},
		{
			"vdpa of others", "policy-combination",
			strings.Replace(pol("vdpaType: vhost, eSwitchMode: switchdev, nicSelector: {vendor: \"8086\"}"),
				"isRdma: true", "isRdma: false", 1),
			"",
			[]string{"error spec.vdpaType"},
		},
		// NFD's source/custom/static_features.go since v0.14.0 (b1b306173)
		{"label as NFD has it", "nfd-label", strings.Replace(
			pol("nicSelector: {pfNames: [ens1]}"), "pool: gpu", "feature.node.kubernetes.io/rdma.capable: \"true\"", 1,
		), "", nil},
		{
			"custom-", "nfd-label", strings.Replace(pol("nicSelector: {pfNames: [ens1]}"), "pool: gpu",
				"feature.node.kubernetes.io/custom-rdma.capable: \"true\"", 1), "",
			[]string{`warn spec.nodeSelector["feature.node.kubernetes.io/custom-rdma.capable"]`},
		},
		// NFD's deployment/nodefeaturerule/samples/nodefeaturerule-custom.yaml publishes it
		{"custom- of a rule", "nfd-label", strings.Replace(pol("nicSelector: {pfNames: [ens1]}"), "pool: gpu",
			"feature.node.kubernetes.io/custom-rdma.capable: \"true\"", 1) +
			"\napiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: NodeFeatureRule\nmetadata: {name: x}\n" +
			"spec: {rules: [{labels: {custom-rdma.capable: \"true\"}}]}\n", "", nil},
		{"label that a rule makes", "nfd-label", strings.Replace(pol("nicSelector: {pfNames: [ens1]}"), "pool: gpu",
			"feature.node.kubernetes.io/pci-15b3.present: \"true\"", 1) +
			"\napiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: NodeFeatureRule\nmetadata: {name: x}\n" +
			"spec: {rules: [{labels: {pci-15b3.present: \"true\"}}]}\n", "", nil},
		{"a chart", "object-kind", "apiVersion: v2\nname: x\nversion: 1.0.0\n", "", nil},
		{
			"a patch", "duplicate-object",
			strings.Repeat("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\n", 2), "", nil,
		},
		{
			"network of another operator", "pod-network",
			ipamOf(`{}`) + "\napiVersion: mellanox.com/v1alpha1\nkind: MacvlanNetwork\nmetadata: {name: mac0}\n---" +
				fill(somePod, "NETWORKS", "mac0", "POD", ""), "", nil,
		},
		{
			"OVS", "object-kind",
			"apiVersion: sriovnetwork.openshift.io/v1\nkind: OVSNetwork\nmetadata: {name: x}\nspec: {}\n", "", nil,
		},

		{"pinned elsewhere", "pod-selector", ipamOf(`{}`) + fill(somePod, "NETWORKS", "rail0", "POD",
			"nodeName: cpu-00,"), someNode, []string{`error spec.containers[0].resources.limits["nvidia.com/rail0"]`}},
		{
			"fits", "pod-selector",
			ipamOf(`{}`) + fill(somePod, "NETWORKS", "rail0", "POD", "nodeSelector: {pool: gpu},"), someNode, nil,
		},
		{"no capability", "pod-guid", strings.Replace(ipamOf(`{}`), "infinibandGUID", "ips", 1) + fill(
			somePod, "NETWORKS", `[{"name": "rail0", "infiniband-guid": "02:00:00:00:00:00:00:01"}]`, "POD", "",
		), "", []string{`error metadata.annotations["k8s.v1.cni.cncf.io/networks"]`}},
		{"zeros", "pod-guid", ipamOf(`{}`) + fill(
			somePod, "NETWORKS", `[{"name": "rail0", "infiniband-guid": "00:00:00:00:00:00:00:00"}]`, "POD", "",
		), "", []string{`error metadata.annotations["k8s.v1.cni.cncf.io/networks"]`}},
		{
			"default route", "pod-address",
			ipamOf(`{"type": "whereabouts", "range": "10.0.0.0/24"}`) +
				fill(somePod, "NETWORKS", `[{"name": "rail0", "default-route": ["10.0.0.1"]}]`, "POD", ""),
			"",
			[]string{`error metadata.annotations["k8s.v1.cni.cncf.io/networks"]`},
		},
		{
			"one address in two namespaces", "pod-address",
			fill(somePod, "NETWORKS", `[{"name": "rail0", "ips": ["10.0.0.7/24"]}]`, "POD", "") + strings.Replace(
				fill(somePod, "NAME", "b", "NETWORKS", `[{"name": "rail0", "ips": ["10.0.0.7"]}]`, "POD", ""),
				"namespace: ml", "namespace: other", 1),
			"", nil,
		},
		{
			"exclude without exclusions", "ipam-exclude",
			ipamOf(`{"type": "whereabouts", "range": "10.0.0.0/24", "range_start": "10.0.0.255"}`), "", nil,
		},
		{
			"multicast", "ipam-special", ipamOf(`{"type": "whereabouts", "range": "ff05::/64"}`), "",
			[]string{"error spec.ipam"},
		},
		{
			"link-local", "ipam-special", ipamOf(`{"type": "whereabouts", "range": "fe80::/64"}`), "",
			[]string{"error spec.ipam"},
		},
		{
			"fields of a MacvlanNetwork", "ipam-fields", "apiVersion: mellanox.com/v1alpha1\nkind: MacvlanNetwork\n" +
				"metadata: {name: a}\nspec: {master: ens1, ipam: '{\"type\": \"whereabouts\", \"subnet\": " +
				"\"10.0.0.0/24\"}'}\n", "", []string{"error spec.ipam"},
		},
		{
			"plugin of a HostDeviceNetwork", "ipam-type",
			"apiVersion: mellanox.com/v1alpha1\nkind: HostDeviceNetwork\n" +
				"metadata: {name: a}\nspec: {resourceName: r, ipam: '{\"type\": \"whereabout\"}'}\n", "",
			[]string{"error spec.ipam"},
		},
		{
			"default route over a network that may be the way out", "pod-address",
			fill(somePod, "NETWORKS", `[{"name": "rail0", "default-route": ["10.0.0.1"]}]`, "POD", ""), "", nil,
		},
		{
			"one address, two pods", "pod-address",
			fill(somePod, "NETWORKS", `[{"name": "rail0", "ips": ["10.0.0.7/24"]}]`, "POD",
				"") + fill(somePod, "NAME", "b", "NETWORKS", `[{"name": "rail0", "ips": ["10.0.0.7"]}]`, "POD", ""),
			"",
			[]string{`error metadata.annotations["k8s.v1.cni.cncf.io/networks"]`},
		},
		{"field of a policy", "unknown-field", strings.Replace(
			fill(somePod, "NETWORKS", "rail0", "POD", ""), "name: a, resources", "name: a, isRdma: true, resources", 1,
		), "", []string{"error spec.containers[0].isRdma"}},
		{"upper case", "pod-network", ipamOf(`{}`) + fill(somePod, "NETWORKS", "Rail0", "POD", ""), "", []string{
			`error metadata.annotations["k8s.v1.cni.cncf.io/networks"]`,
		}},
		{"long interface", "pod-network", ipamOf(`{}`) + fill(somePod, "NETWORKS", "rail0@interface-of-rail-0", "POD",
			""), "", []string{`error metadata.annotations["k8s.v1.cni.cncf.io/networks"]`}},
	}
	for _, tt := range tests {
		t.Run(tt.rule+"/"+tt.name, func(t *testing.T) {
			var got []string
			for _, f := range check(t, tt.rule, tt.in, tt.nodes) {
				got = append(got, string(f.Severity)+" "+f.Path)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings of %s differ (-want +got):\n%s", tt.rule, diff)
			}
		})
	}
}

// check applies one rule to a manifest, with nodes if there are any.
func check(t *testing.T, rule, text, nodes string) []Finding {
	t.Helper()
	in := Input{Manifests: manifest.Parse("in.yaml", []byte(text)), Options: Options{Only: []string{rule}}}
	if len(in.Manifests.Problems) > 0 {
		t.Fatalf("the manifest is broken: %+v", in.Manifests.Problems)
	}
	if nodes != "" {
		in.Cluster = clusterOf(t, nodes)
	}
	findings := Run(in).Findings
	for _, f := range findings {
		t.Logf("%s %s; %s; %s", f.Place(), f.Summary, f.Remedy, f.Fix)
	}
	return findings
}

// clusterOf reads nodes from a text.
func clusterOf(t *testing.T, text string) source.Cluster {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nodes.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster, err := (source.Files{Names: []string{file}}).Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}
