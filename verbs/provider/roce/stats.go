package roce

import "sync/atomic"

// counters count what an engine dropped and why, and what it sent again.
type counters struct {
	readErrors, writeErrors, malformed, unknownQP, foreign, badICRC atomic.Uint64
	retransmits, timeouts, sequenceNAKs, rnrNAKs                    atomic.Uint64
	duplicates, outOfOrder                                          atomic.Uint64
}

// Stats are the counters of an engine since it was opened.
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

// Stats returns the counters.
func (e *Engine) Stats() Stats {
	s := &e.stats
	return Stats{
		ReadErrors: s.readErrors.Load(), WriteErrors: s.writeErrors.Load(), Malformed: s.malformed.Load(), UnknownQP: s.unknownQP.Load(),
		Foreign: s.foreign.Load(), BadICRC: s.badICRC.Load(), Retransmits: s.retransmits.Load(),
		Timeouts: s.timeouts.Load(), SequenceNAKs: s.sequenceNAKs.Load(), RNRNAKs: s.rnrNAKs.Load(),
		Duplicates: s.duplicates.Load(), OutOfOrder: s.outOfOrder.Load(),
	}
}

// Counters implements provider.CounterReader with the fields of Stats by the names
// of their JSON form.
func (e *Engine) Counters() map[string]uint64 {
	s := e.Stats()
	return map[string]uint64{
		"readErrors": s.ReadErrors, "writeErrors": s.WriteErrors, "malformed": s.Malformed, "unknownQP": s.UnknownQP,
		"foreign": s.Foreign, "badICRC": s.BadICRC, "retransmits": s.Retransmits, "timeouts": s.Timeouts,
		"sequenceNAKs": s.SequenceNAKs, "rnrNAKs": s.RNRNAKs, "duplicates": s.Duplicates, "outOfOrder": s.OutOfOrder,
	}
}
