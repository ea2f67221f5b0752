package recording

import "strconv"

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
	names := [...]string{"unknown", "InfiniBand", "iWARP", "usNIC", "usNIC UDP", "unspecified"}
	if i := int64(t) - int64(TransportTypeUnknown); i >= 0 && i < int64(len(names)) {
		return names[i]
	}
	return strconv.Itoa(int(t))
}
