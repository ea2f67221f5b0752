package genl

import (
	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
)

// dialKernel opens a socket in the namespace of the calling thread.
func dialKernel() (*genetlink.Conn, error) {
	conn, err := genetlink.Dial(nil)
	if err != nil {
		return nil, err
	}
	_ = conn.SetOption(netlink.ExtendedAcknowledge, true) // optional: messages of errors
	return conn, nil
}
