package fabric

import (
	"cmp"
	"fmt"
	"time"
)

// Options configures a sweep. The zero value has useful defaults.
type Options struct {
	// Routes also reads each switch's linear forwarding table.
	Routes bool
	// Counters also reads the counters of each port whose link is active, and of all ports of
	// switches. That needs LIDs, which a subnet manager assigns.
	Counters bool
	// SubnetManagers also reads the SMInfo of each port that reports a subnet manager
	// (mad.CapabilityIsSM), and of the port whose LID the local port has as the master's: see
	// Topology.SubnetManagers.
	SubnetManagers bool
	// Multicast also reads each switch's multicast forwarding table, up to its MulticastFDBTop, or
	// all of it if the switch doesn't report that: 64 or more requests for each switch.
	Multicast bool
	// Keys are the keys of the subnet. What is behind a port is not known until it answers: its
	// M_Key is that of the port that Keys.Neighbors or Previous has at this place. Otherwise, and
	// if there is no answer, it is the default, and then each of the different M_Keys, if there are
	// no more than four: an agent counts wrong keys and reports them to its subnet manager.
	Keys Keys
	// Previous is the topology of an earlier sweep, as ReadTopology returns it; nil: none.
	//
	// The result is the same as without Previous, with one exception: the description may be
	// outdated. The sweep takes two attributes from Previous instead of requesting them, if a node
	// is found at the end of the same cable with the same type, vendor, device and number of ports.
	// These are its description, which an administrator may have changed meanwhile, and the
	// capabilities of its performance agent, which depend on the firmware. If the agent no longer
	// answers, its counters are listed as unreached.
	//
	// Everything else is requested again: NodeInfo once for each cable, because port states and
	// widths don't show that two cables were swapped; PortInfo of each port, including ports that
	// were down, because nothing else shows that one came up (SwitchInfo.PortStateChange would, but
	// a subnet manager clears it). Both ends of a cable are queried, because they differ in LIDs,
	// error counts and enabled widths and speeds.
	Previous *Topology
	// MaxWindow is the largest number of outstanding requests; 0: the value of the transport's
	// method Window() int, or 32 if it has none.
	MaxWindow int
	// PerNode is the largest number of outstanding requests to one node; 0: 8. Management
	// processors are slow.
	PerNode int
	// Timeout is how long an answer to one try may take: a node is given up after Timeout for each
	// of 1 + Retries tries. 0: after 1 s for each try and 4 s in all, as libibnetdisc does by
	// default, or later if the node's round trips, or the times that it reports, are longer. A
	// request is sent again earlier, as the measured round trips suggest.
	Timeout time.Duration
	// Retries is how often a request is sent again; 0: 3; negative: never.
	Retries int
	// Budget bounds the whole sweep; 0: 5 minutes.
	Budget time.Duration
	// MaxNodes and MaxAnomalies bound the size of the result of a fabric with invalid answers; 0:
	// 65,536 and 1,000. The nodes may have 32 ports each on average, which is also the limit of
	// ReadTopology by default.
	MaxNodes, MaxAnomalies int
	// MaxUnreached bounds the list of unanswered requests, for the same reason; 0: 10,000. Stats
	// counts the rest.
	MaxUnreached int
	// Progress, if set, is called from the sweep about ten times a second, and at the end.
	Progress func(Progress)
}

// Progress is the progress of a sweep.
type Progress struct {
	Nodes, Links       int           // found so far
	Sent, Answers      int           // MADs, retries included
	Pending, Unreached int           // requests still to be answered; requests given up
	Elapsed            time.Duration // since the start
}

// windowLimit is the largest window that can be set.
const windowLimit = 4096

// MaxRetries is the largest number of retries.
const MaxRetries = maxTries - 1

// portsPerNode times Options.MaxNodes bounds the ports in all; with the default, that
// is maxSavedPorts.
const portsPerNode = 32

func (o Options) withDefaults() (Options, error) {
	o.PerNode = cmp.Or(o.PerNode, 8)
	o.Budget = cmp.Or(o.Budget, 5*time.Minute)
	o.MaxNodes = cmp.Or(o.MaxNodes, 1<<16)
	o.MaxAnomalies = cmp.Or(o.MaxAnomalies, 1000)
	o.MaxUnreached = cmp.Or(o.MaxUnreached, 10_000)
	switch {
	case o.MaxWindow < 0 || o.MaxWindow > windowLimit:
		return o, fmt.Errorf("discover fabric: window %d is not between 1 and %d", o.MaxWindow, windowLimit)
	case o.PerNode < 1:
		return o, fmt.Errorf("discover fabric: %d outstanding requests to one node", o.PerNode)
	case o.Retries > MaxRetries:
		return o, fmt.Errorf("discover fabric: %d retries, at most %d", o.Retries, MaxRetries)
	case o.Timeout < 0 || o.Budget < 0 || o.MaxNodes < 1 || o.MaxAnomalies < 0 || o.MaxUnreached < 0:
		return o, fmt.Errorf("discover fabric: limit below its minimum: timeout %v, budget %v, %d nodes, %d anomalies",
			o.Timeout, o.Budget, o.MaxNodes, o.MaxAnomalies)
	}
	return o, nil
}
