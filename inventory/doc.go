// Package inventory models the RDMA hardware and software of a node: devices, ports,
// GID tables, network devices, PCI functions, SR-IOV, GPUs and limits.
//
// [Scan] reads it below a root that the caller passes, so the same code works for the
// running machine, a recorded tree and a tree in memory:
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
//	// err joins the errors of what could not be read; snap has everything else.
//
// A [Snapshot] is plain data. Scan only reads: it loads and changes nothing. It opens and closes
// uverbs devices and rdma_cm, to check the permissions of the process. Counters are not part of a
// Snapshot, since reading one may take a firmware command; see [ReadCounters].
//
// Scan may be called concurrently; one call reads sequentially. Data that the kernel provides
// neither in files nor by netlink, such as the active MTU of an InfiniBand port or the device
// capabilities, requires the verbs library and is not included.
package inventory
