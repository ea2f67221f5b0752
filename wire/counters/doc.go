// Package counters says what two readings of a counter tell. It knows the counters of a port that
// the specification defines (volume 1, section 16.1.3.5, PortCounters), under the names of the
// specification and of the kernel's files, and holds the one meaning of a counter that stands at
// its end, whoever read it and from where.
//
//	before := counters.Reading{Value: 65000, Bits: 16}
//	after := counters.Reading{Value: 65535, Bits: 16}
//	c := counters.Compare(before, after, time.Minute)
//	// *c.Delta is 535, and c.AtLeast says that there may have been more
//
// # Saturated counters
//
// A counter of PortCounters does not overflow: at all ones it stops, and stays there until somebody
// writes it. From this follows what two readings tell of the time between them:
//
//   - A counter that grew, and is below its end: the difference is exact.
//   - A counter that reached its end: the difference is a lower bound ([Change].AtLeast).
//   - A counter that stood at its end both times: nothing. A lower bound of 0 holds for every
//     counter and would read as if nothing had happened, so there is no Delta. [Reading.Saturated]
//     tells of it, and who prints counters must.
//   - A counter that is smaller than before was written in between ([Change].Reset). It began at 0
//     then and has counted what it shows, so that is a lower bound; 0 again tells nothing.
//
// Counters of 64 bits have no end that a port could reach, be they of PortCountersExtended or of a
// driver (hw_counters of sysfs); all ones is a value like others. Some drivers count in fewer bits
// than they show and begin again at 0 there. That looks like a reset, and what is true of a reset
// is true of it: at least the new value was counted.
//
// # Limits
//
// A counter that was reset and has passed its old value since can't be told from one that only
// grew; neither can one that was reset and has reached its end again.
package counters
