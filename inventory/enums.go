package inventory

import "strconv"

// NodeType is the type of RDMA node that a device is
// (class/infiniband/DEV/node_type; enum rdma_node_type in include/rdma/ib_verbs.h).
type NodeType uint8

// The node types of the kernel.
const (
	NodeTypeUnknown     NodeType = 0
	NodeTypeCA          NodeType = 1
	NodeTypeSwitch      NodeType = 2
	NodeTypeRouter      NodeType = 3
	NodeTypeRNIC        NodeType = 4
	NodeTypeUSNIC       NodeType = 5
	NodeTypeUSNICUDP    NodeType = 6
	NodeTypeUnspecified NodeType = 7
)

var nodeTypeNames = [...]string{"unknown", "CA", "switch", "router", "RNIC", "usNIC", "usNIC UDP", "unspecified"}

// String returns the kernel's name of the node type.
func (t NodeType) String() string { return enumName(nodeTypeNames[:], uint8(t)) }

// MarshalText implements [encoding.TextMarshaler] with the form of [NodeType.String].
func (t NodeType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]; unknown names give [NodeTypeUnknown].
func (t *NodeType) UnmarshalText(b []byte) error {
	*t = NodeType(enumValue(nodeTypeNames[:], string(b)))
	return nil
}

// PortState is the logical state of a port (class/infiniband/DEV/ports/N/state;
// specification volume 1, PortInfo.PortState; C twin: enum ibv_port_state).
type PortState uint8

// The port states of the kernel.
const (
	PortStateNoChange    PortState = 0
	PortStateDown        PortState = 1
	PortStateInit        PortState = 2
	PortStateArmed       PortState = 3
	PortStateActive      PortState = 4
	PortStateActiveDefer PortState = 5
)

var portStateNames = [...]string{"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"}

// String returns the kernel's name of the state.
func (s PortState) String() string { return enumName(portStateNames[:], uint8(s)) }

// MarshalText implements [encoding.TextMarshaler] with the form of [PortState.String].
func (s PortState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]; unknown names give [PortStateNoChange].
func (s *PortState) UnmarshalText(b []byte) error {
	*s = PortState(enumValue(portStateNames[:], string(b)))
	return nil
}

// PhysState is the state of a port's physical link (class/infiniband/DEV/ports/N/phys_state;
// PortInfo.PortPhysicalState). 0 if the kernel doesn't report it.
type PhysState uint8

// The physical states of the kernel.
const (
	PhysStateUnknown         PhysState = 0
	PhysStateSleep           PhysState = 1
	PhysStatePolling         PhysState = 2
	PhysStateDisabled        PhysState = 3
	PhysStateTraining        PhysState = 4
	PhysStateLinkUp          PhysState = 5
	PhysStateErrorRecovery   PhysState = 6
	PhysStateDiagnosticsTest PhysState = 7
)

var physStateNames = [...]string{
	"unknown", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "Phy Test",
}

// String returns the kernel's name of the state.
func (s PhysState) String() string { return enumName(physStateNames[:], uint8(s)) }

// MarshalText implements [encoding.TextMarshaler] with the form of [PhysState.String].
func (s PhysState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]; unknown names give [PhysStateUnknown].
func (s *PhysState) UnmarshalText(b []byte) error {
	*s = PhysState(enumValue(physStateNames[:], string(b)))
	return nil
}

// LinkLayer is the layer below the transport (class/infiniband/DEV/ports/N/link_layer).
type LinkLayer string

// The link layers of the kernel; EFA and some virtual devices have "Unknown" or "Unspecified".
const (
	LinkLayerUnknown    LinkLayer = ""
	LinkLayerInfiniBand LinkLayer = "InfiniBand"
	LinkLayerEthernet   LinkLayer = "Ethernet"
)

// Transport is the protocol of the queue pairs of a port.
type Transport string

// HasGIDs reports whether connections of ports with the transport use an entry of the GID table
// that stands for an address.
func (t Transport) HasGIDs() bool {
	return t != TransportIWARP && t != TransportEFA && t != TransportERDMA
}

// The transports; a port with RoCE v2 GIDs has transport RoCE v2 even if it also supports v1.
const (
	TransportUnknown    Transport = ""
	TransportInfiniBand Transport = "InfiniBand"
	TransportRoCE       Transport = "RoCE" // the GID table is empty, so the version is unknown
	TransportRoCEv1     Transport = "RoCE v1"
	TransportRoCEv2     Transport = "RoCE v2"
	TransportIWARP      Transport = "iWARP"
	TransportEFA        Transport = "EFA"
	TransportUSNIC      Transport = "usNIC"
	TransportERDMA      Transport = "eRDMA" // Alibaba's, an RNIC; GID 0 is its MAC address
	// Omni-Path has the kernel's link layer InfiniBand, but its own links and subnet manager.
	TransportOmniPath Transport = "Omni-Path"
)

// GIDType is the encapsulation of packets with a GID (gid_attrs/types/N, where
// "IB/RoCE v1" is IB or RoCE v1 depending on the link layer; C twin: enum ibv_gid_type).
type GIDType string

// The GID types.
const (
	GIDTypeUnknown GIDType = ""
	GIDTypeIB      GIDType = "IB"
	GIDTypeRoCEv1  GIDType = "RoCE v1"
	GIDTypeRoCEv2  GIDType = "RoCE v2"
)

// Role is the purpose of a port, as determined by the scanner; [Port.RoleReason] has the reason.
type Role string

// The roles.
const (
	RoleUnknown    Role = ""           // not for this node to use, or nothing is known
	RoleCompute    Role = "compute"    // for the collectives of jobs: a rail
	RoleStorage    Role = "storage"    // fast, but not a rail
	RoleManagement Role = "management" // slow, or with the default route
	RoleUnused     Role = "unused"     // can't serve, or isn't meant to: a spare second port
	RoleUncertain  Role = "uncertain"  // either of several; the reason says what would decide
)

// Bus is the bus of a network device.
type Bus string

// The buses.
const (
	BusUnknown     Bus = ""
	BusPCI         Bus = "pci"
	BusUSB         Bus = "usb"
	BusThunderbolt Bus = "thunderbolt"
	BusVirtual     Bus = "virtual"
	BusVirtio      Bus = "virtio"
	BusOther       Bus = "other"
)

// PCIDistance is the distance between two PCI functions, in the terms of
// `nvidia-smi topo -m`; a greater value is a longer distance.
type PCIDistance uint8

// The distances, nearest first.
const (
	PCIDistanceUnknown PCIDistance = 0
	PCIDistancePIX     PCIDistance = 1 // at most one PCI bridge between them
	PCIDistancePXB     PCIDistance = 2 // several PCI bridges, no host bridge
	PCIDistancePHB     PCIDistance = 3 // the same PCI host bridge
	PCIDistanceNODE    PCIDistance = 4 // two host bridges of the same NUMA node
	PCIDistanceSYS     PCIDistance = 5 // across NUMA nodes
)

var pciDistanceNames = [...]string{"unknown", "PIX", "PXB", "PHB", "NODE", "SYS"}

// String returns the abbreviation that nvidia-smi uses.
func (d PCIDistance) String() string { return enumName(pciDistanceNames[:], uint8(d)) }

// MarshalText implements [encoding.TextMarshaler] with the form of [PCIDistance.String].
func (d PCIDistance) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]; unknown names give [PCIDistanceUnknown].
func (d *PCIDistance) UnmarshalText(b []byte) error {
	*d = PCIDistance(enumValue(pciDistanceNames[:], string(b)))
	return nil
}

// NetnsMode is the RDMA network namespace mode: whether a device is visible in all network
// namespaces or in one (`rdma system`).
type NetnsMode string

// The namespace modes.
const (
	NetnsModeUnknown   NetnsMode = ""
	NetnsModeShared    NetnsMode = "shared"
	NetnsModeExclusive NetnsMode = "exclusive"
)

func enumName(names []string, v uint8) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "unknown(" + strconv.Itoa(int(v)) + ")"
}

func enumValue(names []string, s string) uint8 {
	for i, n := range names {
		if n == s {
			return uint8(i)
		}
	}
	return 0
}
