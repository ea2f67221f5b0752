package consensus

import "github.com/rdmakit/rdmakit/launch"

// Schema is the version of the JSON form of a [Report]. A field may be added within a
// version; one that is removed or changes its meaning makes a new one.
const Schema = "rdmakit.consensus/v1"

// Verdict is the result of a comparison.
type Verdict string

// The verdicts.
const (
	VerdictAgree  Verdict = "agree"   // no differences except notes
	VerdictDiffer Verdict = "differ"  // something breaks or slows jobs
	VerdictNone   Verdict = "no-rdma" // no node has RDMA that can be used
)

// Severity is the effect of a difference on a job.
type Severity string

// The severities, worst first.
const (
	SeverityBreaks Severity = "breaks" // jobs fail, hang or fall back to TCP
	SeveritySlows  Severity = "slows"  // jobs run at the speed of the slowest node
	SeverityNote   Severity = "note"   // harmless with the settings that the report gives
)

// Report is the result of a comparison. It is plain data; lists are in a fixed order, which does
// not depend on the order in which nodes were given.
type Report struct {
	Schema    string           `json:"schema"`    // name and version of this form
	Verdict   Verdict          `json:"verdict"`   // the result
	Libraries []launch.Library `json:"libraries"` // those whose variables were derived
	Nodes     []NodeReport     `json:"nodes"`     // by name, in natural order
	Pairing   Pairing          `json:"pairing"`   // how rails of nodes were matched
	Rails     []RailReport     `json:"rails"`     // by number
	// Differences are sorted by severity, then by the order of Checks.
	Differences []Difference `json:"differences"`
	GID         GIDReport    `json:"gid"`
	Variables   Variables    `json:"variables"`
	// Incomplete lists nodes of which files that the comparison depends on could not be read.
	Incomplete []string `json:"incomplete,omitempty"`
	// Unreadable lists inputs that are not nodes; Compare leaves it to the caller.
	Unreadable []Unreadable `json:"unreadable,omitempty"`
}

// NodeReport is a node of the comparison.
type NodeReport struct {
	// The host name; with the source if several nodes have the same.
	Name    string         `json:"name"`
	Host    string         `json:"host,omitempty"`   // host name, "" when not known
	Source  string         `json:"source"`           // file or directory that it was read from
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

// Pairing describes how the rails of one node were matched with those of another.
type Pairing struct {
	Method string `json:"method"` // number, subnet or order
	Reason string `json:"reason"` // reason for the method, as text
	// Realigned lists nodes with fewer rails, which were renumbered by the subnets of the other
	// nodes.
	Realigned []string `json:"realigned,omitempty"`
}

// RailReport has the most frequent values of a rail's attributes.
type RailReport struct {
	Rail       int         `json:"rail"`       // its number, from 0
	Nodes      int         `json:"nodes"`      // number of nodes that have the rail
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
	Value string `json:"value"` // the first in order if several are equally frequent
	Nodes int    `json:"nodes"` // number of nodes with this value
	Of    int    `json:"of"`    // number of nodes with any value
}

// Difference is a value in which nodes differ, or which they share but must not.
type Difference struct {
	Check    string   `json:"check"`    // ID of the Check
	Severity Severity `json:"severity"` // effect on a job
	// Rails that differ; absent if the difference is about whole nodes.
	Rails []int  `json:"rails,omitempty"`
	Text  string `json:"text"` // the difference, as text
	// Tie reports whether no value is on more than half of the nodes, so that there is no majority.
	Tie bool `json:"tie,omitempty"`
	// Groups are the values with their nodes, the most frequent first.
	Groups []Group `json:"groups"`
	Why    string  `json:"why"`
	Remedy string  `json:"remedy"`
}

// Group is a group of nodes with the same value.
type Group struct {
	Value string   `json:"value"` // the value that was read
	Nodes []string `json:"nodes"` // names, in natural order
	// Evidence has the files with the value, for at most three nodes.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Evidence is a file of a node and its content.
type Evidence struct {
	Node  string `json:"node"`  // name of the node
	Path  string `json:"path"`  // absolute, on the node
	Value string `json:"value"` // content of the file, or a value derived from it
}

// GIDReport reports whether all nodes can use the same GID index.
type GIDReport struct {
	// Applies is false if no index may be pinned: on InfiniBand the libraries choose the entry, and
	// on EFA and nodes without RDMA there is none to choose.
	Applies bool   `json:"applies"`
	Advice  string `json:"advice"`
	// Kind is the best kind of GID that every port has, such as "RoCE v2 over IPv4"; "" for none.
	Kind string `json:"kind,omitempty"`
	// Common are the indices at which every port of every node has a GID of that kind.
	Common []int `json:"common"`
	// Pin is the index of Common to use if one must be pinned; nil if none is suitable.
	Pin *int `json:"pin,omitempty"`
	// Partial are indices that only some ports have: they must not be pinned.
	Partial []Coverage `json:"partial,omitempty"`
	// PinSettings pin the index; Instead are settings that select the entry without an index.
	PinSettings []Setting `json:"pinSettings,omitempty"`
	Instead     []Setting `json:"instead,omitempty"`
	// Problems lists ports on which Instead does not select the correct entry.
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
	Value   string         `json:"value"`   // unquoted
	Library launch.Library `json:"library"` // the library that reads it
}

// Variables are the variables that `env` sets on the nodes.
type Variables struct {
	Cluster []Setting      `json:"cluster"` // equal on all nodes with RDMA: can be set for the whole job
	PerNode []NodeVariable `json:"perNode"` // different: must be set on each node
}

// NodeVariable is a variable whose values differ.
type NodeVariable struct {
	Name    string         `json:"name"`    // of the variable
	Library launch.Library `json:"library"` // the library that reads it
	// Groups are the values; "" for nodes that don't need the variable.
	Groups []Group `json:"groups"`
	// Cluster is a value that nevertheless suits all nodes, "" if there is none.
	Cluster string `json:"cluster,omitempty"`
}

// Unreadable is an input that could not be compared.
type Unreadable struct {
	Source string `json:"source"` // file or directory
	Error  string `json:"error"`  // reason
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
