// Package host creates emulated nodes: the files of a GPU server with RDMA cards, as a
// tree that the scanner for real nodes can read.
//
//	tree, err := host.New(host.Demo())
//	snapshot, err := inventory.Scan(ctx, inventory.Sources{Root: tree.FS()})
//
// A [Spec] sets the number of rails, their card, rate and link layer (Ethernet or
// [InfiniBand]), the GPUs, and the injected faults. Everything else (PCI addresses, GUIDs,
// MAC and IP addresses, LIDs, names) is derived from the Spec and the number of the node,
// so that nodes with the same Spec form a cluster without duplicate addresses.
//
// The tree has all files that rdmakit reads and a few more, in the kernel's formats (Linux
// 6.8, mlx5): /sys with the PCI topology, /proc with modules, limits and routes,
// /dev/infiniband and the libraries as empty files, and live.json with the results of
// netlink queries. The node has no traffic, and its counters don't change unless a test
// sets them.
//
// All functions may be called concurrently.
package host
