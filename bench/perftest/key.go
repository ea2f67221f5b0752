package perftest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// ErrShort is matched by the error for fewer bytes than a message has.
var ErrShort = errors.New("message is too short")

// ErrKeyLine is matched by the error for an invalid key line.
var ErrKeyLine = errors.New("not a key line")

// Destination is the address of one end of a queue pair, as sent in a key line (C twin: struct
// pingpong_dest).
type Destination struct {
	LID ib.LID // of the port; 0 on Ethernet
	// OutReads is how many READs may be outstanding.
	OutReads uint16
	QPN      ib.QPN
	PSN      ib.PSN // PSN of the first packet that this end sends
	RKey     uint32
	// VAddr is the address of the first byte that the peer reads or writes.
	VAddr uint64
	GID   ib.GID
	SRQN  uint32
}

// KeyForm is one of the forms of a key; both ends must use the same.
type KeyForm uint8

// The forms of lines. RoCE always uses a GID; InfiniBand only with -x.
const (
	KeyWithGID KeyForm = iota
	KeyWithoutGID
)

// Lengths of key lines in bytes, including the terminating zero byte.
const (
	keyLen    = 59
	keyGIDLen = 108
)

// Len returns the length of a key line in bytes.
func (f KeyForm) Len() int {
	switch f {
	case KeyWithoutGID:
		return keyLen
	case KeyStruct:
		return keyStructLen
	case KeyStructTail:
		return keyStructTailLen
	}
	return keyGIDLen
}

// Append appends the key line of d to b:
//
//	0000:0001:000014:3c18da:00000531:000055563763a000:00:…:01:00000000:\0
func (f KeyForm) Append(b []byte, d *Destination) []byte {
	if f.isStruct() {
		return f.appendStruct(b, d)
	}
	b = fmt.Appendf(b, "%04x:%04x:%06x:%06x:%08x:%016x:",
		uint16(d.LID), d.OutReads, uint32(d.QPN), uint32(d.PSN), d.RKey, d.VAddr)
	if f == KeyWithoutGID {
		return append(fmt.Appendf(b, "%08x", d.SRQN), 0)
	}
	for _, c := range d.GID {
		b = fmt.Appendf(b, "%02x:", c)
	}
	return append(fmt.Appendf(b, "%08x:", d.SRQN), 0)
}

// Decode reads a key line from the start of b. The error matches [ErrShort] or
// [ErrKeyLine].
func (f KeyForm) Decode(b []byte, d *Destination) (n int, err error) {
	if f.isStruct() {
		return f.decodeStruct(b, d)
	}
	if len(b) < f.Len() {
		return 0, fmt.Errorf("decode key line: %w", ErrShort)
	}
	p := lineParser{rest: b[:f.Len()]}
	var out Destination
	out.LID = ib.LID(p.field(4, math.MaxUint16))
	out.OutReads = uint16(p.field(4, math.MaxUint16))
	out.QPN = ib.QPN(p.field(6, 1<<24-1))
	out.PSN = ib.PSN(p.field(6, 1<<24-1))
	out.RKey = uint32(p.field(8, math.MaxUint32))
	out.VAddr = p.field(16, math.MaxUint64)
	if f == KeyWithGID {
		for i := range out.GID {
			out.GID[i] = byte(p.field(2, math.MaxUint8))
		}
		out.SRQN = uint32(p.field(8, math.MaxUint32))
	} else {
		out.SRQN = uint32(p.number(8, math.MaxUint32))
	}
	p.end()
	if p.bad {
		return 0, fmt.Errorf("%q: %w", b[:f.Len()], ErrKeyLine)
	}
	*d = out
	return f.Len(), nil
}

// lineParser reads fields of fixed width; bad is set at the first invalid one.
type lineParser struct {
	rest []byte
	bad  bool
}

// number reads digits hexadecimal digits, of a value up to most.
func (p *lineParser) number(digits int, most uint64) uint64 {
	if p.bad || len(p.rest) < digits {
		p.bad = true
		return 0
	}
	var buf [8]byte
	if _, err := hex.Decode(buf[8-digits/2:], p.rest[:digits]); err != nil {
		p.bad = true
		return 0
	}
	p.rest = p.rest[digits:]
	var v uint64
	for _, c := range buf {
		v = v<<8 | uint64(c)
	}
	if v > most {
		p.bad = true
	}
	return v
}

// field reads a number that is followed by a colon.
func (p *lineParser) field(digits int, most uint64) uint64 {
	v := p.number(digits, most)
	p.expect(':')
	return v
}

func (p *lineParser) expect(c byte) {
	if p.bad || len(p.rest) == 0 || p.rest[0] != c {
		p.bad = true
		return
	}
	p.rest = p.rest[1:]
}

func (p *lineParser) end() {
	p.expect(0)
	p.bad = p.bad || len(p.rest) != 0
}
