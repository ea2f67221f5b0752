package nl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/mdlayher/netlink"
)

// Fields maps types of attributes to functions that store the value. Other types are skipped.
type Fields map[uint16]func(v []byte) error

// Decode decodes attributes. An invalid value doesn't end the decoding, so that only that attribute
// is lost; invalid lengths do. The error joins all errors.
func (f Fields) Decode(b []byte) error {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return framing(err)
	}
	var errs []error
	for ad.Next() {
		if set, ok := f[ad.Type()]; ok {
			if err := set(ad.Bytes()); err != nil {
				errs = append(errs, fmt.Errorf("attribute %d: %w", ad.Type(), err))
			}
		}
	}
	return errors.Join(append(errs, framing(ad.Err()))...)
}

// framing says of an error that it is about the lengths of attributes; nil stays nil.
func framing(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("broken framing: %w", err)
}

// Number stores a number of 1, 2, 4 or 8 bytes, in the host's byte order. One that doesn't fit is
// an error and doesn't change the field.
func Number[T uint8 | uint16 | uint32 | uint64](field *T) func([]byte) error {
	return func(v []byte) error {
		n, err := Uint(v)
		if err != nil {
			return err
		}
		if uint64(T(n)) != n {
			return fmt.Errorf("the number %d is too large", n)
		}
		*field = T(n)
		return nil
	}
}

// Uint returns a number of 1, 2, 4 or 8 bytes.
func Uint(v []byte) (uint64, error) {
	switch len(v) {
	case 1:
		return uint64(v[0]), nil
	case 2:
		return uint64(binary.NativeEndian.Uint16(v)), nil
	case 4:
		return uint64(binary.NativeEndian.Uint32(v)), nil
	case 8:
		return binary.NativeEndian.Uint64(v), nil
	}
	return 0, fmt.Errorf("a number of %d bytes", len(v))
}

// Text stores a string up to its terminating zero. Invalid UTF-8 is replaced, so that the string
// can be stored as JSON.
func Text(field *string) func([]byte) error {
	return func(v []byte) error {
		*field = String(v)
		return nil
	}
}

// String returns a string up to its terminating zero, as valid UTF-8.
func String(v []byte) string {
	s, _, _ := strings.Cut(string(v), "\x00")
	return strings.ToValidUTF8(s, "\ufffd")
}
