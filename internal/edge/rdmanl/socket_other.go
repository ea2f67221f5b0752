//go:build !linux

package rdmanl

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/mdlayher/netlink"
)

// dialKernel answers that only Linux has netlink.
func dialKernel(int) (*netlink.Conn, error) {
	return nil, fmt.Errorf("netlink on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// rdmaMissing takes any failure for the lack of RDMA netlink on such a system.
func rdmaMissing(error) (missing, remedy string) { return runtime.GOOS + " has no netlink", "" }
