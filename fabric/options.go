package fabric

import (
	"cmp"
	"fmt"
	"time"
)

// Options tunes a sweep. The zero value is meant for use.
type Options struct {
	// Routes also reads each switch's linear forwarding table.
	Routes bool
	// Counters also reads the counters of each port whose link is active, which needs LIDs: a
	// subnet manager must have been there.
	Counters bool
	// SubnetManagers also asks each port that says it has a subnet manager
	// (mad.CapabilityIsSM), and the one whose LID the own port holds for the master's, for its
	// SMInfo: see Topology.SubnetManagers.
	SubnetManagers bool
	// Multicast also reads each switch's multicast forwarding table, up to its MulticastFDBTop, or
	// all of it where the switch doesn't tell: 64 questions and more a switch.
	Multicast bool
	// Previous is what an earlier sweep of the subnet saw, as ReadTopology returns it; nil: nothing
	// is known.
	//
	// The result equals that of a sweep without it; only what cannot have changed is taken over
	// instead of asked for. Of a node that is found at the end of the same cable as then, with the
	// same type, vendor, device and number of ports, these are: its description, which an
	// administrator may have changed meanwhile without a cable noticing, which is the one thing
	// that a re-scan may have from then; and what its performance agent can do, which is the
	// firmware's: one that is silent now is listed as unreached by its counters then.
	//
	// The rest is asked again. One NodeInfo a cable, since port states and widths look the same
	// when two cables were exchanged. PortInfo of each port, also of those that were down: nothing
	// else tells that one came up. SwitchInfo.PortStateChange would, but a subnet manager clears it
	// whenever it has noticed by itself. Of the two ends of a cable, LIDs, error counts and what is
	// enabled differ, so that one end does not speak for the other.
	Previous *Topology
	// MaxWindow bounds how many questions are under way at once; 0: what the transport says (a
	// method Window() int), or else 32.
	MaxWindow int
	// PerNode bounds how many of them go to one node; 0: 8. Management processors are slow.
	PerNode int
	// MinTimeout and MaxTimeout bound the wait for an answer before the question is sent again.
	// Between them, the round trips measured decide; each further try waits twice as long. 0: 50 ms
	// and 1 s.
	MinTimeout, MaxTimeout time.Duration
	// Retries is how often a question is sent again; 0: 3; negative: never.
	Retries int
	// Budget bounds the whole sweep; 0: 5 minutes.
	Budget time.Duration
	// MaxNodes and MaxAnomalies bound what a lying fabric can make of the result; 0: 65,536 and
	// 1,000. The nodes may have 32 ports each on average, as many as ReadTopology takes by default.
	MaxNodes, MaxAnomalies int
	// MaxUnreached bounds the list of what stayed without answer, which a lying fabric can make
	// long too; 0: 10,000. Stats counts the rest.
	MaxUnreached int
	// Progress, if set, is called from the sweep about ten times a second, and at the end.
	Progress func(Progress)
}

// Progress is how far a sweep has come.
type Progress struct {
	Nodes, Links       int           // found so far
	Sent, Answers      int           // MADs, retries included
	Pending, Unreached int           // questions to ask; questions given up
	Elapsed            time.Duration // since the start
}

// bounds of what an attempt number and a slot number take of a transaction ID.
const (
	retriesLimit = 15
	windowLimit  = 4096
)

// portsPerNode times Options.MaxNodes bounds the ports in all; with the default, that
// is maxSavedPorts.
const portsPerNode = 32

func (o Options) withDefaults(t Transport) (Options, error) {
	window := 32
	if w, ok := t.(interface{ Window() int }); ok {
		window = w.Window()
	}
	o.MaxWindow = cmp.Or(o.MaxWindow, window)
	o.PerNode = cmp.Or(o.PerNode, 8)
	o.MinTimeout = cmp.Or(o.MinTimeout, 50*time.Millisecond)
	o.MaxTimeout = cmp.Or(o.MaxTimeout, max(time.Second, o.MinTimeout))
	o.Retries = max(0, cmp.Or(o.Retries, 3))
	o.Budget = cmp.Or(o.Budget, 5*time.Minute)
	o.MaxNodes = cmp.Or(o.MaxNodes, 1<<16)
	o.MaxAnomalies = cmp.Or(o.MaxAnomalies, 1000)
	o.MaxUnreached = cmp.Or(o.MaxUnreached, 10_000)
	switch {
	case o.MaxWindow < 1 || o.MaxWindow > windowLimit:
		return o, fmt.Errorf("discover fabric: window %d is not between 1 and %d", o.MaxWindow, windowLimit)
	case o.PerNode < 1:
		return o, fmt.Errorf("discover fabric: %d questions to one node at once", o.PerNode)
	case o.Retries > retriesLimit:
		return o, fmt.Errorf("discover fabric: %d retries, at most %d", o.Retries, retriesLimit)
	case o.MinTimeout < 0 || o.MaxTimeout < o.MinTimeout || o.Budget < 0 || o.MaxNodes < 1 || o.MaxAnomalies < 0 ||
		o.MaxUnreached < 0:
		return o,
			fmt.Errorf("discover fabric: a bound below its least: timeouts %v to %v, budget %v, %d nodes, %d anomalies",
				o.MinTimeout, o.MaxTimeout, o.Budget, o.MaxNodes, o.MaxAnomalies)
	}
	return o, nil
}
