// Package impact tells what the SR-IOV operator will do to the nodes of a cluster when manifests
// are applied: nothing, drain, or reboot; because of which card and setting, in how many rounds,
// and what would avoid it.
//
//	set, err := manifest.Read([]string{"sriov/"}, os.Stdin)
//	cluster, err := source.Files{Names: []string{"cluster.yaml"}}.Cluster(ctx)
//	report := impact.Run(impact.Input{Manifests: set, Cluster: cluster})
//	for _, n := range report.Nodes { fmt.Println(n.Name, n.Action) }
//
// It follows the operator step by step (sriov-network-operator, main of 2026-08-06): policies
// become one wanted setting for each PF (effective.go;
// controllers/sriovnetworknodepolicy_controller.go, api/v1/helper.go), the plugins of the daemon
// compare it with what the node has (generic.go, mellanox.go, system.go; pkg/plugins), and pools
// say how many nodes may drain at a time (rounds.go; controllers/drain_controller_helper.go).
//
// What neither a SriovNetworkNodeState nor a snapshot records stays open: a [Reason] that is Open
// says what decides, and a [Node]'s Worst is what it can come to. The firmware's NUM_OF_VFS is such
// a thing unless the output of mstconfig is at hand; where what sysfs says, sriov_totalvfs, stands
// for it, the Assumptions of the report say so.
//
// [Run] is a function of its input, keeps nothing and may be called by several goroutines. It never
// panics on input.
package impact
