// Package plan writes the objects that give pods the VFs of RDMA cards, one network for each rail,
// from what nodes are.
//
//	cluster, err := source.Files{Names: []string{"gpu-00.tar.gz", "gpu-01.tar.gz"}}.Cluster(ctx)
//	p, err := plan.Make(cluster, plan.Options{})
//	os.Stdout.Write(p.YAML())
//
// A plan has for each rail a SriovNetworkNodePolicy (more where nodes differ) and a network with
// addresses of its own, and what belongs to them: namespace, settings of the operator, GUIDs of
// InfiniBand VFs, and pods that try it all. Each choice is explained by a comment in the YAML.
// Equal input gives equal bytes, in whatever order it is read.
//
// Nothing is asked of a cluster and nothing is applied. What a SriovNetworkNodeState doesn't tell,
// such as the role of a card or the fabric that it is on, comes from snapshots of the nodes; a node
// without one takes it from those that have the same cards at the same addresses, and the plan says
// so. Otherwise it is not guessed.
//
// All of it is plain data; several goroutines may use a [Plan] that none of them changes.
package plan

import (
	"errors"
	"net/netip"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
)

// Schema is the version of the JSON form of a [Plan].
const Schema = "rdmakit.k8splan/v1"

// Errors of [Make], for callers that branch.
var (
	// ErrOptions is the cause where options contradict each other, or don't fit the cluster.
	ErrOptions = errors.New("options don't fit")
	// ErrNothing is the cause where no card is left to plan with.
	ErrNothing = errors.New("no card to plan with")
)

// What stands where options say nothing.
const (
	DefaultOperatorNamespace = "sriov-network-operator" // of the SR-IOV operator
	DefaultNamespace         = "rdma"                   // of networks and pods
	DefaultImage             = "debian:stable-slim"     // of the pods
	// DefaultVFs is for cards whose firmware doesn't say how many VFs there shall be.
	DefaultVFs = 8
	// LabelKey is the label that nodes are given where none that they have tells them apart.
	LabelKey = "rdmakit.io/sriov"
)

// Ways to name PFs in a policy.
const (
	ByAddress = "address" // rootDevices
	ByName    = "name"    // pfNames
)

// Ways to choose labels.
const (
	LabelsExisting = "existing" // those that nodes have, else LabelKey
	LabelsNFD      = "nfd"      // one that Node Feature Discovery publishes, with the object that makes it do so
)

// Options say what nodes don't tell. The zero value plans with the compute cards, as many VFs as
// the firmware is set to.
type Options struct {
	Select Selection // which cards
	// VFs is the number of VFs of each PF, 0: as the firmware has it.
	VFs int
	// MTU is that of VFs in bytes, 0: on Ethernet that of the ports, where all of a rail have the
	// same; otherwise unchanged.
	MTU int
	// ResourcePrefix is the operator's: openshift.io, nvidia.com or one's own; "": what nodes have,
	// or what is usual in the operator's namespace.
	ResourcePrefix string
	// OperatorNamespace is where the SR-IOV operator runs, "": as the cluster's objects tell,
	// or DefaultOperatorNamespace.
	OperatorNamespace string
	// Namespace is where pods run, "": DefaultNamespace.
	Namespace string
	// SelectBy is ByAddress (also "") or ByName.
	SelectBy string
	// NodeSelector are labels that the nodes have; nil: chosen.
	NodeSelector map[string]string
	// Labels is LabelsExisting (also "") or LabelsNFD.
	Labels string
	// ExternallyManaged leaves creation of VFs to others: nothing drains or reboots.
	ExternallyManaged bool
	// Isolation moves the RDMA device into the pod's namespace, which needs exclusive mode.
	Isolation bool
	// MaxUnavailable is how many nodes of a pool may drain at a time, a number or a percentage,
	// rounded down; "": no pool, so one node at a time, or, where RDMAMode or Isolation makes a
	// pool, 1.
	MaxUnavailable string
	// RDMAMode is shared or exclusive, "": unchanged, or exclusive with Isolation.
	RDMAMode string
	// Pools are where subnets are taken from, in this order; nil: the private ranges of IPv4.
	Pools []netip.Prefix
	// Reserved are ranges that others have.
	Reserved []Reserved
	// Nodes is the number of nodes that networks shall have room for, 0: those that are given.
	Nodes int
	// GUIDSeed changes the GUIDs of InfiniBand VFs. Those of cards whose own GUID nothing tells
	// follow from the names of node and card alone, which may be the same in another cluster on
	// the fabric.
	GUIDSeed string
	// CheckPods and TestPods are numbers of pods: of the Job that checks all rails, and of those
	// that wait for commands. 0: none.
	CheckPods, TestPods int
	// Image has a shell and, or can install, ib_write_bw; "": DefaultImage.
	Image string
	// Omit are kinds of objects to leave out.
	Omit []string
}

// Reserved is a range of addresses that others have.
type Reserved = ipam.Reserved

// Selection chooses PFs: all that is set has to fit, of a list one entry.
type Selection struct {
	// LinkType is ETH or IB. A PF of which nothing tells it is taken as this.
	LinkType string
	// Roles are compute, storage and management; nil: compute. Cards of nodes whose roles nothing
	// tells are taken.
	Roles []string
	// Rails are those of compute ports (inventory.Port).
	Rails []int
	// Fabrics are subnet prefixes, fec0:0000:0000:00a1 or fec0::a1, with @LID behind for the subnet
	// manager if need be.
	Fabrics []string
	// Addresses and Names are patterns (path.Match) for PCI addresses, and for network devices,
	// their other names and RDMA devices.
	Addresses, Names []string
	// Nodes are patterns for names of nodes.
	Nodes []string
}

// Plan is what [Make] made.
type Plan struct {
	Schema            string `json:"schema"`            // name and version of this form
	OperatorNamespace string `json:"operatorNamespace"` // where the SR-IOV operator runs
	Namespace         string `json:"namespace"`         // where pods run
	ResourcePrefix    string `json:"resourcePrefix"`    // in front of the rails' resources
	// Groups are nodes that are equal in what is planned with, by their first node.
	Groups []Group `json:"groups"`
	Rails  []Rail  `json:"rails"`
	// Passed are the cards that the plan leaves out, with the reason.
	Passed []Passed `json:"passed,omitempty"`
	// Label are the nodes that need a label first.
	Label []Label `json:"label,omitempty"`
	// Notes say what to know before the objects are applied.
	Notes []string `json:"notes,omitempty"`
	// Files are the objects and other files, in the order in which to apply them.
	Files []File `json:"files"`
}

// Group are nodes that are equal in what is planned with.
type Group struct {
	Name  string   `json:"name"`  // a, b …
	Nodes []string `json:"nodes"` // names, in natural order
	// Labels that all of them have and no other node.
	NodeSelector map[string]string `json:"nodeSelector"`
	// Reason tells why these labels.
	Reason string `json:"reason"`
}

// Rail is one network: a card of each node.
type Rail struct {
	Name     string `json:"name"`             // rail0, ib1-rail0
	Resource string `json:"resource"`         // rail0, ib1_rail0
	LinkType string `json:"linkType"`         // ETH or IB
	Fabric   string `json:"fabric,omitempty"` // subnet prefix and LID of the subnet manager
	// Subnet has Addresses for pods; VFs need one each.
	Subnet    netip.Prefix `json:"subnet"`
	Addresses int          `json:"addresses"`
	VFs       int          `json:"vfs"` // of all nodes
	Members   []Member     `json:"members"`
}

// Member is the PF of a node on a rail.
type Member struct {
	Node    string `json:"node"`    // name of the node
	Address string `json:"address"` // of the PF: 0000:3b:00.0
	Netdev  string `json:"netdev"`  // network device of the PF
	NumVFs  int    `json:"numVFs"`  // planned
}

// Passed is a card that the plan leaves out.
type Passed struct {
	Node    string `json:"node"`             // name of the node
	Address string `json:"address"`          // of the PF: 0000:3b:00.0
	Netdev  string `json:"netdev,omitempty"` // network device, "" for none
	Reason  string `json:"reason"`           // why, for a person
}

// Label is a label that nodes need first.
type Label struct {
	Key   string   `json:"key"`   // of the label
	Value string   `json:"value"` // of the label
	Nodes []string `json:"nodes"` // names of those that need it
}

// File is an object, or another file.
type File struct {
	Name string `json:"name"` // 30-policy-rail0.yaml, guids/gpu-00
	// Object names the object: "SriovNetworkNodePolicy sriov-network-operator/rail0"; "" for
	// other files.
	Object string `json:"object,omitempty"`
	Text   string `json:"text"`
}

// Kinds that plans have and package k8s has no type for.
const (
	kindService = "Service"
	kindJob     = "Job"
)

// Kinds returns the kinds of objects that plans may have, in their order: those that Omit takes.
func Kinds() []string {
	return []string{
		k8s.KindNamespace, k8s.KindNFD, k8s.KindOperatorConfig, k8s.KindPoolConfig, k8s.KindPolicy, k8s.KindNetwork,
		k8s.KindIBNetwork, k8s.KindNAD, k8s.KindConfigMap, k8s.KindPod, kindService, kindJob,
	}
}
