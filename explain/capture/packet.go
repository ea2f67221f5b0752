package capture

import (
	"net/netip"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// kind is what the rest of the package does with a packet.
type kind uint8

const (
	kindOther     kind = iota // counted only
	kindTransport             // has a BTH
	kindNeighbor              // ARP or neighbor discovery
	kindError                 // an ICMP error about another packet
	kindFragment              // a fragment of a RoCE v2 packet
	kindMalformed             // RoCE whose headers contradict each other
	kindCut                   // RoCE whose headers are cut off by the snap length
	kindLink                  // a link type that isn't supported
)

// icrc is the state of an invariant CRC.
type icrc uint8

const (
	icrcUnknown icrc = iota // not computed: a cut packet, or headers that it isn't defined for
	icrcRight
	icrcWrong
	icrcZero // four zero bytes that are not the CRC: not filled in yet
)

// packet is a decoded packet. Slices are parts of the reader's buffer.
type packet struct {
	number           int
	at               int64 // nanoseconds of Unix time
	noTime           bool  // the format has no time for it
	length, captured int   // of the frame, in bytes
	kind             kind
	why              string // of kindMalformed, kindLink: what is wrong, which

	tagged bool // has a VLAN tag; pcp is that of the outer one
	pcp    uint8

	transport         Transport
	source, dest      Address
	sourcePort        uint16 // UDP
	tclass, hopLimit  uint8
	id                uint16 // IPv4
	ip4, dontFragment bool

	ib.Packet         // headers valid for kindTransport
	payloadLen    int // bytes of payload without padding, including those cut off
	unknownOpcode bool
	hasBTH        bool   // of kindCut: only the headers behind the BTH are cut off
	datagram      []byte // from the BTH to the ICRC, as far as captured
	whole         bool   // datagram has all of its bytes
	icrc          icrc
	icrcValue     uint32 // as on the wire, if whole

	neighbor neighborMessage
	trouble  icmpError
}

// ecn returns the congestion bits of the IP or global route header.
func (p *packet) ecn() uint8 { return p.tclass & 3 }

const ecnCE = 3 // congestion experienced

// dscp returns the differentiated services code point.
func (p *packet) dscp() uint8 { return p.tclass >> 2 }

// neighborMessage is a request for the link address of an IP address, or an answer.
type neighborMessage struct {
	request        bool
	sender, target netip.Addr // of an answer: target is the address that it is about
}

// icmpError is an ICMP error about a RoCE v2 packet.
type icmpError struct {
	reason       icmpReason
	mtu          int        // of the next hop, for icmpTooBig; 0 if it isn't named
	from         netip.Addr // who sent the error
	source, dest Address    // of the packet that it is about
	code         uint8
}

type icmpReason uint8

const (
	icmpUnreachable icmpReason = iota
	icmpTooBig
	icmpTimeExceeded
)

// checkICRC verifies the invariant CRC of a whole RoCE v2 packet.
func (p *packet) checkICRC() {
	f := rocev2.Flow{
		Source: p.source.GID, Destination: p.dest.GID, SourcePort: p.sourcePort, DestinationPort: rocev2.Port,
		ID: p.id, DontFragment: p.dontFragment,
	}
	p.setICRC(f.Check(p.datagram) == 0)
}

func (p *packet) setICRC(right bool) {
	switch {
	case right:
		p.icrc = icrcRight
	case p.icrcValue == 0:
		p.icrc = icrcZero
	default:
		p.icrc = icrcWrong
	}
}
