package ib

import (
	"encoding/binary"
	"errors"
)

// Lengths of the headers in bytes.
const (
	BTHLen          = 12 // base transport header
	DETHLen         = 8  // datagram extended
	RETHLen         = 16 // RDMA extended
	AtomicETHLen    = 28 // atomic extended
	AETHLen         = 4  // acknowledge extended
	AtomicAckETHLen = 8  // atomic acknowledge extended
	ImmDtLen        = 4  // immediate data
	IETHLen         = 4  // invalidate extended
	GRHLen          = 40 // global route header
)

// ErrShort is the error for fewer bytes than a header has.
var ErrShort = errors.New("packet is shorter than its headers")

// BTH is the base transport header (specification volume 1, section 9.2;
// kernel: struct rxe_bth).
type BTH struct {
	Opcode    Opcode // transport service and operation: which headers follow
	Solicited bool   // SE: request an event at the receiver
	MigReq    bool   // M: path migration state
	PadCount  uint8  // bytes of padding after the payload, 0 to 3
	TVer      uint8  // header version, 0; 4 bits
	PKey      PKey   // partition that the packet is sent in
	FECN      bool   // forward congestion
	BECN      bool   // backward congestion
	Reserved  uint8  // the other 6 bits of that byte, kept as received
	DestQP    QPN    // destination queue pair
	AckReq    bool   // A: request an acknowledgement
	Reserved7 uint8  // the other 7 bits of that byte, kept as received
	PSN       PSN    // packet sequence number
}

// Decode reads a BTH from the start of b.
func (h *BTH) Decode(b []byte) (n int, err error) {
	if len(b) < BTHLen {
		return 0, ErrShort
	}
	*h = BTH{
		Opcode:    Opcode(b[0]),
		Solicited: b[1]&0x80 != 0,
		MigReq:    b[1]&0x40 != 0,
		PadCount:  b[1] >> 4 & 3,
		TVer:      b[1] & 0xf,
		PKey:      PKey(binary.BigEndian.Uint16(b[2:])),
		FECN:      b[4]&0x80 != 0,
		BECN:      b[4]&0x40 != 0,
		Reserved:  b[4] & 0x3f,
		DestQP:    QPN(uint24(b[5:])),
		AckReq:    b[8]&0x80 != 0,
		Reserved7: b[8] & 0x7f,
		PSN:       PSN(uint24(b[9:])),
	}
	return BTHLen, nil
}

// Append appends the header to b.
func (h *BTH) Append(b []byte) []byte {
	dst, psn := uint32(h.DestQP), uint32(h.PSN)
	return append(
		b,
		byte(h.Opcode),
		flag(h.Solicited, 0x80)|flag(h.MigReq, 0x40)|h.PadCount&3<<4|h.TVer&0xf,
		byte(h.PKey>>8), byte(h.PKey),
		flag(h.FECN, 0x80)|flag(h.BECN, 0x40)|h.Reserved&0x3f,
		byte(dst>>16), byte(dst>>8), byte(dst),
		flag(h.AckReq, 0x80)|h.Reserved7&0x7f,
		byte(psn>>16), byte(psn>>8), byte(psn),
	)
}

// DETH is the datagram extended transport header (section 9.3.3).
type DETH struct {
	QKey     uint32 // Q_Key of the receiving queue pair; packets with another one are dropped
	Reserved uint8  // kept as received
	SrcQP    QPN    // source queue pair, to which the receiver can reply
}

// Decode reads a DETH from the start of b.
func (h *DETH) Decode(b []byte) (n int, err error) {
	if len(b) < DETHLen {
		return 0, ErrShort
	}
	*h = DETH{QKey: binary.BigEndian.Uint32(b), Reserved: b[4], SrcQP: QPN(uint24(b[5:]))}
	return DETHLen, nil
}

// Append appends the header to b.
func (h *DETH) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, h.QKey)
	return append(b, h.Reserved, byte(h.SrcQP>>16), byte(h.SrcQP>>8), byte(h.SrcQP))
}

// RETH is the RDMA extended transport header (section 9.3.4).
type RETH struct {
	VirtualAddress uint64 // first byte, in the responder's address space
	RKey           uint32 // key of the memory region
	DMALength      uint32 // length of the whole message, in bytes
}

// Decode reads a RETH from the start of b.
func (h *RETH) Decode(b []byte) (n int, err error) {
	if len(b) < RETHLen {
		return 0, ErrShort
	}
	*h = RETH{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])}
	return RETHLen, nil
}

// Append appends the header to b.
func (h *RETH) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, h.VirtualAddress)
	b = binary.BigEndian.AppendUint32(b, h.RKey)
	return binary.BigEndian.AppendUint32(b, h.DMALength)
}

// AtomicETH is the atomic extended transport header (section 9.3.5).
type AtomicETH struct {
	VirtualAddress uint64 // of the 8 bytes, a multiple of 8
	RKey           uint32 // key of the memory region
	SwapAdd        uint64 // the value to store, or to add
	Compare        uint64 // the value to compare with, for compare-and-swap only
}

// Decode reads an AtomicETH from the start of b.
func (h *AtomicETH) Decode(b []byte) (n int, err error) {
	if len(b) < AtomicETHLen {
		return 0, ErrShort
	}
	*h = AtomicETH{
		binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]),
		binary.BigEndian.Uint64(b[12:]), binary.BigEndian.Uint64(b[20:]),
	}
	return AtomicETHLen, nil
}

// Append appends the header to b.
func (h *AtomicETH) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, h.VirtualAddress)
	b = binary.BigEndian.AppendUint32(b, h.RKey)
	b = binary.BigEndian.AppendUint64(b, h.SwapAdd)
	return binary.BigEndian.AppendUint64(b, h.Compare)
}

// AETH is the acknowledge extended transport header (section 9.3.6).
type AETH struct {
	Syndrome Syndrome // ACK with credits, RNR NAK with a timer, or NAK with a cause
	MSN      uint32   // message sequence number, 24 bits
}

// Decode reads an AETH from the start of b.
func (h *AETH) Decode(b []byte) (n int, err error) {
	if len(b) < AETHLen {
		return 0, ErrShort
	}
	*h = AETH{Syndrome(b[0]), uint24(b[1:])}
	return AETHLen, nil
}

// Append appends the header to b.
func (h *AETH) Append(b []byte) []byte {
	return append(b, byte(h.Syndrome), byte(h.MSN>>16), byte(h.MSN>>8), byte(h.MSN))
}

// AtomicAckETH contains the value in memory before an atomic operation
// (section 9.5.3).
type AtomicAckETH struct{ Original uint64 }

// Decode reads an AtomicAckETH from the start of b.
func (h *AtomicAckETH) Decode(b []byte) (n int, err error) {
	if len(b) < AtomicAckETHLen {
		return 0, ErrShort
	}
	h.Original = binary.BigEndian.Uint64(b)
	return AtomicAckETHLen, nil
}

// Append appends the header to b.
func (h *AtomicAckETH) Append(b []byte) []byte { return binary.BigEndian.AppendUint64(b, h.Original) }

// ImmDt is immediate data (section 9.3.8): four bytes as the sender passed them, by
// convention a big-endian number.
type ImmDt [4]byte

// Decode reads immediate data from the start of b.
func (h *ImmDt) Decode(b []byte) (n int, err error) {
	if len(b) < ImmDtLen {
		return 0, ErrShort
	}
	return copy(h[:], b), nil
}

// Append appends the data to b.
func (h *ImmDt) Append(b []byte) []byte { return append(b, h[:]...) }

// IETH has the key of the region that a SEND with invalidate invalidates (section
// 9.3.9).
type IETH struct{ RKey uint32 }

// Decode reads an IETH from the start of b.
func (h *IETH) Decode(b []byte) (n int, err error) {
	if len(b) < IETHLen {
		return 0, ErrShort
	}
	h.RKey = binary.BigEndian.Uint32(b)
	return IETHLen, nil
}

// Append appends the header to b.
func (h *IETH) Append(b []byte) []byte { return binary.BigEndian.AppendUint32(b, h.RKey) }

// GRH is the global route header (section 8.3; the layout is that of an IPv6
// header). A UD receiver finds it in the first 40 bytes of its buffer.
type GRH struct {
	Version      uint8  // 6; 4 bits
	TrafficClass uint8  // DSCP in the upper 6 bits, ECN in the lower 2
	FlowLabel    uint32 // 20 bits
	PayloadLen   uint16 // bytes after the GRH, including the ICRC
	NextHeader   uint8  // 0x1b for a BTH on InfiniBand
	HopLimit     uint8  // remaining number of routers that may forward the packet
	SGID, DGID   GID    // of source and destination
}

// Decode reads a GRH from the start of b.
func (h *GRH) Decode(b []byte) (n int, err error) {
	if len(b) < GRHLen {
		return 0, ErrShort
	}
	word := binary.BigEndian.Uint32(b)
	*h = GRH{
		Version: uint8(word >> 28), TrafficClass: uint8(word >> 20), FlowLabel: word & 0xfffff,
		PayloadLen: binary.BigEndian.Uint16(b[4:]), NextHeader: b[6], HopLimit: b[7],
		SGID: GID(b[8:24]), DGID: GID(b[24:40]),
	}
	return GRHLen, nil
}

// Append appends the header to b.
func (h *GRH) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(h.Version)<<28|uint32(h.TrafficClass)<<20|h.FlowLabel&0xfffff)
	b = binary.BigEndian.AppendUint16(b, h.PayloadLen)
	b = append(b, h.NextHeader, h.HopLimit)
	b = append(b, h.SGID[:]...)
	return append(b, h.DGID[:]...)
}

func uint24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

func flag(set bool, bit uint8) uint8 {
	if set {
		return bit
	}
	return 0
}
