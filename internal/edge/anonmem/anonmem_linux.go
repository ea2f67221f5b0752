package anonmem

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Alloc returns n bytes of zeros, n > 0 (C twin: mmap with MAP_ANONYMOUS). The error
// is an errno: ENOMEM for more than a limit or the kernel's overcommit policy allows.
func Alloc(n int) ([]byte, error) {
	if n <= 0 {
		return nil, fmt.Errorf("%d bytes: %w", n, unix.EINVAL)
	}
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

// Free gives back what [Alloc] returned, all of it (C twin: munmap). EINVAL for another
// slice.
func Free(b []byte) error { return unix.Munmap(b) }
