package ibdiags

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/clib"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// resolve finds the port that an operand names, as -D, -L and -G say (C twin: resolve_portid_str).
func (r *run) resolve(ctx context.Context, operand string) (fabric.Target, error) {
	switch r.destination {
	case byPath:
		p, err := mad.ParsePath(operand)
		if err != nil {
			return fabric.Target{}, fmt.Errorf("%w: %w", errAddress, err)
		}
		return fabric.Target{Path: p}, nil
	case byGUID:
		guid, _ := clib.Strtoul(operand, 0)
		if guid == 0 {
			return fabric.Target{}, fmt.Errorf("%w: %q is no port GUID", errAddress, operand)
		}
		lid, err := r.lidOfGUID(ctx, guid)
		return fabric.Target{LID: lid}, err
	default:
		lid := clib.Strtol(operand, 0)
		if lid <= 0 || lid > 0xffff {
			return fabric.Target{}, fmt.Errorf("%w: %q is no LID", errAddress, operand)
		}
		return fabric.Target{LID: ib.LID(lid)}, nil
	}
}

// ownPort asks the own port for its info: LID, LID of the subnet manager, subnet prefix.
func (r *run) ownPort(ctx context.Context) (mad.PortInfo, error) {
	var info mad.PortInfo
	data, err := r.client.SMP(ctx, fabric.Target{}, mad.MethodGet, mad.AttributePortInfo, 0, nil)
	if err != nil {
		return info, err
	}
	info.Decode(data) //nolint:errcheck // the client has the length
	return info, nil
}

// sm is the LID of the subnet manager: -s, or what the own port says.
func (r *run) sm(own *mad.PortInfo) ib.LID {
	if r.smLID != 0 {
		return ib.LID(r.smLID)
	}
	return own.MasterSMLID
}

// lidOfGUID asks the subnet administration for the path to a port (C twin: ib_resolve_guid_via).
func (r *run) lidOfGUID(ctx context.Context, guid uint64) (ib.LID, error) {
	own, err := r.ownPort(ctx)
	if err != nil {
		return 0, err
	}
	self, err := r.client.SMP(ctx, fabric.Target{}, mad.MethodGet, mad.AttributeNodeInfo, 0, nil)
	if err != nil {
		return 0, err
	}
	var node mad.NodeInfo
	node.Decode(self) //nolint:errcheck // the client has the length
	query := mad.PathRecord{DGID: gid(own.GIDPrefix, guid), SGID: gid(own.GIDPrefix, binary.BigEndian.Uint64(node.PortGUID[:])), NumPath: 1}
	const mask = mad.PathRecordMaskDGID | mad.PathRecordMaskSGID | mad.PathRecordMaskNumPath
	record, err := r.client.SA(ctx, r.sm(&own), mad.AttributePathRecord, mask, query.Append(nil))
	if err != nil {
		return 0, err
	}
	var path mad.PathRecord
	path.Decode(record) //nolint:errcheck // the client has the length
	return path.DLID, nil
}

// gid puts a subnet prefix and a port's GUID together.
func gid(prefix ib.SubnetPrefix, guid uint64) (g ib.GID) {
	binary.BigEndian.PutUint64(g[:8], uint64(prefix))
	binary.BigEndian.PutUint64(g[8:], guid)
	return g
}
