package launch

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Schema is the version of the JSON form of a [Plan]. A field may be added within a
// version; one that is removed or changes its meaning makes a new one.
const Schema = "rdmakit.launch/v1"

// Outcome answers the one question behind a [Plan]: can jobs on this node use RDMA?
type Outcome string

// The outcomes.
const (
	OutcomeRDMA      Outcome = "rdma"      // at least one port is selected, for verbs
	OutcomeLibfabric Outcome = "libfabric" // only EFA devices, which the libraries reach through libfabric
	OutcomeNone      Outcome = "none"      // no port can be used
	OutcomeOff       Outcome = "off"       // KServe only: KSERVE_INFER_ROCE is not "true"
)

// Plan is a launch environment and how it came about. It is plain data.
type Plan struct {
	Schema    string    `json:"schema"`              // name and version of this form
	Compat    string    `json:"compat,omitempty"`    // "kserve", or "" for the strict rules
	Outcome   Outcome   `json:"outcome"`             // whether jobs on the node can use RDMA
	Libraries []Library `json:"libraries,omitempty"` // those that the variables are for
	// Socket is the network device for bootstrap traffic over TCP.
	Socket *Socket    `json:"socket,omitempty"`
	Ports  []PortPlan `json:"ports"`
	// Variables are in a stable order: by library, then by rule.
	Variables []Variable `json:"variables"`
	// Unset names variables of the user that must go (only with Options.Override).
	Unset     []Unset    `json:"unset,omitempty"`
	Arguments []Argument `json:"arguments,omitempty"`
	Conflicts []Conflict `json:"conflicts,omitempty"`
	Warnings  []Warning  `json:"warnings,omitempty"`
	// Incomplete lists what the scan could not read and might have changed the Plan.
	Incomplete []inventory.Problem `json:"incomplete,omitempty"`
}

// Environment returns the variables as a map.
func (p Plan) Environment() map[string]string {
	out := make(map[string]string, len(p.Variables))
	for _, v := range p.Variables {
		out[v.Name] = v.Value
	}
	return out
}

// Apply returns the environment of a program that is started with the Plan: environ, pairs of
// NAME=value, with the variables of the Plan in the place of others of their names, and without
// those that must be unset. environ stays as it is.
func (p Plan) Apply(environ []string) []string {
	gone := map[string]bool{}
	for _, v := range p.Variables {
		gone[v.Name] = true
	}
	for _, u := range p.Unset {
		gone[u.Name] = true
	}
	out := slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return gone[name]
	})
	for _, v := range p.Variables {
		out = append(out, v.Name+"="+v.Value)
	}
	return out
}

func (p *Plan) warn(rule, text string, files ...string) {
	p.Warnings = append(p.Warnings, Warning{Rule: rule, Text: text, Files: files})
}

// Source tells who decided on a variable.
type Source string

// The sources.
const (
	SourceUser    Source = "user"    // the environment had it
	SourceDerived Source = "derived" // it follows from the node
	SourcePolicy  Source = "policy"  // an option asked for it
)

// Variable is an environment variable to set.
type Variable struct {
	Name    string   `json:"name"`            // NCCL_IB_HCA
	Value   string   `json:"value"`           // as the library reads it, unquoted
	Library Library  `json:"library"`         // whose variable it is
	Source  Source   `json:"source"`          // who chose the value
	Rule    string   `json:"rule"`            // ID of the Rule
	Reason  string   `json:"reason"`          // why this value, for a person
	Files   []string `json:"files,omitempty"` // what it follows from, absolute paths on the node
}

// Argument is a command line option of a program that takes no variable for it.
type Argument struct {
	Library Library `json:"library"` // whose option it is
	Flag    string  `json:"flag"`    // with its dashes
	Value   string  `json:"value"`   // unquoted
	Rule    string  `json:"rule"`    // ID of the Rule
	Reason  string  `json:"reason"`  // why this value, for a person
}

// Unset is a variable of the user that harms here and has no harmless value.
type Unset struct {
	Name   string `json:"name"`   // of the variable
	Rule   string `json:"rule"`   // ID of the Rule
	Reason string `json:"reason"` // what harm it does here
}

// Conflict is a difference between the user's value of a variable and the derived one.
type Conflict struct {
	Name string `json:"name"` // of the variable
	User string `json:"user"` // value in the user's environment
	// Derived is "" when the variable should not be set at all.
	Derived string `json:"derived"`
	Kept    Source `json:"kept"` // SourceUser, or SourceDerived with Options.Override
	Rule    string `json:"rule"`
	Reason  string `json:"reason"`
}

// Warning is something that a person should know before the job starts.
type Warning struct {
	Rule string `json:"rule"` // ID of the Rule
	Text string `json:"text"` // a sentence without period
	// What it follows from, absolute paths on the node.
	Files []string `json:"files,omitempty"`
}

// Socket is a network device for TCP, and why.
type Socket struct {
	Netdev string `json:"netdev"` // name of the device
	Rule   string `json:"rule"`   // ID of the Rule that chose it
	Reason string `json:"reason"` // why this one, for a person
	// What it follows from, absolute paths on the node.
	Files []string `json:"files,omitempty"`
}

// Decision is what became of a port.
type Decision string

// The decisions.
const (
	DecisionSelected  Decision = "selected"  // jobs use it
	DecisionCandidate Decision = "candidate" // could be used, but is not for this job
	DecisionRejected  Decision = "rejected"  // can't be used as it is
)

// PortPlan tells about one port what was decided, and what libraries would do with it.
type PortPlan struct {
	Device string `json:"device"` // of RDMA: mlx5_0
	Port   int    `json:"port"`   // number, from 1
	// Address of the function, "" for software.
	PCI string `json:"pci,omitempty"`
	// Name of its network device, "" for none.
	Netdev    string              `json:"netdev,omitempty"`
	Transport inventory.Transport `json:"transport,omitempty"` // as the inventory has it
	Role      inventory.Role      `json:"role,omitempty"`      // as the inventory has it
	Decision  Decision            `json:"decision"`            // what became of it
	Rule      string              `json:"rule"`                // ID of the Rule that decided
	Reason    string              `json:"reason"`              // why, for a person
	// What it follows from, absolute paths on the node.
	Files []string `json:"files,omitempty"`
	// GID is the entry that connections of the port should use; nil where there is
	// none or the choice is not an index (EFA).
	GID *GIDChoice `json:"gid,omitempty"`
	// NCCLAuto and UCXAuto are what the libraries choose with no variable set;
	// NCCLPlanned is what NCCL chooses with the variables of the Plan.
	NCCLAuto    *AutoChoice `json:"ncclAuto,omitempty"`
	NCCLPlanned *AutoChoice `json:"ncclPlanned,omitempty"`
	UCXAuto     *AutoChoice `json:"ucxAuto,omitempty"`
	// Reach tells how Options.Peer is reached from the port's address; "" when not asked.
	Reach Reach `json:"reach,omitempty"`
}

// Name returns "device:port", as the lists of the libraries have it.
func (p PortPlan) Name() string { return portName(p.Device, p.Port) }

// GIDChoice is an entry of a port's GID table.
type GIDChoice struct {
	Index  int               `json:"index"`            // into the port's table
	GID    ib.GID            `json:"gid"`              // the entry
	Type   inventory.GIDType `json:"type,omitempty"`   // version of RoCE, or InfiniBand
	Netdev string            `json:"netdev,omitempty"` // that has the address, "" on InfiniBand
	// The GID as an address; absent on InfiniBand.
	Addr netip.Addr `json:"addr,omitzero"`
}

// AutoChoice is what a library does with a port on its own.
type AutoChoice struct {
	Used bool `json:"used"` // the library uses the port
	// Index is the GID index; -1 when the port is not used.
	Index int    `json:"index"`
	Note  string `json:"note,omitempty"` // why not used, or what is wrong with the choice
}

// Reach tells how a peer is reached from a port.
type Reach string

// The answers.
const (
	ReachDirect  Reach = "direct"   // on the port's own subnet
	ReachGateway Reach = "gateway"  // through a router
	ReachNo      Reach = "no route" // the route leaves by another device, or there is none
)
