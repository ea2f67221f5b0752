// Package impact predicts what the SR-IOV operator does to the nodes of a cluster when manifests
// are applied: nothing, drain, or reboot; the cards and settings that cause it, the number of
// rounds, and how to avoid it.
//
//	set, err := manifest.Read([]string{"sriov/"}, os.Stdin)
//	cluster, err := source.Files{Names: []string{"cluster.yaml"}}.Cluster(ctx)
//	report := impact.Run(impact.Input{Manifests: set, Cluster: cluster})
//	for _, n := range report.Nodes { fmt.Println(n.Name, n.Action) }
//
// It follows the operator's algorithm (sriov-network-operator, main of 2026-08-06). Policies are
// combined to one desired setting for each PF (effective.go;
// controllers/sriovnetworknodepolicy_controller.go, api/v1/helper.go). The plugins of the daemon
// compare the setting with the node (generic.go, mellanox.go, system.go; pkg/plugins). Pools limit
// how many nodes may drain at a time (rounds.go; controllers/drain_controller_helper.go).
//
// Facts that neither a SriovNetworkNodeState nor a snapshot records stay open: a [Reason] that is
// Open describes what it depends on, and Worst of a [Node] is the worst possible action. The
// firmware's NUM_OF_VFS is such a fact without the output of mstconfig. If sriov_totalvfs of sysfs
// is used instead, the Assumptions of the report state it.
//
// [Run] depends on its input only, keeps no state and is safe for concurrent use. It never panics
// on input.
package impact
