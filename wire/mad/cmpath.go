package mad

import "github.com/rdmakit/rdmakit/wire/ib"

// LAP asks for an alternate path (section 12.8.1). In Alternate the six bits of Reserved36 are the
// four before the traffic class and the two before the packet rate.
type LAP struct {
	Header
	LocalCommID             uint32
	RemoteCommID            uint32
	Reserved8               uint32
	RemoteQPN               ib.QPN // the receiver's
	RemoteCMResponseTimeout uint8  // 5 bits
	Reserved15              uint8  // 3 bits
	Reserved16              uint32
	Alternate               ConnectPath
	PrivateData             [LAPPrivateLen]byte
}

func (m *LAP) walk(c *cursor) {
	number(c, 32, &m.LocalCommID)
	number(c, 32, &m.RemoteCommID)
	number(c, 32, &m.Reserved8)
	number(c, 24, &m.RemoteQPN)
	number(c, 5, &m.RemoteCMResponseTimeout)
	number(c, 3, &m.Reserved15)
	number(c, 32, &m.Reserved16)
	p := &m.Alternate
	p.ports(c)
	before, after := p.Reserved36>>2, p.Reserved36&3
	number(c, 4, &before)
	number(c, 8, &p.TrafficClass)
	number(c, 8, &p.HopLimit)
	number(c, 2, &after)
	p.Reserved36 = before<<2 | after
	number(c, 6, &p.PacketRate)
	p.end(c)
	c.bytes(m.PrivateData[:])
}

// APStatus is the status of an [APR] (C twin: enum ib_cm_apr_status).
type APStatus uint8

// APStatusUnsupported is the answer of an agent that has no alternate paths.
const APStatusUnsupported APStatus = 2

// APR answers a [LAP] (section 12.8.2).
type APR struct {
	Header
	LocalCommID                 uint32
	RemoteCommID                uint32
	AdditionalInformationLength uint8 // bytes of AdditionalInformation
	APStatus                    APStatus
	Reserved10                  uint16
	AdditionalInformation       [ARILen]byte
	PrivateData                 [APRPrivateLen]byte
}

func (m *APR) walk(c *cursor) {
	number(c, 32, &m.LocalCommID)
	number(c, 32, &m.RemoteCommID)
	number(c, 8, &m.AdditionalInformationLength)
	number(c, 8, &m.APStatus)
	number(c, 16, &m.Reserved10)
	c.bytes(m.AdditionalInformation[:])
	c.bytes(m.PrivateData[:])
}
