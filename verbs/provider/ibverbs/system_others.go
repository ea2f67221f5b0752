//go:build !linux

package ibverbs

import "errors"

// The library can't be opened on this system, so these functions are never called.

func memlockLimit() int64 { return -1 }

func dupNonblocking(int) (int, error) { return -1, errors.ErrUnsupported }
