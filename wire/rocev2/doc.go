// Package rocev2 holds what RoCE v2 adds to an InfiniBand transport packet when
// UDP carries it: the invariant CRC over masked IP and UDP headers, and the way
// back from the CRC to a header field that a UDP socket doesn't show.
//
//	flow := rocev2.Flow{
//		Source: gidA, Destination: gidB, SourcePort: 0xc123, DestinationPort: rocev2.Port,
//		DontFragment: true,
//	}
//	datagram := flow.AppendICRC(packet.Append(nil)) // packet is an ib.Packet
//
//	switch diff := flow.Check(datagram); {
//	case diff == 0: // sound
//	default:
//		id, ok := flow.Recover(len(datagram), diff) // IPv4: perhaps another identification
//	}
//
// Who has the IP packet as a whole, from a packet socket or a capture, gets flow and
// datagram from [ParseIP].
//
// Sources: RoCE v2 annex A17 of the InfiniBand specification; Linux
// drivers/infiniband/sw/rxe/{rxe_icrc,rxe_net}.c. All functions are pure, allocate
// nothing, and are safe for concurrent use.
package rocev2
