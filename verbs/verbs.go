package verbs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Aliases of types that package [provider] defines.
type (
	// Access is a set of access rights to a [MemoryRegion].
	Access = provider.Access
	// SendOp is the operation of a send request.
	SendOp = provider.SendOp
	// SendFlags modify a send request.
	SendFlags = provider.SendFlags
	// WCStatus is the status of a completed request.
	WCStatus = provider.WCStatus
	// WCOp is the operation that completed.
	WCOp = provider.WCOp
	// WorkCompletion is an entry of a [CompletionQueue].
	WorkCompletion = provider.WorkCompletion
	// CompletionError is a request that failed: the error of a [WorkCompletion].
	CompletionError = provider.CompletionError
	// QPType is the transport service of a [QueuePair].
	QPType = provider.QPType
	// QPState is the state of a [QueuePair].
	QPState = provider.QPState
	// QPAttributes are what [QueuePair.Modify] sets.
	QPAttributes = provider.QPAttributes
	// Path is the path to the peer, a part of [QPAttributes].
	Path = provider.Path
	// DeviceAttributes are the capabilities and limits of a device: see [Device.Attributes].
	DeviceAttributes = provider.DeviceAttributes
	// PortAttributes is the state of a port: see [Device.Port].
	PortAttributes = provider.PortAttributes
	// PortState is the state of a port's link.
	PortState = provider.PortState
	// LinkLayer is the link layer of a port: InfiniBand or Ethernet.
	LinkLayer = provider.LinkLayer
	// GIDEntry is a non-empty entry of a port's GID table.
	GIDEntry = provider.GIDEntry
	// GIDType is the type of a GID: InfiniBand, RoCE v1 or RoCE v2.
	GIDType = provider.GIDType
	// WaitMode trades processor time for latency in [CompletionQueue.Wait].
	WaitMode = provider.WaitMode
	// WCFlags say which fields of a [WorkCompletion] are valid.
	WCFlags = provider.WCFlags
	// QPCapacity are the limits of a [QueuePair].
	QPCapacity = provider.QPCapacity
	// MemoryOptions configure a [MemoryRegion].
	MemoryOptions = provider.MemoryOptions
	// WindowType is the type of a [MemoryWindow].
	WindowType = provider.WindowType
	// SRQConfig configures a [SharedReceiveQueue].
	SRQConfig = provider.SRQConfig
	// Capabilities are the optional features of a device.
	Capabilities = provider.Capabilities
	// DeviceInfo describes a device that may be opened: see [Devices].
	DeviceInfo = provider.DeviceInfo
	// Event is an asynchronous event: see [Device.NextEvent].
	Event = provider.Event
	// EventType is the kind of an [Event].
	EventType = provider.EventType
)

// Errors that callers branch on.
var (
	ErrQueueFull = provider.ErrQueueFull // a request beyond the depth of its queue
	// Not supported by the provider or the device; the same as errors.ErrUnsupported.
	ErrNotSupported = provider.ErrNotSupported
	ErrClosed       = provider.ErrClosed // the object is closed
	ErrBusy         = provider.ErrBusy   // other objects still use it
	// A completion queue was too small, and completions are missing.
	ErrOverrun = provider.ErrOverrun
)

// Device is an open device (C twin: struct ibv_context). Open one with [Open].
type Device struct {
	impl provider.Device
}

// Devices returns the devices of all providers, in their order (C twin: ibv_get_device_list). If a
// provider can't list its devices, those of the others are returned together with the error.
func Devices(ctx context.Context, providers ...provider.Provider) ([]DeviceInfo, error) {
	var list []DeviceInfo
	var errs []error
	for _, p := range providers {
		devices, err := p.Devices(ctx)
		list = append(list, devices...)
		if err != nil {
			errs = append(errs, fmt.Errorf("list devices of %s: %w", p.Name(), err))
		}
	}
	return list, errors.Join(errs...)
}

// Open opens a device by name with the first provider that has a device of that name
// (C twin: ibv_open_device). If no provider has one, the error matches [fs.ErrNotExist] and
// includes the error of each provider, except those that are fs.ErrNotExist itself: the name has
// the form of another provider's.
func Open(ctx context.Context, name string, providers ...provider.Provider) (*Device, error) {
	errs := []error{}
	for _, p := range providers {
		d, err := p.Open(ctx, name)
		if err == nil {
			return &Device{d}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("open device %s: %w", name, err)
		}
		if err != fs.ErrNotExist { //nolint:errorlint // unwrapped, it says only that the name is another provider's
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		errs = append(errs, fmt.Errorf("no provider has such a device: %w", fs.ErrNotExist))
	}
	return nil, fmt.Errorf("open device %s: %w", name, errors.Join(errs...))
}

// Name returns the device's name.
func (d *Device) Name() string { return d.impl.Name() }

// Capabilities returns the optional features that the device and its provider have. Using another
// one returns [ErrNotSupported].
func (d *Device) Capabilities() Capabilities { return d.impl.Capabilities() }

// Attributes returns the limits of the device, as its driver reports them (C twin:
// ibv_query_device).
func (d *Device) Attributes() DeviceAttributes { return d.impl.Attributes() }

// Port returns the state of a port, counted from 1 (C twin: ibv_query_port).
func (d *Device) Port(ctx context.Context, number int) (PortAttributes, error) {
	return d.impl.Port(ctx, number)
}

// GIDs returns the non-empty entries of a port's GID table in ascending order of their index
// (C twin: ibv_query_gid_table).
func (d *Device) GIDs(ctx context.Context, port int) ([]GIDEntry, error) {
	return d.impl.GIDs(ctx, port)
}

// GID returns the GID at an index of a port's table (C twin: ibv_query_gid). The error matches
// fs.ErrNotExist if the entry is empty.
func (d *Device) GID(ctx context.Context, port, index int) (ib.GID, error) {
	list, err := d.impl.GIDs(ctx, port)
	if err != nil {
		return ib.GID{}, err
	}
	for _, e := range list {
		if e.Index == index {
			return e.GID, nil
		}
	}
	return ib.GID{}, fmt.Errorf("query GID %d of %s port %d: empty: %w", index, d.Name(), port, fs.ErrNotExist)
}

// Counters returns the device's packet counters by name, counted since it was opened, or nil
// if the device has none. The difference between two calls covers all users of the device in
// between.
func (d *Device) Counters() map[string]uint64 {
	if c, ok := d.impl.(provider.CounterReader); ok {
		return c.Counters()
	}
	return nil
}

// Advice returns what to set on the machine so that the device isn't limited, and why: one sentence
// each, usually none.
func (d *Device) Advice() []string {
	if a, ok := d.impl.(provider.Adviser); ok {
		return a.Advice()
	}
	return nil
}

// Close closes the device. It returns [ErrBusy] while objects of the device are open.
func (d *Device) Close() error { return d.impl.Close() }

// AllocatePD allocates a protection domain (C twin: ibv_alloc_pd).
func (d *Device) AllocatePD() (*ProtectionDomain, error) {
	pd, err := d.impl.AllocatePD()
	if err != nil {
		return nil, err
	}
	return &ProtectionDomain{impl: pd, device: d}, nil
}

// unsupported is the error of a feature that a device doesn't have.
func unsupported(feature string, device *Device) error {
	return fmt.Errorf("%s: %s: %w", feature, device.Name(), ErrNotSupported)
}
