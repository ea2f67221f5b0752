// Package host makes emulated nodes: the files that a GPU server with RDMA
// cards would show, as a tree that the same scanner reads as a real node.
//
//	tree, err := host.New(host.Demo())
//	snapshot, err := inventory.Scan(ctx, inventory.Sources{Root: tree.FS()})
//
// A [Spec] says how many rails, of which card and rate, on Ethernet or [InfiniBand],
// which GPUs sit beside them and which faults are planted; everything else (PCI
// addresses, GUIDs, MAC and IP addresses, LIDs, names) follows from it and from
// the number of the node, so that nodes of one Spec form a cluster in which
// nothing is twice.
//
// The tree holds what rdmakit reads and a little more, in the kernel's own
// formats (Linux 6.8, mlx5): /sys with the PCI topology, /proc with modules,
// limits and routes, /dev/infiniband as empty files, the libraries as empty
// files, and live.json with what netlink would answer. It does not carry
// traffic, and its counters stand still unless a test sets them.
//
// All functions may be called from several goroutines.
package host
