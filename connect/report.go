package connect

import (
	"fmt"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Schema is the version of the JSON form of a [Report]. A field may be added within a version; one
// that is removed or changes its meaning makes a new one.
const Schema = "rdmakit.connect/v1"

// Stage is a step of an attempt.
type Stage string

// The stages, in their order.
const (
	StageOpen      Stage = "open"       // open the device, query the port
	StageRegister  Stage = "register"   // allocate and register memory, create queues
	StageResolve   Stage = "resolve"    // choose a GID, find the peer's address and the route to it
	StageExchange  Stage = "exchange"   // exchange addresses over TCP, and compare them
	StageCM        Stage = "CM"         // connect by the communication manager, instead of RTR and RTS
	StageRTR       Stage = "RTR"        // queue pair ready to receive
	StageRTS       Stage = "RTS"        // queue pair ready to send
	StageFirstSend Stage = "first send" // one message of 64 bytes in each direction
	StageData      Stage = "data"       // pings and writes
)

// Stages returns all stages in their order. An attempt has either StageCM, or StageRTR and
// StageRTS.
func Stages() []Stage {
	return []Stage{
		StageOpen, StageRegister, StageResolve, StageExchange, StageCM, StageRTR, StageRTS, StageFirstSend, StageData,
	}
}

// Scales of the figures of an attempt.
const (
	// ScaleSoftware marks figures of a device in user space.
	ScaleSoftware = bench.ScaleSoftware
	// ScaleTCP marks figures that were measured over TCP.
	ScaleTCP = "TCP, not RDMA"
)

// Report is the result of one run. It is plain data.
type Report struct {
	Schema string    `json:"schema"`         // name and version of this form
	Taken  time.Time `json:"taken,omitzero"` // when the run began
	Local  Node      `json:"local"`          // this end
	// Peer is the other end; nil if it was not reached, or is this end.
	Peer *Node `json:"peer,omitempty"`
	// Attempts has one entry for each pair of ports, in the order in which they were tried.
	Attempts []Attempt `json:"attempts"`
	// Skipped are ports that were not tried, and what else was left out, with the reason.
	Skipped []string `json:"skipped,omitempty"`
	// TCP is the measurement over TCP, if both ends allow it.
	TCP *TCPResult `json:"tcp,omitempty"`
	// Lost is why a listener's run ended before the client said so, after attempts that succeeded,
	// if more may have been left to try: other ports, or the measurement over TCP.
	Lost *Failure `json:"lost,omitempty"`
}

// Node is what is known about one end: facts that matter for the reader of a saved report.
type Node struct {
	Host     string `json:"host"`               // name of the machine
	Software string `json:"software,omitempty"` // version of rdmakit
	Kernel   string `json:"kernel,omitempty"`   // release of the kernel
	Platform string `json:"platform,omitempty"` // GOOS/GOARCH
	Memlock  string `json:"memlock,omitempty"`  // limit of pinned memory
	// Ports are the RDMA ports of the node.
	Ports []PortFacts `json:"ports,omitempty"`
}

// PortFacts describes a port of a node.
type PortFacts struct {
	Name      string `json:"name"`                // "mlx5_0:1", or the name of an engine
	Rail      *int   `json:"rail,omitempty"`      // number of a compute port
	Netdev    string `json:"netdev,omitempty"`    // network device
	NetdevMTU int    `json:"netdevMTU,omitempty"` // of the network device
	LinkLayer string `json:"linkLayer,omitempty"` // InfiniBand or Ethernet
	State     string `json:"state,omitempty"`     // ACTIVE if usable
	Rate      string `json:"rate,omitempty"`      // such as "400 Gb/s 4X NDR"
	Driver    string `json:"driver,omitempty"`    // kernel driver
	Firmware  string `json:"firmware,omitempty"`  // version
	BoardID   string `json:"boardID,omitempty"`   // PSID
	Model     string `json:"model,omitempty"`     // vendor and product, or their PCI IDs
	PCI       string `json:"pci,omitempty"`       // address of the function
	NUMANode  *int   `json:"numaNode,omitempty"`  // of the function
	// Offered reports whether the port takes part in a run with all ports; Reason says why, or why
	// not.
	Offered bool   `json:"offered"`
	Reason  string `json:"reason,omitempty"`
}

// Attempt is the result for one pair of ports.
type Attempt struct {
	Rail   *int          `json:"rail,omitempty"`  // of both ports, in a run with all ports
	Local  PortEnd       `json:"local"`           // this end's port
	Remote PortEnd       `json:"remote"`          // the other end's; empty if it was not reached
	Scale  string        `json:"scale,omitempty"` // ScaleSoftware, or empty
	Stages []StageResult `json:"stages"`          // those that were reached, in their order
	// PathMTU is the MTU of the connection in bytes, and MTUReason says where it comes from.
	PathMTU   ib.MTU `json:"pathMTU,omitempty"`
	MTUReason string `json:"mtuReason,omitempty"`
	// Ping is the latency of messages of 64 bytes: half a round trip, as in perftest.
	Ping *bench.LatencyPoint `json:"ping,omitempty"`
	// Writes are the RDMA WRITEs, by direction.
	Writes []WriteResult `json:"writes,omitempty"`
	// Retries are the counters of repeated or lost packets that grew, by end; they cover all users
	// of the device. CountersUnknown names the ends whose device has no such counters.
	Retries         map[string]map[string]uint64 `json:"retries,omitempty"`
	CountersUnknown []string                     `json:"countersUnknown,omitempty"`
	Notes           []string                     `json:"notes,omitempty"` // remarks that are no failures
	Failure         *Failure                     `json:"failure,omitempty"`
}

// PortEnd is one end of an attempt.
type PortEnd struct {
	Host      string `json:"host,omitempty"`
	Port      string `json:"port"` // "mlx5_0:1", or the name of an engine
	LinkLayer string `json:"linkLayer,omitempty"`
	ActiveMTU ib.MTU `json:"activeMTU,omitempty"` // of the port, in bytes
	LID       ib.LID `json:"lid,omitempty"`       // InfiniBand only
	PKey      string `json:"pkey,omitempty"`      // partition key, with its membership bit
	QPN       string `json:"qpn,omitempty"`       // of the queue pair
	// GID is the chosen entry of the port's table, and Reason says why it was chosen.
	GID    *GIDChoice `json:"gid,omitempty"`
	Reason string     `json:"gidReason,omitempty"`
}

// GIDChoice is an entry of a port's GID table.
type GIDChoice struct {
	Index int    `json:"index"` // into the port's table
	GID   ib.GID `json:"gid"`   // the entry
	Kind  Kind   `json:"kind"`  // its type and address family
}

// StageResult is a stage that was reached.
type StageResult struct {
	Stage  Stage   `json:"stage"`
	OK     bool    `json:"ok"`
	Millis float64 `json:"millis"` // how long it took at this end
}

// Directions of a [WriteResult].
const (
	ToPeer   = "to peer"   // from the local port to the remote one
	FromPeer = "from peer" // the reverse
)

// WriteResult is the result of RDMA WRITEs in one direction, or of the same over TCP.
type WriteResult struct {
	Direction string  `json:"direction"` // ToPeer or FromPeer
	Bytes     int     `json:"bytes"`     // of a message
	Count     int     `json:"count"`     // messages
	Gbps      float64 `json:"gbps"`      // average, 10^9 bits per second, one message at a time
	Verified  int     `json:"verified"`  // messages whose data the receiver found correct
}

// TCPResult is a measurement over TCP, of the same form as an [Attempt]. It says nothing about
// RDMA.
type TCPResult struct {
	Scale   string              `json:"scale"` // ScaleTCP
	Local   string              `json:"local"` // address of this end
	Remote  string              `json:"remote"`
	Ping    *bench.LatencyPoint `json:"ping,omitempty"`
	Writes  []WriteResult       `json:"writes,omitempty"`
	Failure *Failure            `json:"failure,omitempty"`
}

// Failure is why an attempt failed, the same at both ends.
type Failure struct { //nolint:errname // it is a part of the report, too
	Stage     Stage  `json:"stage"`
	End       string `json:"end"`       // who found it: "node1 mlx5_0:1"
	Operation string `json:"operation"` // what was tried
	Object    string `json:"object"`    // on what
	Code      Code   `json:"code"`
	Cause     string `json:"cause"` // what is known
	// Observed are other observations, Possible what may be the reason if the cause doesn't say it.
	Observed []string `json:"observed,omitempty"`
	Possible []string `json:"possible,omitempty"`
	Remedies []string `json:"remedies,omitempty"` // what to do or to look at

	err error // cause at this end
}

// Error returns "STAGE: OPERATION OBJECT: CAUSE".
func (f *Failure) Error() string { return string(f.Stage) + ": " + f.What() }

// What returns "OPERATION OBJECT: CAUSE", or only the cause if it names the operation.
func (f *Failure) What() string {
	if strings.HasPrefix(f.Cause, f.Operation+" ") {
		return f.Cause
	}
	return strings.TrimSpace(f.Operation+" "+f.Object) + ": " + f.Cause
}

// Unwrap returns the error at this end, nil if the other end found it.
func (f *Failure) Unwrap() error { return f.err }

// Code identifies a kind of failure.
type Code string

// The codes. They are stable: programs may branch on them.
const (
	CodeOpen           Code = "open"             // the device can't be opened
	CodePortDown       Code = "port-down"        // the port is not active
	CodeMemory         Code = "memory"           // no memory
	CodeMemlock        Code = "memlock"          // pinning memory is limited
	CodeCreate         Code = "create"           // queues can't be created
	CodeNoGID          Code = "no-gid"           // the port has no usable GID
	CodeGIDFamily      Code = "gid-family"       // IPv4 at one end, IPv6 at the other
	CodeGIDType        Code = "gid-type"         // RoCE v1 at one end, v2 at the other
	CodeLinkLayer      Code = "link-layer"       // InfiniBand at one end, Ethernet at the other
	CodePKey           Code = "pkey"             // different partitions
	CodeName           Code = "name"             // the peer's name doesn't resolve
	CodeRefused        Code = "exchange-refused" // nothing listens at the peer
	CodeExchangeSilent Code = "exchange-timeout" // no answer over TCP
	CodeNoRoute        Code = "no-route"         // this machine has no route
	CodeExchange       Code = "exchange"         // anything else in the exchange
	CodeProtocol       Code = "protocol"         // the peer is another program or version
	CodeNoPort         Code = "no-port"          // the peer doesn't offer the port
	CodeModify         Code = "modify"           // the device rejects the connection
	CodeNoCM           Code = "no-cm"            // the device has no communication manager
	CodeCMRefused      Code = "cm-refused"       // nobody listens there (REJ, reason 8)
	CodeCMRejected     Code = "cm-rejected"      // the connection request was rejected for another reason
	CodeCMSilent       Code = "cm-silent"        // the connection request was not answered
	CodeCM             Code = "cm"               // anything else of the communication manager
	CodeBlockedHere    Code = "blocked-here"     // this machine doesn't send the packets
	CodeUnacknowledged Code = "unacknowledged"   // nothing comes back
	CodeRNR            Code = "rnr"              // the peer has no receive request
	CodeLargeLost      Code = "large-lost"       // small messages pass, large ones don't
	CodeRejected       Code = "rejected"         // the peer's device rejects the request
	CodeData           Code = "data-mismatch"    // the data differs
	CodePeerEnded      Code = "peer-ended"       // the peer's program has ended
	CodeStalled        Code = "stalled"          // no progress, no error
	CodeTransfer       Code = "transfer"         // anything else while sending
	CodeInterrupted    Code = "interrupted"      // a time limit or a signal of this end
)

// Err returns the failure of the first failed attempt, or nil; if all succeeded, that of the
// measurement over TCP, or that of a run that ended early. The text includes how many failed if
// there were several attempts.
func (r *Report) Err() error {
	var first *Failure
	failed := 0
	for i := range r.Attempts {
		if f := r.Attempts[i].Failure; f != nil {
			failed++
			if first == nil {
				first = f
			}
		}
	}
	switch {
	case first == nil && len(r.Attempts) == 0:
		return ErrNothing
	case first == nil && r.TCP != nil && r.TCP.Failure != nil:
		return r.TCP.Failure
	case first == nil && r.Lost != nil:
		return r.Lost
	case first == nil:
		return nil
	case len(r.Attempts) == 1:
		return first
	}
	return fmt.Errorf("%d of %d connections failed, the first: %w", failed, len(r.Attempts), first)
}
