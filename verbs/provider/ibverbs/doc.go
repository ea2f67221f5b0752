// Package ibverbs is the provider for hardware devices and for the kernel's rxe and siw. It opens
// libibverbs at run time, without cgo, and implements the contract of package provider with it. It
// was run on the kernel's software devices only, and on a stand-in for the library that rejects and
// fails on demand: never on a card.
//
//	device, err := verbs.Open(ctx, "mlx5_0", ibverbs.Provider{})
//
// The package also lists devices and queries their attributes without a data path:
//
//	library, err := ibverbs.Load()
//	if err != nil { ... }                      // matches errors.ErrUnsupported if it is not installed
//	defer library.Close()
//	recording, err := library.Describe(ctx)    // everything that ibv_devinfo -v shows, of all devices
//
// The function [Describe] also loads and closes the library, for callers that need only the
// recording.
//
// # What works
//
// Queue pairs of type RC, UC and UD, in all states; SEND, WRITE and READ, with immediate and
// inline data, and atomics; shared receive queues, address handles, memory windows of type 2, SEND
// with invalidate; completion queues with all three modes of Wait, completion channels, and
// asynchronous events; registration of Go memory, of C memory and of dma-buf, at an address of the
// program's choice too. Capabilities of a device are those that it reports or, for UC and dma-buf,
// that it had when Open tried them. There are no timestamps and no memory windows of type 1;
// extended queue pairs and completion queues (ibv_create_qp_ex) are not used.
// AccessRelaxedOrdering is passed on, but no device reports what it does with it. With rxe (Linux
// 6.1) completions have no WCInvalidated.
//
// On iWARP a SEND or WRITE has completed when TCP has it. With siw (Linux 6.1) a READ may complete
// after requests that were posted later, the access flags of a queue pair have no effect, peers may
// read every region of its protection domain, and regions can't have an address of the program's
// choice. Other iWARP drivers also require AccessRemoteWrite for the region that a READ fills.
//
// Go memory of a region is pinned for the Go runtime too, and stays reachable until the region is
// closed, even if the program drops it.
//
// # Connections
//
// Devices have CapConnector, for Listen and Dial, where librdmacm is installed (since rdma-core 23)
// and the process may open /dev/infiniband/rdma_cm. iWARP devices connect in no other way, over a
// TCP connection of the kernel; the connection's initiator must send first. An unspecified address
// listens on the port of all devices, and requests that arrive at others are rejected. A request
// that Next has returned must be accepted or rejected, and its listener and connections closed,
// before the device.
//
// A queue pair is in use as long as its connection isn't closed. If the context of a Dial ends
// while an iWARP peer doesn't answer, it stays in use until the kernel gives up, after some
// seconds. Each listener and each connection has two file descriptors, and a connection a
// goroutine, which waits in Go's poller.
//
// # The data path
//
// Posting and polling call the driver directly, as the inline functions of infiniband/verbs.h do.
// Requests are converted to C structs outside of the Go heap, chained, and posted with one call for
// up to 32 of them; a poll takes up to 64 completions. A call of C costs about 30 ns and allocates
// nothing. The wr_id of a request is the provider's; the program's ID is kept in Go.
//
// # Waiting
//
// A query is a command to the device's firmware. If the firmware hangs, the caller blocks in the
// kernel and can't be interrupted. Therefore every call that takes a context runs in a separate
// goroutine. If the context ends first, the call returns, but the goroutine occupies one thread
// until the driver responds. The objects that it uses (device, library) stay open until then, even
// if they are closed, which doesn't wait. Calls without a context, such as CreateQP, wait for the
// driver. Completions and events are waited for in Go's poller: no thread sleeps for them.
//
// # Concurrency
//
// All methods may be called concurrently; libibverbs has its own locks. The objects of
// [Library.Devices] may be closed in any order: each is freed when the last call that uses it has
// returned. Those of a [provider.Device] are closed in the order that the contract states, with
// provider.ErrBusy otherwise, and after a Close no call passes the object to C.
//
// # Errors
//
// A missing library or function is a *dl.Error, a rejected verb an [Error]; both say what to
// install or to set. If pinning memory fails, the remedy names RLIMIT_MEMLOCK and its value.
//
// libibverbs writes warnings to standard error, for instance about a driver that it can't load;
// this can't be disabled.
package ibverbs
