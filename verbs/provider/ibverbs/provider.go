package ibverbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/recording"
)

// Provider opens the devices that libibverbs lists: hardware, and the kernel's rxe and siw. The
// zero value is ready.
type Provider struct {
	// Library is the file name of libibverbs; "" is [Soname]. Tests set another one.
	Library string

	// LibraryCM is the file name of librdmacm; "" is [SonameCM]. Without it devices don't have
	// CapConnector.
	LibraryCM string

	chars string // folder of the character devices; "" is the usual one
}

// Name implements [provider.Provider].
func (Provider) Name() string { return "ibverbs" }

// Devices implements [provider.Provider]. Without libibverbs the list is empty, with the error that
// [Load] returns; a kernel without RDMA has no devices, which is no error. Capabilities are those
// of the transport, as far as they are certain.
func (p Provider) Devices(ctx context.Context) ([]provider.DeviceInfo, error) {
	l, list, err := p.list(ctx)
	if _, none := errors.AsType[*withoutRDMAError](err); none {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = list.Close(), l.Close() }() // both only free memory
	var out []provider.DeviceInfo
	for _, d := range list.Devices() {
		out = append(out, provider.DeviceInfo{
			Name: d.Name, Provider: p.Name(), NodeType: d.NodeType, Transport: d.Transport,
			Capabilities: transportCapabilities(d.Transport),
		})
	}
	return out, nil
}

// list loads the library and lists the devices.
func (p Provider) list(ctx context.Context) (*Library, *DeviceList, error) {
	l, err := load(cmp.Or(p.Library, Soname))
	if err != nil {
		return nil, nil, err
	}
	l.chars = cmp.Or(p.chars, l.chars)
	list, err := l.Devices(ctx)
	if err != nil {
		_ = l.Close() // the error to return is the other one
		if q := asQueryError(err); q != nil && q.Query == recording.QueryDeviceList && q.Name == "ENOSYS" {
			err = &withoutRDMAError{err}
		}
		return nil, nil, err
	}
	return l, list, nil
}

// Open implements [provider.Provider]: name is that of an RDMA device, such as mlx5_0. The error
// matches fs.ErrNotExist if libibverbs lists no such device or isn't installed, or if the kernel
// has no RDMA; a missing library or symbol is a *dl.Error, anything else a *recording.QueryError
// with a remedy.
func (p Provider) Open(ctx context.Context, name string) (provider.Device, error) {
	if name == "" || strings.ContainsAny(name, "@/") {
		return nil, &provider.NameError{Name: name, Form: "mlx5_0"}
	}
	l, list, err := p.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer func() { _, _ = list.Close(), l.Close() }() // the device keeps the library open
	for _, d := range list.Devices() {
		if d.Name == name {
			return p.open(ctx, d)
		}
	}
	return nil, noDeviceError(name + ": libibverbs lists no such device")
}

// noDeviceError is the error for a name that is no device of this machine, or for a port that a
// device doesn't have; it matches [fs.ErrNotExist], whose text would speak of a file.
type noDeviceError string

func (e noDeviceError) Error() string { return string(e) }

// Is reports whether target is fs.ErrNotExist.
func (e noDeviceError) Is(target error) bool { return target == fs.ErrNotExist }

// withoutRDMAError is the error for a kernel whose RDMA modules aren't loaded. It has no devices,
// so it also matches [fs.ErrNotExist].
type withoutRDMAError struct{ cause error }

func (e *withoutRDMAError) Error() string {
	return "this machine has no RDMA device: no RDMA module of the kernel is loaded (ENOSYS)"
}

// Unwrap returns the error of the query, which has the remedy.
func (e *withoutRDMAError) Unwrap() error { return e.cause }

// Is reports whether target is fs.ErrNotExist.
func (e *withoutRDMAError) Is(target error) bool { return target == fs.ErrNotExist }

// open opens a device and queries what doesn't change.
func (p Provider) open(ctx context.Context, listed *Device) (provider.Device, error) {
	calls, err := listed.library.calls()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", listed.Name, err)
	}
	c, err := listed.Open(ctx)
	if err != nil {
		return nil, err
	}
	d := &openDevice{
		name: listed.Name, transport: listed.Transport, c: c, calls: calls, inline: c.inlineCalls(),
		memlock: memlockLimit, objects: map[uintptr]any{}, done: make(chan struct{}),
	}
	d.root.what = "device"
	d.cm, d.cmError = openCM(cmp.Or(p.LibraryCM, SonameCM), listed.library.chars)
	if err := d.query(ctx); err != nil {
		if d.cm != nil {
			_ = d.cm.dl.Close() // the error to return is the other one
		}
		return nil, errors.Join(err, c.closeIn(ctx))
	}
	return d, nil
}

// query fills what Attributes and Capabilities return, and starts to watch for events.
func (d *openDevice) query(ctx context.Context) (err error) {
	if d.attr, err = d.c.QueryDevice(ctx); err != nil {
		return err
	}
	d.attr.CompletionVectors = int32(d.c.NumCompVectors())
	for number := 1; number <= int(d.attr.PhysPortCount); number++ {
		port, err := d.c.QueryPort(ctx, number)
		if err != nil {
			return err
		}
		d.links = append(d.links, port.LinkLayer)
	}
	if err := d.c.acquireIn(ctx); err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	d.caps, err = bounded(ctx, func() provider.Capabilities {
		defer d.c.release() // even if the caller has given up
		return d.probe()
	}, nil)
	if err != nil {
		return fmt.Errorf("%s: create objects to see what it supports: %w", d.name, err)
	}
	fd := peek[cContext](d.c.addr).AsyncFD
	if d.async, err = newEventFile(fd, d.name+" asynchronous events"); err != nil {
		return err
	}
	go d.keep()
	return nil
}
