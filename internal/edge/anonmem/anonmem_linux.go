package anonmem

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Alloc returns n zero bytes, n > 0 (C twin: mmap with MAP_ANONYMOUS). The error is an
// errno: ENOMEM if a limit or the kernel's overcommit policy doesn't allow n bytes.
func Alloc(n int) ([]byte, error) {
	if n <= 0 {
		return nil, fmt.Errorf("%d bytes: %w", n, unix.EINVAL)
	}
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

// Free frees a buffer from [Alloc] (C twin: munmap). It returns EINVAL if b is not the
// whole buffer.
func Free(b []byte) error { return unix.Munmap(b) }
