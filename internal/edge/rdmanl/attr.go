package rdmanl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/rdmakit/rdmakit/internal/edge/nl"
)

// A netlink attribute is a 16-bit length that includes the header, a 16-bit type whose
// two high bits are flags, and the value, padded to 4 bytes (linux/netlink.h, struct
// nlattr). Numbers are in the host's byte order.
const (
	attrHeader   = 4
	attrTypeMask = 0x3fff
)

// errFraming is the error for invalid lengths.
var errFraming = errors.New("broken framing")

// fields maps attribute types to functions that store the value. Other types are
// skipped.
type fields map[uint16]func(v []byte) error

// decode decodes the attributes in b. An invalid value doesn't end the decoding, so that
// only that attribute is lost. Broken framing ends it, here and in the enclosing
// attribute, because all data after it is unreliable. The error joins all errors.
func (f fields) decode(b []byte) error {
	var errs []error
	for len(b) >= attrHeader {
		size := int(binary.NativeEndian.Uint16(b))
		typ := binary.NativeEndian.Uint16(b[2:]) & attrTypeMask
		if size < attrHeader || size > len(b) {
			errs = append(errs,
				fmt.Errorf("%w: attribute %d has the length %d, but %d bytes are left", errFraming, typ, size, len(b)))
			break
		}
		if set, ok := f[typ]; ok {
			if err := set(b[attrHeader:size:size]); err != nil {
				errs = append(errs, fmt.Errorf("attribute %d: %w", typ, err))
				if errors.Is(err, errFraming) {
					break
				}
			}
		}
		b = b[min(align4(size), len(b)):]
	}
	return errors.Join(errs...)
}

// number stores a number of 1, 2, 4 or 8 bytes. The width on the wire may differ from
// that of the field, since kernels have changed widths of attributes before; a value that
// doesn't fit is an error and doesn't change the field.
func number[T uint8 | uint16 | uint32 | uint64](field **T) func([]byte) error {
	return func(v []byte) error {
		n, err := nl.Uint(v)
		if err != nil {
			return err
		}
		t := T(n)
		if uint64(t) != n {
			return fmt.Errorf("a number of %d bits", bits.Len64(n))
		}
		*field = &t
		return nil
	}
}

// ifindex stores an interface index; 0 means that there is none.
func ifindex(field **int) func([]byte) error {
	return func(v []byte) error {
		n, err := nl.Uint(v)
		if i := int(int32(n)); err == nil && i > 0 {
			*field = &i
		}
		return err
	}
}

// truth stores a number as a bool.
func truth(field **bool) func([]byte) error {
	return func(v []byte) error {
		n, err := nl.Uint(v)
		if t := n != 0; err == nil {
			*field = &t
		}
		return err
	}
}

// appendAttr appends one attribute to a request.
func appendAttr(b []byte, typ uint16, v []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(attrHeader+len(v)))
	b = binary.NativeEndian.AppendUint16(b, typ)
	b = append(b, v...)
	return append(b, make([]byte, align4(len(v))-len(v))...)
}

func appendAttrU32(b []byte, typ uint16, v uint32) []byte {
	return appendAttr(b, typ, binary.NativeEndian.AppendUint32(nil, v))
}

func align4(n int) int { return (n + 3) &^ 3 }
