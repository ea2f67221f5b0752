package consensus

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Check is a comparison of nodes. A [Difference] refers to it by ID.
type Check struct {
	ID       string   `json:"id"`       // stable
	Severity Severity `json:"severity"` // effect of a difference on a job
	What     string   `json:"what"`     // what is compared
	Why      string   `json:"why"`      // consequence of a difference
	Remedy   string   `json:"remedy"`   // how to fix a difference
}

// Checks returns all checks in the order of a report.
func Checks() []Check {
	out := slices.Clone(nodeChecks)
	for _, c := range railChecks {
		out = append(out, c.Check)
	}
	out = append(out, duplicateChecks...)
	return append(out, noteChecks...)
}

// IDs of checks that code refers to.
const (
	checkNoRDMA    = "no-rdma"
	checkHCASet    = "hca-set"
	checkSwapped   = "rail-swapped"
	checkRate      = "rate"
	checkMTU       = "mtu"
	checkSubnet    = "subnet"
	checkGIDIndex  = "gid-index"
	checkSameNode  = "same-node"
	checkHost      = "duplicate-host"
	checkGUID      = "duplicate-guid"
	checkSystem    = "duplicate-system-guid"
	checkGID       = "duplicate-gid"
	checkMAC       = "duplicate-mac"
	checkLID       = "duplicate-lid"
	checkLimited   = "pkey-limited"
	checkSocket    = "socket"
	checkShared    = "shared-subnet"
	checkUnknown   = "not-compared"
	checkUncertain = "incomplete"
)

// nodeChecks compare whole nodes.
var nodeChecks = []Check{
	{
		checkNoRDMA, SeverityBreaks, "whether the node can use RDMA, and through verbs or libfabric",
		"ranks on the node fall back to TCP, or the job hangs while connecting",
		"run rdmactl doctor on the node, or leave it out of the job",
	},
	{
		checkHCASet, SeverityBreaks, "number and rails of the selected HCAs",
		"ranks with different sets of HCAs wait for each other without an error (NVIDIA/nccl#2428)",
		"repair the rail (rdmactl doctor on the node), or exclude it on all nodes with --exclude",
	},
	{
		checkSwapped, SeverityBreaks, "whether a rail is in the network of another rail",
		"rails with the same number connect to each other; in different subnets they time out, or their " +
			"traffic takes a detour through the spine switches",
		"swap the cables or the addresses: compare ip -br addr with the cabling plan",
	},
}

// duplicateChecks find values that must be unique to one node.
var duplicateChecks = []Check{
	{
		checkSameNode, SeverityNote, "whether two inputs have the same cards",
		"both inputs are of one node, so that fewer nodes are compared than it seems: the same recording, a " +
			"copy of it, or two containers of one host",
		"give one input for each node",
	},
	{
		checkHost, SeverityBreaks, "host names",
		"launchers identify nodes by name, so ranks start on the wrong node; cloned images keep the original's name",
		"give each node a unique name (hostnamectl set-hostname)",
	},
	{
		checkGUID, SeverityBreaks, "GUIDs of devices and ports",
		"the fabric treats two cards with the same GUID as one card",
		"check the GUIDs that were set for virtual functions (ip link show), or the firmware settings " +
			"of the card",
	},
	{
		checkSystem, SeverityNote, "system image GUIDs of cards",
		"tools that group devices by it, such as ibnetdiscover and UFM, take the two nodes' cards for one: that is " +
			"right for hosts of one multi-host card, and for a DPU and its host",
		"check whether one card's firmware was programmed with the GUIDs of another (flint -d DEVICE query)",
	},
	{
		checkGID, SeverityBreaks, "GIDs, the addresses of rails",
		"packets for one node arrive at another: connections time out intermittently",
		"give each node unique addresses (likely causes: cloned configuration, two DHCP servers)",
	},
	{
		checkMAC, SeverityBreaks, "link-layer addresses of rails",
		"switches forward the frames to the node that sent last",
		"use the addresses that the card or the hypervisor assigns (ip link set DEVICE address …)",
	},
	{
		checkLID, SeverityBreaks, "LIDs on a rail",
		"LIDs are unique in a subnet, so the nodes are in two subnets with the same prefix: no path between them",
		"compare the subnets with ibnetdiscover or sminfo on both nodes",
	},
	{
		checkLimited, SeverityBreaks, "membership of the partition at index 0",
		"limited members of a partition can communicate only with full members, not with each other",
		"make compute nodes full members (0x8000 set) in the partition configuration of the subnet manager",
	},
}

// noteChecks report differences that do no harm with the settings of the report.
var noteChecks = []Check{
	{
		checkSocket, SeverityNote, "network devices for bootstrap",
		"NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME name a device",
		"set them on each node (rdmactl exec), not for the cluster",
	},
	{
		checkShared, SeverityNote, "whether several rails are in one subnet",
		"without arp_ignore, arp_announce and source routes the kernel answers ARP for all of them on one device",
		"sysctl net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2, or a subnet for each rail",
	},
	{
		checkUnknown, SeverityNote, "values that no file has",
		"the comparison does not cover them", "run rdmactl detect -o json on the node itself",
	},
	{
		checkUncertain, SeverityNote, "files that the comparison depends on and that could not be read",
		"the node may have more or fewer rails than were compared", "run rdmactl detect as root on the node",
	},
}

// railCheck compares an attribute of a rail between nodes.
type railCheck struct {
	Check
	value    func(r *rail) string // "" unknown, or not of this kind of rail
	evidence func(r *rail) (file, text string)
	// applies reports whether the value should be known; nil: it may always be unknown.
	applies func(r *rail) bool
}

// railChecks are in the order of a report.
var railChecks = []railCheck{
	{
		Check{
			"link-layer", SeverityBreaks, "link layer: InfiniBand or Ethernet", "they can't connect to each other",
			"select ports of one fabric on all nodes with --include, or set the port type (mlxconfig LINK_TYPE_P1)",
		},
		func(r *rail) string { return string(r.layer) },
		func(r *rail) (string, string) { return portFile(r, "link_layer"), string(r.layer) }, nil,
	},
	{
		Check{
			checkRate, SeveritySlows, "rate", "collectives run at the rate of the slowest rail",
			"check cable, transceiver and switch port: rdmactl show DEVICE, mlxlink -d PCI",
		},
		func(r *rail) string {
			if r.rate == 0 {
				return ""
			}
			return strconv.FormatFloat(r.rate, 'g', -1, 64) + " Gb/s"
		},
		func(r *rail) (string, string) {
			return portFile(r, "rate"), strconv.FormatFloat(r.rate, 'g', -1, 64) + " Gb/s"
		},
		func(*rail) bool { return true },
	},
	{
		Check{
			checkMTU, SeverityBreaks, "active MTU",
			"UCX uses the smaller one. In NCCL since 2.20 only the sending end does, so that jobs hang or " +
				"end with a local length or access error (NVIDIA/nccl#1524, #2135); Mooncake does not and fails " +
				"to connect (kvcache-ai/Mooncake#3868)",
			"set the MTU on the node (ip link set DEVICE mtu 9000) and on its switch port; 4200 or more gives " +
				"4096. For Mooncake, MC_MTU can be lowered instead",
		},
		func(r *rail) string {
			if r.mtu == 0 {
				return ""
			}
			return strconv.Itoa(r.mtu)
		},
		func(r *rail) (string, string) {
			if r.netdevPath == "" {
				return r.path, "active MTU " + strconv.Itoa(r.mtu)
			}
			return path.Join(r.netdevPath, "mtu"), strconv.Itoa(r.netdevMTU)
		},
		func(r *rail) bool { return r.transport != inventory.TransportEFA },
	},
	{
		Check{
			checkSubnet, SeverityBreaks, "IP subnet", "without a router between the subnets the rail reaches no peer",
			"correct address or prefix length (ip -br addr); --routed if the fabric routes between these subnets",
		},
		func(r *rail) string {
			if !r.subnet.IsValid() {
				return ""
			}
			return r.subnet.String()
		},
		gidEvidence, (*rail).roce,
	},
	{
		Check{
			"fabric", SeverityBreaks, "InfiniBand subnet: prefix, and LID of the subnet manager",
			"packets don't leave a subnet without an InfiniBand router",
			"compare the cabling with ibnetdiscover on both nodes; look for a second subnet manager (sminfo)",
		},
		func(r *rail) string {
			if r.fabric == nil {
				return ""
			}
			return r.location()
		},
		func(r *rail) (string, string) {
			return portFile(r, "gids/0") + ", sm_lid", fmt.Sprintf("%s, %d", r.fabric.SubnetPrefix, r.fabric.SMLID)
		},
		func(r *rail) bool { return r.fabric != nil },
	},
	{
		Check{
			"pkey", SeverityBreaks, "partition at index 0, which all libraries use",
			"ports in different partitions can't communicate",
			"put the nodes into one partition (partitions.conf of the subnet manager), or set " +
				"NCCL_IB_PKEY to its index",
		},
		func(r *rail) string {
			if r.pkey == nil || r.fabric == nil {
				return ""
			}
			return (*r.pkey | 0x8000).String() // the high bit is the membership
		},
		pkeyEvidence, nil,
	},
	{
		Check{
			"gid-kind", SeverityBreaks, "RoCE version and address family of the GID",
			"both ends need the same kind, but by default each node uses its own",
			"give all nodes the same kind of address, or set the address family that all have (see GID)",
		},
		func(r *rail) string {
			k, ok := r.chosenKind()
			if !ok {
				return ""
			}
			return k.String()
		},
		gidEvidence, nil,
	},
	{
		Check{
			checkGIDIndex, SeverityNote, "index of the GID",
			"an index is a position in a table: don't pin an index that differs (NVIDIA/nccl#890, multus-cni#1100)",
			"set no *_GID_INDEX; see GID for the settings to use instead",
		},
		func(r *rail) string {
			if r.gid == nil {
				return ""
			}
			return strconv.Itoa(r.gid.Index)
		},
		gidEvidence, nil,
	},
	{
		Check{
			"device-name", SeverityNote, "name of the device and number of the port",
			"NCCL_IB_HCA and similar variables name devices",
			"derive the lists on each node (rdmactl exec -- CMD), or name devices by PCI address everywhere " +
				"(rdma-core's persistent naming)",
		},
		(*rail).name,
		func(r *rail) (string, string) { return r.path, r.name() }, nil,
	},
}

// portFile returns a file of the port.
func portFile(r *rail, name string) string { return path.Join(r.path, name) }

func gidEvidence(r *rail) (string, string) {
	if r.gid == nil {
		return r.path, "no GID"
	}
	text := r.gid.Addr.String()
	if r.subnet.IsValid() {
		text += "/" + strconv.Itoa(r.subnet.Bits())
	}
	if r.gid.Netdev != "" {
		text += " on " + r.gid.Netdev
	}
	return portFile(r, "gids/"+strconv.Itoa(r.gid.Index)), fmt.Sprintf("%s (%s)", text, r.gid.Type)
}

func pkeyEvidence(r *rail) (string, string) {
	return portFile(r, "pkeys/0"), deref[ib.PKey](r.pkey).String()
}

// severity returns the severity of a check with the current options.
func (c *comparison) severity(check Check) Severity {
	switch {
	case check.ID == checkSubnet && c.opts.Routed:
		return SeverityNote
	case check.ID == checkMTU && !c.wants(launch.LibraryNCCL) && !c.wants(launch.LibraryMooncake):
		return SeveritySlows
	}
	return check.Severity
}

// wants reports whether settings for a library are requested.
func (c *comparison) wants(l launch.Library) bool { return slices.Contains(c.libraries, l) }
