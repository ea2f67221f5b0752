package consensus

import "github.com/rdmakit/rdmakit/launch"

// Schema is the version of the JSON form of a [Report]. A field may be added within a
// version; one that is removed or changes its meaning makes a new one.
const Schema = "rdmakit.consensus/v1"

// Verdict is the answer in a word.
type Verdict string

// The verdicts.
const (
	VerdictAgree  Verdict = "agree"   // no difference but notes
	VerdictDiffer Verdict = "differ"  // something breaks or slows jobs
	VerdictNone   Verdict = "no-rdma" // no node has RDMA that can be used
)

// Severity is what a difference does to a job.
type Severity string

// The severities, worst first.
const (
	SeverityBreaks Severity = "breaks" // jobs fail, hang or fall back to TCP
	SeveritySlows  Severity = "slows"  // jobs run at the pace of the slowest
	SeverityNote   Severity = "note"   // harmless with the settings that the report gives
)

// Report is the outcome of a comparison. It is plain data; lists are in a fixed
// order, so the order in which nodes were given never shows.
type Report struct {
	Schema    string           `json:"schema"`    // name and version of this form
	Verdict   Verdict          `json:"verdict"`   // the answer in a word
	Libraries []launch.Library `json:"libraries"` // those whose variables were derived
	Nodes     []NodeReport     `json:"nodes"`     // by name, in natural order
	Pairing   Pairing          `json:"pairing"`   // how rails of nodes were matched
	Rails     []RailReport     `json:"rails"`     // by number
	// Differences are sorted by severity, then by the order of Checks.
	Differences []Difference `json:"differences"`
	GID         GIDReport    `json:"gid"`
	Variables   Variables    `json:"variables"`
	// Incomplete names nodes of which files that decide could not be read.
	Incomplete []string `json:"incomplete,omitempty"`
	// Unreadable lists inputs that are no nodes; Compare leaves it to its caller.
	Unreadable []Unreadable `json:"unreadable,omitempty"`
}

// NodeReport is a node of the comparison.
type NodeReport struct {
	// The host name; with the source where two nodes share it.
	Name    string         `json:"name"`
	Host    string         `json:"host,omitempty"`   // host name, "" when not known
	Source  string         `json:"source"`           // file or folder that it was read from
	Outcome launch.Outcome `json:"outcome"`          // whether jobs on the node can use RDMA
	Reason  string         `json:"reason,omitempty"` // why there is no RDMA
	Rails   int            `json:"rails"`            // selected ports
	Socket  string         `json:"socket,omitempty"` // network device for bootstrap
}

// The ways in which the rails of nodes are matched.
const (
	PairedByNumber = "number" // the inventory's rail numbers
	PairedBySubnet = "subnet" // the subnet or fabric that each rail is in
	PairedByOrder  = "order"  // the order of the devices
)

// Pairing tells how the rails of one node were matched with those of another.
type Pairing struct {
	Method string `json:"method"` // number, subnet or order
	Reason string `json:"reason"` // why by that, for a person
	// Realigned lists nodes with fewer rails whose numbers were moved to the subnets of the others.
	Realigned []string `json:"realigned,omitempty"`
}

// RailReport is what most nodes have on a rail.
type RailReport struct {
	Rail       int         `json:"rail"`       // its number, from 0
	Nodes      int         `json:"nodes"`      // that have the rail
	Attributes []Attribute `json:"attributes"` // what is compared of each rail's ports
}

// Attribute returns the attribute of a name, the zero value when the rail has none.
func (r RailReport) Attribute(name string) Attribute {
	for _, a := range r.Attributes {
		if a.Name == name {
			return a
		}
	}
	return Attribute{}
}

// Attribute is the most frequent value of a rail's attribute.
type Attribute struct {
	Name  string `json:"name"`  // ID of the Check that compares it
	Value string `json:"value"` // of equally frequent ones the first in order
	Nodes int    `json:"nodes"` // that have the value
	Of    int    `json:"of"`    // that have any
}

// Difference is something in which nodes differ, or that they share and must not.
type Difference struct {
	Check    string   `json:"check"`    // ID of the Check
	Severity Severity `json:"severity"` // what it does to a job
	// Rails that it concerns; absent for the node as a whole.
	Rails []int  `json:"rails,omitempty"`
	Text  string `json:"text"` // what differs, for a person
	// Tie reports whether no value is on more than half of the nodes: nothing shows who is right
	// then.
	Tie bool `json:"tie,omitempty"`
	// Groups are the values with their nodes, the most frequent first.
	Groups []Group `json:"groups"`
	Why    string  `json:"why"`
	Remedy string  `json:"remedy"`
}

// Group is the nodes that share a value.
type Group struct {
	Value string   `json:"value"` // as it was read
	Nodes []string `json:"nodes"` // names, in natural order
	// Evidence is a sample: where the value was read, for at most three nodes.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Evidence is a file of a node and what is in it.
type Evidence struct {
	Node  string `json:"node"`  // name of the node
	Path  string `json:"path"`  // absolute, on the node
	Value string `json:"value"` // content of the file, or what follows from it
}

// GIDReport says whether a GID index can be the same for all nodes.
type GIDReport struct {
	// Applies is false where nothing may be pinned: on InfiniBand the libraries choose
	// the entry, and EFA and nodes without RDMA have none to choose.
	Applies bool   `json:"applies"`
	Advice  string `json:"advice"`
	// Kind is the best kind of GID that every port has, such as "RoCE v2 over IPv4"; "" for none.
	Kind string `json:"kind,omitempty"`
	// Common are the indices at which every port of every node has a GID of that kind.
	Common []int `json:"common"`
	// Pin is the index of Common to take if one must be pinned; nil where none fits.
	Pin *int `json:"pin,omitempty"`
	// Partial are indices that some ports have and others do not: they must not be pinned.
	Partial []Coverage `json:"partial,omitempty"`
	// PinSettings pin the index; Instead finds the entry on each node without an index.
	PinSettings []Setting `json:"pinSettings,omitempty"`
	Instead     []Setting `json:"instead,omitempty"`
	// Problems names ports on which Instead does not lead to the right entry.
	Problems []string `json:"problems,omitempty"`
}

// Coverage is an index that not all ports have.
type Coverage struct {
	Index   int      `json:"index"`   // of the GID table
	Ports   int      `json:"ports"`   // that have it
	Of      int      `json:"of"`      // all ports of all nodes
	Example []string `json:"example"` // at most three ports without it, as "node device:port"
}

// Setting is an environment variable.
type Setting struct {
	Name    string         `json:"name"`    // of the variable
	Value   string         `json:"value"`   // as the library reads it
	Library launch.Library `json:"library"` // whose variable it is
}

// Variables sorts what `env` would set on each node.
type Variables struct {
	Cluster []Setting      `json:"cluster"` // equal on all nodes with RDMA: may be set for the whole job
	PerNode []NodeVariable `json:"perNode"` // each node needs its own
}

// NodeVariable is a variable whose values differ.
type NodeVariable struct {
	Name    string         `json:"name"`    // of the variable
	Library launch.Library `json:"library"` // whose variable it is
	// Groups are the values; "" is that of nodes that don't need the variable.
	Groups []Group `json:"groups"`
	// Cluster is a value that serves all nodes nevertheless, "" when there is none.
	Cluster string `json:"cluster,omitempty"`
}

// Unreadable is an input that could not be compared.
type Unreadable struct {
	Source string `json:"source"` // file or folder
	Error  string `json:"error"`  // why not
}

// Faults counts the differences of a severity.
func (r Report) Faults(s Severity) int {
	n := 0
	for _, d := range r.Differences {
		if d.Severity == s {
			n++
		}
	}
	return n
}
