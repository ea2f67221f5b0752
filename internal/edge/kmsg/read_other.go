//go:build !linux

package kmsg

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// Read returns an error: only Linux has /dev/kmsg.
func Read(context.Context) ([]Record, error) {
	return nil, fmt.Errorf("the kernel's log on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
