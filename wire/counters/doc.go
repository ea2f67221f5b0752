// Package counters compares two readings of a counter. It lists the port counters of the
// specification (volume 1, section 16.1.3.5, PortCounters) under the names of the specification and
// of the kernel's files, and defines how saturated counters are interpreted, wherever they were
// read.
//
//	before := counters.Reading{Value: 65000, Bits: 16}
//	after := counters.Reading{Value: 65535, Bits: 16}
//	c := counters.Compare(before, after, time.Minute)
//	// *c.Delta is 535; c.AtLeast is true, since more may have been counted
//
// # Saturated counters
//
// A counter of PortCounters does not overflow: at its highest value, all ones, it stops (it is
// saturated) and stays there until it is reset. Two readings therefore mean:
//
//   - The counter has increased and is not saturated: the difference is exact.
//   - The counter has become saturated: the difference is a lower bound ([Change].AtLeast).
//   - The counter was and is saturated: the change is unknown. There is no Delta, since a lower
//     bound of 0 would look as if nothing had happened. Programs that print counters must check
//     [Reading.Saturated].
//   - The counter is smaller than before: it was reset in between ([Change].Reset). It has counted
//     its new value since the reset, so that is a lower bound; a new value of 0 has no meaning.
//
// Counters of 64 bits, of PortCountersExtended or of a driver (hw_counters of sysfs), never
// saturate in practice; all ones is a value like any other. Some drivers count with fewer bits than
// they report and wrap around to 0. This looks like a reset and is treated like one: at least the
// new value was counted.
//
// # Limits
//
// If a counter was reset and has exceeded its old value since, the reset can't be detected; the
// same applies if it has become saturated again.
package counters
