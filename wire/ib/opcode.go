package ib

import "fmt"

// Opcode is the first byte of a base transport header: three bits of transport
// service and five of operation (specification volume 1, table 38; kernel:
// include/rdma/ib_pack.h).
type Opcode uint8

// Opcodes of the reliable connection (RC).
const (
	OpcodeRCSendFirst                Opcode = 0x00
	OpcodeRCSendMiddle               Opcode = 0x01
	OpcodeRCSendLast                 Opcode = 0x02
	OpcodeRCSendLastImmediate        Opcode = 0x03
	OpcodeRCSendOnly                 Opcode = 0x04
	OpcodeRCSendOnlyImmediate        Opcode = 0x05
	OpcodeRCWriteFirst               Opcode = 0x06
	OpcodeRCWriteMiddle              Opcode = 0x07
	OpcodeRCWriteLast                Opcode = 0x08
	OpcodeRCWriteLastImmediate       Opcode = 0x09
	OpcodeRCWriteOnly                Opcode = 0x0a
	OpcodeRCWriteOnlyImmediate       Opcode = 0x0b
	OpcodeRCReadRequest              Opcode = 0x0c
	OpcodeRCReadResponseFirst        Opcode = 0x0d
	OpcodeRCReadResponseMiddle       Opcode = 0x0e
	OpcodeRCReadResponseLast         Opcode = 0x0f
	OpcodeRCReadResponseOnly         Opcode = 0x10
	OpcodeRCAcknowledge              Opcode = 0x11
	OpcodeRCAtomicAcknowledge        Opcode = 0x12
	OpcodeRCCompareSwap              Opcode = 0x13
	OpcodeRCFetchAdd                 Opcode = 0x14
	OpcodeRCSendLastInvalidate       Opcode = 0x16
	OpcodeRCSendOnlyInvalidate       Opcode = 0x17
	OpcodeUCSendFirst                Opcode = 0x20
	OpcodeUCSendMiddle               Opcode = 0x21
	OpcodeUCSendLast                 Opcode = 0x22
	OpcodeUCSendLastImmediate        Opcode = 0x23
	OpcodeUCSendOnly                 Opcode = 0x24
	OpcodeUCSendOnlyImmediate        Opcode = 0x25
	OpcodeUCWriteFirst               Opcode = 0x26
	OpcodeUCWriteMiddle              Opcode = 0x27
	OpcodeUCWriteLast                Opcode = 0x28
	OpcodeUCWriteLastImmediate       Opcode = 0x29
	OpcodeUCWriteOnly                Opcode = 0x2a
	OpcodeUCWriteOnlyImmediate       Opcode = 0x2b
	OpcodeUDSendOnly                 Opcode = 0x64
	OpcodeUDSendOnlyImmediate        Opcode = 0x65
	OpcodeCongestionNotification     Opcode = 0x81 // RoCE v2 annex A17.9.3
	opcodeServiceMask                       = 0xe0
	opcodeServiceRC, opcodeServiceUC        = 0x00, 0x20
	opcodeServiceUD                         = 0x60
)

// Layout describes the packets of an opcode: their headers, and which part of a
// message they are.
type Layout uint16

// Bits of a Layout: the extended headers in the order of their place in the packet,
// then properties of the packet.
const (
	LayoutDETH Layout = 1 << iota
	LayoutRETH
	LayoutAtomicETH
	LayoutAETH
	LayoutAtomicAckETH
	LayoutImmDt
	LayoutIETH
	LayoutPayload  // may carry payload
	LayoutRequest  // from requester to responder
	LayoutResponse // from responder to requester
	LayoutFirst    // first packet of a message, or of a READ response
	LayoutLast     // last packet; an ONLY packet has both bits
	LayoutReceive  // the message consumes a receive request
)

// has reports whether l has all bits of want.
func (l Layout) has(want Layout) bool { return l&want == want }

// HeaderLen returns the length of BTH and extended headers, in bytes.
func (l Layout) HeaderLen() int {
	n := BTHLen
	for _, h := range extendedHeaders {
		if l.has(h.bit) {
			n += h.size
		}
	}
	return n
}

// extendedHeaders are the sizes of the headers after the BTH, in wire order.
var extendedHeaders = [...]struct {
	bit  Layout
	size int
}{
	{LayoutDETH, DETHLen},
	{LayoutRETH, RETHLen},
	{LayoutAtomicETH, AtomicETHLen},
	{LayoutAETH, AETHLen},
	{LayoutAtomicAckETH, AtomicAckETHLen},
	{LayoutImmDt, ImmDtLen},
	{LayoutIETH, IETHLen},
}

// opcodeEntry is a line of the table of opcodes.
type opcodeEntry struct {
	name      string
	layout    Layout
	headerLen int
}

// Layout returns the layout of packets with the opcode, or 0 for an unknown opcode.
func (o Opcode) Layout() Layout { return opcodes[o].layout }

// Known reports whether the opcode is in the table.
func (o Opcode) Known() bool { return opcodes[o].layout != 0 }

// HeaderLen returns the length of BTH and extended headers in bytes, 0 for an
// unknown opcode.
func (o Opcode) HeaderLen() int { return opcodes[o].headerLen }

// IsRC reports whether the transport service is reliable connection.
func (o Opcode) IsRC() bool { return o&opcodeServiceMask == opcodeServiceRC }

// IsUC reports whether the transport service is unreliable connection.
func (o Opcode) IsUC() bool { return o&opcodeServiceMask == opcodeServiceUC }

// IsUD reports whether the transport service is unreliable datagram.
func (o Opcode) IsUD() bool { return o&opcodeServiceMask == opcodeServiceUD }

// String returns the name in the specification, such as "RC RDMA WRITE First".
func (o Opcode) String() string {
	if name := opcodes[o].name; name != "" {
		return name
	}
	return fmt.Sprintf("opcode 0x%02x", uint8(o))
}

// opcodes is the table of all 256 opcodes; an unknown one has no layout.
var opcodes = makeOpcodes()

func makeOpcodes() (table [256]opcodeEntry) {
	const (
		request = LayoutRequest | LayoutPayload
		only    = LayoutFirst | LayoutLast
		receive = LayoutReceive
		answer  = LayoutResponse
	)
	send := []opcodeEntry{
		0x00: {name: "SEND First", layout: request | LayoutFirst},
		0x01: {name: "SEND Middle", layout: request},
		0x02: {name: "SEND Last", layout: request | LayoutLast | receive},
		0x03: {name: "SEND Last with Immediate", layout: request | LayoutLast | receive | LayoutImmDt},
		0x04: {name: "SEND Only", layout: request | only | receive},
		0x05: {name: "SEND Only with Immediate", layout: request | only | receive | LayoutImmDt},
	}
	write := []opcodeEntry{
		0x06: {name: "RDMA WRITE First", layout: request | LayoutFirst | LayoutRETH},
		0x07: {name: "RDMA WRITE Middle", layout: request},
		0x08: {name: "RDMA WRITE Last", layout: request | LayoutLast},
		0x09: {name: "RDMA WRITE Last with Immediate", layout: request | LayoutLast | receive | LayoutImmDt},
		0x0a: {name: "RDMA WRITE Only", layout: request | only | LayoutRETH},
		0x0b: {name: "RDMA WRITE Only with Immediate", layout: request | only | receive | LayoutRETH | LayoutImmDt},
	}
	reliable := []opcodeEntry{
		0x0c: {name: "RDMA READ Request", layout: LayoutRequest | only | LayoutRETH},
		0x0d: {name: "RDMA READ response First", layout: answer | LayoutPayload | LayoutFirst | LayoutAETH},
		0x0e: {name: "RDMA READ response Middle", layout: answer | LayoutPayload},
		0x0f: {name: "RDMA READ response Last", layout: answer | LayoutPayload | LayoutLast | LayoutAETH},
		0x10: {name: "RDMA READ response Only", layout: answer | LayoutPayload | only | LayoutAETH},
		0x11: {name: "Acknowledge", layout: answer | only | LayoutAETH},
		0x12: {name: "ATOMIC Acknowledge", layout: answer | only | LayoutAETH | LayoutAtomicAckETH},
		0x13: {name: "CmpSwap", layout: LayoutRequest | only | LayoutAtomicETH},
		0x14: {name: "FetchAdd", layout: LayoutRequest | only | LayoutAtomicETH},
		0x16: {name: "SEND Last with Invalidate", layout: request | LayoutLast | receive | LayoutIETH},
		0x17: {name: "SEND Only with Invalidate", layout: request | only | receive | LayoutIETH},
	}
	add := func(service int, prefix string, entries []opcodeEntry, extra Layout) {
		for operation, e := range entries {
			if e.layout != 0 {
				e.layout |= extra
				table[service|operation] = opcodeEntry{prefix + e.name, e.layout, e.layout.HeaderLen()}
			}
		}
	}
	add(opcodeServiceRC, "RC ", send, 0)
	add(opcodeServiceRC, "RC ", write, 0)
	add(opcodeServiceRC, "RC ", reliable, 0)
	add(opcodeServiceUC, "UC ", send, 0)
	add(opcodeServiceUC, "UC ", write, 0)
	add(opcodeServiceUD, "UD ", []opcodeEntry{4: send[4], 5: send[5]}, LayoutDETH)
	table[OpcodeCongestionNotification] = opcodeEntry{"CNP", LayoutRequest | LayoutPayload | only, BTHLen}
	return table
}
