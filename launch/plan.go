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

// Outcome says whether jobs on the node can use RDMA.
type Outcome string

// The outcomes.
const (
	OutcomeRDMA      Outcome = "rdma"      // at least one port is selected, for verbs
	OutcomeLibfabric Outcome = "libfabric" // only EFA devices, which the libraries use through libfabric
	OutcomeNone      Outcome = "none"      // no port can be used
	OutcomeOff       Outcome = "off"       // KServe only: KSERVE_INFER_ROCE is not "true"
)

// Plan is a launch environment with the reasons for it. It is plain data.
type Plan struct {
	Schema    string    `json:"schema"`              // name and version of this form
	Compat    string    `json:"compat,omitempty"`    // "kserve", or "" for the strict rules
	Outcome   Outcome   `json:"outcome"`             // whether jobs on the node can use RDMA
	Libraries []Library `json:"libraries,omitempty"` // those that the variables are for
	// Socket is the network device for bootstrap traffic over TCP.
	Socket *Socket    `json:"socket,omitempty"`
	Ports  []PortPlan `json:"ports"`
	// Effect says in a sentence which active ports jobs use, and what NCCL alone would use.
	Effect string `json:"effect"`
	// Variables are in a stable order: by library, then by rule.
	Variables []Variable `json:"variables"`
	// Unset lists variables of the user that must be unset (only with Options.Override).
	Unset     []Unset    `json:"unset,omitempty"`
	Arguments []Argument `json:"arguments,omitempty"`
	Conflicts []Conflict `json:"conflicts,omitempty"`
	Warnings  []Warning  `json:"warnings,omitempty"`
	// Unseen is what the snapshot could not tell ([inventory.Snapshot.Unseen]).
	Unseen []string `json:"unseen,omitempty"`
	// Incomplete lists files that the Plan depends on and that could not be read.
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

// Apply returns the environment of a program that is started with the Plan: environ, a list of
// NAME=value, with the variables of the Plan set and those in Unset removed. It does not change
// environ.
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

// Source is the origin of a variable's value.
type Source string

// The sources.
const (
	SourceUser    Source = "user"    // set in the environment
	SourceDerived Source = "derived" // derived from the node
	SourcePolicy  Source = "policy"  // set by an option
)

// Variable is an environment variable to set.
type Variable struct {
	Name    string   `json:"name"`            // NCCL_IB_HCA
	Value   string   `json:"value"`           // unquoted
	Library Library  `json:"library"`         // the library that reads it
	Source  Source   `json:"source"`          // origin of the value
	Rule    string   `json:"rule"`            // ID of the Rule
	Reason  string   `json:"reason"`          // reason for the value, as text
	Files   []string `json:"files,omitempty"` // files that it depends on, absolute paths on the node
}

// Argument is a command line option of a program that has no variable for the setting.
type Argument struct {
	Library Library `json:"library"` // the program that has the option
	Flag    string  `json:"flag"`    // with its dashes
	Value   string  `json:"value"`   // unquoted
	Rule    string  `json:"rule"`    // ID of the Rule
	Reason  string  `json:"reason"`  // reason for the value, as text
}

// Unset is a variable of the user that breaks RDMA on this node and has no harmless value.
type Unset struct {
	Name   string `json:"name"`   // of the variable
	Rule   string `json:"rule"`   // ID of the Rule
	Reason string `json:"reason"` // its effect on this node
}

// Conflict is a difference between the user's value of a variable and the derived one.
type Conflict struct {
	Name string `json:"name"` // of the variable
	User string `json:"user"` // value in the user's environment
	// Derived is "" if the variable should not be set.
	Derived string `json:"derived"`
	Kept    Source `json:"kept"` // SourceUser, or SourceDerived with Options.Override
	Rule    string `json:"rule"`
	Reason  string `json:"reason"`
}

// Warning is something that the user should know before the job starts.
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

// Decision is the decision about a port.
type Decision string

// The decisions.
const (
	DecisionSelected  Decision = "selected"  // jobs use it
	DecisionCandidate Decision = "candidate" // could be used, but is not for this job
	DecisionRejected  Decision = "rejected"  // can't be used in its current state
)

// PortPlan is the decision about a port and what the libraries do with the port.
type PortPlan struct {
	Device string `json:"device"` // RDMA device: mlx5_0
	Port   int    `json:"port"`   // number, from 1
	// Address of the function, "" for software.
	PCI string `json:"pci,omitempty"`
	// Name of its network device, "" for none.
	Netdev    string              `json:"netdev,omitempty"`
	Transport inventory.Transport `json:"transport,omitempty"` // from the inventory
	Role      inventory.Role      `json:"role,omitempty"`      // from the inventory
	Decision  Decision            `json:"decision"`            // whether jobs use it
	Rule      string              `json:"rule"`                // ID of the Rule that decided
	Reason    string              `json:"reason"`              // reason, as text
	// What it follows from, absolute paths on the node.
	Files []string `json:"files,omitempty"`
	// GID is the entry that connections of the port should use; nil if there is none or no index is
	// needed (EFA).
	GID *GIDChoice `json:"gid,omitempty"`
	// NCCLAuto and UCXAuto are the choices of the libraries if no variable is set; NCCLPlanned is
	// the choice of NCCL with the variables of the Plan.
	NCCLAuto    *AutoChoice `json:"ncclAuto,omitempty"`
	NCCLPlanned *AutoChoice `json:"ncclPlanned,omitempty"`
	UCXAuto     *AutoChoice `json:"ucxAuto,omitempty"`
	// Reach is how Options.Peer is reached from the port's address; "" without Options.Peer.
	Reach Reach `json:"reach,omitempty"`
}

// Name returns "device:port", as in the lists of the libraries.
func (p PortPlan) Name() string { return portName(p.Device, p.Port) }

// GIDChoice is an entry of a port's GID table.
type GIDChoice struct {
	Index  int               `json:"index"`            // into the port's table
	GID    ib.GID            `json:"gid"`              // the entry
	Type   inventory.GIDType `json:"type,omitempty"`   // version of RoCE, or InfiniBand
	Netdev string            `json:"netdev,omitempty"` // device with the address, "" on InfiniBand
	// The GID as an address; absent on InfiniBand.
	Addr netip.Addr `json:"addr,omitzero"`
}

// AutoChoice is what a library does with a port.
type AutoChoice struct {
	Used bool `json:"used"` // the library uses the port
	// Index is the GID index; -1 if the port is not used.
	Index int    `json:"index"`
	Note  string `json:"note,omitempty"` // why the port is not used, or the fault of the GID entry
}

// Reach is how a peer is reached from a port.
type Reach string

// The values of Reach.
const (
	ReachDirect  Reach = "direct"   // on the port's subnet
	ReachGateway Reach = "gateway"  // through a router
	ReachNo      Reach = "no route" // the route leaves by another device, or there is none
)
