//go:build !linux

package anonmem

import (
	"errors"
	"fmt"
	"syscall"
)

// Alloc returns n zero bytes, n > 0, which the garbage collector manages: if there isn't
// enough memory, the program ends.
func Alloc(n int) ([]byte, error) {
	if n <= 0 {
		return nil, fmt.Errorf("%d bytes: %w", n, syscall.EINVAL)
	}
	return make([]byte, n), nil
}

// HugePage is the size of the pages of [AllocHuge] in bytes.
const HugePage = 2 << 20

// AllocHuge is not supported.
func AllocHuge(int) ([]byte, error) { return nil, errors.ErrUnsupported }

// Free does nothing: the garbage collector frees the buffer.
func Free([]byte) error { return nil }
