// Package provider is the contract between package verbs, which programs use, and what stands
// behind it: hardware through its library, or an engine in user space. Here belongs what both sides
// must agree on, and nothing of one of them: interfaces, requests and completions, the attributes
// of devices, ports and queue pairs, and the errors that callers branch on.
//
// # What a provider does
//
// A [Provider] opens devices by name. From a [Device] come the other objects: [ProtectionDomain]
// and [CompletionQueue], and from a domain [MemoryRegion] and [QueuePair]. All of these are
// required. What only some can do is an interface of its own, which verbs looks for:
//
//	CounterReader   a Device that counts what happens to its packets
//	MemoryWatcher   a MemoryRegion that tells when a peer has written a byte
//
// The comment at each method names its C twin in libibverbs, and does what that does unless it says
// otherwise. Before a call of [QueuePair.Modify] verbs has checked the transition and its
// attributes against the specification's table; values out of range are the provider's to refuse,
// and so is a queue pair that has failed meanwhile. A completion queue, region or domain of another
// device, or of another provider, is an error, never a panic.
//
//	// Open opens the device that is called rail0 here.
//	func (a alias) Open(ctx context.Context, name string) (provider.Device, error) {
//		if name != "rail0" {
//			return nil, fmt.Errorf("%s: not rail0: %w", name, fs.ErrNotExist)
//		}
//		return a.Provider.Open(ctx, a.device)
//	}
//
// Providers stand in a list that programs pass to verbs.Open, which asks one after another. A name
// that isn't one of its own a provider answers with fs.ErrNotExist, and the next is asked; any
// other error ends the search.
//
// # Errors
//
// An error says operation, object and cause, and wraps what it comes from. Callers branch on
// [ErrQueueFull], [ErrNotSupported], [ErrClosed], [ErrBusy], [ErrOverrun] and fs.ErrNotExist alone.
// What a device can't do at all (a type of queue pair, an operation) is ErrNotSupported, when the
// object is made or the request posted, not later. A request that was posted and fails is no error
// of a call: it completes with a [WCStatus], and its queue pair goes to [QPStateError], where the
// requests behind it complete with [WCFlushed].
//
// # Concurrency
//
// Any number of goroutines may call any method at any time, Close too; WaitByte of a region is the
// exception, one at a time. Post calls of a queue pair are executed in some order, each as a whole.
// Polls of a completion queue share the completions: each goes to one of them. What the provider
// did with memory happens before the Poll that returns its completion. Poll and the Post calls
// never wait; what waits takes a context and returns soon after that ends.
//
// # Who closes what
//
// Who made an object closes it, queue pairs first, then regions and completion queues, then
// domains, then the device; another order is [ErrBusy], and what was to be closed stays open. Close
// of what is closed does nothing. Close of a region waits for copies that run: when it returns, the
// memory is the program's. Close of a queue pair waits for nothing; its requests never complete.
// Close of a completion queue wakes who waits for it. A program that ends may leave all of it to
// the system.
//
// Slices that are passed in are copied, but for the memory of a region. That belongs to the
// provider from the posting of a request until its completion was polled, or with [SendInline]
// until the call returns.
//
// # Limits
//
// The contract is that of reliable connections: datagrams have no address handles yet, and there
// are no shared receive queues, memory windows and asynchronous events. Providers never import each
// other, nor verbs. What a library says of devices that nobody sends with, for a report, is package
// [github.com/rdmakit/rdmakit/verbs/recording]'s.
package provider
