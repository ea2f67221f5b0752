// Package rdmanl queries the running kernel, with netlink, for RDMA devices (nldev) and for network
// devices, addresses, routes, policy rules and neighbours (rtnetlink). It only reads: no message of
// this package changes anything, and with usual kernel settings none needs privileges.
//
//	var kernel rdmanl.Client
//	devices, err := kernel.Devices(ctx)
//	if errors.Is(err, rdmanl.ErrNoRDMANetlink) { … } // ib_core is not loaded
//	for _, d := range devices {
//		ports, err := kernel.Ports(ctx, d)
//		…
//	}
//
// Results are plain structs that can be marshaled to JSON. A value that the kernel didn't
// send is nil, "" or an invalid netip value, and is omitted from the JSON; a zero means
// that the kernel has sent zero. Unknown attributes are skipped. A list has everything
// that could be read, even if the error is not nil.
//
// # Concurrency
//
// A [Client] has no socket: each call opens one in the network namespace of the calling
// thread and closes it, so calls may run concurrently, and a canceled call can't leave a
// part of its response for the next one. A context limits each call even if the kernel
// doesn't return from a driver's port query; the goroutine that waits for the kernel then
// ends when it returns.
//
// # Limits
//
// Opening an RDMA netlink socket makes the kernel load ib_core if it is installed, and a
// query for a character device makes it load ib_uverbs or ib_umad; `rdma` and libibverbs
// have the same effect. nldev doesn't report the GID table and the link layer: these are
// in sysfs. In the exclusive mode, devices of other namespaces are not visible. A port's
// network device is omitted if it is in another namespace. The VF list of a network device
// is one attribute of at most 64 KiB, which overflows (kernel 6.1: with 278 or more VFs
// with GUIDs); this is an error, and the device is returned with the VFs up to there.
package rdmanl
