package roce

import (
	"reflect"
	"sync/atomic"
)

// Stats are the counters of an engine since it was opened: what it dropped and why, and
// what it sent again. The JSON names are those of Counters. This is the one list of them:
// the engine counts in a Stats, with package sync/atomic.
type Stats struct {
	ReadErrors   uint64 `json:"readErrors"`   // reads of the socket that failed
	WriteErrors  uint64 `json:"writeErrors"`  // writes to the socket that failed
	Malformed    uint64 `json:"malformed"`    // datagrams that are no packets
	UnknownQP    uint64 `json:"unknownQP"`    // packets for no queue pair
	Foreign      uint64 `json:"foreign"`      // packets from another address than the peer's
	BadICRC      uint64 `json:"badICRC"`      // damaged packets
	Retransmits  uint64 `json:"retransmits"`  // times that sending went back
	Timeouts     uint64 `json:"timeouts"`     // acknowledgements that did not come
	SequenceNAKs uint64 `json:"sequenceNAKs"` // received
	RNRNAKs      uint64 `json:"rnrNAKs"`      // received
	Duplicates   uint64 `json:"duplicates"`   // requests received again
	OutOfOrder   uint64 `json:"outOfOrder"`   // requests received too early
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

// Counters implements [provider.CounterReader] with the fields of [Stats] by the names
// of their JSON form.
func (e *Engine) Counters() map[string]uint64 {
	v := reflect.ValueOf(e.Stats())
	out := make(map[string]uint64, v.NumField())
	for i := range v.NumField() {
		out[v.Type().Field(i).Tag.Get("json")] = v.Field(i).Uint()
	}
	return out
}
