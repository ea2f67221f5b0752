package protocol

import (
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// Version is the version of the messages. A leader refuses workers of another version.
const Version = 2

// MaxMessage is the largest message in bytes: the samples of a node with 64 cards and 10,000 steps
// each fit in.
const MaxMessage = 16 << 20

// Kind is the kind of a command.
type Kind string

// The commands of a round are prepare, connect and run, each for all nodes before the next: a queue
// pair can be connected only when its peer exists, and used only when the peer is connected.
const (
	KindSurvey  Kind = "survey"  // report cards and facts
	KindPrepare Kind = "prepare" // create the queue pairs of a round; those of the last round are closed
	KindConnect Kind = "connect" // connect them with the peers
	KindRun     Kind = "run"     // measure
	KindEnd     Kind = "end"     // close everything: nothing follows
)

// Command is a command for a worker.
type Command struct {
	Kind Kind `json:"kind"`
	// Limit is how long it may take; the worker then reports what it has.
	Limit time.Duration `json:"limit"`
	// Edges are the ends of connections that a prepare creates.
	Edges []Edge `json:"edges,omitempty"`
	// Peers are the other ends, for a connect.
	Peers []Peer `json:"peers,omitempty"`
	// Length is how long a run measures.
	Length time.Duration `json:"length,omitempty"`
	// Measure are the edges of a run that are measured: those whose both ends are connected.
	Measure []int `json:"measure,omitempty"`
	// Collectives are operations of a run over edges with the role [RoleCollective].
	Collectives []Collective `json:"collectives,omitempty"`
}

// Role is what a worker does at an end of a connection.
type Role string

// The roles.
const (
	RoleSend       Role = "send"       // writes to the peer's memory for the length of the run
	RoleTarget     Role = "target"     // is written to
	RoleBoth       Role = "both"       // writes, and is written to
	RoleAsk        Role = "ask"        // sends messages and waits for the answers
	RoleAnswer     Role = "answer"     // answers them
	RoleCollective Role = "collective" // a step of a collective operation
)

// Edge is an end of a connection at a worker.
type Edge struct {
	ID    int   `json:"id"` // unique at this worker in this round
	Rail  int   `json:"rail"`
	Flows int   `json:"flows"` // queue pairs, 1 to [MaxFlows]
	Role  Role  `json:"role"`
	Steps int   `json:"steps,omitempty"` // of a RoleAsk or RoleAnswer: messages at most; 0 means by time only
	Bytes int64 `json:"bytes,omitempty"` // of a RoleCollective: the buffer of a step
	// Cap is the rate in Gb/s that a RoleSend or RoleBoth sends at most; 0 means no limit.
	Cap float64 `json:"cap,omitempty"`
}

// MaxFlows is the largest number of queue pairs of an edge.
const MaxFlows = 64

// Endpoint is what a peer needs to connect to a queue pair.
type Endpoint struct {
	QPN  uint32 `json:"qpn"`
	PSN  uint32 `json:"psn"`
	GID  string `json:"gid,omitempty"`
	LID  uint16 `json:"lid,omitempty"`
	RKey uint32 `json:"rkey,omitempty"`
	Addr uint64 `json:"addr,omitempty"`
	MTU  int    `json:"mtu"` // of the port, in bytes
}

// Peer is the other end of an edge.
type Peer struct {
	ID        int        `json:"id"`
	Endpoints []Endpoint `json:"endpoints"` // one for each flow
}

// Algorithm is how a collective operation goes, as nccl-tests name it.
type Algorithm string

// The algorithms of an all-reduce.
const (
	AlgorithmRing Algorithm = "ring"
	AlgorithmTree Algorithm = "tree"
)

// Collective is a part of a collective operation: the place of a node in it.
type Collective struct {
	Algorithm Algorithm `json:"algorithm"`
	Rail      int       `json:"rail"`
	Rank      int       `json:"rank"`
	Nodes     int       `json:"nodes"`
	Bytes     int64     `json:"bytes"` // of the buffer that is reduced
	// Next and Previous are edges of a ring, Parent and Children of a tree; -1 stands for none.
	Next     int   `json:"next"`
	Previous int   `json:"previous"`
	Parent   int   `json:"parent"`
	Children []int `json:"children,omitempty"`
}

// Reply is the answer to a command.
type Reply struct {
	// Error is set if the command as a whole failed.
	Error string       `json:"error,omitempty"`
	Node  *result.Node `json:"node,omitempty"` // of a survey
	// Rails are the cards of a survey, by index of Node.Cards.
	Rails       []plan.Card     `json:"rails,omitempty"`
	Name        string          `json:"name,omitempty"` // of the node, in a survey
	Now         time.Time       `json:"now,omitzero"`   // by the node's clock, in a survey
	Scale       *result.Scale   `json:"scale,omitempty"`
	Edges       []EdgeReply     `json:"edges,omitempty"`
	Collectives []PartOfCollect `json:"collectives,omitempty"`
}

// EdgeReply is the result of a command for an edge.
type EdgeReply struct {
	ID        int             `json:"id"`
	Endpoints []Endpoint      `json:"endpoints,omitempty"` // of a prepare
	Failure   *result.Failure `json:"failure,omitempty"`
	// Of a run: the rate of what was sent in Gb/s, also by flow, and the round trips.
	Gbps    float64         `json:"gbps,omitempty"`
	Flows   []float32       `json:"flows,omitempty"`
	Latency *result.Latency `json:"latency,omitempty"`
	Steps   []float32       `json:"steps,omitempty"` // half round trips in µs, in their order
	// Counters of the card that moved during the run; At is not set.
	Counters []result.Counter `json:"counters,omitempty"`
}

// PartOfCollect is what a node reports of a collective operation.
type PartOfCollect struct {
	Algorithm Algorithm       `json:"algorithm"`
	Rail      int             `json:"rail"`
	Seconds   float64         `json:"seconds"`
	Waited    float64         `json:"waited"` // seconds of waiting for Previous or the children
	Failure   *result.Failure `json:"failure,omitempty"`
}
