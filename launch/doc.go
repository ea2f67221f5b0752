// Package launch derives the environment variables with which distributed programs use RDMA on a
// node: NCCL, NVSHMEM, UCX, Gloo, Mooncake, SGLang. It contains the rules that derive a [Plan] for
// one node and the functions that format it. Packages below it check existing environments, compare
// nodes, and reproduce other programs.
//
//	snapshot, err := inventory.Scan(ctx, inventory.Sources{Root: root.FS()})
//	plan, err := launch.Derive(snapshot, launch.Options{})
//	text, err := launch.Format(plan, launch.FormatShell)
//
// Derive is a pure function of the snapshot and the options. Every variable of the Plan has the ID
// of its rule, the reason, and the files that it depends on; Rules lists all rules. A variable is
// set only if a library's default would be wrong or depend on chance. GID indices in particular
// differ between ports, nodes and reboots, so none is exported unless Options.PinGID is set and all
// ports have the same index. The Plan also has the default choices of NCCL and UCX, computed by
// models of their algorithms (NCCL 2.30.7, UCX of 2026). The models cover the verbs transports, not
// other settings of the programs.
//
// A function finds the route to another node (Options.Peer): [RoutesOf] returns one for a snapshot,
// [KernelRoutes] one for the running kernel.
//
// Package [github.com/rdmakit/rdmakit/launch/kserve] reproduces a common shell script instead,
// including its errors.
//
// The functions of the package may be called concurrently; a Plan is plain data.
package launch
