// Package ib defines the basic types of InfiniBand: identifiers (GID, GUID, LID,
// P_Key, QPN, PSN), path MTU, the headers of transport packets, and the table of
// opcodes, which defines the headers of each packet.
//
// The identifiers are small and comparable, and can be used as map keys. Their text
// forms are those of the Linux kernel's sysfs (drivers/infiniband/core/sysfs.c),
// which most tools show:
//
//	gid, err := ib.ParseGID("0000:0000:0000:0000:0000:ffff:c000:0201")
//	if err != nil { … }
//	addr, ok := gid.IPv4() // 192.0.2.1, true
//
// Each header has a method Decode, which reads it from the start of a slice and
// returns its length, and a method Append. A [Packet] has all headers and the payload:
//
//	var p ib.Packet
//	n, err := p.Decode(b)                // from the BTH to the padding, without the ICRC
//	if p.BTH.Opcode.Layout()&ib.LayoutRETH != 0 { … p.RETH.VirtualAddress … }
//	b = p.Append(b[:0])                  // the same bytes again
//
// Reserved bits are kept as received. The invariant CRC depends on the layers below
// the packet: see package rocev2. The headers of reliable datagrams (RDETH) and XRC
// (XRCETH), and the newer opcodes FLUSH and ATOMIC WRITE, are not supported.
//
// Functions are pure and safe for concurrent use; a value that Decode writes to is
// not. Encoding and decoding packets doesn't allocate. The package imports only the
// standard library.
package ib
