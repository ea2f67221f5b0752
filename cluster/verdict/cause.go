package verdict

// Cause is a kind of fault.
type Cause string

// The causes. Their place is a card unless another one is named.
const (
	CauseSlow           Cause = "slow"           // a card is slower than its peers, both ways
	CauseSlowSend       Cause = "slow-send"      // only what it sends
	CauseSlowReceive    Cause = "slow-receive"   // only what it receives
	CauseSlowNode       Cause = "slow-node"      // node: all of its cards are slow
	CausePCIe           Cause = "pcie"           // a card is limited by its slot
	CauseLoss           Cause = "loss"           // its link loses packets, both ways
	CauseLossSend       Cause = "loss-send"      // only those that it sends
	CauseLossReceive    Cause = "loss-receive"   // only those that it receives
	CauseBitErrors      Cause = "bit-errors"     // its link damages packets
	CauseFlapping       Cause = "flapping"       // its link goes down and comes back
	CauseDeadCard       Cause = "dead-card"      // no traffic at all
	CauseMissingCard    Cause = "missing-card"   // node: it has no card of a rail of its peers
	CauseAbsent         Cause = "absent"         // node: never reported
	CauseLost           Cause = "lost"           // node: vanished during the run
	CauseJitter         Cause = "jitter"         // node: its latency varies more than that of its peers
	CausePauses         Cause = "pauses"         // node: it stands still for milliseconds now and then
	CauseMTU            Cause = "mtu"            // its MTU differs
	CauseNoGID          Cause = "no-gid"         // it has no usable GID
	CauseGIDType        Cause = "gid-type"       // its GID is of another type
	CausePKey           Cause = "pkey"           // it is in another partition
	CauseRails          Cause = "rails"          // node: two of its cards are cabled to each other's rail
	CauseUplinks        Cause = "leaf-uplinks"   // leaf: fewer uplinks than other leaves
	CauseUplink         Cause = "uplink"         // leaf: one of its uplinks is bad
	CauseOversubscribed Cause = "oversubscribed" // fabric: traffic between leaves is slower than within
	CauseIncast         Cause = "incast"         // leaf or fabric: incast collapses, no flow control
	CausePFC            Cause = "pfc"            // its priorities with flow control differ
	CauseSubnet         Cause = "subnet"         // its address is not in the subnet of its rail
	CauseClass          Cause = "traffic-class"  // its traffic class differs
	CauseFirmware       Cause = "firmware"       // its firmware differs
	CauseClock          Cause = "clock"          // node: its clock is wrong
)
