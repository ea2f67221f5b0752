package roce

import (
	"errors"
	"reflect"
	"sync/atomic"
	"syscall"
)

// Stats are the counters of an engine since it was opened: dropped packets by reason,
// retransmissions and errors. [Engine.Counters] uses the JSON names. The engine itself counts in a
// Stats, with package sync/atomic.
type Stats struct {
	ReadErrors   uint64 `json:"readErrors"`   // failed reads of the socket
	WriteErrors  uint64 `json:"writeErrors"`  // failed writes to the socket, of all kinds
	TooLong      uint64 `json:"tooLong"`      // writes longer than the network's MTU (EMSGSIZE)
	Forbidden    uint64 `json:"forbidden"`    // writes that a firewall of this machine rejected (EPERM, EACCES)
	Unreachable  uint64 `json:"unreachable"`  // writes without a route (ENETUNREACH, EHOSTUNREACH)
	Malformed    uint64 `json:"malformed"`    // datagrams that are not valid packets
	UnknownQP    uint64 `json:"unknownQP"`    // packets for an unknown queue pair
	Foreign      uint64 `json:"foreign"`      // packets from an address that is not the peer's
	BadICRC      uint64 `json:"badICRC"`      // packets with an invalid ICRC
	Retransmits  uint64 `json:"retransmits"`  // retransmissions other than after a timeout
	Timeouts     uint64 `json:"timeouts"`     // acknowledgement timeouts
	SequenceNAKs uint64 `json:"sequenceNAKs"` // PSN sequence error NAKs received
	RNRNAKs      uint64 `json:"rnrNAKs"`      // RNR NAKs received
	Duplicates   uint64 `json:"duplicates"`   // duplicate requests, acknowledgements and responses
	OutOfOrder   uint64 `json:"outOfOrder"`   // requests ahead of the expected PSN
	BadQKey      uint64 `json:"badQKey"`      // datagrams with another Q_Key than the queue pair's
	Dropped      uint64 `json:"dropped"`      // UC messages and datagrams without a receive request, or refused
	CNPs         uint64 `json:"cnps"`         // congestion notification packets received
	ECNMarks     uint64 `json:"ecnMarks"`     // packets received that a switch marked as congested (CE)
}

// countWriteError counts a failed write.
func (s *Stats) countWriteError(err error) {
	count(&s.WriteErrors)
	switch {
	case errors.Is(err, syscall.EMSGSIZE):
		count(&s.TooLong)
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		count(&s.Forbidden)
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		count(&s.Unreachable)
	}
}

// count adds 1 to a counter of e.stats.
func count(counter *uint64) { atomic.AddUint64(counter, 1) }

// Stats returns the counters.
func (e *Engine) Stats() (s Stats) {
	from, to := reflect.ValueOf(&e.stats).Elem(), reflect.ValueOf(&s).Elem()
	for i := range to.NumField() {
		if counter, ok := reflect.TypeAssert[*uint64](from.Field(i).Addr()); ok {
			to.Field(i).SetUint(atomic.LoadUint64(counter))
		}
	}
	return s
}

// Counters implements [provider.CounterReader]: it returns the fields of [Stats] under their JSON
// names.
func (e *Engine) Counters() map[string]uint64 {
	v := reflect.ValueOf(e.Stats())
	out := make(map[string]uint64, v.NumField())
	for i := range v.NumField() {
		out[v.Type().Field(i).Tag.Get("json")] = v.Field(i).Uint()
	}
	return out
}
