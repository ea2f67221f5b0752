package prm

import (
	"encoding/binary"
	"math"
)

// fields reads or writes the fields of a register, or of a part of one, so that one list of fields
// serves both directions. The caller has checked the length of b.
type fields struct {
	b       []byte
	writing bool
}

// bits reads or writes a field of at most 32 bits. Offset and bit are those of the adb: a
// big-endian word of 32 bits at a byte, and the field's lowest bit in it.
func bits[T ~uint8 | ~uint16 | ~uint32](f fields, offset, bit, width int, v *T) {
	word := binary.BigEndian.Uint32(f.b[offset:])
	mask := uint32(math.MaxUint32) >> (32 - width)
	if f.writing {
		binary.BigEndian.PutUint32(f.b[offset:], word&^(mask<<bit)|uint32(*v)&mask<<bit)
		return
	}
	*v = T(word >> bit & mask)
}

// long reads or writes a field of 64 bits, of which the adb has two halves.
func (f fields) long(offset int, v *uint64) {
	if f.writing {
		binary.BigEndian.PutUint64(f.b[offset:], *v)
		return
	}
	*v = binary.BigEndian.Uint64(f.b[offset:])
}

// bytes reads or writes text.
func (f fields) bytes(offset int, v []byte) {
	if f.writing {
		copy(f.b[offset:], v)
		return
	}
	copy(v, f.b[offset:])
}

// lanes reads or writes 16 bits for each of eight lanes, two in a word, the even lane in the upper
// half.
func (f fields) lanes(offset int, v *[Lanes]uint16) {
	for i := range v {
		bits(f, offset+i/2*4, 16-i%2*16, 16, &v[i])
	}
}

// Lanes is how many lanes a register has fields for.
const Lanes = 8
