package tshark

import (
	"encoding/binary"
	"math/bits"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// prefix is the prefix of the names of all fields.
const prefix = "infiniband."

// field is a field that both tshark and wire/ib decode.
type field struct {
	name  string
	bytes bool // tshark prints it as bytes in hexadecimal
	in    ib.Layout
	value func(p *ib.Packet) uint64
}

// icrcField is not in ib.Packet, which doesn't include the ICRC.
const icrcField = "invariant.crc"

// fields returns the fields in wire order. A packet has a field if its layout has one of
// the bits in, or if in is 0.
func fields() []field {
	const reth, atomic = ib.LayoutRETH, ib.LayoutAtomicETH
	return []field{
		{"bth.opcode", false, 0, func(p *ib.Packet) uint64 { return uint64(p.BTH.Opcode) }},
		{"bth.se", false, 0, func(p *ib.Packet) uint64 { return number(p.BTH.Solicited) }},
		{"bth.m", false, 0, func(p *ib.Packet) uint64 { return number(p.BTH.MigReq) }},
		{"bth.padcnt", false, 0, func(p *ib.Packet) uint64 { return uint64(p.BTH.PadCount) }},
		{"bth.tver", false, 0, func(p *ib.Packet) uint64 { return uint64(p.BTH.TVer) }},
		{"bth.p_key", false, 0, func(p *ib.Packet) uint64 { return uint64(p.BTH.PKey) }},
		{"reserved", true, 0, func(p *ib.Packet) uint64 { // including the congestion bits
			return number(p.BTH.FECN)<<7 | number(p.BTH.BECN)<<6 | uint64(p.BTH.Reserved)
		}},
		{"bth.destqp", false, 0, func(p *ib.Packet) uint64 { return uint64(p.BTH.DestQP) }},
		{"bth.a", false, 0, func(p *ib.Packet) uint64 { return number(p.BTH.AckReq) }},
		{"bth.reserved7", false, 0, func(p *ib.Packet) uint64 { return uint64(p.BTH.Reserved7) }},
		{"bth.psn", false, 0, func(p *ib.Packet) uint64 { return uint64(p.BTH.PSN) }},
		{"deth.q_key", false, ib.LayoutDETH, func(p *ib.Packet) uint64 { return uint64(p.DETH.QKey) }},
		{"deth.srcqp", false, ib.LayoutDETH, func(p *ib.Packet) uint64 { return uint64(p.DETH.SrcQP) }},
		{"reth.va", false, reth | atomic, func(p *ib.Packet) uint64 {
			return either(p, p.RETH.VirtualAddress, p.AtomicETH.VirtualAddress)
		}},
		{"reth.r_key", false, reth | atomic, func(p *ib.Packet) uint64 {
			return either(p, uint64(p.RETH.RKey), uint64(p.AtomicETH.RKey))
		}},
		{"reth.dmalen", false, reth, func(p *ib.Packet) uint64 { return uint64(p.RETH.DMALength) }},
		{"atomiceth.swapdt", false, atomic, func(p *ib.Packet) uint64 { return p.AtomicETH.SwapAdd }},
		{"atomiceth.cmpdt", false, atomic, func(p *ib.Packet) uint64 { return p.AtomicETH.Compare }},
		{"aeth.syndrome", false, ib.LayoutAETH, func(p *ib.Packet) uint64 { return uint64(p.AETH.Syndrome) }},
		{"aeth.msn", false, ib.LayoutAETH, func(p *ib.Packet) uint64 { return uint64(p.AETH.MSN) }},
		{"atomicacketh.origremdt", false, ib.LayoutAtomicAckETH, func(p *ib.Packet) uint64 {
			return p.AtomicAckETH.Original
		}},
		{"immdt", true, ib.LayoutImmDt, func(p *ib.Packet) uint64 {
			return uint64(binary.BigEndian.Uint32(p.ImmDt[:]))
		}},
		{"ieth", true, ib.LayoutIETH, func(p *ib.Packet) uint64 { return uint64(p.IETH.RKey) }},
		{icrcField, false, 0, nil},
	}
}

// Fields returns the values of a decoded packet and its ICRC (as returned by
// rocev2.Flow.ICRC) in the form of [Packet.Fields].
func Fields(p *ib.Packet, icrc uint32) map[string]uint64 {
	layout := p.BTH.Opcode.Layout()
	values := map[string]uint64{}
	for _, f := range fields() {
		switch {
		case f.name == icrcField: // the number's little-endian bytes, read as big-endian
			values[f.name] = uint64(bits.ReverseBytes32(icrc))
		case f.in == 0 || f.in&layout != 0:
			values[f.name] = f.value(p)
		}
	}
	return values
}

// either returns the value of the RETH or of the AtomicETH: tshark has one name for both.
func either(p *ib.Packet, reth, atomic uint64) uint64 {
	if p.BTH.Opcode.Layout()&ib.LayoutAtomicETH != 0 {
		return atomic
	}
	return reth
}

func number(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
