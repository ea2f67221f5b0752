// Package rocev2 implements the parts of RoCE v2 around an InfiniBand transport packet
// in a UDP datagram: the invariant CRC (ICRC) over masked IP and UDP headers, and the
// recovery of the IPv4 identification, which a UDP socket doesn't report, from the ICRC.
//
//	flow := rocev2.Flow{
//		Source: gidA, Destination: gidB, SourcePort: 0xc123, DestinationPort: rocev2.Port,
//		DontFragment: true,
//	}
//	datagram := flow.AppendICRC(packet.Append(nil)) // packet is an ib.Packet
//
//	switch diff := flow.Check(datagram); {
//	case diff == 0: // valid
//	default:
//		id, ok := flow.Recover(len(datagram), diff) // IPv4: valid with another identification?
//	}
//
// [ParseIP] returns flow and datagram of a whole IP packet, from a packet socket or a
// capture.
//
// Sources: RoCE v2 annex A17 of the InfiniBand specification; Linux
// drivers/infiniband/sw/rxe/{rxe_icrc,rxe_net}.c. All functions are pure, allocate
// nothing, and are safe for concurrent use.
package rocev2
