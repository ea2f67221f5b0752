// Package plan writes the Kubernetes objects that give pods VFs of RDMA cards, with a network for
// each rail, from data about the nodes.
//
//	cluster, err := source.Files{Names: []string{"gpu-00.tar.gz", "gpu-01.tar.gz"}}.Cluster(ctx)
//	p, err := plan.Make(cluster, plan.Options{})
//	os.Stdout.Write(p.YAML())
//
// For each rail a plan has a SriovNetworkNodePolicy (several if nodes differ) and a network with a
// separate subnet. It also has the namespace, settings of the operator, GUIDs of InfiniBand VFs,
// and test pods. Comments in the YAML explain each choice. Equal input gives equal output,
// independent of the order of the files.
//
// The package contacts no cluster and applies nothing. A SriovNetworkNodeState doesn't contain the
// role of a card or its fabric; these come from snapshots of the nodes. A node without a snapshot
// inherits them from nodes that have the same cards at the same addresses, with a note in the plan.
// Otherwise they stay unknown.
//
// A [Plan] is plain data. It is safe for concurrent use as long as no goroutine changes it.
package plan

import (
	"errors"
	"net/netip"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
)

// Schema is the version of the JSON form of a [Plan].
const Schema = "rdmakit.k8splan/v1"

// Errors of [Make].
var (
	// ErrOptions means that options are invalid, contradict each other, or don't fit the cluster.
	ErrOptions = errors.New("unusable options")
	// ErrNothing means that no card is left to plan with.
	ErrNothing = errors.New("no usable card")
)

// Defaults of the options.
const (
	DefaultOperatorNamespace = "sriov-network-operator" // of the SR-IOV operator
	DefaultNamespace         = "rdma"                   // of networks and pods
	DefaultImage             = "debian:stable-slim"     // of the pods
	// DefaultVFs is the number of VFs of a card whose firmware has no such setting.
	DefaultVFs = 8
	// LabelKey is the label that nodes need if their own labels don't distinguish them.
	LabelKey = "rdmakit.io/sriov"
)

// Ways to identify PFs in a policy.
const (
	ByAddress = "address" // rootDevices
	ByName    = "name"    // pfNames
)

// Ways to choose labels.
const (
	LabelsExisting = "existing" // labels that the nodes have, otherwise LabelKey
	LabelsNFD      = "nfd"      // a label of Node Feature Discovery, with the object that makes it publish the label
)

// Options are choices and facts that the nodes don't contain. The zero value plans with the compute
// cards, and with the number of VFs in their firmware.
type Options struct {
	Select Selection // which cards
	// VFs is the number of VFs of each PF, 0 for the number in the firmware.
	VFs int
	// MTU is the MTU of VFs in bytes. 0 means on Ethernet the MTU of the ports if it is the same on
	// the whole rail, otherwise unchanged.
	MTU int
	// ResourcePrefix is the operator's resource prefix: openshift.io, nvidia.com or your own. ""
	// means the prefix on the nodes, or the usual one for the operator's namespace.
	ResourcePrefix string
	// OperatorNamespace is the namespace of the SR-IOV operator. "" means that of the operator's
	// objects in the cluster, or DefaultOperatorNamespace.
	OperatorNamespace string
	// Namespace is the namespace of the pods, "" for DefaultNamespace.
	Namespace string
	// SelectBy is ByAddress (also "") or ByName.
	SelectBy string
	// NodeSelector are labels of the nodes, nil to choose labels.
	NodeSelector map[string]string
	// Labels is LabelsExisting (also "") or LabelsNFD.
	Labels string
	// ExternallyManaged means that the VFs are created outside of the operator, so no node drains
	// or reboots.
	ExternallyManaged bool
	// Isolation moves the RDMA device into the pod's namespace, which requires exclusive mode.
	Isolation bool
	// MaxUnavailable is the number of nodes of a pool that may drain at a time, or a percentage,
	// which is rounded down. "" means no pool, so one node at a time, or 1 if RDMAMode or Isolation
	// requires a pool.
	MaxUnavailable string
	// RDMAMode is shared or exclusive. "" means unchanged, or exclusive with Isolation.
	RDMAMode string
	// Pools are the ranges from which subnets are taken, in this order, nil for the private ranges
	// of IPv4.
	Pools []netip.Prefix
	// Reserved are ranges that are already in use.
	Reserved []Reserved
	// Nodes is the number of nodes for which networks have addresses, 0 for the given nodes.
	Nodes int
	// GUIDSeed changes the GUIDs of InfiniBand VFs. If the GUID of a card is unknown, the GUIDs of
	// its VFs are derived from the names of node and card, which may also occur in another cluster
	// on the fabric.
	GUIDSeed string
	// CheckPods is the number of pods of the Job that checks all rails, TestPods the number of pods
	// that wait for commands. 0 means none.
	CheckPods, TestPods int
	// Image is a container image with a shell and ib_write_bw, or apt-get to install it. "" means
	// DefaultImage.
	Image string
	// Omit are kinds of objects to leave out.
	Omit []string
}

// Reserved is an address range that is already in use.
type Reserved = ipam.Reserved

// Selection selects PFs. A PF must match all fields that are set, and one entry of each list.
type Selection struct {
	// LinkType is ETH or IB. PFs with an unknown link type match and get this one.
	LinkType string
	// Roles are compute, storage and management, nil for compute. Cards of nodes without known
	// roles match any role.
	Roles []string
	// Rails are rail numbers of compute ports (inventory.Port).
	Rails []int
	// Fabrics are subnet prefixes, fec0:0000:0000:00a1 or fec0::a1, optionally followed by @LID of
	// the subnet manager.
	Fabrics []string
	// Addresses are patterns (path.Match) for PCI addresses. Names are patterns for the names and
	// alternative names of network devices, and for RDMA devices.
	Addresses, Names []string
	// Nodes are patterns for names of nodes.
	Nodes []string
}

// Plan is the result of [Make].
type Plan struct {
	Schema            string `json:"schema"`            // name and version of this form
	OperatorNamespace string `json:"operatorNamespace"` // namespace of the SR-IOV operator
	Namespace         string `json:"namespace"`         // namespace of the pods
	ResourcePrefix    string `json:"resourcePrefix"`    // prefix of the rails' resources
	// Groups are groups of nodes with the same planned settings, sorted by their first node.
	Groups []Group `json:"groups"`
	Rails  []Rail  `json:"rails"`
	// Passed are the cards that the plan leaves out, with the reason.
	Passed []Passed `json:"passed,omitempty"`
	// Label are labels to add to nodes first.
	Label []Label `json:"label,omitempty"`
	// Notes are important before the objects are applied.
	Notes []string `json:"notes,omitempty"`
	// Files are the objects and other files, in the order in which to apply them.
	Files []File `json:"files"`
}

// Group is a group of nodes with the same planned settings.
type Group struct {
	Name  string   `json:"name"`  // a, b …
	Nodes []string `json:"nodes"` // names, in natural order
	// Labels that all nodes of the group have and no other node has.
	NodeSelector map[string]string `json:"nodeSelector"`
	// Reason explains the choice of the labels.
	Reason string `json:"reason"`
}

// Rail is one network, with at most one card of each node.
type Rail struct {
	Name     string `json:"name"`             // rail0, ib1-rail0
	Resource string `json:"resource"`         // rail0, ib1_rail0
	LinkType string `json:"linkType"`         // ETH or IB
	Fabric   string `json:"fabric,omitempty"` // subnet prefix and LID of the subnet manager
	// Subnet has Addresses addresses for pods. Each VF needs one.
	Subnet    netip.Prefix `json:"subnet"`
	Addresses int          `json:"addresses"`
	VFs       int          `json:"vfs"` // number on all nodes
	Members   []Member     `json:"members"`
}

// Member is the PF of a node on a rail.
type Member struct {
	Node    string `json:"node"`    // name of the node
	Address string `json:"address"` // of the PF: 0000:3b:00.0
	Netdev  string `json:"netdev"`  // network device of the PF
	NumVFs  int    `json:"numVFs"`  // planned number
}

// Passed is a card that the plan leaves out.
type Passed struct {
	Node    string `json:"node"`             // name of the node
	Address string `json:"address"`          // of the PF: 0000:3b:00.0
	Netdev  string `json:"netdev,omitempty"` // network device, "" for none
	Reason  string `json:"reason"`           // for the user
}

// Label is a label to add to nodes first.
type Label struct {
	Key   string   `json:"key"`   // of the label
	Value string   `json:"value"` // of the label
	Nodes []string `json:"nodes"` // names of the nodes
}

// File is an object, or another file.
type File struct {
	Name string `json:"name"` // 30-policy-rail0.yaml, guids/gpu-00
	// Object is kind, namespace and name: "SriovNetworkNodePolicy sriov-network-operator/rail0". It
	// is "" for other files.
	Object string `json:"object,omitempty"`
	Text   string `json:"text"`
}

// Kinds of planned objects for which package k8s has no type.
const (
	kindService = "Service"
	kindJob     = "Job"
)

// Kinds returns the kinds of objects that a plan may contain, in their order. They are the values
// of Options.Omit.
func Kinds() []string {
	return []string{
		k8s.KindNamespace, k8s.KindNFD, k8s.KindOperatorConfig, k8s.KindPoolConfig, k8s.KindPolicy, k8s.KindNetwork,
		k8s.KindIBNetwork, k8s.KindNAD, k8s.KindConfigMap, k8s.KindPod, kindService, kindJob,
	}
}
