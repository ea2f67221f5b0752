// Package rdmanl asks the running kernel, over netlink, what it knows of RDMA
// devices (nldev) and of network devices, addresses and routes (rtnetlink). It
// only reads: no message of this package changes anything, and none needs a
// privilege on a usual kernel.
//
//	var kernel rdmanl.Client
//	devices, err := kernel.Devices(ctx)
//	if errors.Is(err, rdmanl.ErrNoRDMANetlink) { … } // ib_core is not loaded
//	for _, d := range devices {
//		ports, err := kernel.Ports(ctx, d)
//		…
//	}
//
// Answers are plain structs that marshal to JSON. What a kernel leaves out is
// nil, "" or an invalid netip value, and is omitted from the JSON; a zero is a
// zero that the kernel sent. Unknown attributes are skipped. A list comes with
// everything that could be read, even when the error is not nil.
//
// # Concurrency
//
// A [Client] holds no socket: each call opens one in the network namespace of the
// calling thread and closes it, so calls may run at the same time, and one that
// is cut short can't leave half an answer for the next. A context bounds each
// call even where the kernel doesn't return from a driver's port query; the
// goroutine that waits for the kernel then ends by itself once it does.
//
// # Limits
//
// Opening an RDMA netlink socket makes the kernel load ib_core if it is
// installed, and asking for a character device makes it load ib_uverbs or
// ib_umad; `rdma` and libibverbs have the same effect. nldev has no GID table
// and no link layer: those are in sysfs. Devices of other namespaces are left
// out in the exclusive mode. A port's network device is left out when it lives
// in another namespace. The VF list of a network device is one attribute of at
// most 64 KiB, which the kernel overflows (6.1: from 278 VFs with GUIDs on);
// that is an error, and the device is kept with the VFs that it has until then.
package rdmanl
