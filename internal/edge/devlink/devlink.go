// Package devlink queries the running kernel for the health reporters, the parameters and the
// switch modes of devices (devlink). It only reads.
//
//	var kernel devlink.Client
//	reporters, err := kernel.Reporters(ctx)
//	if errors.Is(err, errors.ErrUnsupported) { … } // the kernel has no devlink
//
// Results are plain structs. A list has everything that could be read, even if the error is not
// nil. What is wrong with the message of one object is an error of that object; the error of a list
// is about messages that identify no object, and about the request.
//
// # Concurrency
//
// A [Client] has no socket; calls may run concurrently (see package genl).
//
// # Limits
//
// Devices of other network namespaces are not visible: a container sees none of the host's. Dumps
// of reporters are not read, because taking one can stop traffic for a moment. The decoders are
// tested with messages built from the kernel's source, and compared with the program devlink in the
// kernel guest on netdevsim; they have never run on a card.
package devlink

import (
	"context"
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"

	"github.com/rdmakit/rdmakit/internal/edge/genl"
)

// Client queries the running kernel. Its zero value is ready to use and safe for concurrent use; it
// needs no Close.
type Client struct {
	Kernel genl.Client
}

// Reporter is a health reporter (devlink_nl_health_reporter_fill in net/devlink/health.c).
type Reporter struct {
	Bus, Device string // "pci", "0000:3b:00.0"
	Port        *uint32
	Name        string // fw, fw_fatal, tx, rx, vnic
	Errored     bool   // the state is "error": it reported one and has not recovered
	Errors      uint64 // reported since the driver was loaded
	Recoveries  uint64
	// Err says why the reporter's message is not valid; nil if it is. State and counts are then not
	// known.
	Err error
}

// Parameter is a parameter of a device with its values by configuration mode.
type Parameter struct {
	Bus, Device string
	Name        string // enable_roce, flow_steering_mode, …
	// Values by mode: "runtime", "driverinit", "permanent".
	Values map[string]string
	Err    error // why some values are missing
}

// errIncomplete is the error of a message that doesn't identify its object; it is dropped.
var errIncomplete = errors.New("incomplete message")

// Reporters lists the health reporters of all devices and their ports, in the order of the kernel.
func (c Client) Reporters(ctx context.Context) ([]Reporter, error) {
	return list(ctx, c, "health reporter dump", DEVLINK_CMD_HEALTH_REPORTER_GET, decodeReporter)
}

// Parameters lists the parameters of all devices, in the order of the kernel.
func (c Client) Parameters(ctx context.Context) ([]Parameter, error) {
	return list(ctx, c, "parameter dump", DEVLINK_CMD_PARAM_GET, decodeParameter)
}

// SwitchMode returns the mode of a PCI device's embedded switch: "legacy", "switchdev", or the
// number. It needs CAP_NET_ADMIN. mlx5 answers [fs.ErrPermission] too if another function manages
// the switch, as in the DPU mode of BlueField, and [errors.ErrUnsupported] for InfiniBand ports
// (mlx5_eswitch_check in drivers/net/ethernet/mellanox/mlx5/core/eswitch_offloads.c).
func (c Client) SwitchMode(ctx context.Context, address string) (string, error) {
	attrs := netlink.NewAttributeEncoder()
	attrs.String(DEVLINK_ATTR_BUS_NAME, "pci")
	attrs.String(DEVLINK_ATTR_DEV_NAME, address)
	q := genl.Request{
		Op: "devlink eswitch get", Object: address, Family: "devlink", Version: DEVLINK_GENL_VERSION,
		Command: DEVLINK_CMD_ESWITCH_GET,
	}
	var err error
	if q.Body, err = attrs.Encode(); err != nil {
		return "", &genl.OpError{Op: q.Op, Object: address, Err: err}
	}
	bodies, err := c.Kernel.Execute(ctx, q)
	if err != nil {
		return "", err //nolint:wrapcheck // an OpError
	}
	if len(bodies) == 0 {
		return "", &genl.OpError{Op: q.Op, Object: address, Err: errIncomplete}
	}
	mode, err := decodeSwitchMode(bodies[0])
	if err != nil {
		return "", &genl.OpError{Op: q.Op, Object: address, Err: err}
	}
	return mode, nil
}

func list[T any](ctx context.Context, c Client, op string, command uint8, decode func([]byte) (T, error)) ([]T, error) {
	q := genl.Request{
		Op: "devlink " + op, Family: "devlink", Version: DEVLINK_GENL_VERSION, Command: command, Dump: true,
	}
	bodies, err := c.Kernel.Execute(ctx, q)
	out, errs := make([]T, 0, len(bodies)), []error{err}
	for i, b := range bodies {
		v, err := decode(b)
		if err != nil {
			errs = append(errs, &genl.OpError{Op: q.Op, Err: fmt.Errorf("message %d: %w", i, err)})
			continue
		}
		out = append(out, v)
	}
	return out, errors.Join(errs...)
}
