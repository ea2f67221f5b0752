package mad

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Lengths of the attributes in bytes.
const (
	NodeInfoLen        = 40 // of a NodeInfo
	NodeDescriptionLen = 64 // of a NodeDescription, padded with zeros
)

// NodeType is the type of a node (specification section 14.2.5.3).
type NodeType uint8

// The three types.
const (
	NodeTypeCA     NodeType = 1 // channel adapter: an HCA of a host
	NodeTypeSwitch NodeType = 2
	NodeTypeRouter NodeType = 3
)

// String returns the name that libibmad uses.
func (t NodeType) String() string {
	switch t {
	case NodeTypeCA:
		return "Channel Adapter"
	case NodeTypeSwitch:
		return "Switch"
	case NodeTypeRouter:
		return "Router"
	}
	return fmt.Sprintf("node type %d", uint8(t))
}

// NodeInfo describes the node that responds to a request (specification section
// 14.2.5.3; C twin: ib_node_info_t).
type NodeInfo struct {
	BaseVersion     uint8    // of MADs: 1
	ClassVersion    uint8    // of subnet management: 1
	NodeType        NodeType // channel adapter, switch or router
	NumPorts        uint8    // without port 0 of a switch
	SystemImageGUID ib.GUID  // the same in all nodes of one chassis or card; 0 if unused
	NodeGUID        ib.GUID  // of the node: the same through all its ports
	PortGUID        ib.GUID  // of the port that received the request; for a switch, of port 0
	PartitionCap    uint16   // entries of the P_Key table of a CA port, or of a switch's port 0
	DeviceID        uint16   // device ID assigned by the vendor
	Revision        uint32   // device revision assigned by the vendor
	LocalPortNum    uint8    // the port that received the request
	VendorID        uint32   // 24 bits, an IEEE OUI
}

// Decode reads the attribute from the start of b.
func (a *NodeInfo) Decode(b []byte) (n int, err error) {
	if len(b) < NodeInfoLen {
		return 0, ErrShort
	}
	*a = NodeInfo{
		BaseVersion: b[0], ClassVersion: b[1], NodeType: NodeType(b[2]), NumPorts: b[3],
		SystemImageGUID: ib.GUID(b[4:]), NodeGUID: ib.GUID(b[12:]), PortGUID: ib.GUID(b[20:]),
		PartitionCap: binary.BigEndian.Uint16(b[28:]),
		DeviceID:     binary.BigEndian.Uint16(b[30:]),
		Revision:     binary.BigEndian.Uint32(b[32:]),
		LocalPortNum: b[36], VendorID: uint24(b[37:]),
	}
	return NodeInfoLen, nil
}

// Append appends the attribute to b.
func (a *NodeInfo) Append(b []byte) []byte {
	b = append(b, a.BaseVersion, a.ClassVersion, uint8(a.NodeType), a.NumPorts)
	b = append(b, a.SystemImageGUID[:]...)
	b = append(b, a.NodeGUID[:]...)
	b = append(b, a.PortGUID[:]...)
	b = binary.BigEndian.AppendUint16(b, a.PartitionCap)
	b = binary.BigEndian.AppendUint16(b, a.DeviceID)
	b = binary.BigEndian.AppendUint32(b, a.Revision)
	return appendUint24(append(b, a.LocalPortNum), a.VendorID)
}

// NodeDescription is the name of a node as configured by its administrator: up to 64
// bytes, padded with zeros (specification section 14.2.5.2).
type NodeDescription [NodeDescriptionLen]byte

// Decode reads the attribute from the start of b.
func (a *NodeDescription) Decode(b []byte) (n int, err error) {
	if len(b) < NodeDescriptionLen {
		return 0, ErrShort
	}
	return copy(a[:], b), nil
}

// Append appends the attribute to b.
func (a *NodeDescription) Append(b []byte) []byte { return append(b, a[:]...) }

// String returns the text up to the first zero byte. Bytes that aren't printable ASCII
// are replaced with spaces, as in infiniband-diags, so that a node can't send control
// characters to a terminal.
func (a NodeDescription) String() string {
	text := a[:]
	if end := bytes.IndexByte(text, 0); end >= 0 {
		text = text[:end]
	}
	for i, c := range text { // a is a copy
		if c < 0x20 || c > 0x7e {
			text[i] = ' '
		}
	}
	return string(text)
}
