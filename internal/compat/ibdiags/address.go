package ibdiags

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// address is a port in the subnet, by LID or directed route or, where both are set, by LID and from
// there on by directed route.
type address struct {
	fabric.Target
	first    uint8  // the first number of a directed route: displayed, but not a hop
	combined bool   // the route begins at the LID
	source   ib.LID // the local LID, for combined routes
}

// String formats the address as libibmad does (C twin: portid2str).
func (a address) String() string {
	lid := ""
	if a.LID != 0 {
		lid = fmt.Sprintf("Lid %d", uint16(a.LID))
		if a.Path.Len() == 0 {
			return lid
		}
		lid += " "
	}
	source := mad.LIDPermissive
	if a.combined && a.source != 0 {
		source = a.source
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%sDR path slid %d; dlid %d; %d", lid, uint16(source), uint16(mad.LIDPermissive), a.first)
	for _, port := range a.Path.Ports() {
		b.WriteString("," + strconv.Itoa(int(port)))
	}
	return b.String()
}

// isUnicast reports whether a number is a unicast LID.
func isUnicast[T int32 | int](lid T) bool { return lid > 0 && lid < T(mad.MulticastLIDBase) }

// resolve finds the port that an operand names; -D, -L and -G set the type of address.
func (r *run) resolve(ctx context.Context, operand string) (fabric.Target, error) {
	a, err := r.resolveAddress(ctx, operand)
	return a.Target, err
}

// resolveAddress is resolve, but also returns how to display the address (C twin:
// resolve_portid_str).
func (r *run) resolveAddress(ctx context.Context, operand string) (address, error) {
	switch r.destination {
	case byPath:
		return parseRoute(operand)
	case byGUID:
		guid, _ := clib.Strtoul(operand, 0)
		if guid == 0 {
			return address{}, fmt.Errorf("%w: %q is not a port GUID", errAddress, operand)
		}
		lid, err := r.lidOfGUID(ctx, guid)
		return address{Target: fabric.Target{LID: lid}}, err
	case byCombined:
		return r.resolveCombined(ctx, operand)
	default:
		lid := clib.Strtol(operand, 0)
		if !isUnicast(lid) {
			return address{}, fmt.Errorf("%w: %q is no LID from 1 to %d", errAddress, operand, mad.MulticastLIDBase-1)
		}
		return address{Target: fabric.Target{LID: ib.LID(lid)}}, nil
	}
}

// resolveCombined parses "6 0,12": LID 6, and from there a directed route through port 12.
func (r *run) resolveCombined(ctx context.Context, operand string) (address, error) {
	lid, route := leadingNumber(operand)
	if lid == 0 || lid >= uint64(mad.MulticastLIDBase) || route == "" {
		return address{}, fmt.Errorf("%w: %q is not a LID with a route", errAddress, operand)
	}
	own, err := r.ownPort(ctx)
	if err != nil {
		return address{}, err
	}
	a, err := parseRoute(route[1:])
	a.LID, a.combined, a.source = ib.LID(lid), true, own.LID
	return a, err
}

// parseRoute parses a directed route: a first number that stands for the local node, then the ports
// of all hops. As in C, a word that is not a number is 0, and numbers are truncated to 8 bits.
func parseRoute(text string) (address, error) {
	if text == "" {
		return address{}, fmt.Errorf("%w: the directed route is empty", errAddress)
	}
	words := strings.Split(strings.TrimSuffix(text, ","), ",")
	ports := make([]uint8, len(words))
	for i, word := range words {
		ports[i] = uint8(clib.Strtol(word, 10)) //nolint:gosec // C cuts it too
	}
	path, err := mad.NewPath(ports[1:]...)
	if err != nil {
		return address{}, fmt.Errorf("%w: %w", errAddress, err)
	}
	return address{Target: fabric.Target{Path: path}, first: ports[0]}, nil
}

// ask requests an attribute of subnet management from a port, and returns mad.SMPDataLen bytes of
// it.
func (r *run) ask(ctx context.Context, to address, a mad.Attribute, modifier uint32) ([]byte, error) {
	if !to.combined {
		return r.client.SMP(ctx, to.Target, mad.MethodGet, a, modifier, nil)
	}
	p := mad.NewDirectedSMP(mad.MethodGet, a, modifier, 0, &to.Path)
	p.MKey, p.DrSLID = r.mkey, to.source
	d := fabric.Datagram{Address: fabric.Address{LID: to.LID}}
	p.Append(d.MAD[:0])
	if err := r.client.Call(ctx, &d); err != nil {
		return nil, fmt.Errorf("query %s for attribute 0x%x, modifier 0x%x: %w", to, uint16(a), modifier, err)
	}
	p.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	return p.Data[:], nil
}

// nodeInfo, nodeDescription, portInfo and switchInfo ask for these.
func (r *run) nodeInfo(ctx context.Context, to address) (info mad.NodeInfo, err error) {
	data, err := r.ask(ctx, to, mad.AttributeNodeInfo, 0)
	if err == nil {
		_, err = info.Decode(data)
	}
	return info, err
}

func (r *run) nodeDescription(ctx context.Context, to address) (d mad.NodeDescription, err error) {
	data, err := r.ask(ctx, to, mad.AttributeNodeDescription, 0)
	if err == nil {
		_, err = d.Decode(data)
	}
	return d, err
}

func (r *run) portInfo(ctx context.Context, to address, port uint32) (info mad.PortInfo, err error) {
	data, err := r.ask(ctx, to, mad.AttributePortInfo, port)
	if err == nil {
		_, err = info.Decode(data)
	}
	return info, err
}

func (r *run) switchInfo(ctx context.Context, to address) (info mad.SwitchInfo, err error) {
	data, err := r.ask(ctx, to, mad.AttributeSwitchInfo, 0)
	if err == nil {
		_, err = info.Decode(data)
	}
	return info, err
}

// ownPort reads the PortInfo of the local port: LID, LID of the subnet manager, subnet prefix.
func (r *run) ownPort(ctx context.Context) (mad.PortInfo, error) {
	return r.portInfo(ctx, address{}, 0)
}

// lidOfGUID queries the subnet administration for the path to a port (C twin: resolve_guid).
func (r *run) lidOfGUID(ctx context.Context, guid uint64) (ib.LID, error) {
	var to ib.GID
	binary.BigEndian.PutUint64(to[8:], guid)
	path, err := r.client.Path(ctx, to, ib.LID(r.smLID))
	return path.DLID, err
}
