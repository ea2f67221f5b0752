// Package launch derives what distributed programs need in their environment to
// use RDMA on a node: NCCL, NVSHMEM, UCX, Gloo, Mooncake, SGLang. Here belongs what
// makes a [Plan] for one node by rules, and what writes one as text; what judges an
// environment that others made, compares nodes, or imitates another program is a
// package below.
//
//	snapshot, err := inventory.Scan(ctx, inventory.Sources{Root: root.FS()})
//	plan, err := launch.Derive(snapshot, launch.Options{})
//	text, err := launch.Format(plan, launch.FormatShell)
//
// Derive is a pure function: node in, Plan out. Every variable of the Plan carries
// the ID of the rule that made it, the reason, and the files that told; Rules lists
// them all. A variable is set only where a library's own choice would be wrong or
// left to chance: indices of GID tables, in particular, differ between ports, nodes
// and reboots, so none is exported unless Options.PinGID asks for it and it is the
// same everywhere. What NCCL and UCX would choose by themselves is part of the Plan,
// computed by models of their algorithms (NCCL 2.30.7, UCX of 2026), which tell of
// verbs, not of the programs' other settings.
//
// The way to another node (Options.Peer) is asked for through a function: [RoutesOf]
// makes one of a snapshot, and [KernelRoutes] one that asks the running kernel.
//
// Package [github.com/rdmakit/rdmakit/launch/kserve] reproduces a widespread shell
// script instead, with its errors.
//
// The functions of the package may be called concurrently; a Plan is plain data.
package launch
