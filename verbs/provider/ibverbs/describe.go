package ibverbs

import (
	"context"
	"slices"
	"sync"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/recording"
)

// Describe loads libibverbs, asks what [Library.Describe] asks, and closes it. Where there is no
// libibverbs the recording says so too.
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

// unloaded is the recording of a library that can't be opened.
func unloaded(soname string, err error) (recording.Recording, error) {
	return recording.Recording{
		Schema: recording.Schema, Library: recording.Library{Name: soname}, Devices: []recording.Device{},
		Errors: []*recording.QueryError{asQueryError(err)},
	}, err
}

// List loads libibverbs, lists the devices without opening them, and closes it: the recording has
// their names, GUIDs, types and transports. Where there is no libibverbs the recording says so too.
func List(ctx context.Context) (recording.Recording, error) {
	l, err := Load()
	if err != nil {
		return unloaded(Soname, err)
	}
	defer l.Close()
	return l.list(ctx)
}

// list is [List] of a library that is open.
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

// begin returns a recording without devices, and the list to take them from. Where there is no list
// the recording says so too.
func (l *Library) begin(ctx context.Context) (recording.Recording, *DeviceList, error) {
	r := recording.Recording{Schema: recording.Schema, Library: l.info, Devices: []recording.Device{}}
	list, err := l.Devices(ctx)
	if err != nil {
		r.Errors = append(r.Errors, asQueryError(err))
	}
	return r, list, err
}

// identity is what the list tells of a device that is not open.
func (d *Device) identity() recording.Device {
	return recording.Device{
		Name: d.Name, DevName: d.DevName, GUID: d.GUID, NodeType: d.NodeType, Transport: d.Transport,
	}
}

// Describe asks everything that `ibv_devinfo -v` asks: of all devices, or of those named. It
// returns what succeeded and, joined, what failed; the recording holds the errors too. A name that
// is not in the list is an error (ENODEV). Devices are asked at the same time, so that one that
// hangs costs the others nothing; the order is that of the library.
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

// Describe asks one device everything that `ibv_devinfo -v` asks it. What failed is in Errors.
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

// describePort asks for a port and its GID table. The first GID that fails ends the table, as it
// does in ibv_devinfo.
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
