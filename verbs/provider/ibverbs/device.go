package ibverbs

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"syscall"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/recording"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// DeviceList is a list of the devices at the time of the call of Devices (ibv_get_device_list).
type DeviceList struct {
	handle
	devices []*Device
}

// Device is one entry of a list. It can be opened until the list is closed.
type Device struct {
	// Properties from the list, without a query to the device.
	Name      string
	DevName   string // uverbs0: the file in /dev/infiniband
	GUID      ib.GUID
	NodeType  provider.NodeType
	Transport provider.TransportType

	library *Library
	list    *DeviceList
	addr    uintptr
	sysfs   string // folder of the device in sysfs, as the library found it
}

// Devices lists the devices in the order of the library (ibv_get_device_list). An empty list is not
// an error; a kernel without RDMA support is: ENOSYS.
func (l *Library) Devices(ctx context.Context) (*DeviceList, error) {
	if err := l.acquireIn(ctx); err != nil {
		return nil, failed(recording.QueryDeviceList, "", err)
	}
	type answer struct {
		list  *DeviceList
		errno int
	}
	got, err := bounded(ctx, func() answer {
		list, errno := l.devices()
		return answer{list, errno}
	}, func(a answer) {
		if a.list != nil {
			_ = a.list.Close() // the caller has given up
		}
	})
	if err != nil {
		return nil, failed(recording.QueryDeviceList, "", err)
	}
	if got.list == nil {
		return nil, failed(recording.QueryDeviceList, "", errnoError(got.errno))
	}
	return got.list, nil
}

// devices calls C. The list keeps the library open; on failure the library is released.
func (l *Library) devices() (*DeviceList, int) {
	array, count, errno := callGetDeviceList(l.sym.getDeviceList)
	if array == 0 {
		l.release()
		return nil, errno
	}
	list := &DeviceList{}
	list.free = func() error {
		_, _ = l.sym.freeDeviceList.CallErrno(array) // returns void
		l.release()
		return nil
	}
	for _, addr := range pointers(array, count) {
		d := peek[cDevice](addr)
		device := &Device{
			Name: text(d.Name[:]), DevName: text(d.DevName[:]),
			NodeType: provider.NodeType(d.NodeType), Transport: provider.TransportType(d.TransportType),
			library: l, list: list, addr: addr, sysfs: text(d.IBDevPath[:]),
		}
		guid, _ := l.sym.getDeviceGUID.CallErrno(addr)
		binary.NativeEndian.PutUint64(device.GUID[:], uint64(guid)) // C returns it in network order
		list.devices = append(list.devices, device)
	}
	return list, 0
}

// Devices returns the entries, in the library's order.
func (l *DeviceList) Devices() []*Device { return l.devices }

// Close frees the list (ibv_free_device_list). Devices that were opened from it stay open.
func (l *DeviceList) Close() error { return l.close() }

// BoardID returns the content of the device's file board_id, which ibv_devinfo prints, or "" if
// there is none.
func (d *Device) BoardID() string {
	b, err := os.ReadFile(d.sysfs + "/board_id")
	if err != nil || d.sysfs == "" {
		return ""
	}
	return strings.TrimSuffix(string(b), "\n")
}

// Context is an open device (struct ibv_context).
type Context struct {
	handle
	library *Library
	device  string
	addr    uintptr
}

// Open opens the device's file and creates the driver's context for it (ibv_open_device).
//
// If the process has no permission to open the file, Open returns that error without calling the
// library, which would look for the file under other names, for 5 seconds if udev maintains
// /dev/char, and then return ENOENT.
func (d *Device) Open(ctx context.Context) (*Context, error) {
	if errno := d.denied(); errno != 0 {
		return nil, failed(recording.QueryOpen, d.Name, errnoError(errno))
	}
	if err := d.list.acquireIn(ctx); err != nil {
		return nil, failed(recording.QueryOpen, d.Name, err)
	}
	type answer struct {
		c     *Context
		errno int
	}
	got, err := bounded(ctx, func() answer {
		c, errno := d.open()
		return answer{c, errno}
	}, func(a answer) {
		if a.c != nil {
			_ = a.c.Close() // the caller has given up
		}
	})
	if err != nil {
		return nil, failed(recording.QueryOpen, d.Name, err)
	}
	if got.c == nil {
		return nil, failed(recording.QueryOpen, d.Name, errnoError(got.errno))
	}
	return got.c, nil
}

// denied returns the errno if the process has no permission to open the device's file, otherwise 0.
func (d *Device) denied() int {
	f, err := os.OpenFile(d.library.chars+"/"+d.DevName, os.O_RDWR, 0)
	if err == nil {
		_ = f.Close() // nothing was read or written
		return 0
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok && errors.Is(err, os.ErrPermission) {
		return int(errno)
	}
	return 0
}

// open calls C. It keeps the list open only until it returns, the library as long as the device is
// open.
func (d *Device) open() (*Context, int) {
	defer d.list.release()
	if d.library.acquire() != nil {
		return nil, int(syscall.EBADF)
	}
	addr, errno := d.library.sym.openDevice.CallErrno(d.addr)
	if addr == 0 {
		d.library.release()
		return nil, int(errno)
	}
	c := &Context{library: d.library, device: d.Name, addr: addr}
	c.free = func() error {
		ret, errno := d.library.sym.closeDevice.CallErrno(addr)
		d.library.release()
		if e := errnoOf(ret, int(errno)); e != 0 {
			return failed(recording.QueryClose, d.Name, errnoError(e))
		}
		return nil
	}
	return c, 0
}

// NumCompVectors returns the number of completion vectors of the device. It reads a field and
// doesn't query the device.
func (c *Context) NumCompVectors() int {
	if c.acquire() != nil {
		return 0
	}
	defer c.release()
	return int(peek[cContext](c.addr).NumCompVectors)
}

// Close closes the device (ibv_close_device) now, or when the last call that uses it returns.
func (c *Context) Close() error { return c.close() }

// closeIn is Close with a time limit, since a driver may wait for its firmware.
func (c *Context) closeIn(ctx context.Context) error {
	err, late := bounded(ctx, c.Close, nil)
	if late != nil {
		return failed(recording.QueryClose, c.device, late)
	}
	return err
}

// errnoError is a number that C returned.
type errnoError int

func (e errnoError) Error() string {
	if e <= 0 {
		return "the library reports no cause"
	}
	return errnoText(int(e))
}

// failed returns the error of a failed query.
func failed(query, device string, cause error) *recording.QueryError {
	q := &recording.QueryError{Query: query, Device: device, Text: cause.Error()}
	switch e, isErrno := errors.AsType[errnoError](cause); {
	case isErrno && e > 0:
		q.Errno, q.Name = int(e), errnoName(int(e))
		q.Remedy = remedy(query, q.Name)
	case errors.Is(cause, context.DeadlineExceeded):
		q.Name, q.Text = recording.NameTimeout, "the driver did not respond in time"
	case errors.Is(cause, context.Canceled):
		q.Name = recording.NameCanceled
	case errors.Is(cause, os.ErrClosed):
		q.Name, q.Text = recording.NameClosed, "already closed"
	}
	return q
}

// remedy returns what to do about failures with a known cause.
func remedy(query, name string) string {
	switch {
	case query == recording.QueryDeviceList && name == "ENOSYS":
		return "load the kernel module ib_uverbs and the driver of the card"
	case query == recording.QueryOpen && (name == "EACCES" || name == "EPERM"):
		return "give the process access to /dev/infiniband/uverbs* (group rdma, or the device in the container)"
	case query == recording.QueryOpen && (name == "ENOENT" || name == "ENXIO" || name == "ENODEV"):
		return "check that /dev/infiniband/uverbs* exists: the device was removed or is not in this container"
	}
	return ""
}

// about sets the port and, unless it is negative, the table index of an error.
func about(err *recording.QueryError, port, index int) *recording.QueryError {
	err.Port = port
	if index >= 0 {
		err.Index = new(index)
	}
	return err
}
