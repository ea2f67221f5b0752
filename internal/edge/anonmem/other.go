//go:build !linux

package anonmem

import (
	"fmt"
	"syscall"
)

// Alloc returns n bytes of zeros, n > 0, which the garbage collector owns: for want of
// memory the program ends here.
func Alloc(n int) ([]byte, error) {
	if n <= 0 {
		return nil, fmt.Errorf("%d bytes: %w", n, syscall.EINVAL)
	}
	return make([]byte, n), nil
}

// Free leaves the buffer to the garbage collector.
func Free([]byte) error { return nil }
