package verbs

import (
	"sync"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Requests.
type (
	// SendRequest is a work request for the send queue: see [QueuePair.PostSend].
	SendRequest = provider.SendRequest
	// ReceiveRequest is a work request for the receive queue: see [QueuePair.PostReceive].
	ReceiveRequest = provider.ReceiveRequest
	// Segment is a part of a registered region, as [MemoryRegion.Segment] returns it.
	Segment = provider.Segment
	// Datagram is where a SEND of type UD goes, as [AddressHandle.To] returns it.
	Datagram = provider.Datagram
	// WindowBind is what [SendOpBindWindow] binds, as [MemoryWindow.Bind] returns it.
	WindowBind = provider.WindowBind
)

// QueuePair is one end of a connection (C twin: struct ibv_qp). Create one with
// [ProtectionDomain.CreateQP].
type QueuePair struct {
	impl provider.QueuePair

	sends    postBuffer[SendRequest]
	receives postBuffer[ReceiveRequest]
}

// postBuffer holds copies of the requests of one call. A call through an interface moves its
// arguments to the heap; the copies keep a caller's literals on its stack.
type postBuffer[T any] struct {
	mu       sync.Mutex
	requests []T
	segments []Segment
	data     []byte     // of requests with Data
	to       []Datagram // of requests of type UD
}

// copy adds a copy of a request's segments and returns it.
func (b *postBuffer[T]) copy(segments []Segment) []Segment {
	at := len(b.segments)
	b.segments = append(b.segments, segments...)
	return b.segments[at:len(b.segments):len(b.segments)]
}

// reset forgets the requests, so that they keep no region alive.
func (b *postBuffer[T]) reset() {
	clear(b.requests)
	clear(b.segments)
	clear(b.to)
	b.requests, b.segments, b.data, b.to = b.requests[:0], b.segments[:0], b.data[:0], b.to[:0]
}

// copyTo adds a copy of a destination and returns it.
func (b *postBuffer[T]) copyTo(to *Datagram) *Datagram {
	if to == nil {
		return nil
	}
	b.to = append(b.to, *to)
	return &b.to[len(b.to)-1]
}

// copyData adds a copy of a request's plain bytes and returns it; nil stays nil.
func (b *postBuffer[T]) copyData(data []byte) []byte {
	if data == nil {
		return nil
	}
	at := len(b.data)
	b.data = append(b.data, data...)
	return b.data[at:len(b.data):len(b.data)]
}

// QPN returns the queue pair number, which a peer needs in its [Remote].
func (qp *QueuePair) QPN() ib.QPN { return qp.impl.QPN() }

// Type returns the transport service.
func (qp *QueuePair) Type() QPType { return qp.impl.Type() }

// Capacity returns the granted limits: at least those of the configuration.
func (qp *QueuePair) Capacity() QPCapacity { return qp.impl.Capacity() }

// State returns the state.
func (qp *QueuePair) State() QPState { return qp.impl.State() }

// Query returns the state and the attributes that were set, which Mask names (C twin:
// ibv_query_qp).
func (qp *QueuePair) Query() (QPAttributes, error) { return qp.impl.Query() }

// PostSend queues requests in order. It returns how many were queued; err is the error of the next
// one. The provider owns the memory of the requests until they complete. [ErrQueueFull] means
// that completions must be polled first (C twin: ibv_post_send, ENOMEM).
func (qp *QueuePair) PostSend(wrs ...SendRequest) (n int, err error) {
	b := &qp.sends
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.reset()
	for i := range wrs {
		wr := &wrs[i]
		b.requests = append(b.requests, SendRequest{
			ID: wr.ID, Op: wr.Op, Flags: wr.Flags, Segments: b.copy(wr.Segments), RemoteAddr: wr.RemoteAddr,
			RKey: wr.RKey, Immediate: wr.Immediate, Compare: wr.Compare, Operand: wr.Operand,
			Data: b.copyData(wr.Data), Invalidate: wr.Invalidate, To: b.copyTo(wr.To), Bind: copyBind(wr.Bind),
		})
	}
	return qp.impl.PostSend(b.requests)
}

// PostReceive queues buffers for messages of the peer. Like [QueuePair.PostSend], it returns
// [ErrQueueFull] when the queue is full (C twin: ibv_post_recv).
func (qp *QueuePair) PostReceive(wrs ...ReceiveRequest) (n int, err error) {
	return postReceive(&qp.receives, qp.impl, wrs)
}

// Close frees the queue pair (C twin: ibv_destroy_qp). Requests that are still
// queued never complete.
func (qp *QueuePair) Close() error { return qp.impl.Close() }

// copyBind copies a binding, so that a literal of the caller stays on its stack.
func copyBind(b *WindowBind) *WindowBind {
	if b == nil {
		return nil
	}
	c := *b
	return &c
}

// receiver is a queue pair or a shared receive queue of a provider.
type receiver interface {
	PostReceive(wrs []ReceiveRequest) (n int, err error)
}

// postReceive passes copies of receive requests to a queue.
func postReceive(b *postBuffer[ReceiveRequest], to receiver, wrs []ReceiveRequest) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.reset()
	for i := range wrs {
		b.requests = append(b.requests, ReceiveRequest{ID: wrs[i].ID, Segments: b.copy(wrs[i].Segments)})
	}
	return to.PostReceive(b.requests)
}
