// Package provider defines the interface between package verbs, which programs use, and its
// implementations: hardware through its library, or an engine in user space. It contains what both
// sides share: interfaces, requests and completions, the attributes of devices, ports and queue
// pairs, and the errors that callers branch on.
//
// # What a provider does
//
// A [Provider] opens devices by name. A [Device] creates the other objects: [ProtectionDomain] and
// [CompletionQueue]; a domain creates [MemoryRegion] and [QueuePair]. All of these are required.
// Optional features are separate interfaces, for which verbs checks:
//
//	CounterReader         a Device with packet counters
//	Adviser               a Device that a setting of the machine limits
//	ChannelCreator        a Device with completion channels
//	EventSource           a Device with asynchronous events
//	Connector             a Device that establishes connections itself
//	AddressRegistrar      a ProtectionDomain for memory that Go doesn't manage
//	DMABufRegistrar       a ProtectionDomain for memory of other devices
//	WindowAllocator       a ProtectionDomain with memory windows
//	SRQCreator            a ProtectionDomain with shared receive queues
//	AddressHandleCreator  a ProtectionDomain with paths for datagrams
//	MemoryWatcher         a MemoryRegion that can wait until a peer has written a byte
//
// [Capabilities] say which of them a device has, together with the features that have no interface
// of their own. A provider that wraps another one's device by embedding it hides the device's
// optional interfaces, and must change Capabilities accordingly.
//
// The comment on each method names its C twin in libibverbs. The method behaves like its twin
// unless the comment says otherwise. [QueuePair.Modify] checks the transition with
// [CheckTransition], while the state can't change, and rejects values out of range. A completion
// queue, channel, region or domain of another device, or of another provider, is an error, never a
// panic.
//
//	// Devices lists the alias.
//	func (a alias) Devices(context.Context) ([]provider.DeviceInfo, error) {
//		return []provider.DeviceInfo{{Name: a.name, Provider: "alias", Software: true}}, nil
//	}
//
//	// Open opens the device that is called rail0 here.
//	func (a alias) Open(ctx context.Context, name string) (provider.Device, error) {
//		if name != "rail0" {
//			return nil, fmt.Errorf("%s: not rail0: %w", name, fs.ErrNotExist)
//		}
//		return a.Provider.Open(ctx, a.device)
//	}
//
// Programs pass a list of providers to verbs.Open, which tries one after another. A provider
// returns fs.ErrNotExist for a name that isn't its own, and verbs.Open tries the next; any other
// error ends the search.
//
// # Errors
//
// An error names operation, object and cause, and wraps its cause. Callers branch only on
// [ErrQueueFull], [ErrNotSupported], [ErrClosed], [ErrBusy], [ErrOverrun] and fs.ErrNotExist. If a
// device doesn't support a type of queue pair or an operation, creating the object or posting the
// request returns ErrNotSupported. A request that fails after it was posted causes no error of a
// call: it completes with a [WCStatus], and its queue pair goes to [QPStateError], where all later
// requests complete with [WCFlushed].
//
// # Concurrency
//
// All methods, including Close, may be called concurrently, except that only one goroutine at a
// time may call WaitByte of a region. Concurrent Post calls of a queue pair are executed one after
// the other. If several goroutines poll a completion queue, each completion goes to one of them.
// What the provider did with memory happens before the return of the Poll with the completion. Poll
// and the Post calls never wait; methods that wait take a context and return soon after it ends.
//
// # Closing objects
//
// The creator of an object closes it: queue pairs first, then regions and completion queues, then
// domains, then the device. In another order Close returns [ErrBusy], and the object stays open.
// Closing an object twice has no effect. Close of a region waits for copies in progress: when it
// returns, the program owns the memory. Close of a queue pair doesn't wait; its requests never
// complete. Close of a completion queue wakes the goroutines that wait for it. A program that exits
// need not close anything.
//
// Slices that are passed in are copied, except for the memory of a region. The provider owns the
// memory of a request from the call that posts it until its completion is polled, or with
// [SendInline] until the call returns.
//
// # Limits
//
// Package roce implements RC, UC and UD, atomics and shared receive queues, and neither memory
// windows nor dma-buf. Package ibverbs has them all; they were tried on the kernel's rxe, dma-buf
// on a stand-in only, and nothing on a card. Providers import neither each other nor verbs. Package
// [github.com/rdmakit/rdmakit/verbs/recording] is for reports about devices that need no data path.
package provider
