package ibverbs

import (
	"context"
	"slices"
	"sync"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/recording"
)

// Describe loads libibverbs, calls [Library.Describe], and closes the library. If libibverbs can't
// be loaded, the recording contains the error too.
func Describe(ctx context.Context, names ...string) (recording.Recording, error) {
	return describeWith(ctx, Soname, names)
}

func describeWith(ctx context.Context, soname string, names []string) (recording.Recording, error) {
	l, err := load(soname)
	if err != nil {
		return unloaded(soname, err)
	}
	defer l.Close()
	return l.Describe(ctx, names...)
}

// unloaded returns the recording for a library that can't be opened.
func unloaded(soname string, err error) (recording.Recording, error) {
	return recording.Recording{
		Schema: recording.Schema, Library: recording.Library{Name: soname}, Devices: []recording.Device{},
		Errors: []*recording.QueryError{asQueryError(err)},
	}, err
}

// List loads libibverbs, lists the devices without opening them, and closes the library: the
// recording has their names, GUIDs, types and transports. If libibverbs can't be loaded, the
// recording contains the error too.
func List(ctx context.Context) (recording.Recording, error) {
	l, err := Load()
	if err != nil {
		return unloaded(Soname, err)
	}
	defer l.Close()
	return l.list(ctx)
}

// list is [List] for an open library.
func (l *Library) list(ctx context.Context) (recording.Recording, error) {
	r, list, err := l.begin(ctx)
	if err != nil {
		return r, err
	}
	defer list.Close()
	for _, d := range list.Devices() {
		r.Devices = append(r.Devices, d.identity())
	}
	return r, nil
}

// begin returns a recording without devices, and the list of devices. If listing them fails, the
// recording contains the error too.
func (l *Library) begin(ctx context.Context) (recording.Recording, *DeviceList, error) {
	r := recording.Recording{Schema: recording.Schema, Library: l.info, Devices: []recording.Device{}}
	list, err := l.Devices(ctx)
	if err != nil {
		r.Errors = append(r.Errors, asQueryError(err))
	}
	return r, list, err
}

// identity returns the properties of a device that are known without opening it.
func (d *Device) identity() recording.Device {
	return recording.Device{
		Name: d.Name, DevName: d.DevName, GUID: d.GUID, NodeType: d.NodeType, Transport: d.Transport,
	}
}

// Describe queries everything that `ibv_devinfo -v` queries, from all devices or from those named.
// It returns the successful results and the joined errors; the recording contains the errors too.
// A name that is not in the list is an error (ENODEV). Devices are queried concurrently, so that
// one that hangs doesn't delay the others; the recording has them in the order of the library.
func (l *Library) Describe(ctx context.Context, names ...string) (recording.Recording, error) {
	r, list, err := l.begin(ctx)
	if err != nil {
		return r, err
	}
	defer list.Close()
	var chosen []*Device
	for _, d := range list.Devices() {
		if len(names) == 0 || slices.Contains(names, d.Name) {
			chosen = append(chosen, d)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(chosen, func(d *Device) bool { return d.Name == name }) {
			r.Errors = append(r.Errors, &recording.QueryError{
				Query: recording.QueryOpen, Device: name, Name: "ENODEV", Text: "libibverbs lists no such device",
			})
		}
	}
	r.Devices = make([]recording.Device, len(chosen))
	var wg sync.WaitGroup
	for i, d := range chosen {
		wg.Go(func() { r.Devices[i] = d.Describe(ctx) })
	}
	wg.Wait()
	err = r.Err()
	return r, err
}

// Describe queries everything that `ibv_devinfo -v` queries from one device. The Errors of the
// result are the failed queries.
func (d *Device) Describe(ctx context.Context) recording.Device {
	out := d.identity()
	out.BoardID = d.BoardID()
	note := func(err error) bool {
		if err != nil {
			out.Errors = append(out.Errors, asQueryError(err))
		}
		return err == nil
	}
	c, err := d.Open(ctx)
	if !note(err) {
		return out
	}
	out.NumCompVectors = c.NumCompVectors()
	attributes, err := c.QueryDevice(ctx)
	if note(err) {
		out.Attributes = &attributes
		for port := 1; port <= int(attributes.PhysPortCount); port++ {
			out.Ports = append(out.Ports, c.describePort(ctx, port, note))
		}
	}
	note(c.closeIn(ctx))
	return out
}

// describePort queries a port and its GID table. The first failed query of a GID ends the table, as
// in ibv_devinfo.
func (c *Context) describePort(ctx context.Context, port int, note func(error) bool) recording.Port {
	out := recording.Port{Number: port}
	attributes, err := c.QueryPort(ctx, port)
	if !note(err) {
		return out
	}
	out.Attributes = &attributes
	for i := range int(attributes.GIDTableLength) {
		gid, err := c.QueryGID(ctx, port, i)
		if !note(err) {
			return out
		}
		if gid.IsZero() {
			continue
		}
		entry := provider.GIDEntry{Index: i, GID: gid}
		entry.Type, entry.Ifindex, err = c.gidType(ctx, port, i, attributes.LinkLayer)
		note(err)
		out.GIDs = append(out.GIDs, entry)
	}
	return out
}
