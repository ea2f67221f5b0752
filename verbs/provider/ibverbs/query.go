package ibverbs

import (
	"context"
	"errors"
	"syscall"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/recording"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// ask runs one query and waits for it until ctx ends. The function question returns an errno or 0;
// the results of the query may be used only if ask returns nil. c stays open until question
// returns.
func (c *Context) ask(ctx context.Context, query string, question func() int) *recording.QueryError {
	if err := c.acquireIn(ctx); err != nil {
		return failed(query, c.device, err)
	}
	errno, err := bounded(ctx, func() int {
		defer c.release()
		return question()
	}, nil)
	switch {
	case err != nil:
		return failed(query, c.device, err)
	case errno != 0:
		return failed(query, c.device, errnoError(errno))
	}
	return nil
}

// askPort runs a query about a port. It checks the port number, since C would take it modulo 256
// and query another port.
func (c *Context) askPort(ctx context.Context, query string, port int, question func() int) *recording.QueryError {
	if port < 1 || port > 255 {
		return failed(query, c.device, errnoError(syscall.EINVAL))
	}
	return c.ask(ctx, query, question)
}

// QueryDevice queries the attributes of the device (ibv_query_device_ex, or ibv_query_device if
// library or driver are too old for it).
func (c *Context) QueryDevice(ctx context.Context) (provider.DeviceAttributes, error) {
	attr, extended := new(cDeviceAttrEx), new(bool)
	err := c.ask(ctx, recording.QueryDevice, func() int {
		if f, ok := extendedOp(c.library.dl, c.addr, distanceQueryDeviceEx); ok {
			errno := callQueryDeviceEx(f, c.addr, attr)
			if name := errnoName(errno); errno == 0 || name != "EOPNOTSUPP" && name != "ENOTSUP" && name != "ENOSYS" {
				*extended = true
				return errno
			}
			*attr = cDeviceAttrEx{}
		}
		return callQueryDevice(c.library.sym.queryDevice, c.addr, attr)
	})
	if err != nil {
		return provider.DeviceAttributes{}, err
	}
	return deviceAttributes(attr, *extended), nil
}

// QueryPort queries the attributes of a port, counted from 1 (ibv_query_port).
func (c *Context) QueryPort(ctx context.Context, port int) (provider.PortAttributes, error) {
	attr := new(cPortAttr)
	err := c.askPort(ctx, recording.QueryPort, port, func() int {
		if f, ok := extendedOp(c.library.dl, c.addr, distanceQueryPort); ok {
			return callQueryPortEx(f, c.addr, port, attr)
		}
		return callQueryPort(c.library.sym.queryPort, c.addr, port, attr)
	})
	if err != nil {
		return provider.PortAttributes{}, about(err, port, -1)
	}
	return portAttributes(attr), nil
}

// QueryGID queries one entry of a port's GID table (ibv_query_gid); an empty one is all zero.
func (c *Context) QueryGID(ctx context.Context, port, index int) (ib.GID, error) {
	gid := new([16]byte)
	err := c.askPort(ctx, recording.QueryGID, port, func() int {
		return callQueryGID(c.library.sym.queryGID, c.addr, port, index, gid)
	})
	if err != nil {
		return ib.GID{}, about(err, port, index)
	}
	return *gid, nil
}

// QueryGIDEntry queries a non-empty entry with its type and network device (_ibv_query_gid_ex). A
// library older than 1.11 reports only the type, and doesn't distinguish between InfiniBand and
// RoCE v1 (ibv_query_gid_type, as the C tools use it); linkLayer, that of the port, then decides.
func (c *Context) QueryGIDEntry(
	ctx context.Context, port, index int, linkLayer provider.LinkLayer,
) (provider.GIDEntry, error) {
	gid, err := c.QueryGID(ctx, port, index)
	if err != nil {
		return provider.GIDEntry{}, err
	}
	entry := provider.GIDEntry{Index: index, GID: gid, Type: provider.GIDTypeUnknown}
	entry.Type, entry.Ifindex, err = c.gidType(ctx, port, index, linkLayer)
	return entry, err
}

// gidType queries the type and the network device of a GID.
func (c *Context) gidType(
	ctx context.Context, port, index int, linkLayer provider.LinkLayer,
) (provider.GIDType, uint32, error) {
	raw, kind, byType := new(cGIDEntry), new(int32), new(bool)
	err := c.askPort(ctx, recording.QueryGIDType, port, func() int {
		errno := unknownErrno
		if f := c.library.sym.queryGIDEx; f.OK() {
			if errno = callQueryGIDEx(f, c.addr, port, index, raw); errno == 0 {
				return 0
			}
		}
		if f := c.library.sym.queryGIDType; f.OK() {
			*byType = true
			errno = callQueryGIDType(f, c.addr, port, index, kind)
		}
		return errno
	})
	switch {
	case err != nil:
		return provider.GIDTypeUnknown, 0, about(err, port, index)
	case !*byType:
		return provider.GIDType(raw.GIDType), raw.NdevIfindex, nil
	case *kind != 0: // enum ibv_gid_type_sysfs: 0 for both older types
		return provider.GIDTypeRoCEv2, 0, nil
	case linkLayer == provider.LinkLayerEthernet:
		return provider.GIDTypeRoCEv1, 0, nil
	}
	return provider.GIDTypeIB, 0, nil
}

// asQueryError returns the *recording.QueryError in an error of the methods above; nil for nil.
func asQueryError(err error) *recording.QueryError {
	e, _ := errors.AsType[*recording.QueryError](err)
	return e
}
