// Package capture explains captures of RDMA traffic: what the queue pairs did, which packets were
// lost, repeated, refused or marked, and which completion status that leads to.
//
//	report, err := capture.Read(file, capture.Options{})
//	if report == nil { return err } // not a capture
//	for _, f := range report.Findings { fmt.Println(f.Name, f.Summary, f.Evidence) }
//
// Files are pcap (microseconds, nanoseconds, both byte orders) or pcapng, not compressed. Link
// layers are Ethernet with any number of VLAN tags and with MPLS or VXLAN around, Linux cooked
// captures, raw IP, and InfiniBand (LINKTYPE_INFINIBAND, and ERF as ibdump writes it). Transports
// are RoCE v2, RoCE v1 and InfiniBand. Packets may be cut to a snap length as long as their
// transport headers are there.
//
// Packets are read one at a time: memory depends on the number of flows, which Options limits, not
// on the size of the file. A capture shows what passed its point, not what either end received;
// each finding says what it doesn't know. Other transports and opcodes (XRC, RD, FLUSH, ATOMIC
// WRITE) are counted and not judged.
//
// On a virtual machine with two processors it reads 2 GB/s of packets with 1 KiB of payload (a
// file of 1.1 GB in the page cache) and 440 MB/s of packets with 64 bytes (BenchmarkRead, in
// memory), and verifies all ICRCs. It was tried on captures of Linux 6.1's rxe with planted faults
// (testdata/captures.yaml); it has never read a RoCE capture of a card.
//
// Senders whose IPv4 identifications count up, as those of Linux, show in which order packets were
// sent: what came late is then told from what was sent again and from copies.
//
// Functions are safe for concurrent use on different readers. Sources: InfiniBand Architecture
// Specification volume 1 chapters 9 and 12, RoCE v2 annex A17, RFC 792, 826, 4443 and 4861.
package capture
