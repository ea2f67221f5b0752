package ibsimd

import (
	"encoding/binary"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// patch is a part of an attribute that a node answers with instead of the real bytes.
type patch struct {
	attribute mad.Attribute
	offset    int
	bytes     []byte
}

func (n *Node) hasPatch(a mad.Attribute) bool {
	for _, p := range n.patches {
		if p.attribute == a {
			return true
		}
	}
	return false
}

// patch changes the attribute of an answer.
func (n *Node) patch(a mad.Attribute, reply *[mad.Len]byte) {
	for _, p := range n.patches {
		if p.attribute == a {
			copy(reply[64+p.offset:], p.bytes)
		}
	}
}

// admits reports whether the node answers a request with that M_Key. Without the right one nothing
// can be set, and from protect level 2 on nothing can be read (specification section 14.2.4).
func (n *node) admits(r *smpRequest, key uint64) bool {
	if n.MKey == 0 || key == n.MKey || !r.set && !n.Hides(key) {
		return true
	}
	if i := &r.in.info; i.MKeyViolations < 1<<16-1 {
		i.MKeyViolations++
	}
	return false
}

// hideKey writes the M_Key to a PortInfo, unless the sender of the request doesn't have it and the
// node protects it.
func (n *node) hideKey(data *[mad.SMPDataLen]byte, key uint64) {
	if n.MKey == 0 {
		return
	}
	var info mad.PortInfo
	info.Decode(data[:]) //nolint:errcheck // long enough
	info.MKeyProtectBits = n.Protect
	info.MKey = 0
	if key == n.MKey || n.Protect == 0 {
		info.MKey = n.MKey
	}
	info.Append(data[:0])
}

// Lies are the ways in which a node can answer wrongly.
const (
	LieAttribute   = "wrong-attribute"   // the answer has another attribute ID
	LieTransaction = "wrong-transaction" // the answer has another transaction ID
	LieBusy        = "busy"              // the answer has status busy
	LieDuplicate   = "duplicate"         // each answer comes twice
	LieGarbage     = "garbage"           // the attribute has ones only
)

// Lies returns all lies.
func Lies() []string {
	return []string{LieAttribute, LieTransaction, LieBusy, LieDuplicate, LieGarbage}
}

// tell changes an answer according to a lie, and returns how often it is delivered.
func tell(lie string, m *[mad.Len]byte) int {
	switch lie {
	case LieAttribute:
		a := binary.BigEndian.Uint16(m[16:])
		binary.BigEndian.PutUint16(m[16:], a^1)
	case LieTransaction:
		m[15]++
	case LieBusy:
		m[5] |= uint8(mad.StatusBusy)
	case LieDuplicate:
		return 2
	case LieGarbage:
		for i := 64; i < 128; i++ {
			m[i] = 0xff
		}
	}
	return 1
}
