package rdmanl

import (
	"errors"
	"syscall"

	"github.com/mdlayher/netlink"
)

// dialKernel opens a netlink socket in the namespace of the calling thread.
func dialKernel(family int) (*netlink.Conn, error) {
	conn, err := netlink.Dial(family, nil)
	if err != nil {
		return nil, err
	}
	// Both options are optional: error messages, and route dumps of one table, which
	// kernels before 4.20 don't support.
	_ = conn.SetOption(netlink.ExtendedAcknowledge, true)
	_ = conn.SetOption(netlink.GetStrictCheck, true)
	return conn, nil
}

// rdmaMissing returns what is missing, and the remedy, if an error of an RDMA netlink
// socket means that RDMA netlink is not available; otherwise "".
func rdmaMissing(err error) (missing, remedy string) {
	switch {
	case errors.Is(err, syscall.EPROTONOSUPPORT), errors.Is(err, syscall.EAFNOSUPPORT):
		// netlink_create in net/netlink/af_netlink.c: the family isn't registered, and
		// its module could not be loaded.
		return "ib_core not loaded", "modprobe ib_core"
	case errors.Is(err, syscall.ECONNREFUSED):
		// The family exists, but has no kernel socket in this namespace.
		return "not available in this network namespace", ""
	}
	return "", ""
}
