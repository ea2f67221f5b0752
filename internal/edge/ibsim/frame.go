package ibsim

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Sizes of the protocol's datagrams in bytes.
const (
	// MADLen is the size of a management datagram.
	MADLen = 256
	// packetLen is the size of struct sim_request; the server drops any other.
	packetLen = 288
	// controlLen is the size of struct sim_ctl.
	controlLen = 80
	// controlDataLen is the maximum length of the data of a control message.
	controlDataLen = 64
)

// LIDPermissive is the value of both LIDs of a directed-route packet.
const LIDPermissive = 0xffff

// StatusTimeout is ETIMEDOUT of Linux: there is no response, because the route is invalid, the node
// is down, or the link has lost the packet.
const StatusTimeout = 110

// controlMagic starts each control message; the server doesn't respond if it is wrong.
const controlMagic = 0xdeadbeef

// ErrShort is the error for a datagram of another size than the protocol's.
var ErrShort = errors.New("datagram of a wrong size")

// Packet is one MAD in the simulator's protocol (struct sim_request).
type Packet struct {
	// Both are LIDPermissive for a directed route; the server fills in an SLID of 0.
	DLID, SLID uint16
	DQP, SQP   uint32       // queue pair numbers: 0 for SMPs, 1 for the other classes
	Status     uint32       // 0, or StatusTimeout for a request that was returned
	MAD        [MADLen]byte // as on the wire
	// Length, of a received packet, is the length of the message that its sender wrote, in bytes.
	// The simulator carries the first MADLen of them; there is no RMPP. 0 stands for MADLen in a
	// packet to send.
	Length uint64
	// Local is how the kernel would address the packet. It is rdmakit's own part of a packet: ibsim
	// ignores it, and packets of umad2sim have the zero value.
	Local Local
}

// Local is the part of a packet's address that only the kernel of its sender needs, in the 16 bits
// that the slot of the DLID leaves unused: index, service level and GRH, from the lowest bit.
type Local struct {
	PKeyIndex uint16 // at most MaxPKeyIndex
	SL        uint8  // 4 bits
	GRH       bool
}

// MaxPKeyIndex is the highest P_Key index of a [Local].
const MaxPKeyIndex = 1<<localIndexBits - 1

// Bits of a Local.
const localIndexBits, localGRHBit = 11, 15

func (l Local) bits() uint32 {
	v := uint32(min(l.PKeyIndex, MaxPKeyIndex)) | uint32(l.SL&15)<<localIndexBits
	if l.GRH {
		v |= 1 << localGRHBit
	}
	return v
}

func localFromBits(v uint32) Local {
	return Local{
		PKeyIndex: uint16(v & MaxPKeyIndex), SL: uint8(v >> localIndexBits & 15), GRH: v>>localGRHBit&1 != 0,
	}
}

// appendTo appends the 288 bytes of the packet to b.
func (p *Packet) appendTo(b []byte) []byte {
	// The simulator stores a LID as a 16-bit network-order value in a 32-bit host-order field.
	b = binary.NativeEndian.AppendUint32(b, slotFromLID(p.DLID)|p.Local.bits()<<16)
	b = binary.NativeEndian.AppendUint32(b, slotFromLID(p.SLID))
	b = binary.BigEndian.AppendUint32(b, p.DQP)
	b = binary.BigEndian.AppendUint32(b, p.SQP)
	b = binary.BigEndian.AppendUint32(b, p.Status)
	b = append(b, 0, 0, 0, 0) // alignment of the length
	b = binary.BigEndian.AppendUint64(b, cmp.Or(p.Length, MADLen))
	return append(b, p.MAD[:]...)
}

// decode reads a packet from exactly one datagram.
func (p *Packet) decode(b []byte) error {
	if len(b) != packetLen {
		return fmt.Errorf("decode ibsim packet of %d bytes: %w", len(b), ErrShort)
	}
	p.DLID = lidFromSlot(binary.NativeEndian.Uint32(b))
	p.Local = localFromBits(binary.NativeEndian.Uint32(b) >> 16)
	p.SLID = lidFromSlot(binary.NativeEndian.Uint32(b[4:]))
	p.DQP = binary.BigEndian.Uint32(b[8:])
	p.SQP = binary.BigEndian.Uint32(b[12:])
	p.Status = binary.BigEndian.Uint32(b[16:])
	p.Length = binary.BigEndian.Uint64(b[24:])
	copy(p.MAD[:], b[32:])
	return nil
}

func slotFromLID(lid uint16) uint32 { return uint32(hostOrder16(lid)) }

func lidFromSlot(slot uint32) uint16 { return hostOrder16(uint16(slot)) }

// hostOrder16 converts between host and network order.
func hostOrder16(v uint16) uint16 {
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		return v
	}
	return bits.ReverseBytes16(v)
}

// controlType is the type of a control message (enum of include/ibsim.h).
type controlType uint32

const (
	controlError      controlType = 0
	controlConnect    controlType = 1
	controlDisconnect controlType = 2
	controlPort       controlType = 3
	controlVendor     controlType = 4
	controlGID        controlType = 5
	controlGUID       controlType = 6
	controlNodeInfo   controlType = 7
	controlPortInfo   controlType = 8
	controlSetIsSM    controlType = 9
	controlPKeys      controlType = 10
)

// String names the message.
func (c controlType) String() string {
	switch c {
	case controlConnect:
		return "connect"
	case controlDisconnect:
		return "disconnect"
	case controlNodeInfo:
		return "get node info"
	case controlPortInfo:
		return "get port info"
	case controlSetIsSM:
		return "set is-sm"
	case controlPKeys:
		return "get p_keys"
	default:
		return fmt.Sprintf("control %d", uint32(c))
	}
}

// control is struct sim_ctl; all numbers are in host order.
type control struct {
	kind     controlType
	clientID uint32
	data     [controlDataLen]byte
	length   int // bytes of data
}

func (c *control) append(b []byte) []byte {
	b = binary.NativeEndian.AppendUint32(b, controlMagic)
	b = binary.NativeEndian.AppendUint32(b, c.clientID)
	b = binary.NativeEndian.AppendUint32(b, uint32(c.kind))
	b = binary.NativeEndian.AppendUint32(b, uint32(c.length))
	return append(b, c.data[:]...)
}

func (c *control) decode(b []byte) error {
	if len(b) != controlLen {
		return fmt.Errorf("decode ibsim control message of %d bytes: %w", len(b), ErrShort)
	}
	if magic := binary.NativeEndian.Uint32(b); magic != controlMagic {
		return fmt.Errorf("decode ibsim control message: magic 0x%x, want 0x%x", magic, uint32(controlMagic))
	}
	c.clientID = binary.NativeEndian.Uint32(b[4:])
	c.kind = controlType(binary.NativeEndian.Uint32(b[8:]))
	length := binary.NativeEndian.Uint32(b[12:])
	if length > controlDataLen {
		return fmt.Errorf("decode ibsim control message: %d bytes of data, at most %d", length, controlDataLen)
	}
	c.length = int(length)
	copy(c.data[:], b[16:])
	return nil
}

// Layout of struct client_info.
const (
	clientInfoLen   = 44
	clientInfoIsSM  = 8
	clientInfoNode  = 12
	clientInfoNodeN = 32
)

// connectMessage returns a message that requests a place at the node with the given name; if it is
// empty, the server chooses a node.
func connectMessage(id uint32, node string, isSM bool) control {
	c := control{kind: controlConnect, clientID: id, length: clientInfoLen}
	binary.NativeEndian.PutUint32(c.data[0:], id)
	if isSM {
		binary.NativeEndian.PutUint32(c.data[clientInfoIsSM:], 1)
	}
	copy(c.data[clientInfoNode:clientInfoNode+clientInfoNodeN-1], node)
	return c
}

// connected reads the server's response: the slot of the client and the node's name.
func (c *control) connected() (slot uint32, node string) {
	name := c.data[clientInfoNode : clientInfoNode+clientInfoNodeN]
	n := 0
	for n < len(name) && name[n] != 0 {
		n++
	}
	return binary.NativeEndian.Uint32(c.data[0:]), string(name[:n])
}
