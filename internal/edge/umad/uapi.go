package umad

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Request numbers of ioctl: direction and size of the argument, type 0x1b, number.
const (
	IB_USER_MAD_REGISTER_AGENT  = 0xc01c1b01 // struct ib_user_mad_reg_req
	IB_USER_MAD_ENABLE_PKEY     = 0x1b03     // headers have a P_Key index
	IB_USER_MAD_REGISTER_AGENT2 = 0xc0281b04 // struct ib_user_mad_reg_req2
)

// Sizes in bytes of struct ib_user_mad_hdr, ib_user_mad_reg_req and ib_user_mad_reg_req2, and of
// a MAD.
const (
	headerLen        = 64
	registerAgentLen = 28
	registerAgent2   = 40
	MADLen           = 256 // of a MAD
	// lengthOffset is where the header has the length of the message.
	lengthOffset = 16
)

// MaxAgents is the maximum number of agents of one open file.
const MaxAgents = 32

// errShort is the error if the kernel returns less than a header.
var errShort = errors.New("less than a header")

// Packet is one MAD with the kernel's header (struct ib_user_mad_hdr).
type Packet struct {
	AgentID uint32
	// Status is 0, or an errno for a request that was returned: ETIMEDOUT if there was no response.
	Status uint32
	// Timeout is how long the kernel waits for the response to a request, rounded up to whole
	// milliseconds; 0: it expects no response.
	Timeout time.Duration
	Retries uint32

	QPN       uint32 // of the other side
	QKey      uint32
	LID       uint16
	SL        uint8
	PathBits  uint8
	PKeyIndex uint16

	HasGRH       bool // the fields below are valid
	GIDIndex     uint8
	HopLimit     uint8
	TrafficClass uint8
	GID          [16]byte
	FlowLabel    uint32

	MAD [MADLen]byte
	// Length is that of the message in bytes: less than MADLen for a message that RMPP carries in
	// one segment, more for one of several segments. 0, of a packet to send: MAD and Rest.
	Length int
	// Rest is what follows MAD in a message of several segments: only data, without headers. That
	// of a received message belongs to the caller. A message to send has segments if its agent has
	// RMPPVersion 1, its RMPP header is active and its type is DATA.
	Rest []byte
}

// appendTo appends header and MAD to b. Addresses are in network order, other numbers in host
// order.
func (p *Packet) appendTo(b []byte) []byte {
	host, wire := binary.NativeEndian, binary.BigEndian
	milliseconds := (p.Timeout + time.Millisecond - 1) / time.Millisecond
	b = host.AppendUint32(b, p.AgentID)
	b = host.AppendUint32(b, p.Status)
	b = host.AppendUint32(b, uint32(milliseconds))
	b = host.AppendUint32(b, p.Retries)
	length := MADLen + len(p.Rest)
	if p.Length != 0 {
		length = min(length, p.Length)
	}
	b = host.AppendUint32(b, uint32(length))
	b = wire.AppendUint32(b, p.QPN)
	b = wire.AppendUint32(b, p.QKey)
	b = wire.AppendUint16(b, p.LID)
	var grh uint8
	if p.HasGRH {
		grh = 1
	}
	b = append(b, p.SL, p.PathBits, grh, p.GIDIndex, p.HopLimit, p.TrafficClass)
	b = append(b, p.GID[:]...)
	b = wire.AppendUint32(b, p.FlowLabel)
	b = host.AppendUint16(b, p.PKeyIndex)
	b = append(b, 0, 0, 0, 0, 0, 0)
	b = append(b, p.MAD[:min(length, MADLen)]...)
	return append(b, p.Rest[:max(0, length-MADLen)]...)
}

// decode decodes the data of one read; a shorter MAD is padded with zeros.
func (p *Packet) decode(b []byte) error {
	if len(b) < headerLen {
		return fmt.Errorf("decode user mad of %d bytes: %w", len(b), errShort)
	}
	host, wire := binary.NativeEndian, binary.BigEndian
	*p = Packet{
		AgentID: host.Uint32(b), Status: host.Uint32(b[4:]),
		Timeout: time.Duration(host.Uint32(b[8:])) * time.Millisecond, Retries: host.Uint32(b[12:]),
		QPN: wire.Uint32(b[20:]), QKey: wire.Uint32(b[24:]), LID: wire.Uint16(b[28:]), SL: b[30], PathBits: b[31],
		HasGRH: b[32] != 0, GIDIndex: b[33], HopLimit: b[34], TrafficClass: b[35],
		GID: [16]byte(b[36:]), FlowLabel: wire.Uint32(b[52:]), PKeyIndex: host.Uint16(b[56:]),
	}
	p.Length = len(b) - headerLen
	if n := copy(p.MAD[:], b[headerLen:]); n < p.Length {
		p.Rest = bytes.Clone(b[headerLen+n:])
	}
	return nil
}

// Agent describes the MADs that a file sends and receives.
type Agent struct {
	Class        uint8
	ClassVersion uint8
	QPN          uint32 // 0 for subnet management, 1 for the other classes
	OUI          uint32 // of a vendor class from 0x30 to 0x4f
	// Methods are the methods of unsolicited MADs that the agent receives; none: only responses.
	Methods []uint8
	// RMPPVersion 1 makes the kernel reassemble messages of several segments, acknowledge them, and
	// deliver each as one packet; 0: it delivers segments one by one.
	RMPPVersion uint8
}

func (a *Agent) mask() (m [2]uint64, err error) {
	for _, method := range a.Methods {
		if method > 127 {
			return m, fmt.Errorf("method 0x%x is that of a response", method)
		}
		m[method/64] |= 1 << (method % 64)
	}
	return m, nil
}

// request returns the argument of REGISTER_AGENT, for old kernels.
func (a *Agent) request(mask [2]uint64) []byte {
	b := make([]byte, 4, registerAgentLen) // the kernel writes the agent's number there
	b = binary.NativeEndian.AppendUint64(b, mask[0])
	b = binary.NativeEndian.AppendUint64(b, mask[1])
	b = append(b, uint8(a.QPN), a.Class, a.ClassVersion)
	return append(b, uint8(a.OUI>>16), uint8(a.OUI>>8), uint8(a.OUI), a.RMPPVersion, 0)
}

// request2 returns the argument of REGISTER_AGENT2.
func (a *Agent) request2(mask [2]uint64) []byte {
	b := make([]byte, 4, registerAgent2)
	b = binary.NativeEndian.AppendUint32(b, a.QPN)
	b = append(b, a.Class, a.ClassVersion, 0, 0)
	b = binary.NativeEndian.AppendUint32(b, 0) // flags
	b = binary.NativeEndian.AppendUint64(b, mask[0])
	b = binary.NativeEndian.AppendUint64(b, mask[1])
	b = binary.NativeEndian.AppendUint32(b, a.OUI)
	return append(b, a.RMPPVersion, 0, 0, 0)
}
