// Package verbs provides RDMA to Go programs: queue pairs, memory regions and completion
// queues as in the InfiniBand verbs, on hardware or on an engine in user space, without
// cgo.
//
//	device, err := verbs.Open(ctx, "roce@192.0.2.1", builtin.All()...)
//	pd, err := device.AllocatePD()
//	cq, err := device.CreateCQ(verbs.CQConfig{})
//	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq})
//	mr, err := pd.RegisterMemory(make([]byte, 1<<20), verbs.MemoryOptions{
//		Access: verbs.AccessLocalWrite | verbs.AccessRemoteWrite,
//	})
//	// exchange verbs.Remote, mr.Addr() and mr.RKey() with the peer, then
//	err = qp.Connect(verbs.ConnectConfig{PSN: psn, Remote: peer, Access: verbs.AccessRemoteWrite})
//	_, err = qp.PostSend(verbs.SendRequest{
//		ID: 1, Op: verbs.SendOpWrite, Flags: verbs.SendSignaled,
//		Segments: []verbs.Segment{mr.Segment(0, 4096)}, RemoteAddr: addr, RKey: rkey,
//	})
//	n, err := cq.Wait(ctx, completions)
//	err = completions[0].Err()
//
// # Concurrency
//
// All methods may be called concurrently, with one exception: only one goroutine at a time may
// wait with [MemoryRegion.WaitByte] on a region. Rules for ordering and ownership:
//
//   - Requests of one queue pair are executed in the order in which they were posted. If
//     several goroutines post concurrently, the requests of each call stay together. READs
//     only start in this order: a later request may complete its work before an earlier READ
//     unless it has [SendFence].
//   - Completions in one queue are in the order in which their requests completed. If several
//     goroutines poll concurrently, each completion goes to one of them.
//   - The provider owns the memory of a request from posting to completion: the program must
//     not write to it nor, for a READ or a receive, read it. Everything that the provider did
//     with the memory happens before the return of the [CompletionQueue.Poll] with the
//     completion. With [SendInline] the program may reuse the memory when
//     [QueuePair.PostSend] returns.
//   - Memory that peers may write has no owner: a program reads it after a completion (its
//     own, or one that the peer has reported) or after WaitByte has returned.
//   - The slices that are passed to PostSend, [QueuePair.PostReceive] and
//     [QueuePair.Modify] are copied.
//   - Close of a region waits for copies in progress. Close of a queue pair doesn't wait: its
//     requests never complete. Close queue pairs first, then regions and completion queues,
//     then protection domains, then the device; otherwise Close returns [ErrBusy]. Close of a
//     completion queue wakes goroutines that sleep in Wait, which returns [ErrClosed].
//
// # Waiting
//
// [CQConfig] sets how [CompletionQueue.Wait] waits. [WaitEvent] sleeps until the device
// reports a completion. [WaitBusy] polls continuously. [WaitHybrid], the default, polls for
// 50 microseconds and then sleeps. While polling, an engine in user space receives packets in
// the waiting goroutine itself, which halves the latency. In all modes it delays the
// acknowledgement of a message until the program's next request or Wait, for up to a millisecond,
// so that one packet wakes the peer instead of two.
//
// A [CompletionChannel] waits for several queues; [Device.NextEvent] returns what happens outside
// of any request, such as the failure of a connection that only its peer uses.
//
// # What a device can do
//
// [Device.Capabilities] returns the optional features of a device, [Device.Attributes] its limits.
// A feature that is missing returns [ErrNotSupported] when it is used. The engine in user space,
// verbs/provider/roce, has queue pairs of the types [QPTypeRC], [QPTypeUC] and [QPTypeUD] with
// SEND, RDMA WRITE, RDMA READ and atomics, and shared receive queues. Devices of the kernel,
// verbs/provider/ibverbs, also have memory windows and dma-buf, as far as the device supports them;
// this was tried on the kernel's rxe, never on a card. Connection managers are in the API for
// providers to come. docs/verbs.md lists every function of libibverbs with its place here.
package verbs
