package rdmanl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/mdlayher/netlink"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Device is an RDMA device (fill_dev_info in drivers/infiniband/core/nldev.c).
type Device struct {
	Index uint32 `json:"index"` // doesn't change if the device is renamed
	Name  string `json:"name"`  // mlx5_0
	// Ports is the number of the last port; ports are numbered from 1. 0 on a switch,
	// whose only port is 0.
	Ports        *uint32  `json:"ports,omitempty"`
	CapFlags     *uint64  `json:"capFlags,omitempty"` // enum ib_device_cap_flags
	Firmware     string   `json:"firmware,omitempty"` // "" on a software device
	NodeGUID     *ib.GUID `json:"nodeGUID,omitempty"`
	SysImageGUID *ib.GUID `json:"sysImageGUID,omitempty"`
	NodeType     *uint8   `json:"nodeType,omitempty"` // as in sysfs: 1 CA, 2 switch, 4 RNIC, …
	// Protocol is that of the first port: ib, opa, roce, iw or usnic; "" for
	// drivers with none of these (EFA) and on kernels that don't report it.
	Protocol string `json:"protocol,omitempty"`
	// Type and Parent are those of a sub-device, which shares the hardware of its parent:
	// RDMA_DEVICE_TYPE_SMI (kernel 6.11). Type is nil for other devices and older kernels.
	Type   *uint8 `json:"type,omitempty"`
	Parent string `json:"parent,omitempty"`
}

// Port is a port of an RDMA device (fill_port_info in drivers/infiniband/core/nldev.c).
type Port struct {
	// The device and the port number, from 1 except on a switch.
	DeviceIndex uint32 `json:"deviceIndex"`
	DeviceName  string `json:"deviceName"`
	Number      uint32 `json:"number"`
	State       *uint8 `json:"state,omitempty"`     // as in sysfs: 1 down, 2 init, 3 armed, 4 active
	PhysState   *uint8 `json:"physState,omitempty"` // as in sysfs: 2 polling, 3 disabled, 5 link up
	// The next five are nil unless the port is an InfiniBand or Omni-Path port.
	CapFlags     *uint64          `json:"capFlags,omitempty"` // CapabilityMask, above it CapabilityMask2
	SubnetPrefix *ib.SubnetPrefix `json:"subnetPrefix,omitempty"`
	LID          *uint32          `json:"lid,omitempty"` // 32 bits for Omni-Path
	SMLID        *uint32          `json:"smLID,omitempty"`
	LMC          *uint8           `json:"lmc,omitempty"`
	// The network device of a RoCE or iWARP port; nil and "" if there is none or it is in
	// another network namespace.
	NetdevIndex *int   `json:"netdevIndex,omitempty"`
	NetdevName  string `json:"netdevName,omitempty"`
}

// System is the state of the RDMA subsystem (`rdma system`; nldev_sys_get_doit).
type System struct {
	// SharedNetns reports whether every network namespace sees every device (shared mode);
	// false means that a device is in one namespace (exclusive mode).
	SharedNetns *bool `json:"sharedNetns,omitempty"`
	// CopyOnFork reports whether a process with registered memory may fork.
	CopyOnFork *bool `json:"copyOnFork,omitempty"`
	// PrivilegedQKey reports whether QPs may use controlled Q_Keys without CAP_NET_RAW.
	PrivilegedQKey *bool `json:"privilegedQKey,omitempty"`
}

// CharKind is a kind of character device, named like the kernel's client.
type CharKind string

// The kinds. CharUMAD belongs to a port, CharCM to no device. Kernel 6.1 returns
// EOPNOTSUPP for issm devices even if they exist.
const (
	CharUverbs CharKind = "uverbs"
	CharUMAD   CharKind = "umad"
	CharCM     CharKind = "rdma_cm"
)

// CharDevice is a character device (nldev_get_chardev). With udev, its file is
// /dev/infiniband/Name.
type CharDevice struct {
	Kind     CharKind `json:"kind"`               // uverbs, umad, …
	Port     uint32   `json:"port,omitempty"`     // umad only
	Name     string   `json:"name"`               // uverbs0
	ABI      *uint64  `json:"abi,omitempty"`      // version of its interface; nil if unknown
	Major    uint32   `json:"major"`              // numbers of the device file
	Minor    uint32   `json:"minor"`              // see Major
	DriverID *uint32  `json:"driverID,omitempty"` // uverbs: enum rdma_driver_id, nil for some drivers
}

// Devices lists the RDMA devices that are visible in this network namespace, in the order
// of their indexes. If the kernel has no RDMA, the error matches [ErrNoRDMANetlink]; if
// there is no device, the list is empty.
func (c Client) Devices(ctx context.Context) ([]Device, error) {
	q := nldevRequest("device dump", "", RDMA_NLDEV_CMD_GET, nil)
	msgs, err := c.dump(ctx, q)
	return collect(q, msgs, err, decodeDevice)
}

// Ports lists the ports of d, a device from Devices. The kernel ends the list at a port
// whose query fails, so Ports then queries the other ports one by one, to get their
// errors. The error matches [fs.ErrNotExist] if the device has been removed.
func (c Client) Ports(ctx context.Context, d Device) ([]Port, error) {
	body := appendAttrU32(nil, RDMA_NLDEV_ATTR_DEV_INDEX, d.Index)
	q := nldevRequest("port dump", d.Name, RDMA_NLDEV_CMD_PORT_GET, body)
	msgs, err := c.dump(ctx, q)
	if err != nil && !errors.Is(err, ErrInconsistent) {
		return nil, c.explain(ctx, d, q, err)
	}
	ports, err := collect(q, msgs, err, decodePort)
	missing, err2 := c.missingPorts(ctx, d, ports)
	return append(ports, missing...), errors.Join(err, err2)
}

// missingPorts queries the ports of d that are not in have, until ctx is done.
func (c Client) missingPorts(ctx context.Context, d Device, have []Port) ([]Port, error) {
	if d.Ports == nil || uint64(len(have)) >= uint64(*d.Ports) {
		return nil, nil
	}
	known := map[uint32]bool{}
	for _, p := range have {
		known[p.Number] = true
	}
	var ports []Port
	var errs []error
	for n := uint32(1); n <= *d.Ports && n != 0 && ctx.Err() == nil; n++ {
		if known[n] {
			continue
		}
		p, err := c.port(ctx, d, n)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		ports = append(ports, p)
	}
	return ports, errors.Join(append(errs, ctx.Err())...)
}

func (c Client) port(ctx context.Context, d Device, n uint32) (Port, error) {
	body := appendAttrU32(nil, RDMA_NLDEV_ATTR_DEV_INDEX, d.Index)
	body = appendAttrU32(body, RDMA_NLDEV_ATTR_PORT_INDEX, n)
	q := nldevRequest("port get", fmt.Sprintf("%s/%d", d.Name, n), RDMA_NLDEV_CMD_PORT_GET, body)
	b, err := c.get(ctx, q)
	if err != nil {
		return Port{}, c.explain(ctx, d, q, err)
	}
	p, err := decodePort(b)
	return p, opError(q, err)
}

// System queries the modes of the RDMA subsystem. The error is a
// *NotSupportedError on kernels before 5.2.
func (c Client) System(ctx context.Context) (System, error) {
	q := nldevRequest("system get", "", RDMA_NLDEV_CMD_SYS_GET, nil)
	b, err := c.get(ctx, q)
	if errors.Is(err, syscall.EINVAL) {
		// rdma_nl_rcv_msg returns EINVAL for an unknown command; nothing else in
		// the request could be invalid.
		return System{}, &NotSupportedError{Feature: q.op, Requires: "kernel 5.2 or later", Err: syscall.EINVAL}
	}
	if err != nil {
		return System{}, err
	}
	s, err := decodeSystem(b)
	return s, opError(q, err)
}

// CharDevice queries one character device of d: of its port for [CharUMAD] (port is 0
// for the other kinds), of the system for [CharCM] (d is nil). The error matches
// [errors.ErrUnsupported] if the kernel has no such device (its module is not available,
// or the port doesn't support InfiniBand management) or is older than 5.3, and
// [fs.ErrNotExist] if d has been removed. The kernel loads the module of the kind if it
// is installed.
func (c Client) CharDevice(ctx context.Context, kind CharKind, d *Device, port uint32) (CharDevice, error) {
	object := string(kind)
	body := appendAttr(nil, RDMA_NLDEV_ATTR_CHARDEV_TYPE, append([]byte(kind), 0))
	if d != nil {
		object += " " + d.Name
		body = appendAttrU32(body, RDMA_NLDEV_ATTR_DEV_INDEX, d.Index)
	}
	if port != 0 {
		object += fmt.Sprintf("/%d", port)
		body = appendAttrU32(body, RDMA_NLDEV_ATTR_PORT_INDEX, port)
	}
	q := nldevRequest("chardev get", object, RDMA_NLDEV_CMD_GET_CHARDEV, body)
	if (kind == CharUMAD) != (port != 0) || (kind == CharCM) != (d == nil) ||
		port != 0 && d.Ports != nil && port > *d.Ports {
		return CharDevice{}, opError(q, errors.New("invalid combination of kind, device and port"))
	}
	b, err := c.get(ctx, q)
	if err != nil {
		if d != nil {
			err = c.explain(ctx, *d, q, err)
		}
		if errors.Is(err, syscall.EINVAL) { // as in System
			err = &NotSupportedError{
				Feature: q.op + " " + q.object, Requires: "kernel 5.3 or later", Err: syscall.EINVAL,
			}
		}
		return CharDevice{}, err
	}
	cd, err := decodeCharDevice(b)
	cd.Kind, cd.Port = kind, port
	return cd, opError(q, err)
}

// CharDevices lists the character devices of d: uverbs, and umad of each port. Devices
// that don't exist are omitted.
func (c Client) CharDevices(ctx context.Context, d Device) ([]CharDevice, error) {
	var out []CharDevice
	var errs []error
	ask := func(kind CharKind, port uint32) {
		cd, err := c.CharDevice(ctx, kind, &d, port)
		switch {
		case err == nil:
			out = append(out, cd)
		case !errors.Is(err, errors.ErrUnsupported) || errors.Is(err, ErrNoRDMANetlink):
			errs = append(errs, err)
		}
	}
	ask(CharUverbs, 0)
	if d.Ports != nil {
		for n := uint32(1); n <= *d.Ports && n != 0 && len(errs) == 0; n++ {
			ask(CharUMAD, n)
		}
	}
	return out, errors.Join(errs...)
}

// explain returns fs.ErrNotExist instead of err if d has been removed: the kernel returns
// EINVAL for an unknown device, as for many other errors.
func (c Client) explain(ctx context.Context, d Device, q request, err error) error {
	if !errors.Is(err, syscall.EINVAL) {
		return err
	}
	body := appendAttrU32(nil, RDMA_NLDEV_ATTR_DEV_INDEX, d.Index)
	_, err2 := c.get(ctx, nldevRequest("device get", d.Name, RDMA_NLDEV_CMD_GET, body))
	if errors.Is(err2, syscall.EINVAL) {
		return opError(q, fmt.Errorf("device has been removed: %w", fs.ErrNotExist))
	}
	return err
}

func nldevRequest(op, object string, command netlink.HeaderType, body []byte) request {
	return request{
		op: "nldev " + op, object: object, family: NETLINK_RDMA,
		typ: RDMA_NL_NLDEV<<10 | command, body: body,
	}
}
