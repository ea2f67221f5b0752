// Package source tells the state of a cluster: its nodes with their cards, and the objects that
// it has.
//
//	var src source.Source = source.Files{Names: []string{"nodestates.yaml", "gpu-00.tar.gz"}}
//	cluster, err := src.Cluster(ctx)
//	for _, node := range cluster.Nodes { … }
//
// [Files] reads what is recorded: bundles and node trees (rdmactl snapshot), snapshots as JSON or
// YAML (rdmactl detect -o json), plans (rdmactl k8s plan -o json) for the labels that they give,
// firmware settings (mstconfig -e -d ADDRESS q, in files named after their node: gpu-00.txt), and
// manifests as kubectl get -o yaml prints them: SriovNetworkNodeStates, Nodes, and whatever else is
// to be known as there. Several files about a node are joined by its name; snapshots of different
// machines with one host name are a Problem. Another implementation may ask a running cluster.
//
// A [Cluster] is plain data; several goroutines may read it.
package source

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// Source tells the state of a cluster.
type Source interface {
	// Cluster returns what is known. An error comes with whatever could be read.
	Cluster(ctx context.Context) (Cluster, error)
}

// Cluster is the state of a cluster.
type Cluster struct {
	// Nodes are sorted by name.
	Nodes []Node
	// Objects are those that the cluster has, besides its nodes.
	Objects []*manifest.Object
	// Problems are faults in the texts of files.
	Problems []manifest.Problem
}

// Node is what is known of a node.
type Node struct {
	Name string // as the cluster has it
	// Labels are nil where no Node object was given; then only kubernetes.io/hostname is known, by
	// the name, and what is Promised. Otherwise they are those of all Node objects, and the
	// promised ones that none of these has.
	Labels map[string]string
	// Promised are labels that a plan gives the node.
	Promised map[string]string
	// LabelOrigins are the files that Labels and Promised come from, by key.
	LabelOrigins map[string]string
	// Allocatable is what pods may ask for, nil where no Node object was given.
	Allocatable map[string]k8s.Quantity
	// PodCIDRs are the ranges of its pods, one of each family, of its Node object.
	PodCIDRs []netip.Prefix
	// Addresses are those of the host: of its Node object alone, of snapshots with the network that
	// they are in. None is link-local.
	Addresses []netip.Prefix
	// PFs are sorted by address. CardsKnown tells that somebody has looked: without it no PFs
	// means nothing.
	PFs        []PF
	CardsKnown bool
	// RDMAMode is shared or exclusive, "" where nothing tells.
	RDMAMode string
	// SyncStatus and SyncError are those of the SriovNetworkNodeState.
	SyncStatus, SyncError string
	// State is the whole SriovNetworkNodeState: what the operator wants of the node, its VFs one by
	// one, annotations. nil where none was given. PFs have what it tells as well, and those that
	// the daemon doesn't see besides.
	State *k8s.SriovNetworkNodeState
	// Taken is when the newest snapshot was, zero where nothing tells.
	Taken time.Time
	// HardwareIDs are PCI addresses with GUIDs and MAC addresses of the cards of a snapshot, by
	// which two machines of one name are told apart: "0000:3b:00.0 b83f:d203:00a5:1000".
	HardwareIDs []string
	// Origins are the files that all this comes from.
	Origins []string
}

// PF is a physical function of a network card.
type PF struct {
	Address string // 0000:3b:00.0, in lower case
	// Vendor and DeviceID are four hexadecimal digits.
	Vendor, DeviceID string
	Netdev           string // "" without a network device: the operator doesn't see such a card
	AltNames         []string
	RDMADevice       string // mlx5_0, "" where nothing tells
	LinkType         string // ETH or IB, "" where nothing tells
	MTU              int
	Driver           string
	NumVFs           int // now
	// VFsKnown reports whether somebody counted, so that NumVFs and TotalVFs of 0 mean none.
	VFsKnown bool
	// TotalVFs is sriov_totalvfs: the most that there can be. For NVIDIA's cards it is the
	// firmware's NUM_OF_VFS. 0: SR-IOV is off in the firmware, or the card can't.
	TotalVFs    int
	Firmware    *Firmware // settings of an NVIDIA card as mstconfig prints them, nil where nothing tells
	VFDeviceIDs []string  // device IDs of the VFs that exist, each once
	VFGUIDs     []string  // GUIDs of the VFs that exist, in their order, "" where nothing tells
	// MTUs of the network devices of the VFs that exist, in their order, 0 where nothing tells
	VFMTUs            []int
	ESwitchMode       string
	ExternallyManaged bool
	Fabric            *Fabric // nil on Ethernet, or where nothing tells
	Rail              *int    // number among the compute ports from 0; nil for other ports, or where nothing tells
	Role              string  // compute, storage or management; "" where nothing tells
	NUMANode          *int
}

// Fabric is an InfiniBand subnet.
type Fabric struct {
	SubnetPrefix string // fec0:0000:0000:00a1
	SMLID        uint16 // LID of its subnet manager, 0: none seen
}

// FirmwareVFs returns the number of VFs that the firmware is set to; false where it isn't the
// firmware that decides. Where [Firmware] doesn't tell it, sriov_totalvfs stands for it.
func (p PF) FirmwareVFs() (int, bool) {
	if p.Firmware != nil && p.Firmware.Current != nil {
		return p.Firmware.Current.vfs(), true
	}
	return p.TotalVFs, p.Vendor == k8s.VendorMellanox
}

// Named reports that the PF has a network device of this name, or this alternative name.
func (p PF) Named(name string) bool {
	if name == "" {
		return false
	}
	return p.Netdev == name || slices.Contains(p.AltNames, name)
}

// Label returns a label; known tells whether its absence means anything.
func (n Node) Label(key string) (value string, found, known bool) {
	if n.Labels == nil {
		if value, found = n.Promised[key]; found {
			return value, true, true
		}
		if key == "kubernetes.io/hostname" {
			return n.Name, true, true
		}
		return "", false, false
	}
	value, found = n.Labels[key]
	return value, found, true
}

// Selected judges a plain map of labels as a nodeSelector is judged. maybe tells that labels are
// not known.
func (n Node) Selected(selector map[string]string) (selected, maybe bool) {
	for key, want := range selector {
		got, found, known := n.Label(key)
		switch {
		case !known:
			maybe = true
		case !found || got != want:
			return false, false
		}
	}
	return !maybe, maybe
}
