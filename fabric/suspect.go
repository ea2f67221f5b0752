package fabric

import "slices"

// Suspect is where the counters at the ends of a link say that it is damaged.
type Suspect string

// The suspects. A receiver counts errors, so those at one end point at one direction of the link:
// the transmitter of the other end, the cable, or this receiver.
const (
	SuspectNone Suspect = "" // no counter has a finding
	SuspectAToB Suspect = "a-to-b"
	SuspectBToA Suspect = "b-to-a"
	SuspectBoth Suspect = "both" // both directions, which share the cable
	SuspectLink Suspect = "link" // it retrained or went down, which shows no direction
	// SuspectOther is another link: only packets were counted that were marked as bad before
	// (PortRcvRemotePhysicalErrors).
	SuspectOther Suspect = "other-link"
	// SuspectTraffic is no damage: discards, constraints, full buffers.
	SuspectTraffic Suspect = "traffic"
)

// receiveErrors are the counters of damage that the receiver of a port counts (specification
// section 16.1.3.5): bits, packets, bursts of them, and credits, which the flow control packets of
// the other end carry.
func receiveErrors() []string {
	return []string{
		"SymbolErrorCounter", "PortRcvErrors", "LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors",
	}
}

// linkErrors are the counters of the training state machine, which both ends have.
func linkErrors() []string { return []string{"LinkErrorRecoveryCounter", "LinkDownedCounter"} }

// SuspectOf returns the suspect for a link by the names of the counters that have findings at its
// ends.
func SuspectOf(a, b []string) Suspect {
	has := func(counters, list []string) bool {
		return slices.ContainsFunc(counters, func(name string) bool { return slices.Contains(list, name) })
	}
	both := slices.Concat(a, b)
	atA, atB := has(a, receiveErrors()), has(b, receiveErrors())
	switch {
	case atA && atB:
		return SuspectBoth
	case atA:
		return SuspectBToA
	case atB:
		return SuspectAToB
	case has(both, linkErrors()):
		return SuspectLink
	case slices.Contains(both, "PortRcvRemotePhysicalErrors"):
		return SuspectOther
	case len(both) > 0:
		return SuspectTraffic
	}
	return SuspectNone
}
