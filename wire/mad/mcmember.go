package mad

import "github.com/rdmakit/rdmakit/wire/ib"

// MCMemberRecordLen is the length of the record in bytes.
const MCMemberRecordLen = 52

// Bits of [SAHeader.ComponentMask] for an [MCMemberRecord].
const (
	MCMemberRecordMaskMGID                   uint64 = 1 << 0
	MCMemberRecordMaskPortGID                uint64 = 1 << 1
	MCMemberRecordMaskQKey                   uint64 = 1 << 2
	MCMemberRecordMaskMLID                   uint64 = 1 << 3
	MCMemberRecordMaskMTUSelector            uint64 = 1 << 4
	MCMemberRecordMaskMTU                    uint64 = 1 << 5
	MCMemberRecordMaskTClass                 uint64 = 1 << 6
	MCMemberRecordMaskPKey                   uint64 = 1 << 7
	MCMemberRecordMaskRateSelector           uint64 = 1 << 8
	MCMemberRecordMaskRate                   uint64 = 1 << 9
	MCMemberRecordMaskPacketLifeTimeSelector uint64 = 1 << 10
	MCMemberRecordMaskPacketLifeTime         uint64 = 1 << 11
	MCMemberRecordMaskSL                     uint64 = 1 << 12
	MCMemberRecordMaskFlowLabel              uint64 = 1 << 13
	MCMemberRecordMaskHopLimit               uint64 = 1 << 14
	MCMemberRecordMaskScope                  uint64 = 1 << 15
	MCMemberRecordMaskJoinState              uint64 = 1 << 16
	MCMemberRecordMaskProxyJoin              uint64 = 1 << 17
)

// MCMemberRecord is a port's membership in a multicast group. An SA answers a client
// that it doesn't trust with one record for each group, and zeros in the fields of the
// member (specification section 15.2.5; C twin: ib_member_rec_t). The selectors are as
// in [PathRecord].
type MCMemberRecord struct {
	MGID                   ib.GID  // of the group
	PortGID                ib.GID  // of the member
	QKey                   uint32  // of the group
	MLID                   ib.LID  // multicast LID of the group
	MTUSelector            uint8   // 2 bits
	MTU                    uint8   // 6 bits, see [ib.MTUFromCode]
	TClass                 uint8   // traffic class for the GRH
	PKey                   ib.PKey // partition of the group
	RateSelector           uint8   // 2 bits
	Rate                   uint8   // 6 bits, codes of enum ibv_rate
	PacketLifeTimeSelector uint8   // 2 bits
	PacketLifeTime         uint8   // 6 bits: 4.096 µs << PacketLifeTime
	SL                     uint8   // 4 bits
	FlowLabel              uint32  // 20 bits
	HopLimit               uint8   // for the GRH
	// 4 bits: 2 link-local, 5 site-local, 8 organization-local, 14 global
	Scope      uint8
	JoinState  uint8  // 4 bits: 1 full member, 2 non-member, 4 send-only
	ProxyJoin  bool   // another port has joined for the member
	Reserved49 uint8  // 7 bits
	Reserved50 uint16 // from byte 50 on, kept as received
}

func (r *MCMemberRecord) fields(c *cursor) {
	c.bytes(r.MGID[:])
	c.bytes(r.PortGID[:])
	number(c, 32, &r.QKey)
	number(c, 16, &r.MLID)
	number(c, 2, &r.MTUSelector)
	number(c, 6, &r.MTU)
	number(c, 8, &r.TClass)
	number(c, 16, &r.PKey)
	number(c, 2, &r.RateSelector)
	number(c, 6, &r.Rate)
	number(c, 2, &r.PacketLifeTimeSelector)
	number(c, 6, &r.PacketLifeTime)
	number(c, 4, &r.SL)
	number(c, 20, &r.FlowLabel)
	number(c, 8, &r.HopLimit)
	number(c, 4, &r.Scope)
	number(c, 4, &r.JoinState)
	c.flag(&r.ProxyJoin)
	number(c, 7, &r.Reserved49)
	number(c, 16, &r.Reserved50)
}

// Decode reads the record from the start of b.
func (r *MCMemberRecord) Decode(b []byte) (n int, err error) {
	if len(b) < MCMemberRecordLen {
		return 0, ErrShort
	}
	r.fields(&cursor{in: b})
	return MCMemberRecordLen, nil
}

// Append appends the record to b.
func (r *MCMemberRecord) Append(b []byte) []byte {
	c := cursor{out: b, writing: true}
	r.fields(&c)
	return c.out
}
