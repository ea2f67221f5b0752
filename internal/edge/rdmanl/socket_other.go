//go:build !linux

package rdmanl

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/mdlayher/netlink"
)

// dialKernel returns an error: only Linux has netlink.
func dialKernel(int) (*netlink.Conn, error) {
	return nil, fmt.Errorf("netlink on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// rdmaMissing treats any error as missing RDMA netlink.
func rdmaMissing(error) (missing, remedy string) { return runtime.GOOS + " has no netlink", "" }
