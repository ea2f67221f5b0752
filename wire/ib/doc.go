// Package ib holds what every part of an InfiniBand network shares: identifiers
// (GID, GUID, LID, P_Key, QPN, PSN), path MTU, and the headers of transport packets
// with the table of opcodes that says which of them a packet has.
//
// The identifiers are small, comparable and free of allocation, so they serve as
// map keys and struct fields. Text forms are those of the Linux kernel's sysfs
// (drivers/infiniband/core/sysfs.c), which is what operators see everywhere:
//
//	gid, err := ib.ParseGID("0000:0000:0000:0000:0000:ffff:c000:0201")
//	if err != nil { … }
//	addr, ok := gid.IPv4() // 192.0.2.1, true
//
// Each header has Decode, which reads it from the start of a slice and returns its
// length, and Append. A [Packet] is all of them and the payload:
//
//	var p ib.Packet
//	n, err := p.Decode(b)                // from the BTH to the padding, without the ICRC
//	if p.BTH.Opcode.Layout()&ib.LayoutRETH != 0 { … p.RETH.VirtualAddress … }
//	b = p.Append(b[:0])                  // the same bytes again
//
// Reserved bits are kept as they came. The invariant CRC depends on what carries
// the packet: see package rocev2. Left out are the headers of reliable datagrams
// (RDETH) and XRC (XRCETH), and the opcodes that came later, FLUSH and ATOMIC WRITE.
//
// Functions are pure and safe for concurrent use; a value that Decode writes to is
// not. Nothing on the way of a packet allocates. The package imports the standard
// library only.
package ib
