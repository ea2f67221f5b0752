// Package inventory models what RDMA a node has: devices, ports, GID tables,
// network devices, PCI functions, SR-IOV, GPUs and limits.
//
// [Scan] reads it over an injected root, so the same code serves the running
// machine, a recorded tree and a tree in memory:
//
//	src, err := inventory.Local()          // this machine: files, netlink, limits
//	if err != nil { … }
//	defer src.Close()
//	snap, err := inventory.Scan(ctx, src.Sources)
//	for _, dev := range snap.Devices {
//		for _, port := range dev.Ports {
//			fmt.Println(dev.Name, port.Number, port.Transport, port.State)
//		}
//	}
//	// err holds what could not be read; snap holds everything else.
//
// A [Snapshot] is plain data. Scan only reads: it opens uverbs devices and rdma_cm at most (to
// see whether a process may), loads nothing, and changes nothing. Counters are not part of a
// Snapshot, for reading them can cost a firmware command each; see [ReadCounters].
//
// Scan may be called from several goroutines; one call reads sequentially. What the kernel offers
// neither in files nor by netlink, such as the active MTU of an InfiniBand port
// or the device capabilities, needs the verbs library and is not here.
package inventory
