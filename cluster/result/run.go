package result

import (
	"slices"
	"strconv"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
)

// Schema is the version of the JSON form of a [Run].
const Schema = "rdmakit.cluster-run/v1"

// Run is a verification, also an unfinished one.
type Run struct {
	Schema  string    `json:"schema"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"` // zero for an unfinished run
	// Scale is set for what is not hardware: emulated networks, and RDMA in software.
	Scale *Scale `json:"scale,omitempty"`
	// Cluster has the nodes of the plan. Their leaves are known if LeavesFrom is not empty.
	Cluster    plan.Cluster `json:"cluster"`
	LeavesFrom string       `json:"leavesFrom,omitempty"` // "sweep FILE", "lldp", "latency"
	// Start are the flags of rdmactl that started the workers, by name: a resumed run starts them
	// in the same way.
	Start   map[string]string `json:"start,omitempty"`
	Options plan.Options      `json:"options"`
	Stages  []Stage           `json:"stages"`
	Nodes   []Node            `json:"nodes"` // by index of Cluster.Nodes
	Samples []Sample          `json:"samples"`
	// Collectives and Barriers are measured by all nodes together.
	Collectives []Collective `json:"collectives,omitempty"`
	Barriers    []Barrier    `json:"barriers,omitempty"`
}

// LeavesFromLatency is the value of Run.LeavesFrom for leaves that were inferred from round trips.
const LeavesFromLatency = "latency"

// Scale says by how much the figures of a run are smaller or larger than those of the hardware for
// which they stand.
type Scale struct {
	Label string `json:"label"` // EMULATED or SOFTWARE
	// Rate is what 1 Gb/s of a run stands for, in Gb/s, and Time what 1 s of latency stands for, in
	// seconds; 1 for figures that stand for themselves.
	Rate float64 `json:"rate"`
	Time float64 `json:"time"`
}

// LabelSoftware is the label of RDMA in software, whose figures are those of the processors.
const LabelSoftware = "SOFTWARE"

// Stage is a stage of the plan and how far it got.
type Stage struct {
	Name    plan.Name     `json:"name"`
	Kind    plan.Kind     `json:"kind"`
	Planned int           `json:"planned"` // rounds
	Done    int           `json:"done"`
	Retests int           `json:"retests,omitempty"` // further rounds, of suspects with other partners
	Length  time.Duration `json:"length"`            // of a round's measurement
}

// Node is what a worker reported of its node.
type Node struct {
	State NodeState `json:"state"`
	// Cause is why a node is not ready, or was lost.
	Cause string `json:"cause,omitempty"`
	// LostStage and LostRound are where a lost node was last seen.
	LostStage int `json:"lostStage,omitempty"`
	LostRound int `json:"lostRound,omitempty"`
	// Facts are properties that should be equal on all nodes, by name ([FactKernel] and others).
	Facts map[string]string `json:"facts,omitempty"`
	// Clock is the difference of the node's clock to the leader's, and Uncertainty its limit; both
	// are 0 if unknown.
	Clock       time.Duration `json:"clock,omitempty"`
	Uncertainty time.Duration `json:"uncertainty,omitempty"`
	Cards       []Card        `json:"cards"` // by index of plan.Node.Rails
	// Findings are what the checks of the node found: warnings and faults only.
	Findings []Finding `json:"findings,omitempty"`
}

// NodeState is what became of a node.
type NodeState string

// The states.
const (
	NodeReady  NodeState = "ready"  // took part to the end
	NodeAbsent NodeState = "absent" // never reported
	NodeLost   NodeState = "lost"   // vanished during the run
)

// Card is what a worker reported of a card.
type Card struct {
	Facts map[string]string `json:"facts,omitempty"` // [FactMTU] and others
	// Failure is set for a card that can't be used at all.
	Failure *Failure `json:"failure,omitempty"`
	// Traffic is what the card carried before the run; nil if that could not be seen.
	Traffic *Traffic `json:"traffic,omitempty"`
}

// Traffic is what a card sends and receives, in Gb/s.
type Traffic struct {
	Sent     float64 `json:"sentGbps"`
	Received float64 `json:"receivedGbps"`
}

// Names of facts. Values are compared as text.
const (
	FactKernel   = "kernel"        // release
	FactDriver   = "driver"        // name and version
	FactFirmware = "firmware"      // version
	FactBoard    = "board"         // board ID, which tells models apart
	FactState    = "state"         // of the port: ACTIVE, DOWN
	FactRate     = "rate"          // of the port, in Gb/s: 400
	FactMTU      = "mtu"           // active MTU of the port, in bytes: 4096
	FactGIDType  = "gid-type"      // of the GID that is used: RoCE v2, RoCE v1, IB
	FactGID      = "gid"           // not compared; "" if the port has no usable one
	FactSubnet   = "subnet"        // prefix of the card's address, or of the GID on InfiniBand
	FactPKey     = "pkey"          // P_Key of the index that is used: 0xffff
	FactPCIe     = "pcie"          // 32.0 GT/s x16
	FactClass    = "traffic-class" // of the packets that jobs send: 106
	FactPFC      = "pfc"           // priorities with flow control: 3

	// FactMachine is of a node and tells machines apart: its boot and its network namespace. It is
	// not compared.
	FactMachine = "machine"

	// The following say where a card is, and are not compared.
	FactNodeGUID   = "node-guid"   // of the device: 0002:c903:0000:0001
	FactPortGUID   = "port-guid"   // of an InfiniBand port
	FactNetdev     = "netdev"      // network device with the cable: eth0; of a bond its members: eth0, eth1
	FactNetdevRate = "netdev-rate" // of that device in Gb/s, where RDMA is in software
	FactSwitchID   = "switch-id"   // of the switch: its node GUID, or its LLDP chassis ID with its type
	FactSwitch     = "switch"      // its name
	FactSwitchPort = "switch-port" // its port at the other end of the cable
)

// Finding is a finding of doctor about a node.
type Finding struct {
	Check   string `json:"check"`
	Object  string `json:"object"`
	Outcome string `json:"outcome"` // warn or fail
	Summary string `json:"summary"`
	Remedy  string `json:"remedy,omitempty"`
}

// Sample is one direction of traffic between two cards in one round. A loopback has the same card
// at both ends, or two cards of one node. With several senders to one receiver (incast), each has
// a sample of its own. The two directions of a pair are two samples; a latency is one.
type Sample struct {
	Stage   uint8  `json:"s"`           // index of Run.Stages
	Attempt uint8  `json:"a,omitempty"` // 0 for a round of the plan, n for the nth retest
	Round   uint16 `json:"i"`
	// From sends. In a round trip it is the one that measures.
	From plan.End `json:"f"`
	To   plan.End `json:"t"`
	// Load is set if other traffic ran beside a measurement of latency.
	Load bool `json:"l,omitempty"`
	// Gbps is the rate of the payload in Gb/s, 0 if none was measured.
	Gbps   float32 `json:"g,omitempty"`
	Detail *Detail `json:"d,omitempty"`
}

// Detail is what most samples don't have.
type Detail struct {
	Failure *Failure `json:"failure,omitempty"`
	Latency *Latency `json:"latency,omitempty"`
	// Flows are the rates by source port, in Gb/s, if a pair had several.
	Flows []float32 `json:"flows,omitempty"`
	// Counters are those that moved during the step, of both ends.
	Counters []Counter `json:"counters,omitempty"`
}

// Latency is a distribution of round trips divided by two, in µs.
type Latency struct {
	Count int     `json:"count"`
	Min   float64 `json:"min,omitempty"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
}

// Failure is why nothing was measured, or why a measurement ended early.
type Failure struct {
	Step FailureStep `json:"step"`
	// Code is a word for the cause that doesn't change between versions: retry-exceeded,
	// rnr-retry-exceeded, remote-access, no-gid, port-down, timeout, lost, other.
	Code string `json:"code"`
	Text string `json:"text"` // the error as it was
	// At is the end that noticed it; empty for a failure of a card by itself.
	At Side `json:"at,omitempty"`
}

// FailureStep is the step at which a measurement failed.
type FailureStep string

// The steps, in their order.
const (
	StepOpen    FailureStep = "open"    // the device or its port
	StepPrepare FailureStep = "prepare" // queue pairs and memory
	StepConnect FailureStep = "connect" // states of queue pairs, first message
	StepData    FailureStep = "data"    // the measurement itself
)

// Counter is a counter that moved during a step.
type Counter struct {
	At    Side   `json:"at"`
	Name  string `json:"name"` // [CounterRetransmits] and others
	Delta uint64 `json:"delta"`
}

// Side is an end of a sample.
type Side string

// The sides.
const (
	AtFrom Side = "from"
	AtTo   Side = "to"
)

// Names of counters, equal for all drivers.
const (
	CounterRetransmits = "retransmits"        // packets sent again by the requester
	CounterTimeouts    = "timeouts"           // expired acknowledgement timers
	CounterOutOfSeq    = "out-of-sequence"    // packets with a PSN gap, at the responder
	CounterICRC        = "icrc-errors"        // packets with a wrong ICRC, at the receiver
	CounterCNPSent     = "cnp-sent"           // congestion notifications sent by a receiver
	CounterCNPReceived = "cnp-received"       // congestion notifications received by a sender
	CounterECN         = "ecn-marked"         // packets received with CE
	CounterPauseSent   = "pause-sent"         // pause frames sent, all priorities
	CounterPauseRcvd   = "pause-received"     // pause frames received, all priorities
	CounterDiscards    = "discards"           // packets dropped by the port, no buffer
	CounterSymbol      = "symbol-errors"      // of the link
	CounterFEC         = "fec-uncorrected"    // code words beyond repair
	CounterDowned      = "link-downed"        // times that the link went down
	CounterRNR         = "receiver-not-ready" // messages without a receive request
)

// Collective is an operation of all nodes of a rail.
type Collective struct {
	Stage     uint8   `json:"s"`
	Round     uint16  `json:"i"`
	Algorithm string  `json:"algorithm"` // ring or tree
	Rail      int16   `json:"rail"`
	Nodes     int     `json:"nodes"` // that took part
	Bytes     int64   `json:"bytes"` // of each node's buffer
	Seconds   float64 `json:"seconds"`
	// AlgBW is Bytes by Seconds, and BusBW what each link carried of it, in GB/s, as nccl-tests
	// define them: busbw = algbw · 2(n−1)/n for all-reduce.
	AlgBW   float64  `json:"algbw"`
	BusBW   float64  `json:"busbw"`
	Failure *Failure `json:"failure,omitempty"`
	// Slowest counts how often a node was the last of a step, the most frequent first.
	Slowest []Slowest `json:"slowest,omitempty"`
}

// Barrier is the distribution of the slowest round trip of all pairs of a rail, step by step: what
// a synchronous job waits for.
type Barrier struct {
	Stage   uint8     `json:"s"`
	Round   uint16    `json:"i"`
	Rail    int16     `json:"rail"`
	Load    bool      `json:"load,omitempty"`
	Latency Latency   `json:"latency"`
	Slowest []Slowest `json:"slowest,omitempty"`
}

// Slowest is how often a card was the last of a step.
type Slowest struct {
	End   plan.End `json:"end"`
	Count int      `json:"count"`
}

// Name returns the name of a card for people: gpu-003 mlx5_2.
func (r *Run) Name(e plan.End) string {
	if int(e.Node) >= len(r.Cluster.Nodes) || e.Node < 0 {
		return "node " + strconv.Itoa(int(e.Node))
	}
	n := r.Cluster.Nodes[e.Node]
	for _, c := range n.Rails {
		if c.Rail == int(e.Rail) {
			return n.Name + " " + c.Device
		}
	}
	return n.Name + " rail " + strconv.Itoa(int(e.Rail))
}

// Software reports whether the figures are those of RDMA in software.
func (r *Run) Software() bool { return r.Scale != nil && r.Scale.Label == LabelSoftware }

// Scaled returns s with default values for figures that stand for themselves.
func (r *Run) Scaled() Scale {
	if r.Scale == nil {
		return Scale{Rate: 1, Time: 1}
	}
	return *r.Scale
}

// Complete reports whether all planned rounds were done, no node is missing, and no collective
// failed.
func (r *Run) Complete() bool {
	for _, s := range r.Stages {
		if s.Done < s.Planned {
			return false
		}
	}
	for _, n := range r.Nodes {
		if n.State != NodeReady {
			return false
		}
	}
	failed := func(c Collective) bool { return c.Failure != nil }
	return !r.Ended.IsZero() && !slices.ContainsFunc(r.Collectives, failed)
}

// Measured reports whether no pair has failed in all of its measurements of a stage.
func (r *Run) Measured() bool {
	type pair struct {
		stage    uint8
		from, to plan.End
	}
	failed, passed := map[pair]bool{}, map[pair]bool{}
	for i := range r.Samples {
		s := &r.Samples[i]
		if s.Detail != nil && s.Detail.Failure != nil {
			failed[pair{s.Stage, s.From, s.To}] = true
		}
	}
	if len(failed) == 0 { // the usual case costs no memory
		return true
	}
	for i := range r.Samples {
		s := &r.Samples[i]
		if p := (pair{s.Stage, s.From, s.To}); failed[p] && (s.Detail == nil || s.Detail.Failure == nil) {
			passed[p] = true
		}
	}
	return len(failed) == len(passed)
}
