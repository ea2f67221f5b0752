package anonmem

import (
	"fmt"
	"math"

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

// HugePage is the size of the pages of [AllocHuge] in bytes, as in perftest.
const HugePage = 2 << 20

// AllocHuge is [Alloc] with huge pages of 2 MiB, which the administrator has to reserve; it returns
// at least n bytes, in whole pages (C twin: mmap with MAP_HUGETLB). The error is an errno: ENOMEM
// if fewer pages are free.
func AllocHuge(n int) ([]byte, error) {
	if n <= 0 || n > math.MaxInt-HugePage {
		return nil, fmt.Errorf("%d bytes: %w", n, unix.EINVAL)
	}
	n = (n + HugePage - 1) / HugePage * HugePage
	const flags = unix.MAP_ANON | unix.MAP_PRIVATE | unix.MAP_HUGETLB | unix.MAP_HUGE_2MB
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, flags)
}

// Free frees a buffer from [Alloc] or [AllocHuge] (C twin: munmap). It returns EINVAL if b is not
// the whole buffer.
func Free(b []byte) error { return unix.Munmap(b) }
