// Package verbs is RDMA for Go programs: queue pairs, registered memory and
// completion queues as the InfiniBand verbs have them, over hardware or over an
// engine in user space, without cgo.
//
//	device, err := verbs.Open(ctx, "roce@192.0.2.1", builtin.All()...)
//	pd, err := device.AllocatePD()
//	cq, err := device.CreateCQ(verbs.CQConfig{})
//	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq})
//	mr, err := pd.RegisterMemory(make([]byte, 1<<20), verbs.AccessLocalWrite|verbs.AccessRemoteWrite)
//	// exchange verbs.Remote, mr.Addr() and mr.RKey() with the peer, then
//	err = qp.Connect(verbs.ConnectConfig{PSN: psn, Remote: peer, Access: verbs.AccessRemoteWrite})
//	_, err = qp.PostSend(verbs.SendRequest{
//		ID: 1, Op: verbs.SendOpWrite, Flags: verbs.SendSignaled,
//		Segments: []verbs.Segment{mr.Segment(0, 4096)}, RemoteAddr: addr, RKey: rkey,
//	})
//	err = cq.Wait(ctx)
//	n, err := cq.Poll(completions)
//
// # Concurrency
//
// Every method may be called by any number of goroutines, with one exception: one
// goroutine at a time waits with [MemoryRegion.WaitByte] on a region. What holds between
// calls:
//
//   - Requests of one queue pair are executed in the order in which they were posted; of
//     goroutines that post at the same time each call's requests stay together. A READ only
//     begins in that order, so what follows it may overtake it unless it has [SendFence].
//   - Completions of one queue are in the order in which their requests ended. Pollers at
//     the same time each get some of them, every one once.
//   - Memory belongs to the provider from posting to completion: the program neither
//     writes it nor, for a READ or a receive, reads it. A completion that
//     [CompletionQueue.Poll] returned happens after all that the provider did with the
//     memory. With [SendInline] the memory is the program's again when
//     [QueuePair.PostSend] returns.
//   - What peers may write belongs to nobody in particular: a program looks when a
//     completion, its own or one that its peer tells of, or WaitByte says that it may.
//   - The slices that are passed to PostSend, [QueuePair.PostReceive] and
//     [QueuePair.Modify] are copied.
//   - Close of a region waits for copies that run, Close of a queue pair for nothing: its
//     requests never complete. The order is queue pairs, then regions and completion
//     queues, then domains, then the device; another answers [ErrBusy]. A Wait that sleeps on a
//     completion queue is woken by its Close, and Poll returns [ErrClosed] then.
//
// # Waiting
//
// [CQConfig] says how [CompletionQueue.Wait] waits. [WaitEvent] sleeps until the device
// says that there is something. [WaitBusy] asks all the time. [WaitHybrid], the default, asks
// for 50 microseconds and then sleeps. In the last two ways an engine in user space
// receives in the waiting goroutine itself, which halves the latency; it may then keep an
// acknowledgement back for up to a millisecond, to send it behind the program's next
// request.
//
// # Limits
//
// Only reliable connections ([QPTypeRC]) can be connected: [QueuePair.Modify] knows no other
// table of states. There are no shared receive queues, no memory windows and no address
// handles. [Device.Attributes] returns what a device can do at most.
package verbs
