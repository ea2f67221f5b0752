package mad

import "github.com/rdmakit/rdmakit/wire/ib"

// InformInfoRecordLen is the length of the record in bytes.
const InformInfoRecordLen = 60

// Bits of [SAHeader.ComponentMask] for an [InformInfoRecord].
const (
	InformInfoRecordMaskSubscriberGID uint64 = 1 << 0
	InformInfoRecordMaskEnum          uint64 = 1 << 1
)

// InformInfoRecord is a subscription to events (specification section 15.2.5; C twin:
// ib_inform_info_record_t).
type InformInfoRecord struct {
	SubscriberGID ib.GID     // of the port that subscribed
	Enum          uint16     // tells apart the subscriptions of a port
	Reserved18    [6]byte    // from byte 18 on, kept as received
	Info          InformInfo // the events
}

// InformInfo selects the events of a subscription (specification section 13.4.8.3; C
// twin:
// ib_inform_info_t).
type InformInfo struct {
	GID           ib.GID // events of this port; 0: see LIDRangeBegin
	LIDRangeBegin ib.LID // events of ports from this LID on; 0xffff: of all ports
	LIDRangeEnd   ib.LID // to this LID
	Reserved20    uint16 // from byte 20 on, kept as received
	IsGeneric     uint8  // 1 generic, 0 vendor-specific
	Subscribe     uint8  // 1 subscribes, 0 unsubscribes
	// 0 fatal, 1 urgent, 2 security, 3 subnet management, 4 informational; 0xffff: all
	Type          uint16
	TrapNumber    uint16 // of a generic event; 0xffff: all; otherwise the device ID
	QPN           ib.QPN // 24 bits, to which events are reported
	Reserved31    uint8  // 3 bits
	RespTimeValue uint8  // 5 bits: 4.096 µs << RespTimeValue
	Reserved32    uint8  // kept as received
	ProducerType  uint32 // 24 bits: node type of a generic event; otherwise the vendor ID
}

func (r *InformInfoRecord) fields(c *cursor) {
	c.bytes(r.SubscriberGID[:])
	number(c, 16, &r.Enum)
	c.bytes(r.Reserved18[:])
	i := &r.Info
	c.bytes(i.GID[:])
	number(c, 16, &i.LIDRangeBegin)
	number(c, 16, &i.LIDRangeEnd)
	number(c, 16, &i.Reserved20)
	number(c, 8, &i.IsGeneric)
	number(c, 8, &i.Subscribe)
	number(c, 16, &i.Type)
	number(c, 16, &i.TrapNumber)
	number(c, 24, &i.QPN)
	number(c, 3, &i.Reserved31)
	number(c, 5, &i.RespTimeValue)
	number(c, 8, &i.Reserved32)
	number(c, 24, &i.ProducerType)
}

// Decode reads the record from the start of b.
func (r *InformInfoRecord) Decode(b []byte) (n int, err error) {
	if len(b) < InformInfoRecordLen {
		return 0, ErrShort
	}
	r.fields(&cursor{in: b})
	return InformInfoRecordLen, nil
}

// Append appends the record to b.
func (r *InformInfoRecord) Append(b []byte) []byte {
	c := cursor{out: b, writing: true}
	r.fields(&c)
	return c.out
}
