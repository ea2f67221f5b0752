// Package source provides the state of a cluster: its nodes with their cards, and its objects.
//
//	var src source.Source = source.Files{Names: []string{"nodestates.yaml", "gpu-00.tar.gz"}}
//	cluster, err := src.Cluster(ctx)
//	for _, node := range cluster.Nodes { … }
//
// [Files] reads recorded data: bundles and node trees (rdmactl snapshot), snapshots as JSON or YAML
// (rdmactl detect -o json), plans (rdmactl k8s plan -o json) for their node labels, firmware
// settings (mstconfig -e -d ADDRESS q, in files named after their node: gpu-00.txt), and the output
// of kubectl get -o yaml: SriovNetworkNodeStates, Nodes, and any other objects of the cluster.
// Several files about a node are joined by its name. Snapshots of different machines with the same
// host name are a Problem. Another implementation of [Source] could read a running cluster.
//
// A [Cluster] is plain data and may be read concurrently.
package source

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// Source provides the state of a cluster.
type Source interface {
	// Cluster returns the state as far as it is known. In case of an error it returns the parts
	// that could be read.
	Cluster(ctx context.Context) (Cluster, error)
}

// Cluster is the state of a cluster.
type Cluster struct {
	// Nodes are sorted by name.
	Nodes []Node
	// Objects are the objects of the cluster, without its nodes.
	Objects []*manifest.Object
	// Problems are mistakes in the texts of files.
	Problems []manifest.Problem
}

// Node contains the known facts about a node.
type Node struct {
	Name string // as in the cluster
	// Labels are the labels of the Node objects, and those of Promised that the Node objects don't
	// have. Labels is nil without a Node object; then only kubernetes.io/hostname, from the name,
	// and Promised are known.
	Labels map[string]string
	// Promised are the labels that a plan adds to the node.
	Promised map[string]string
	// LabelOrigins are the files of Labels and Promised, by key.
	LabelOrigins map[string]string
	// Allocatable are the resources that pods may request, nil without a Node object.
	Allocatable map[string]k8s.Quantity
	// PodCIDRs are the ranges of its pods in the Node object, one of each address family.
	PodCIDRs []netip.Prefix
	// Addresses are the addresses of the host, without link-local ones. Addresses from snapshots
	// have the prefix length of their network, those from Node objects the full length.
	Addresses []netip.Prefix
	// PFs are sorted by address. If CardsKnown is false, the node may have other PFs.
	PFs        []PF
	CardsKnown bool
	// RDMAMode is shared or exclusive, "" if unknown.
	RDMAMode string
	// SyncStatus and SyncError are those of the SriovNetworkNodeState.
	SyncStatus, SyncError string
	// State is the whole SriovNetworkNodeState, with the desired settings, single VFs and
	// annotations, nil if it is unknown. PFs contains its cards, and those that the daemon doesn't
	// see.
	State *k8s.SriovNetworkNodeState
	// Taken is the time of the newest snapshot, zero if unknown.
	Taken time.Time
	// HardwareIDs are the PCI addresses of a snapshot's cards with their GUIDs and MAC addresses.
	// They distinguish machines with the same name: "0000:3b:00.0 b83f:d203:00a5:1000".
	HardwareIDs []string
	// Origins are the files with data about the node.
	Origins []string
}

// PF is a physical function of a network card.
type PF struct {
	Address string // 0000:3b:00.0, in lower case
	// Vendor and DeviceID are four hexadecimal digits.
	Vendor, DeviceID string
	Netdev           string // "" without a network device: the operator doesn't see such a card
	AltNames         []string
	RDMADevice       string // mlx5_0, "" if unknown
	LinkType         string // ETH or IB, "" if unknown
	MTU              int
	Driver           string
	NumVFs           int // number of existing VFs
	// VFsKnown reports whether NumVFs and TotalVFs are known. Otherwise 0 means unknown.
	VFsKnown bool
	// TotalVFs is sriov_totalvfs, the maximum number of VFs. For NVIDIA cards it is the firmware's
	// NUM_OF_VFS. 0 means that SR-IOV is off in the firmware or not supported.
	TotalVFs    int
	Firmware    *Firmware // settings of an NVIDIA card from mstconfig, nil if unknown
	VFDeviceIDs []string  // device IDs of the existing VFs, each once
	VFGUIDs     []string  // GUIDs of the existing VFs, in their order, "" if unknown
	// MTUs of the network devices of the existing VFs, in their order, 0 if unknown
	VFMTUs            []int
	ESwitchMode       string
	ExternallyManaged bool
	Fabric            *Fabric // nil on Ethernet, or if unknown
	Rail              *int    // number among the compute ports from 0; nil for other ports, or if unknown
	Role              string  // compute, storage or management; "" if unknown
	NUMANode          *int
}

// Fabric is an InfiniBand subnet.
type Fabric struct {
	SubnetPrefix string // fec0:0000:0000:00a1
	SMLID        uint16 // LID of its subnet manager, 0 if none is visible
}

// FirmwareVFs returns the number of VFs in the firmware, or sriov_totalvfs if the firmware's
// settings are unknown. It returns false for cards without such a setting.
func (p PF) FirmwareVFs() (int, bool) {
	if p.Firmware != nil && p.Firmware.Current != nil {
		return p.Firmware.Current.vfs(), true
	}
	return p.TotalVFs, p.Vendor == k8s.VendorMellanox
}

// Named reports whether the network device of the PF has this name or alternative name.
func (p PF) Named(name string) bool {
	if name == "" {
		return false
	}
	return p.Netdev == name || slices.Contains(p.AltNames, name)
}

// Label returns the value of a label. known is false if it is unknown whether the node has it.
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

// Selected reports whether a nodeSelector, a map of labels, selects the node. maybe is set if it
// depends on unknown labels.
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
