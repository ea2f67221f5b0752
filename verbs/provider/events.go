package provider

import (
	"context"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// EventSource is implemented by a [Device] with [CapEvents].
type EventSource interface {
	// NextEvent returns the oldest asynchronous event that has not been returned, waiting for one,
	// or an error when ctx ends or the device is closed. After Close of an object none of its
	// events is returned (C twins: ibv_get_async_event, ibv_ack_async_event).
	NextEvent(ctx context.Context) (Event, error)
}

// Event is something that happened to a device, a port or a queue outside of any request (C twin:
// struct ibv_async_event).
type Event struct {
	Type EventType
	QPN  ib.QPN // of the queue pair, for events of queue pairs
	Port int    // counted from 1, for events of ports
	ID   uint64 // of the configuration, for events of queue pairs and queues
	Lost int    // events before this one that were dropped, because nobody took them
	// Cause is why a queue pair has failed, if the provider knows: which request of the peer was
	// not permitted, and why. Otherwise nil.
	Cause error
}

// EventType is the kind of an event (C twin: enum ibv_event_type, with the same numbers).
type EventType uint16

// The events.
const (
	EventCQError            EventType = 0 // the queue has overrun
	EventQPFatal            EventType = 1 // the queue pair has failed; requests are flushed
	EventQPRequestError     EventType = 2 // the same: the peer sent an invalid request
	EventQPAccessError      EventType = 3 // the same: the peer's request isn't permitted
	EventCommEstablished    EventType = 4 // the first packet has come in state RTR
	EventSendQueueDrained   EventType = 5 // state SQD is reached
	EventPathMigrated       EventType = 6
	EventPathMigrationError EventType = 7
	EventDeviceFatal        EventType = 8 // the device has failed or is gone
	EventPortActive         EventType = 9
	EventPortError          EventType = 10 // the port is no longer active
	EventLIDChange          EventType = 11
	EventPKeyChange         EventType = 12
	EventSMChange           EventType = 13
	EventSRQError           EventType = 14
	EventSRQLimit           EventType = 15 // see SetLimit of [SharedReceiveQueue]
	EventQPLastRequest      EventType = 16 // a failed queue pair takes no more from its shared receive queue
	EventClientReregister   EventType = 17 // the subnet manager wants subscriptions again
	EventGIDChange          EventType = 18
	EventWQFatal            EventType = 19
	// EventMTUChange is not in libibverbs: the largest path MTU of the port has changed.
	EventMTUChange EventType = 256
)

var eventNames = [...]string{
	"completion queue error", "queue pair fatal error", "queue pair request error", "queue pair access error",
	"communication established", "send queue drained", "path migrated", "path migration error", "device fatal error",
	"port active", "port error", "LID change", "P_Key change", "subnet manager change", "shared receive queue error",
	"shared receive queue limit reached", "queue pair last request reached", "client reregister", "GID change",
	"work queue fatal error",
}

// String returns a description, such as "port active".
func (t EventType) String() string {
	if t == EventMTUChange {
		return "MTU change"
	}
	return nameOf(eventNames[:], int(t), "event")
}
