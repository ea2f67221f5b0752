package ibdiags

import (
	"encoding/binary"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// saParams are the components of records that options set. -1 and, of the others, 0 mean that the
// option is not given (C twin: struct query_params).
type saParams struct {
	serviceID                     uint64
	sgid, dgid, gid, mgid         ib.GID
	slid, dlid, mlid, pkey        uint16
	flowLabel, qkey               uint32
	hopLimit, reversible, numPath int32
	qosClass, sl, proxyJoin       int32
	tclass, mtu, rate, life       uint8
	scope, joinState              uint8
}

func newSAParams() saParams {
	return saParams{hopLimit: -1, reversible: -1, numPath: -1, qosClass: -1, sl: -1, proxyJoin: -1}
}

// component handles an option that sets a component of a record. Numbers are truncated as in C.
func (q *saRun) component(letter byte, arg string) bool {
	v := unsignedOf(arg)
	switch letter {
	case 5:
		q.slid = uint16(v)
	case 6:
		q.dlid = uint16(v)
	case 7:
		q.mlid = uint16(v)
	case 14:
		return parseGID(arg, &q.sgid)
	case 15:
		return parseGID(arg, &q.dgid)
	case 16:
		return parseGID(arg, &q.gid)
	case 17:
		return parseGID(arg, &q.mgid)
	case 18:
		return q.keyOption(arg, "P_Key", func(v uint64) { q.pkey = uint16(v) })
	case 19:
		q.sl = int32(uint32(v)) //nolint:gosec // C cuts it too
	case 20:
		q.life = uint8(v)
	case 21:
		q.scope = uint8(v)
	case 22:
		q.serviceID = v
	case 'r':
		q.reversible = int32(uint32(v)) //nolint:gosec // C cuts it too
	case 'n':
		q.numPath = int32(uint32(v)) //nolint:gosec // C cuts it too
	case 'Q':
		q.qosClass = int32(uint32(v)) //nolint:gosec // C cuts it too
	case 'M':
		q.mtu = uint8(v)
	case 'R':
		q.rate = uint8(v)
	case 'q':
		return q.keyOption(arg, "Q_Key", func(v uint64) { q.qkey = uint32(v) })
	case 'T':
		q.tclass = uint8(v)
	case 'F':
		q.flowLabel = uint32(v)
	case 'H':
		q.hopLimit = int32(uint32(v)) //nolint:gosec // C cuts it too
	case 'J':
		q.joinState = uint8(v)
	case 'X':
		q.proxyJoin = int32(uint32(v)) //nolint:gosec // C cuts it too
	default:
		return false
	}
	return true
}

// given reports whether the low 8 bits of a value differ from those of -1, as C compares them.
func given(v int32) bool { return v&0xff != 0xff }

// components builds a record and its component mask.
type components struct {
	b    []byte
	mask uint64
}

// set8, set16, set32 and set64 write a component and its bits of the mask, if the value differs
// from unset in the component's width.
func (c *components) set8(at int, v, unset int32, mask uint64) {
	if int8(v) != int8(unset) { //nolint:gosec // C compares the low bits
		c.b[at] = byte(v)
		c.mask |= mask
	}
}

func (c *components) set16(at int, v, unset int32, mask uint64) {
	if int16(v) != int16(unset) { //nolint:gosec // C compares the low bits
		binary.BigEndian.PutUint16(c.b[at:], uint16(v)) //nolint:gosec // as above
		c.mask |= mask
	}
}

func (c *components) set32(at int, v, unset uint32, mask uint64) {
	if v != unset {
		binary.BigEndian.PutUint32(c.b[at:], v)
		c.mask |= mask
	}
}

func (c *components) setGID(at int, g ib.GID, mask uint64) {
	if g != (ib.GID{}) {
		copy(c.b[at:], g[:])
		c.mask |= mask
	}
}

// pathRecord returns the record of a path query (C twin: query_path_records). As in C, a flow label
// has 8 bits.
func (p *saParams) pathRecord() components {
	c := components{b: make([]byte, mad.PathRecordLen)}
	if p.serviceID != 0 {
		binary.BigEndian.PutUint64(c.b, p.serviceID)
		c.mask |= mad.PathRecordMaskServiceID
	}
	c.setGID(24, p.sgid, mad.PathRecordMaskSGID)
	c.setGID(8, p.dgid, mad.PathRecordMaskDGID)
	c.set16(42, int32(p.slid), 0, mad.PathRecordMaskSLID)
	c.set16(40, int32(p.dlid), 0, mad.PathRecordMaskDLID)
	c.set32(44, uint32(p.hopLimit), 1<<32-1, mad.PathRecordMaskHopLimit) //nolint:gosec // -1 is unset
	if flow := uint8(p.flowLabel); flow != 0 {
		c.b[46] |= flow
		c.mask |= mad.PathRecordMaskFlowLabel
	}
	c.set8(48, int32(p.tclass), 0, mad.PathRecordMaskTClass)
	c.set8(49, p.numPath, -1, mad.PathRecordMaskNumPath)
	if given(p.reversible) {
		c.b[49] |= uint8(p.reversible) << 7 //nolint:gosec // C cuts it too
		c.mask |= mad.PathRecordMaskReversible
	}
	c.set16(50, int32(p.pkey), 0, mad.PathRecordMaskPKey)
	c.set16(52, p.sl, -1, mad.PathRecordMaskSL)
	qos := uint16(0)
	if p.qosClass != -1 {
		qos = uint16(p.qosClass) //nolint:gosec // C cuts it too
		c.mask |= mad.PathRecordMaskQoSClass
	}
	binary.BigEndian.PutUint16(c.b[52:], binary.BigEndian.Uint16(c.b[52:])&15|qos<<4)
	c.set8(54, int32(p.mtu), 0, mad.PathRecordMaskMTUSelector|mad.PathRecordMaskMTU)
	c.set8(55, int32(p.rate), 0, mad.PathRecordMaskRateSelector|mad.PathRecordMaskRate)
	c.set8(56, int32(p.life), 0, mad.PathRecordMaskPacketLifeTimeSelector|mad.PathRecordMaskPacketLifeTime)
	return c
}

// memberRecord returns the record of a query for multicast members (C twin:
// query_mcmember_records).
func (p *saParams) memberRecord() components {
	c := components{b: make([]byte, mad.MCMemberRecordLen)}
	c.setGID(0, p.mgid, mad.MCMemberRecordMaskMGID)
	c.setGID(16, p.gid, mad.MCMemberRecordMaskPortGID)
	c.set16(36, int32(p.mlid), 0, mad.MCMemberRecordMaskMLID)
	c.set32(32, p.qkey, 0, mad.MCMemberRecordMaskQKey)
	c.set8(38, int32(p.mtu), 0, mad.MCMemberRecordMaskMTUSelector|mad.MCMemberRecordMaskMTU)
	c.set8(42, int32(p.rate), 0, mad.MCMemberRecordMaskRateSelector|mad.MCMemberRecordMaskRate)
	c.set8(43, int32(p.life), 0,
		mad.MCMemberRecordMaskPacketLifeTimeSelector|mad.MCMemberRecordMaskPacketLifeTime)
	c.set8(39, int32(p.tclass), 0, mad.MCMemberRecordMaskTClass)
	c.set16(40, int32(p.pkey), 0, mad.MCMemberRecordMaskPKey)
	if given(p.sl) {
		c.b[44] |= uint8(p.sl) << 4 //nolint:gosec // C cuts it too
		c.mask |= mad.MCMemberRecordMaskSL
	}
	c.set8(46, int32(uint8(p.flowLabel)), 0, mad.MCMemberRecordMaskFlowLabel)
	c.set8(47, p.hopLimit, -1, mad.MCMemberRecordMaskHopLimit)
	c.set8(48, int32(p.joinState), 0, mad.MCMemberRecordMaskJoinState)
	if p.scope != 0 {
		c.b[48] |= p.scope << 4
		c.mask |= mad.MCMemberRecordMaskScope
	}
	c.set8(49, p.proxyJoin, -1, mad.MCMemberRecordMaskProxyJoin)
	c.b[49] &= proxyJoinBit
	return c
}
