package provider

import "strconv"

// AtomicCapability is enum ibv_atomic_cap.
type AtomicCapability int32

// The other accesses with respect to which atomic operations are atomic.
const (
	AtomicCapabilityNone   AtomicCapability = 0 // no atomic operations
	AtomicCapabilityHCA    AtomicCapability = 1 // other operations of this device
	AtomicCapabilityGlobal AtomicCapability = 2 // other devices and CPUs too
)

// PortState is enum ibv_port_state.
type PortState int32

// The states of a port.
const (
	PortStateNop         PortState = 0
	PortStateDown        PortState = 1
	PortStateInit        PortState = 2
	PortStateArmed       PortState = 3
	PortStateActive      PortState = 4
	PortStateActiveDefer PortState = 5
)

// String names the state; a number without a name is printed in decimal.
func (s PortState) String() string {
	return name(int64(s), 0, "NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER")
}

// LinkLayer is the unnamed enum of IBV_LINK_LAYER_UNSPECIFIED.
type LinkLayer uint8

// The link layers.
const (
	LinkLayerUnspecified LinkLayer = 0
	LinkLayerInfiniBand  LinkLayer = 1
	LinkLayerEthernet    LinkLayer = 2
)

// String names the link layer; a number without a name is printed in decimal.
func (l LinkLayer) String() string {
	return name(int64(l), 0, "unspecified", "InfiniBand", "Ethernet")
}

// GIDType is enum ibv_gid_type.
type GIDType int32

// The types of a GID. Its zero value is a GID of InfiniBand, as in C.
const (
	GIDTypeUnknown GIDType = -1 // not reported by the driver or the kernel
	GIDTypeIB      GIDType = 0
	GIDTypeRoCEv1  GIDType = 1
	GIDTypeRoCEv2  GIDType = 2
)

// String names the type; a number without a name is printed in decimal.
func (t GIDType) String() string {
	return name(int64(t), -1, "unknown", "IB", "RoCE v1", "RoCE v2")
}

// NodeType is enum ibv_node_type.
type NodeType int32

// The node types.
const (
	NodeTypeUnknown     NodeType = -1
	NodeTypeCA          NodeType = 1
	NodeTypeSwitch      NodeType = 2
	NodeTypeRouter      NodeType = 3
	NodeTypeRNIC        NodeType = 4
	NodeTypeUSNIC       NodeType = 5
	NodeTypeUSNICUDP    NodeType = 6
	NodeTypeUnspecified NodeType = 7
)

// String names the type; a number without a name is printed in decimal.
func (t NodeType) String() string {
	return name(int64(t), -1, "unknown", "0", "channel adapter", "switch", "router", "iWARP NIC", "usNIC", "usNIC UDP",
		"unspecified")
}

// TransportType is enum ibv_transport_type.
type TransportType int32

// The transports. InfiniBand includes RoCE.
const (
	TransportTypeUnknown     TransportType = -1
	TransportTypeInfiniBand  TransportType = 0
	TransportTypeIWARP       TransportType = 1
	TransportTypeUSNIC       TransportType = 2
	TransportTypeUSNICUDP    TransportType = 3
	TransportTypeUnspecified TransportType = 4
)

// String names the transport; a number without a name is printed in decimal.
func (t TransportType) String() string {
	return name(int64(t), -1, "unknown", "InfiniBand", "iWARP", "usNIC", "usNIC UDP", "unspecified")
}

// name returns the name of v; names[0] is the name of the value first.
func name(v, first int64, names ...string) string {
	if i := v - first; i >= 0 && i < int64(len(names)) {
		return names[i]
	}
	return strconv.FormatInt(v, 10)
}
