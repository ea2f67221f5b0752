// Package dcbnl asks the running kernel for the data center bridging settings of network devices:
// priority flow control, transmission selection, the maps of protocols to priorities, receive
// buffers, and what the switch announces. It only reads, and needs no privilege.
//
//	var kernel dcbnl.Client
//	state, err := kernel.Query(ctx, "eth0")
//	if errors.Is(err, errors.ErrUnsupported) { … } // the driver has no DCB
//
// A [Client] has no socket: each call opens one in the network namespace of the calling thread and
// closes it, so calls may run concurrently.
//
// # Limits
//
// Only the settings of IEEE 802.1Qaz are read, not those of the older CEE. A driver that leaves
// LLDP to a daemon doesn't know the peer's settings. The package was tested with messages that
// iproute2's dcb encoded and decoded, and in the kernel guest on a driver for tests whose settings
// dcb had made; it never ran on a card.
package dcbnl
