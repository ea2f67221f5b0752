package ibverbs

import (
	"math"

	"golang.org/x/sys/unix"
)

// memlockLimit returns RLIMIT_MEMLOCK in bytes, or -1 if there is none.
func memlockLimit() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) != nil || limit.Cur > math.MaxInt64 {
		return -1
	}
	return int64(limit.Cur)
}

// dupNonblocking duplicates a file descriptor of the library, and makes both nonblocking: they
// share that flag.
func dupNonblocking(fd int) (int, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return -1, err
	}
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
}
