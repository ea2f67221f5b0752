package facts

import (
	"time"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Facts is what was read about one job.
type Facts struct {
	// Store has all events, for rules that need more than the facts.
	Store *evidence.Store
	// Nodes are in the order in which they appear; a node without a name is its file.
	Nodes []*Node
	// Libraries are those whose version is known or limited by the forms that were seen.
	Libraries []Library
	// Failures begin with the most likely origin: see [Failure].
	Failures []*Failure
	// Silent are nodes that others name as peer, and that report no failure themselves, or ranks
	// that began to initialize and did not finish.
	Silent []Silence
	// Differences are values that are not equal on all nodes and should be.
	Differences []Difference
	// GDR is "on" or "off" if network transfers use GPU Direct RDMA or not, "" if no line tells.
	GDR string
	// Ranks is the number of ranks of the job, 0 if no line tells.
	Ranks int
	// Hidden says what can't be seen in these logs, so that its absence proves nothing, and which
	// setting would show it.
	Hidden []string
	// doubles are the notes about several recordings of one node.
	doubles []string
}

// Value is a text with the places where it was read; the first ones, if there are many.
type Value struct {
	Text   string
	Places []evidence.Place
}

// Node is one host, container or pod, as far as its lines tell.
type Node struct {
	Name  string
	Files []string
	Ranks []int // global ranks, ascending
	// Networks are what NCCL said it uses: "IB", "Socket", "AWS Libfabric"; more than one if its
	// ranks or communicators differ.
	Networks []Value
	Devices  []*Device
	// GIDs are those of the node in lines that don't name the device, and PeerGIDs those of peers
	// in its lines.
	GIDs, PeerGIDs []GIDUse
	// otherMTUs has the path MTUs of connections whose device isn't known, as one value.
	otherMTUs []Value
	// Sockets are interfaces with address: "eth0:10.0.0.1", and Bootstrap the one that was chosen.
	Sockets   []Value
	Bootstrap []Value
	// Environment has variables in the order in which they were read.
	Environment []Setting
	// Job tells nodes of different jobs in the same logs apart: nodes that share a communicator
	// have the same number; 0 is unknown.
	Job int
	// wholeJob reports that all ranks of a communicator of the job are in these logs, so that no
	// node whose job isn't known belongs to it.
	wholeJob bool
	// Started and Completed are the ranks whose initialization did.
	Started, Completed []int
	// Plugins says whether NCCL loaded an external network plugin: "an external plugin", or "none".
	Plugins []Value
	// LIDs reports that a program has printed a LID that isn't 0: the port is InfiniBand.
	LIDs bool
	// NoDevice reports that NCCL found no RDMA device there.
	NoDevice []evidence.Place
	// Recorded is what a recording of the node has, nil if there is none. RecordedOnly reports that
	// nothing else is about the node: it has no log here.
	Recorded     *Recorded
	RecordedOnly bool
}

// Setting is a variable and the values that were read.
type Setting struct {
	Name   string
	Values []Value
}

// Link is the kind of a port. NCCL's word RoCE stands for iWARP too.
type Link string

// Links.
const (
	LinkUnknown    Link = ""
	LinkInfiniBand Link = "InfiniBand"
	LinkRoCE       Link = "RoCE"
	LinkIWARP      Link = "iWARP"
	LinkEFA        Link = "EFA"
)

// Device is an RDMA device of a node, as far as lines tell.
type Device struct {
	Name string
	Port int // 0: unknown
	Link Link
	// Driver is from the name or the kernel's lines: "mlx5", "bnxt_re", "irdma"; "" if unknown.
	Driver string
	// MTU is the path MTU in bytes that the device reported, 0 if unknown.
	MTU int
	// GIDs are those that connections used.
	GIDs []GIDUse
	// GDR is "enabled", "disabled" or "" if no line tells.
	GDR    string
	Places []evidence.Place
}

// GIDUse is a GID as a queue pair used it.
type GIDUse struct {
	Index int // -1: unknown
	GID   ib.GID
	Place evidence.Place
}

// Library is a library with what is known of its version.
type Library struct {
	Name string // "nccl", "rccl", "ucx", "nvshmem", "torch", …
	// Versions are what the library has printed; several if nodes or ranks differ.
	Versions []Value
	// Since and Until limit the version by the forms of lines: the first release that prints the
	// newest form, and the last that prints the oldest; "" if nothing limits it.
	Since, Until     string
	SinceBy, UntilBy evidence.Place
	// Contradiction is set if all printed versions are outside the limits: then another copy of
	// the library is loaded.
	Contradiction string
}

// Failure is an event that isn't only the echo of another one.
type Failure struct {
	Event *evidence.Event
	Node  *Node // nil: unknown
	// Device is the local device, and Peer the other node, "" and nil if unknown. PeerAddress is
	// what the line names: a GID or an address.
	Device      string
	Peer        *Node
	PeerAddress string
	// SinceInit is the time since the node's first initialization line, negative if unknown.
	SinceInit time.Duration
	// Echoes are later events that follow from this one: flushed requests, closed connections,
	// watchdogs, tracebacks.
	Echoes []*evidence.Event
	// Same are further failures of the same kind by the same cause candidate, for counts.
	Same []*Failure
}

// Silence is a node or rank that others wait for.
type Silence struct {
	Node *Node
	Rank int // evidence.NoRank: the node as a whole
	// Why says what shows it: who names it, or that it began and did not finish.
	Why    string
	Places []evidence.Place
}

// Difference is a value that differs between nodes.
type Difference struct {
	What   string // "NCCL version", "devices", "active MTU", "NCCL_IB_GID_INDEX", …
	Values []NodeValue
}

// NodeValue is a value with the nodes that have it.
type NodeValue struct {
	Value
	Nodes []*Node
}
