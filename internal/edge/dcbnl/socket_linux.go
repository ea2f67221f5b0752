package dcbnl

import "github.com/mdlayher/netlink"

// dialKernel opens a socket of rtnetlink in the namespace of the calling thread.
func dialKernel() (*netlink.Conn, error) {
	const netlinkRoute = 0
	return netlink.Dial(netlinkRoute, nil)
}
