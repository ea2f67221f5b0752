package verbs

import (
	"context"
	"errors"
	"sync"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// CQConfig configures a completion queue for [Device.CreateCQ].
type CQConfig struct {
	// Depth is the maximum number of completions in the queue; 0 is 1024. The queue never
	// overruns if its depth is the sum of the depths of all work queues that use it.
	Depth int
	// Wait is how [CompletionQueue.Wait] waits.
	Wait WaitMode
	// Channel, if not nil, gets the events that [CompletionQueue.Arm] requests.
	Channel *CompletionChannel
	// Vector selects the interrupt of a device, less than CompletionVectors of its attributes.
	Vector int
	// ID is found in an [Event] of this queue.
	ID uint64
	// Timestamps adds the time of each completion; it needs [CapTimestamps].
	Timestamps bool
}

// CreateCQ creates a completion queue (C twin: ibv_create_cq).
func (d *Device) CreateCQ(cfg CQConfig) (*CompletionQueue, error) {
	c := provider.CQConfig{Depth: cfg.Depth, Wait: cfg.Wait, Vector: cfg.Vector, ID: cfg.ID, Timestamps: cfg.Timestamps}
	if cfg.Channel != nil {
		c.Channel = cfg.Channel.impl
	}
	impl, err := d.impl.CreateCQ(c)
	if err != nil {
		return nil, err
	}
	cq := &CompletionQueue{impl: impl, channel: cfg.Channel}
	if cq.channel != nil {
		cq.channel.queues.Store(impl, cq)
	}
	return cq, nil
}

// CompletionQueue holds the completions of requests (C twin: struct ibv_cq). Create one with
// [Device.CreateCQ].
type CompletionQueue struct {
	impl    provider.CompletionQueue
	channel *CompletionChannel // may be nil
}

// Poll removes up to len(wcs) completions from the queue and never waits (C twin: ibv_poll_cq).
func (cq *CompletionQueue) Poll(wcs []WorkCompletion) (int, error) { return cq.impl.Poll(wcs) }

// Wait is [CompletionQueue.Poll] that waits for the first completion, or until ctx ends: the number
// of completions is at least 1 unless err is set (C twins: ibv_req_notify_cq, ibv_get_cq_event).
// It is an error on a queue of a [CompletionChannel], where the channel waits.
func (cq *CompletionQueue) Wait(ctx context.Context, wcs []WorkCompletion) (n int, err error) {
	return cq.impl.Wait(ctx, wcs)
}

// Arm requests one event on the queue's channel for the next completion that is added after the
// call; with solicited, for the next one whose sender has set [SendSolicited] or that failed. Poll
// once more after Arm: a completion may have come in between. The event may also come for a
// completion that is in the queue already (C twin: ibv_req_notify_cq).
func (cq *CompletionQueue) Arm(solicited bool) error { return cq.impl.Arm(solicited) }

// Depth returns the granted depth: at least that of the configuration.
func (cq *CompletionQueue) Depth() int { return cq.impl.Depth() }

// Close frees the queue. It returns [ErrBusy] while queue pairs use it.
func (cq *CompletionQueue) Close() error {
	err := cq.impl.Close()
	if err == nil && cq.channel != nil {
		cq.channel.queues.Delete(cq.impl)
	}
	return err
}

// CompletionChannel tells a goroutine which of several completion queues has completions (C twin:
// struct ibv_comp_channel). Several queues of one device may share it; each must be armed before
// the first Wait:
//
//	err := cq.Arm(false) // each queue
//	for {
//		cq, err := channel.Wait(ctx)
//		err = cq.Arm(false)
//		for n := -1; n != 0; { // after Arm, so that no completion is missed
//			n, err = cq.Poll(completions)
//		}
//	}
type CompletionChannel struct {
	impl   provider.CompletionChannel
	queues sync.Map // provider.CompletionQueue to *CompletionQueue
}

// CreateChannel creates a completion channel (C twin: ibv_create_comp_channel). The error matches
// [ErrNotSupported] without [CapChannel].
func (d *Device) CreateChannel() (*CompletionChannel, error) {
	c, ok := d.impl.(provider.ChannelCreator)
	if !ok {
		return nil, unsupported("create completion channel", d)
	}
	impl, err := c.CreateChannel()
	if err != nil {
		return nil, err
	}
	return &CompletionChannel{impl: impl}, nil
}

// Wait returns the next queue whose armed event came, or an error when ctx ends. The queue is no
// longer armed (C twins: ibv_get_cq_event, ibv_ack_cq_events).
func (c *CompletionChannel) Wait(ctx context.Context) (*CompletionQueue, error) {
	for {
		impl, err := c.impl.Wait(ctx)
		if err != nil {
			return nil, err
		}
		v, _ := c.queues.Load(impl)
		if cq, ok := v.(*CompletionQueue); ok {
			return cq, nil
		}
	}
}

// Close frees the channel. It returns [ErrBusy] while queues use it.
func (c *CompletionChannel) Close() error { return c.impl.Close() }

// NextEvent returns the oldest asynchronous event that has not been returned: it waits for one, or
// until ctx ends or the device is closed (C twins: ibv_get_async_event, ibv_ack_async_event). The
// error matches [ErrNotSupported] without [CapEvents].
func (d *Device) NextEvent(ctx context.Context) (Event, error) {
	s, ok := d.impl.(provider.EventSource)
	if !ok {
		return Event{}, unsupported("wait for events", d)
	}
	return s.NextEvent(ctx)
}

// SharedReceiveQueue holds receive requests that several queue pairs take from (C twin: struct
// ibv_srq).
type SharedReceiveQueue struct {
	impl     provider.SharedReceiveQueue
	receives postBuffer[ReceiveRequest]
}

// CreateSRQ creates a shared receive queue (C twin: ibv_create_srq). The error matches
// [ErrNotSupported] without [CapSRQ].
func (pd *ProtectionDomain) CreateSRQ(cfg SRQConfig) (*SharedReceiveQueue, error) {
	c, ok := pd.impl.(provider.SRQCreator)
	if !ok {
		return nil, unsupported("create shared receive queue", pd.device)
	}
	impl, err := c.CreateSRQ(cfg)
	if err != nil {
		return nil, err
	}
	return &SharedReceiveQueue{impl: impl}, nil
}

// PostReceive queues buffers, like [QueuePair.PostReceive] (C twin: ibv_post_srq_recv).
func (q *SharedReceiveQueue) PostReceive(wrs ...ReceiveRequest) (n int, err error) {
	return postReceive(&q.receives, q.impl, wrs)
}

// SetLimit requests one [EventSRQLimit] when fewer than limit requests are left; 0 requests none
// (C twin: ibv_modify_srq).
func (q *SharedReceiveQueue) SetLimit(limit int) error { return q.impl.SetLimit(limit) }

// Query returns the granted configuration with the current limit (C twin: ibv_query_srq).
func (q *SharedReceiveQueue) Query() (SRQConfig, error) { return q.impl.Query() }

// Close frees the queue. It returns [ErrBusy] while queue pairs use it (C twin: ibv_destroy_srq).
func (q *SharedReceiveQueue) Close() error { return q.impl.Close() }

// AddressHandle is a path for datagrams (C twin: struct ibv_ah).
type AddressHandle struct {
	impl provider.AddressHandle
}

// CreateAddressHandle prepares a path from a port, counted from 1, for the datagrams of queue pairs
// of type [QPTypeUD] (C twin: ibv_create_ah). The error matches [ErrNotSupported] without [CapUD].
func (pd *ProtectionDomain) CreateAddressHandle(port int, path Path) (*AddressHandle, error) {
	c, ok := pd.impl.(provider.AddressHandleCreator)
	if !ok {
		return nil, unsupported("create address handle", pd.device)
	}
	impl, err := c.CreateAddressHandle(port, path)
	if err != nil {
		return nil, err
	}
	return &AddressHandle{impl}, nil
}

// To returns the destination of a datagram for [SendRequest]: a queue pair at the end of the path,
// with its Q_Key.
func (a *AddressHandle) To(qpn ib.QPN, qkey uint32) *Datagram {
	return &Datagram{Handle: a.impl, QPN: qpn, QKey: qkey}
}

// Close frees the handle. Requests that use it must have completed (C twin: ibv_destroy_ah).
func (a *AddressHandle) Close() error { return a.impl.Close() }

// QPConfig configures a queue pair; SendCQ and RecvCQ are required (C twin: struct
// ibv_qp_init_attr).
type QPConfig struct {
	Type QPType // transport service
	// Completion queues of the send queue and the receive queue; they may be the same.
	SendCQ, RecvCQ *CompletionQueue
	SRQ            *SharedReceiveQueue // takes the place of the receive queue, if not nil
	Capacity       QPCapacity          // wanted limits
	// Every send request makes an entry in the completion queue, as if it had SendSignaled.
	SignalAll bool
	ID        uint64 // found in an [Event] of this queue pair
}

// CreateQP creates a queue pair in state RESET (C twin: ibv_create_qp).
func (pd *ProtectionDomain) CreateQP(cfg QPConfig) (*QueuePair, error) {
	if cfg.SendCQ == nil || cfg.RecvCQ == nil {
		return nil, errors.New("create qp: SendCQ and RecvCQ are required")
	}
	c := provider.QPConfig{
		Type: cfg.Type, SendCQ: cfg.SendCQ.impl, RecvCQ: cfg.RecvCQ.impl, Capacity: cfg.Capacity,
		SignalAll: cfg.SignalAll, ID: cfg.ID,
	}
	if cfg.SRQ != nil {
		c.SRQ = cfg.SRQ.impl
	}
	qp, err := pd.impl.CreateQP(c)
	if err != nil {
		return nil, err
	}
	return &QueuePair{impl: qp}, nil
}
