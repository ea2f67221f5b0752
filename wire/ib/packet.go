package ib

import (
	"errors"
	"fmt"
)

// Errors of [Packet.Decode], besides [ErrShort].
var (
	// An opcode that is not in the table: see Opcode.Known.
	ErrUnknownOpcode = errors.New("unknown opcode")
	// Bytes behind the headers of an opcode such as ACK.
	ErrPayload = errors.New("payload where the opcode has none")
	// The padding that BTH has is longer than what is there.
	ErrPadding = errors.New("padding is longer than what follows the headers")
)

// Packet is a transport packet from its BTH to its padding; what stands before
// (IP and UDP, or LRH and GRH) and behind (ICRC) belongs to the link. Which
// headers count says [BTH.Opcode].
//
// A Packet may be used again and again: [Packet.Decode] sets what the opcode has and
// leaves the rest alone. It is not safe for concurrent use.
type Packet struct {
	// BTH is in every packet. The other headers count where the Layout of its Opcode has them.
	BTH          BTH
	DETH         DETH
	RETH         RETH
	AtomicETH    AtomicETH
	AETH         AETH
	AtomicAckETH AtomicAckETH
	ImmDt        ImmDt
	IETH         IETH
	// Payload is part of the bytes that Decode was given: it is valid for as
	// long as they are.
	Payload []byte
}

// extended is a header behind the BTH.
type extended interface {
	Decode(b []byte) (int, error)
}

// Decode reads a packet that fills b. It returns len(b), or an error that
// matches [ErrShort], [ErrUnknownOpcode], [ErrPayload] or [ErrPadding]. It allocates
// nothing, errors excepted.
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

// Append writes the packet behind b: the headers that the opcode has, the
// payload, and [BTH.PadCount] bytes of zeros. The caller sets PadCount, to
// [PadFor](len(Payload)) unless a test wants it wrong.
func (p *Packet) Append(b []byte) []byte {
	b = p.AppendHeaders(b)
	b = append(b, p.Payload...)
	return append(b, zeros[:p.BTH.PadCount&3]...)
}

var zeros [3]byte

// PadFor returns how many bytes of padding a payload of n bytes takes: packets
// are made of words of four bytes.
func PadFor(n int) uint8 { return uint8(-n & 3) }

// AppendHeaders writes the headers that the opcode has behind b.
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
