//go:build !linux

package dcbnl

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/mdlayher/netlink"
)

// dialKernel returns an error: only Linux has netlink.
func dialKernel() (*netlink.Conn, error) {
	return nil, fmt.Errorf("netlink on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
