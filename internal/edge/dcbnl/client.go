package dcbnl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/mdlayher/netlink"

	"github.com/rdmakit/rdmakit/internal/edge/nl"
)

// Client queries the running kernel. Its zero value is ready to use and safe for concurrent use; it
// needs no Close.
type Client struct {
	// dial opens a socket; nil means a kernel socket. Tests set it.
	dial func() (*netlink.Conn, error)
}

// maxName is the longest name of a network device (IFNAMSIZ without the terminating zero).
const maxName = 15

// OpError is the error of a call: "dcbnl IEEE get eth0: operation not supported". It matches
// [errors.ErrUnsupported] if the driver of the device has no DCB.
type OpError struct {
	Op     string // "IEEE get", "DCBX get"
	Netdev string
	Err    error // usually a [syscall.Errno]
}

// Error returns operation, network device and cause.
func (e *OpError) Error() string { return "dcbnl " + e.Op + " " + e.Netdev + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Query returns the settings of a network device. The error matches [errors.ErrUnsupported] if its
// driver has no DCB, [syscall.ENODEV] if there is no such device, and [os.ErrPermission] if this
// process may not ask. With any other error the result has what could be read.
func (c Client) Query(ctx context.Context, netdev string) (State, error) {
	s := State{Netdev: netdev}
	if netdev == "" || len(netdev) > maxName {
		return s, &OpError{"IEEE get", netdev, errors.New("not the name of a network device")}
	}
	err := c.get(ctx, &s, "IEEE get", netdev, DCB_CMD_IEEE_GET)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.ENODEV) {
		return State{Netdev: netdev}, err
	}
	mode := c.get(ctx, &s, "DCBX get", netdev, DCB_CMD_GDCBX)
	if errors.Is(mode, errors.ErrUnsupported) {
		mode = nil // the driver has no DCBX
	}
	s.Netdev = netdev
	return s, errors.Join(err, mode)
}

func (c Client) get(ctx context.Context, s *State, op, netdev string, cmd uint8) error {
	msgs, err := c.exchange(ctx, request(netdev, cmd))
	if err != nil {
		return &OpError{op, netdev, cause(err)}
	}
	if len(msgs) == 0 {
		return &OpError{op, netdev, errors.New("no response")}
	}
	if err := s.decode(msgs[0].Data); err != nil {
		return &OpError{op, netdev, err}
	}
	return nil
}

// request returns a message with struct dcbmsg and the name of the device.
func request(netdev string, cmd uint8) netlink.Message {
	enc := netlink.NewAttributeEncoder()
	enc.String(DCB_ATTR_IFNAME, netdev)
	attrs, err := enc.Encode()
	if err != nil {
		panic(fmt.Sprintf("encode the name of a network device: %v", err)) // its length was checked
	}
	return netlink.Message{
		Header: netlink.Header{Type: RTM_GETDCB, Flags: netlink.Request},
		Data:   append([]byte{0, cmd, 0, 0}, attrs...),
	}
}

// exchange sends a request over a new socket and returns the response, or an error when ctx is
// done: the driver may ask its firmware.
func (c Client) exchange(ctx context.Context, q netlink.Message) ([]netlink.Message, error) {
	dial := c.dial
	if dial == nil {
		dial = dialKernel
	}
	return nl.Do(ctx, dial, func(conn *netlink.Conn) ([]netlink.Message, error) { return conn.Execute(q) })
}

// cause returns the error without the wrappers of the netlink library.
func cause(err error) error {
	if ne, ok := errors.AsType[*netlink.OpError](err); ok {
		err = ne.Err
	}
	if se, ok := errors.AsType[*os.SyscallError](err); ok {
		err = se.Err
	}
	return err
}
