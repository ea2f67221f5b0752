//go:build !linux

package genl

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/mdlayher/genetlink"
)

// dialKernel returns an error: only Linux has netlink.
func dialKernel() (*genetlink.Conn, error) {
	return nil, fmt.Errorf("netlink on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
