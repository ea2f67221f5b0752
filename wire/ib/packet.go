package ib

import (
	"errors"
	"fmt"
)

// Errors of [Packet.Decode], besides [ErrShort].
var (
	// The opcode is not in the table: see Opcode.Known.
	ErrUnknownOpcode = errors.New("unknown opcode")
	// There is payload after the headers of an opcode without payload, such as ACK.
	ErrPayload = errors.New("payload after headers of an opcode without payload")
	// The pad count of the BTH is greater than the number of bytes after the headers.
	ErrPadding = errors.New("padding is longer than the payload")
)

// Packet is a transport packet from its BTH to its padding, without the layers below:
// the headers before it (IP and UDP, or LRH and GRH) and the ICRC after it.
// [BTH.Opcode] determines which headers are valid.
//
// A Packet may be reused: [Packet.Decode] sets the headers that the opcode has and
// doesn't change the others. It is not safe for concurrent use.
type Packet struct {
	// BTH is in every packet. The other headers are valid if the Layout of its Opcode has them.
	BTH          BTH
	DETH         DETH
	RETH         RETH
	AtomicETH    AtomicETH
	AETH         AETH
	AtomicAckETH AtomicAckETH
	ImmDt        ImmDt
	IETH         IETH
	// Payload is a part of the slice passed to Decode, and is valid as long as that slice.
	Payload []byte
}

// extended is an extended header.
type extended interface {
	Decode(b []byte) (int, error)
}

// Decode reads a packet of len(b) bytes. It returns len(b), or an error that
// matches [ErrShort], [ErrUnknownOpcode], [ErrPayload] or [ErrPadding]. It allocates
// only errors.
func (p *Packet) Decode(b []byte) (n int, err error) {
	n, err = p.BTH.Decode(b)
	if err != nil {
		return 0, err
	}
	o := &opcodes[p.BTH.Opcode]
	if o.layout == 0 {
		return 0, fmt.Errorf("%w 0x%02x", ErrUnknownOpcode, uint8(p.BTH.Opcode))
	}
	if len(b) < o.headerLen {
		return 0, ErrShort
	}
	rest := b[n:]
	rest = rest[p.decodeExtended(o.layout, rest):]
	pad := int(p.BTH.PadCount)
	switch {
	case pad > len(rest):
		return 0, ErrPadding
	case len(rest) > 0 && !o.layout.has(LayoutPayload):
		return 0, ErrPayload
	}
	p.Payload = rest[:len(rest)-pad]
	return len(b), nil
}

// decodeExtended reads the extended headers, for which b has enough bytes.
func (p *Packet) decodeExtended(l Layout, b []byte) (n int) {
	if l.has(LayoutDETH) {
		n += read(&p.DETH, b[n:])
	}
	if l.has(LayoutRETH) {
		n += read(&p.RETH, b[n:])
	}
	if l.has(LayoutAtomicETH) {
		n += read(&p.AtomicETH, b[n:])
	}
	if l.has(LayoutAETH) {
		n += read(&p.AETH, b[n:])
	}
	if l.has(LayoutAtomicAckETH) {
		n += read(&p.AtomicAckETH, b[n:])
	}
	if l.has(LayoutImmDt) {
		n += read(&p.ImmDt, b[n:])
	}
	if l.has(LayoutIETH) {
		n += read(&p.IETH, b[n:])
	}
	return n
}

func read[H extended](h H, b []byte) int {
	n, _ := h.Decode(b) // the caller has checked the length
	return n
}

// Append appends the packet to b: the headers that the opcode has, the payload, and
// [BTH.PadCount] zero bytes. The caller must set PadCount to [PadFor](len(Payload)).
func (p *Packet) Append(b []byte) []byte {
	b = p.AppendHeaders(b)
	b = append(b, p.Payload...)
	return append(b, zeros[:p.BTH.PadCount&3]...)
}

var zeros [3]byte

// PadFor returns the number of padding bytes for a payload of n bytes: the length of
// a packet is a multiple of four bytes.
func PadFor(n int) uint8 { return uint8(-n & 3) }

// AppendHeaders appends the headers that the opcode has to b.
func (p *Packet) AppendHeaders(b []byte) []byte {
	b = p.BTH.Append(b)
	l := opcodes[p.BTH.Opcode].layout
	if l.has(LayoutDETH) {
		b = p.DETH.Append(b)
	}
	if l.has(LayoutRETH) {
		b = p.RETH.Append(b)
	}
	if l.has(LayoutAtomicETH) {
		b = p.AtomicETH.Append(b)
	}
	if l.has(LayoutAETH) {
		b = p.AETH.Append(b)
	}
	if l.has(LayoutAtomicAckETH) {
		b = p.AtomicAckETH.Append(b)
	}
	if l.has(LayoutImmDt) {
		b = p.ImmDt.Append(b)
	}
	if l.has(LayoutIETH) {
		b = p.IETH.Append(b)
	}
	return b
}
