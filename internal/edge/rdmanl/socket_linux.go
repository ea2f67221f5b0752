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
	// Both options only refine answers, and kernels before 4.20 lack the second:
	// words with errors, and route dumps that leave other tables out.
	_ = conn.SetOption(netlink.ExtendedAcknowledge, true)
	_ = conn.SetOption(netlink.GetStrictCheck, true)
	return conn, nil
}

// rdmaMissing tells what is missing, and what would help, when err of an RDMA
// netlink socket means that there is none; otherwise "".
func rdmaMissing(err error) (missing, remedy string) {
	switch {
	case errors.Is(err, syscall.EPROTONOSUPPORT), errors.Is(err, syscall.EAFNOSUPPORT):
		// netlink_create in net/netlink/af_netlink.c: nobody registered the
		// family, and the module that would could not be loaded.
		return "ib_core not loaded", "modprobe ib_core"
	case errors.Is(err, syscall.ECONNREFUSED):
		// The family exists, but has no kernel socket in this namespace.
		return "not served in this network namespace", ""
	}
	return "", ""
}
